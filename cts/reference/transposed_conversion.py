"""Conversions with the decoration CooperativeMatrixTransposeEXT: values are converted, and move (M1-TR-02, M1-TR-03).

Like the undecorated instructions, a conversion rounds, and a change of use alone may flush denormals (facts.md C17)."""

from __future__ import annotations

from dataclasses import replace

from cts.reference.conversion import converted_under
from cts.reference.state import State, evaluates
from cts.reference.use_conversion import with_flushed
from cts.reference.values import transposed
from cts.verdict.expected import Authority
from generators.program.transposed_conversion import TransposedConvert, check_transposed_conversion

CONVERTED, MOVED, SIGN = Authority("M1-TR-02"), Authority("M1-TR-03"), Authority("M1-TR-03", position="F-M1-1")


@evaluates(TransposedConvert)
def transposed_convert(state: State, operation: TransposedConvert) -> None:
    """Convert the elements, and exchange rows and columns. Raises GeneratorError as ``check_transposed_conversion``."""
    check_transposed_conversion(operation, state.program.maintenance1)
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    if operation.conversion is None:
        moved = with_flushed(value, MOVED if value.component is target else SIGN)
        value = replace(moved, component=target)
    else:
        converted = converted_under(state, value, target, operation.conversion, operation.saturating)
        value = replace(converted, authority=replace(CONVERTED, quality=converted.authority.quality))
    state.matrices[operation.result.name] = transposed(value)
