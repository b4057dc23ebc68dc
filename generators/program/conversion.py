"""Conversion instructions on matrices (SPV_KHR_cooperative_matrix, 3.42.11; SPIR-V, Conversion Instructions), and changes of a matrix's use
(SPV_NV_cooperative_matrix2 and SPV_EXT_cooperative_matrix_maintenance1, 3.49.11)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation
from generators.program.values import Matrix
from generators.types import ComponentType, Use


class Conversion(enum.Enum):
    """The conversions that the extension allows on matrices, by the name of their instruction without ``Op``.

    The instruction, not the type, determines the interpretation of an integer's bits: ConvertSToF and SConvert treat their operand as
    signed, and ConvertFToS makes a signed number, whatever the Signedness of OpTypeInt.
    """

    F_TO_U = "ConvertFToU"
    F_TO_S = "ConvertFToS"
    S_TO_F = "ConvertSToF"
    U_TO_F = "ConvertUToF"
    U_TO_U = "UConvert"
    S_TO_S = "SConvert"
    F_TO_F = "FConvert"
    BITCAST = "Bitcast"


@dataclass(frozen=True)
class MatrixConvert(Operation):
    """``result`` is ``matrix`` converted component by component; both have the same scope, rows, columns and use (KHR-CVT-02), except that
    an accumulator may become an A or B (CM2-CVT-01).

    ``saturating`` decorates the instruction with SaturatedToLargestFloat8NormalConversionEXT, for results of 8-bit floats (KHR-CVT-06).
    """

    result: Matrix
    matrix: Matrix
    conversion: Conversion
    saturating: bool = False


def is_float8(component: ComponentType) -> bool:
    """Tell whether ``component`` is one of SPV_EXT_float8."""
    return component.is_float and component.bits == 8


def conversions(source: ComponentType, target: ComponentType) -> tuple[Conversion, ...]:
    """Return the instructions that may convert ``source`` to ``target``; empty if none may. The instruction that matches the signedness of
    both types comes first; if two match, or none does, the instruction that reads ``source`` by its type comes first.

    ConvertFToU and UConvert need a Result Type with Signedness 0, UConvert and SConvert one of another width (SPIR-V, Conversion
    Instructions); OpBitcast converts integers of one width only (KHR-CVT-03, F-KHR-8).
    """
    if source is target:
        return ()
    if source.is_float and target.is_float:
        return (Conversion.F_TO_F,)
    if source.is_float:
        return (Conversion.F_TO_S,) if target.is_signed else (Conversion.F_TO_U, Conversion.F_TO_S)
    if target.is_float:
        both = (Conversion.S_TO_F, Conversion.U_TO_F)
        return both if source.is_signed else both[::-1]
    if source.bits == target.bits:
        return (Conversion.BITCAST,)
    if target.is_signed:
        return (Conversion.S_TO_S,)
    both = (Conversion.S_TO_S, Conversion.U_TO_U)
    return both if source.is_signed else both[::-1]


def agrees(conversion: Conversion, source: ComponentType, target: ComponentType) -> bool:
    """Tell whether the instruction reads and makes numbers with the signedness of the types, as a conversion by type would."""
    if conversion is Conversion.S_TO_S and not source.is_signed:
        return target.is_signed and target.bits < source.bits
    return conversion is conversions(source, target)[0]


def changes_use(operation: MatrixConvert, maintenance1: bool = False) -> bool:
    """Tell whether it makes an A or B from an accumulator, or with ``maintenance1`` an accumulator from an A or B; a bitcast cannot do this
    (CM2-CVT-01, CM2-CVT-02, M1-CVT-01)."""
    uses = operation.matrix.type.use, operation.result.type.use
    if maintenance1 and uses[1] is Use.ACCUMULATOR:
        uses = uses[::-1]
    return uses[0] is Use.ACCUMULATOR and uses[1] in (Use.A, Use.B) and operation.conversion is not Conversion.BITCAST


def is_allowed_conversion(operation: MatrixConvert, maintenance1: bool = False) -> bool:
    """Tell whether the instruction and its decoration accept the types. ``maintenance1``: whether the program uses that extension."""
    source, target = operation.matrix.type, operation.result.type
    if (source.scope, source.rows, source.columns) != (target.scope, target.rows, target.columns):
        return False
    if source.use != target.use and not changes_use(operation, maintenance1):
        return False
    decorable = is_float8(target.component) and operation.conversion is not Conversion.BITCAST
    return operation.conversion in conversions(source.component, target.component) and (decorable or not operation.saturating)


@dataclass(frozen=True)
class UseConvert(Operation):
    """``result`` has the elements of ``matrix``, an accumulator, and use A or B (CM2-CVT-03). In a program with ``maintenance1`` it may be
    an accumulator with the elements of an A or B (M1-USE-02), and have integers of the other signedness with the same bits (M1-USE-06)."""

    result: Matrix
    matrix: Matrix


@dataclass(frozen=True)
class Transpose(Operation):
    """Element (r, c) of ``result``, of use B, is element (c, r) of ``matrix``, an accumulator (CM2-TR-02)."""

    result: Matrix
    matrix: Matrix


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
    """Check the types of a transposing conversion. ``maintenance1``: whether the program uses that extension.

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
