"""Types of operands and results of arithmetic on scalars and vectors: numbers, bits, comparisons, logic and conversions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, need
from cts.embedded.module.translation import RESULT_OPS, Rule, Translation, Words
from cts.embedded.types.shapes import BOOL, FLOAT, INT, TypeKind, are_alike, bits_of, element_of, is_number, is_physical, kind_of, shape_of
from cts.embedded.types.spirv_types import Bool, MatrixType, Number, Struct, Vector, type_text
from generators.spirv.enumerants import Capability, Decoration, Op
from generators.types import MICROSCALING_TYPES


def _elementwise(kinds: frozenset[TypeKind], result: frozenset[TypeKind] | None = None, widths: bool = True) -> Rule:
    """Return the rule that all operands have one of ``kinds``, the same shape and, with ``widths``, the same width.

    The result has the same type, or that shape and one of the kinds ``result``.
    """

    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.types[words[0]]
        operands = [translation.type_of[id_] for id_ in words[2:]]
        if isinstance(type_, MatrixType):
            return
        shape, first = shape_of(type_), element_of(operands[0])
        for operand in operands:
            element = element_of(operand)
            if kind_of(element) not in kinds or shape_of(operand) != shape or (widths and not are_alike(element, first)):
                raise Malformed(f"an operand is a {type_text(operand)} where the result is a {type_text(type_)}")
        of_result = element_of(type_)
        if kind_of(of_result) not in (result or kinds) or (result is None and not are_alike(of_result, first)):
            raise Malformed(f"the result is a {type_text(type_)} where an operand is a {type_text(operands[0])}")

    return rule


def _conversion(from_: frozenset[TypeKind], to: frozenset[TypeKind]) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        type_, operand = translation.types[words[0]], translation.type_of[words[2]]
        if isinstance(type_, MatrixType) and isinstance(operand, MatrixType):
            fits = kind_of(type_.number) in to and kind_of(operand.number) in from_
        else:
            fits = kind_of(element_of(type_)) in to and kind_of(element_of(operand)) in from_ and shape_of(type_) == shape_of(operand)
            # For a matrix and another type, the handler checks the extension's rule.
            fits = fits or isinstance(type_, MatrixType)
        need(fits, f"a {type_text(operand)} cannot become a {type_text(type_)}")

    return rule


def _quantize(translation: Translation, words: Words) -> None:
    _elementwise(FLOAT)(translation, words)
    element = element_of(translation.types[words[0]])
    need(is_number(element, "f32"), "the result is not of 32-bit floats")


def _bitcast(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    if isinstance(to, MatrixType) or isinstance(from_, MatrixType):
        return
    need(
        bits_of(to) > 0 and bits_of(to) == bits_of(from_),
        f"a {type_text(from_)} cannot become a {type_text(to)}, which has another number of bits",
    )


def _bitcast_extract(translation: Translation, words: Words) -> None:
    to, base, offset = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    narrow = element_of(to)
    if not isinstance(narrow, Number) or narrow.component.name not in MICROSCALING_TYPES or narrow.bits % 8 == 0:
        raise Violation("VUID-StandaloneSpirv-Result-12468", f"OpBitcastExtractEXT cannot give a {type_text(to)}")
    if kind_of(element_of(base)) is not TypeKind.INT:
        raise Violation("VUID-StandaloneSpirv-Base-12469", f"the base of OpBitcastExtractEXT cannot be a {type_text(base)}")
    need(shape_of(base) == shape_of(to), f"a {type_text(to)} cannot be taken from a {type_text(base)}")
    need(kind_of(offset) is TypeKind.INT, "the offset is not an integer")


def _float_to_float(translation: Translation, words: Words) -> None:
    _conversion(FLOAT, FLOAT)(translation, words)
    to = element_of(translation.types[words[0]])
    if isinstance(to, Number) and to.component.name in MICROSCALING_TYPES:
        raise Violation("VUID-StandaloneSpirv-OpFConvert-12466", f"OpFConvert cannot give a {type_text(to)}")


def _to_pointer(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    need(is_physical(to) and kind_of(from_) is TypeKind.INT, f"a {type_text(from_)} cannot become a {type_text(to)}")
    if bits_of(from_) != 64:
        raise Unsupported(f"an address of {bits_of(from_)} bits")


def _from_pointer(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    need(is_physical(from_) and kind_of(to) is TypeKind.INT, f"a {type_text(from_)} cannot become a {type_text(to)}")
    if bits_of(to) != 64:
        raise Unsupported(f"an address of {bits_of(to)} bits")


def _any_all(translation: Translation, words: Words) -> None:
    operand = translation.type_of[words[2]]
    need(isinstance(operand, Vector) and isinstance(operand.element, Bool), f"the operand cannot be a {type_text(operand)}")
    need(isinstance(translation.types[words[0]], Bool), "the result is not a boolean")


def _select(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[0]]
    condition, yes, no = (translation.type_of[id_] for id_ in words[2:])
    need(yes == type_ and no == type_, f"a {type_text(yes)} or a {type_text(no)} is selected where the result is a {type_text(type_)}")
    by_component = isinstance(type_, Vector) and shape_of(condition) == shape_of(type_)
    need(kind_of(element_of(condition)) is TypeKind.BOOL, f"the condition is a {type_text(condition)}")
    need(isinstance(condition, Bool) or by_component, f"the condition is a {type_text(condition)} for a {type_text(type_)}")


def _vector_times_scalar(translation: Translation, words: Words) -> None:
    type_, vector, scalar = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(type_, Vector) and vector == type_ and scalar == type_.element and kind_of(scalar) is TypeKind.FLOAT
    need(fits, f"a {type_text(vector)} times a {type_text(scalar)} cannot be a {type_text(type_)}")


def _matrix_times_scalar(translation: Translation, words: Words) -> None:
    type_, matrix, scalar = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    if isinstance(matrix, MatrixType):
        fits = type_ == matrix and isinstance(scalar, Number) and are_alike(scalar, matrix.number)
        need(fits, f"a {type_text(matrix)} times a {type_text(scalar)} cannot be a {type_text(type_)}")


def _dot(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(a, Vector) and a == b and a.element == type_ and kind_of(type_) is TypeKind.FLOAT
    need(fits, f"{type_text(a)} and {type_text(b)} cannot have a dot product of {type_text(type_)}")


def _two_results(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(type_, Struct) and type_.members == (a, a) and a == b and kind_of(element_of(a)) is TypeKind.INT
    need(fits, f"{type_text(a)} and {type_text(b)} cannot give a {type_text(type_)}")
    if isinstance(a, MatrixType):
        raise Malformed("the operands are cooperative matrices")


def _bit_field(values: int) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.types[words[0]]
        bases, numbers = words[2 : 2 + values], words[2 + values :]
        fits = kind_of(element_of(type_)) is TypeKind.INT and not isinstance(type_, MatrixType)
        need(
            fits and all(translation.type_of[id_] == type_ for id_ in bases),
            f"the base does not have the result's type, {type_text(type_)}",
        )
        need(all(kind_of(translation.type_of[id_]) is TypeKind.INT for id_ in numbers), "offset and count are not integers")

    return rule


INTEGERS = (
    *(Op.IAdd, Op.ISub, Op.IMul, Op.UDiv, Op.UMod, Op.SDiv, Op.SRem, Op.SMod, Op.SNegate, Op.Not, Op.BitCount, Op.BitReverse),
    *(Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor),
)
SHIFTS = (Op.ShiftLeftLogical, Op.ShiftRightLogical, Op.ShiftRightArithmetic)
FLOATS = (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FRem, Op.FMod, Op.FNegate)
INTEGER_COMPARISONS = (
    *(Op.IEqual, Op.INotEqual, Op.UGreaterThan, Op.UGreaterThanEqual, Op.ULessThan, Op.ULessThanEqual),
    *(Op.SGreaterThan, Op.SGreaterThanEqual, Op.SLessThan, Op.SLessThanEqual),
)
_FLOAT_TESTS = (
    *(Op.FOrdEqual, Op.FOrdNotEqual, Op.FOrdLessThan, Op.FOrdLessThanEqual, Op.FOrdGreaterThan, Op.FOrdGreaterThanEqual),
    *(Op.FUnordEqual, Op.FUnordNotEqual, Op.FUnordLessThan, Op.FUnordLessThanEqual, Op.FUnordGreaterThan, Op.FUnordGreaterThanEqual),
    *(Op.IsNan, Op.IsInf),
)
LOGIC = (Op.LogicalAnd, Op.LogicalOr, Op.LogicalEqual, Op.LogicalNotEqual, Op.LogicalNot)

MATRIX_ARITHMETIC = frozenset({Op.SNegate, Op.FNegate, Op.IAdd, Op.FAdd, Op.ISub, Op.FSub, Op.FMul, Op.IMul, Op.FDiv, Op.SDiv, Op.UDiv})
"""Arithmetic that the extension allows on matrices (KHR-ARI-01, KHR-ARI-02, KHR-ARI-06)."""

MATRIX_CONVERSIONS = frozenset(
    {Op.ConvertFToU, Op.ConvertFToS, Op.ConvertSToF, Op.ConvertUToF, Op.UConvert, Op.SConvert, Op.FConvert, Op.Bitcast}
)
"""Conversions that the extension allows on matrices (KHR-CVT-01, KHR-CVT-03)."""

_TRANSPOSING = (MATRIX_CONVERSIONS - {Op.Bitcast}) | {Op.CooperativeMatrixConvertUseEXT}
"""Conversions that the decoration CooperativeMatrixTransposeEXT may modify."""


def check_transposing(translation: Translation, op: Op, words: Words) -> None:
    """Refuse the decoration CooperativeMatrixTransposeEXT on the result of another instruction.

    Raises:
        Violation: the instruction is no conversion (M1-TR-04).
    """
    if not translation.decorations or op in _TRANSPOSING or op not in RESULT_OPS:
        return
    if Decoration.CooperativeMatrixTransposeEXT in translation.decorations.get(words[1], {}):
        raise Violation("M1-TR-04", f"CooperativeMatrixTransposeEXT on Op{op.name}, which is no conversion of matrices")


_SMALL = frozenset({"bf16", "e4m3", "e5m2", *MICROSCALING_TYPES})
_NOT_ON_SMALL = frozenset(
    {
        *(*FLOATS, *_FLOAT_TESTS, Op.Dot, Op.VectorTimesScalar, Op.MatrixTimesScalar, Op.OuterProduct, Op.ExtInst, Op.FmaKHR),
        *(op for op in Op if op.name.startswith("GroupNonUniform")),
    }
)
"""Instructions that do not take bfloat16 and 8-bit floats (SPV_KHR_bfloat16 and SPV_EXT_float8, validation rules)."""


def check_small_floats(translation: Translation, op: Op, words: Words) -> None:
    """Refuse arithmetic on floats of which programs only make, convert, move and multiply matrices and vectors.

    Raises:
        Violation: the instruction computes with such a float.
    """
    if op not in _NOT_ON_SMALL:
        return
    for type_ in (translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:] if id_ in translation.type_of)):
        number = type_.number if isinstance(type_, MatrixType) else element_of(type_)
        if not isinstance(number, Number) or number.component.name not in _SMALL:
            continue
        if op is Op.Dot and number.component.name == "bf16" and Capability.BFloat16DotProductKHR in translation.capabilities:
            continue
        extension = "SPV_KHR_bfloat16" if number.component.name == "bf16" else "SPV_EXT_float8"
        raise Violation(f"{extension} 2.16.1", f"Op{op.name} on a {type_text(type_)}; such floats have no arithmetic")


RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        **dict.fromkeys(INTEGERS, _elementwise(INT)),
        **dict.fromkeys(FLOATS, _elementwise(FLOAT)),
        **dict.fromkeys(INTEGER_COMPARISONS, _elementwise(INT, BOOL)),
        **dict.fromkeys(_FLOAT_TESTS, _elementwise(FLOAT, BOOL)),
        **dict.fromkeys(LOGIC, _elementwise(BOOL)),
        **dict.fromkeys(SHIFTS, _elementwise(INT, widths=False)),
        Op.ConvertFToU: _conversion(FLOAT, INT),
        Op.ConvertFToS: _conversion(FLOAT, INT),
        Op.ConvertSToF: _conversion(INT, FLOAT),
        Op.ConvertUToF: _conversion(INT, FLOAT),
        Op.UConvert: _conversion(INT, INT),
        Op.SConvert: _conversion(INT, INT),
        Op.FConvert: _float_to_float,
        Op.BitcastExtractEXT: _bitcast_extract,
        Op.QuantizeToF16: _quantize,
        Op.Bitcast: _bitcast,
        Op.ConvertUToPtr: _to_pointer,
        Op.ConvertPtrToU: _from_pointer,
        Op.Any: _any_all,
        Op.All: _any_all,
        Op.Select: _select,
        Op.VectorTimesScalar: _vector_times_scalar,
        Op.MatrixTimesScalar: _matrix_times_scalar,
        Op.Dot: _dot,
        Op.UMulExtended: _two_results,
        Op.SMulExtended: _two_results,
        Op.IAddCarry: _two_results,
        Op.ISubBorrow: _two_results,
        Op.BitFieldInsert: _bit_field(2),
        Op.BitFieldSExtract: _bit_field(1),
        Op.BitFieldUExtract: _bit_field(1),
    }
)
"""Opcode -> rule."""
