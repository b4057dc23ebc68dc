"""Conversions with the decoration CooperativeMatrixTransposeEXT (SPV_EXT_cooperative_matrix_maintenance1, 3.49.11)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.errors import GeneratorError, Rule
from generators.program.conversion import Conversion, conversions, is_float8
from generators.program.operation import Operation
from generators.program.values import Matrix
from generators.types import Use


@dataclass(frozen=True)
class TransposedConvert(Operation):
    """Element (r, c) of ``result``, an A or B, is element (c, r) of ``matrix``, an accumulator, converted by ``conversion`` (M1-TR-02).

    Attributes:
        conversion: None for OpCooperativeMatrixConvertUseEXT, which converts nothing, but may change the signedness of integers (M1-TR-03).
        saturating: as in MatrixConvert.
    """

    result: Matrix
    matrix: Matrix
    conversion: Conversion | None = None
    saturating: bool = False


def check_transposed_conversion(operation: TransposedConvert, maintenance1: bool) -> None:
    """Check the types of a transposing conversion; ``maintenance1``: see Program.

    Raises:
        GeneratorError: the extension is not there, the matrices have other uses or sizes (M1-TR-01), or no such instruction converts the
            components.
    """
    source, target, name = operation.matrix.type, operation.result.type, operation.result.name
    if not maintenance1:
        raise GeneratorError("M1-TR-04", f"{name}: the decoration is one of maintenance1; set Program.maintenance1 (M1-TR-04)")
    swapped = (source.scope, source.columns, source.rows) == (target.scope, target.rows, target.columns)
    if not swapped or source.use_value is not Use.ACCUMULATOR or target.use_value is Use.ACCUMULATOR:
        raise GeneratorError(
            "M1-TR-01",
            f"{name}: a transposing conversion turns an accumulator into an A or B with rows and columns exchanged (M1-TR-01)",
        )
    one, other, conversion = source.component, target.component, operation.conversion
    if conversion is None:
        if one is not other and (one.is_float or other.is_float or one.bits != other.bits):
            raise GeneratorError("M1-USE-04", f"{name}: {one} and {other} differ in more than the signedness of integers (M1-USE-04)")
    elif conversion is Conversion.BITCAST or conversion not in conversions(one, other) or (operation.saturating and not is_float8(other)):
        raise GeneratorError(Rule.NO_CONVERSION, f"{name}: Op{conversion.value} from {one} to {other} is not allowed (KHR-CVT-03)")
