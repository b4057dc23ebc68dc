"""OpCooperativeMatrixConvertNV (OpCooperativeMatrixConvertUseEXT) and OpCooperativeMatrixTransposeNV: values move (facts.md C17).

Neither is on Vulkan's list of bit-preserving operations, so a denormal may be flushed to zero, and a zero may lose its sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.state import State, evaluates
from cts.reference.values import Certain, Choice, MatrixValue, transposed
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import denormals, sign_bit, values
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import MatrixType
from generators.types import Use

CONVERTED, TRANSPOSED = Authority("CM2-CVT-03"), Authority("CM2-TR-02")
EXTENDED, BACK, SIGN = Authority("M1-USE-01"), Authority("M1-USE-02"), Authority("M1-USE-06", position="F-M1-1")


@evaluates(UseConvert)
def use_convert(state: State, operation: UseConvert) -> None:
    """Keep the elements, and change the use to A or B (CM2-CVT-03), or to accumulator (M1-USE-02). SPV_EXT_cooperative_matrix_maintenance1
    also changes the signedness of integers (M1-USE-06).

    Raises:
        GeneratorError: the types differ in something else, or the program's extension does not have this change.
    """
    rule = _broken_rule(operation, state.program.maintenance1)
    if rule is not None:
        raise GeneratorError(rule, f"{operation.result.name}: no change of use makes this type from the type of the matrix ({rule})")
    source, target = operation.matrix.type, operation.result.type
    from_accumulator = source.use_value is Use.ACCUMULATOR
    authority = (EXTENDED if from_accumulator else BACK) if state.program.maintenance1 else CONVERTED
    if source.component is not target.component:
        authority = SIGN
    value = with_flushed(state.matrices[operation.matrix.name], authority)
    state.matrices[operation.result.name] = replace(value, component=target.component)


def _broken_rule(operation: UseConvert, maintenance1: bool) -> str | None:
    """Return the requirement that a change of use breaks; None if it breaks none."""
    source, target = operation.matrix.type, operation.result.type
    uses = (source.use_value is Use.ACCUMULATOR, target.use_value is Use.ACCUMULATOR)
    if not maintenance1:
        if uses == (False, True):
            return "M1-USE-02"
        return None if uses == (True, False) and replace(source, use=target.use) == target else "CM2-CVT-03"
    one, other = source.component, target.component
    integers = not one.is_float and not other.is_float and one.bits == other.bits
    if (one is not other and not integers) or source.scope != target.scope:
        return "M1-USE-04"
    if source.shape != target.shape:
        return "M1-USE-05"
    return None if uses in ((True, False), (False, True)) else "M1-USE-03"


@evaluates(Transpose)
def transpose(state: State, operation: Transpose) -> None:
    """Exchange rows and columns (CM2-TR-02).

    Raises:
        GeneratorError: the types do not match (CM2-TR-01, F-CM2-12).
    """
    source, target = operation.matrix.type, operation.result.type
    expected = MatrixType(source.component, source.scope, source.columns, source.rows, Use.B)
    if source.use_value is not Use.ACCUMULATOR or target != expected:
        raise GeneratorError(
            "CM2-TR-01",
            f"{operation.result.name}: a transposition turns an accumulator into a B with rows and columns exchanged (CM2-TR-01)",
        )
    state.matrices[operation.result.name] = with_flushed(transposed(state.matrices[operation.matrix.name]), TRANSPOSED)


def with_flushed(value: MatrixValue, authority: Authority) -> MatrixValue:
    """Return ``value``, also allowing zero for denormals (C17, C29), and either sign for zeros (C7, C16)."""
    value = replace(value, authority=replace(authority, quality=value.authority.quality))
    if not value.component.is_float or not isinstance(value.known, Certain | Choice):
        return value
    if value.permitted is not None and not isinstance(value.permitted, Choice):
        return value
    sign = value.component.bits_dtype.type(sign_bit(value.component))
    found = value.expected_bits
    if any(((bits & ~sign) == 0).any() for bits in found):
        value = replace(value, computed=True)
    tiny = [denormals(values(bits, value.component), value.component) for bits in found]
    if not np.any(tiny):
        return value
    flushed = tuple(np.where(where, bits & sign, bits) for bits, where in zip(found, tiny, strict=True) if where.any())
    every = (*found[1:], *flushed)
    permitted = replace(value.permitted, others=every) if isinstance(value.permitted, Choice) else None
    return replace(value, known=Choice(every), computed=True, permitted=permitted)
