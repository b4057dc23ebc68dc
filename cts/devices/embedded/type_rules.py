"""The types that an instruction's operands and result must have, by opcode.

``Translation.prepare`` asks once, before the instruction's handler, which relies on it. What the extensions say of cooperative matrices
and tensors is not here but with their handlers, which name the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cts.devices.embedded.diagnostics import Malformed, Unsupported
from cts.devices.embedded.shapes import (
    CELL_STORAGE,
    SHARED_STORAGE,
    Kind,
    alike,
    constituent,
    element_of,
    is_physical,
    kind_of,
    shape_of,
    type_text,
)
from cts.devices.embedded.spirv_types import (
    Array,
    Bool,
    MatrixType,
    Number,
    PointerType,
    Struct,
    Type,
    Vector,
    Void,
    has_no_bytes,
)
from cts.devices.embedded.translation import Rule, Translation, Words
from generators.spirv.enumerants import Op

_INT, _FLOAT, _BOOL = frozenset({Kind.INT}), frozenset({Kind.FLOAT}), frozenset({Kind.BOOL})
_NUMBER = _INT | _FLOAT


def need(holds: bool, what: str) -> None:
    """Refuses the instruction unless ``holds``.

    Raises:
        Malformed: with ``what``.
    """
    if not holds:
        raise Malformed(what)


def _elementwise(kinds: frozenset[Kind], result: frozenset[Kind] | None = None, widths: bool = True) -> Rule:
    """Operands of ``kinds``, all of one shape and (``widths``) width, which are the result's too, or the result is of kind ``result``."""

    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.types[words[0]]
        operands = [translation.type_of[id_] for id_ in words[2:]]
        if isinstance(type_, MatrixType):
            return
        shape, first = shape_of(type_), element_of(operands[0])
        for operand in operands:
            element = element_of(operand)
            if kind_of(element) not in kinds or shape_of(operand) != shape or (widths and not alike(element, first)):
                raise Malformed(f"an operand is a {type_text(operand)} where the result is a {type_text(type_)}")
        of_result = element_of(type_)
        if kind_of(of_result) not in (result or kinds) or (result is None and not alike(of_result, first)):
            raise Malformed(f"the result is a {type_text(type_)} where an operand is a {type_text(operands[0])}")

    return rule


def _conversion(from_: frozenset[Kind], to: frozenset[Kind]) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        type_, operand = translation.types[words[0]], translation.type_of[words[2]]
        if isinstance(type_, MatrixType) and isinstance(operand, MatrixType):
            fits = kind_of(type_.number) in to and kind_of(operand.number) in from_
        else:
            fits = kind_of(element_of(type_)) in to and kind_of(element_of(operand)) in from_ and shape_of(type_) == shape_of(operand)
            # A matrix and another type have a rule of the extension, with its handler.
            fits = fits or isinstance(type_, MatrixType)
        need(fits, f"a {type_text(operand)} becomes a {type_text(type_)}")

    return rule


def _quantize(translation: Translation, words: Words) -> None:
    _elementwise(_FLOAT)(translation, words)
    element = element_of(translation.types[words[0]])
    need(isinstance(element, Number) and element.component.name == "f32", "the result is not of 32-bit floats")


def _bits(type_: Type) -> int:
    if isinstance(type_, Vector):
        return type_.count * _bits(type_.element)
    return 64 if is_physical(type_) else type_.bits if isinstance(type_, Number) else 0


def _bitcast(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    if isinstance(to, MatrixType) or isinstance(from_, MatrixType):
        return
    need(_bits(to) > 0 and _bits(to) == _bits(from_), f"a {type_text(from_)} becomes a {type_text(to)}, which does not have its bits")


def _to_pointer(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    need(is_physical(to) and kind_of(from_) is Kind.INT, f"a {type_text(from_)} becomes a {type_text(to)}")
    if _bits(from_) != 64:
        raise Unsupported(f"an address of {_bits(from_)} bits")


def _from_pointer(translation: Translation, words: Words) -> None:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    need(is_physical(from_) and kind_of(to) is Kind.INT, f"a {type_text(from_)} becomes a {type_text(to)}")
    if _bits(to) != 64:
        raise Unsupported(f"an address of {_bits(to)} bits")


def _any_all(translation: Translation, words: Words) -> None:
    operand = translation.type_of[words[2]]
    need(isinstance(operand, Vector) and isinstance(operand.element, Bool), f"the operand is a {type_text(operand)}")
    need(isinstance(translation.types[words[0]], Bool), "the result is no boolean")


def _select(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[0]]
    condition, yes, no = (translation.type_of[id_] for id_ in words[2:])
    need(yes == type_ and no == type_, f"a {type_text(yes)} or a {type_text(no)} is selected where the result is a {type_text(type_)}")
    by_component = isinstance(type_, Vector) and shape_of(condition) == shape_of(type_)
    need(kind_of(element_of(condition)) is Kind.BOOL, f"the condition is a {type_text(condition)}")
    need(isinstance(condition, Bool) or by_component, f"the condition is a {type_text(condition)} for a {type_text(type_)}")


def _vector_times_scalar(translation: Translation, words: Words) -> None:
    type_, vector, scalar = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(type_, Vector) and vector == type_ and scalar == type_.element and kind_of(scalar) is Kind.FLOAT
    need(fits, f"a {type_text(vector)} times a {type_text(scalar)} is a {type_text(type_)}")


def _matrix_times_scalar(translation: Translation, words: Words) -> None:
    type_, matrix, scalar = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    if isinstance(matrix, MatrixType):
        fits = type_ == matrix and isinstance(scalar, Number) and alike(scalar, matrix.number)
        need(fits, f"a {type_text(matrix)} times a {type_text(scalar)} is a {type_text(type_)}")


def _dot(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(a, Vector) and a == b and a.element == type_ and kind_of(type_) is Kind.FLOAT
    need(fits, f"{type_text(a)} and {type_text(b)} have a dot product of {type_text(type_)}")


def _two_results(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:])
    fits = isinstance(type_, Struct) and type_.members == (a, a) and a == b and kind_of(element_of(a)) is Kind.INT
    need(fits, f"{type_text(a)} and {type_text(b)} give a {type_text(type_)}")
    if isinstance(a, MatrixType):
        raise Malformed("the operands are cooperative matrices")


def _two_scalar_results(translation: Translation, words: Words) -> None:
    _two_results(translation, words)
    if isinstance(translation.type_of[words[2]], Vector):
        raise Unsupported("a carry of vectors")


def _bit_field(values: int) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.types[words[0]]
        bases, numbers = words[2 : 2 + values], words[2 + values :]
        fits = kind_of(element_of(type_)) is Kind.INT and not isinstance(type_, MatrixType)
        need(
            fits and all(translation.type_of[id_] == type_ for id_ in bases),
            f"the base is not of the type of the result, a {type_text(type_)}",
        )
        need(all(kind_of(translation.type_of[id_]) is Kind.INT for id_ in numbers), "offset and count are not integers")

    return rule


def _construct(translation: Translation, words: Words) -> None:
    type_, operands = translation.types[words[0]], [translation.type_of[id_] for id_ in words[2:]]
    match type_:
        case MatrixType():
            return
        case Vector():
            parts = [p.element if isinstance(p, Vector) else p for p in operands]
            count = sum(p.count if isinstance(p, Vector) else 1 for p in operands)
            fits = count == type_.count and all(p == type_.element for p in parts)
        case Array():
            fits = len(operands) == type_.length and all(p == type_.element for p in operands)
        case Struct():
            fits = tuple(operands) == type_.members
        case _:
            fits = False
    need(fits, f"a {type_text(type_)} is made of {len(operands)} parts that it does not have")


def _replicate(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    match type_:
        case MatrixType():
            fits = isinstance(operand, Number) and alike(operand, type_.number)
        case Vector() | Array():
            fits = operand == type_.element and not (isinstance(type_, Array) and type_.length is None)
        case Struct():
            fits = bool(type_.members) and all(member == operand for member in type_.members)
        case _:
            fits = False
    need(fits, f"a {type_text(type_)} is made of a {type_text(operand)} again and again")


def _extract(translation: Translation, words: Words) -> None:
    found = translation.type_of[words[2]]
    for index in words[3:]:
        found = constituent(found, index)
    type_ = translation.types[words[0]]
    need(found == type_, f"what is taken out is a {type_text(found)}, the result a {type_text(type_)}")


def _insert(translation: Translation, words: Words) -> None:
    type_, part = translation.types[words[0]], translation.type_of[words[2]]
    need(translation.type_of[words[3]] == type_, "the composite is not of the type of the result")
    found = type_
    for index in words[4:]:
        found = constituent(found, index)
    need(found == part, f"a {type_text(part)} is put where a {type_text(found)} is")


def _shuffle(translation: Translation, words: Words) -> None:
    type_, a, b = translation.types[words[0]], *(translation.type_of[id_] for id_ in words[2:4])
    vectors = isinstance(type_, Vector) and isinstance(a, Vector) and isinstance(b, Vector) and a.element == b.element == type_.element
    need(vectors, f"{type_text(a)} and {type_text(b)} are shuffled to a {type_text(type_)}")
    assert isinstance(type_, Vector)
    assert isinstance(a, Vector)
    assert isinstance(b, Vector)
    picks = words[4:]
    need(len(picks) == type_.count, f"{len(picks)} components are chosen for a {type_text(type_)}")
    need(all(pick < a.count + b.count or pick == 0xFFFFFFFF for pick in picks), "a component is chosen that neither vector has")


def _dynamic(vector: int, index: int, part: int) -> Rule:
    """By operand: the vector, the index, and the component, which is the result's type if ``part`` is 0."""

    def rule(translation: Translation, words: Words) -> None:
        type_ = translation.type_of[words[vector]]
        component = translation.type_of[words[part]] if part else translation.types[words[0]]
        need(isinstance(type_, Vector) and type_.element == component, f"a {type_text(component)} is a component of a {type_text(type_)}")
        need(kind_of(translation.type_of[words[index]]) is Kind.INT, "the index is no integer")
        need(not part or type_ == translation.types[words[0]], "the result is not of the type of the vector")

    return rule


def _copy(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    need(type_ == operand, f"a {type_text(operand)} is copied to a {type_text(type_)}")


def _copy_logical(translation: Translation, words: Words) -> None:
    type_, operand = translation.types[words[0]], translation.type_of[words[2]]
    need(_logically_alike(type_, operand), f"a {type_text(operand)} is copied to a {type_text(type_)}")


def _logically_alike(one: Type, other: Type) -> bool:
    match one, other:
        case Array(), Array():
            return one.length == other.length and _logically_alike(one.element, other.element)
        case Struct(), Struct():
            return len(one.members) == len(other.members) and all(map(_logically_alike, one.members, other.members))
        case _:
            return one == other


def _undefined(translation: Translation, words: Words) -> None:
    need(not isinstance(translation.types[words[0]], Void), "void has no value")


def _pointer(translation: Translation, id_: int, what: str = "the pointer") -> PointerType:
    type_ = translation.type_of[id_]
    if not isinstance(type_, PointerType):
        raise Malformed(f"{what} is a {type_text(type_)}")
    return type_


def _pointee(translation: Translation, id_: int, what: str = "the pointer") -> Type:
    return translation.types[_pointer(translation, id_, what).pointee]


def _movable(storage: object, type_: Type) -> None:
    """Refuses what has no value, or is in no bytes although the storage has some."""
    if isinstance(type_, Void):
        raise Malformed("void has no value")
    if storage not in CELL_STORAGE:
        _in_bytes(type_)


def _in_bytes(type_: Type) -> None:
    match type_:
        case Array() if type_.length is None:
            raise Malformed("a whole runtime array is accessed")
        case Array() | Vector():
            _in_bytes(type_.element)
        case Struct():
            for member in type_.members:
                _in_bytes(member)
        case PointerType() if not is_physical(type_):
            raise Unsupported(f"a pointer to {type_.storage.name} storage in memory")
        case Number() | Bool() | PointerType():
            return
        case _:
            raise Malformed(f"a {type_text(type_)} is accessed in memory that has bytes")


def _load(translation: Translation, words: Words) -> None:
    type_, pointee = translation.types[words[0]], _pointee(translation, words[2])
    need(type_ == pointee, f"a {type_text(pointee)} is loaded as a {type_text(type_)}")
    _movable(_pointer(translation, words[2]).storage, type_)


def _store(translation: Translation, words: Words) -> None:
    type_, pointee = translation.type_of[words[1]], _pointee(translation, words[0])
    need(type_ == pointee, f"a {type_text(type_)} is stored where a {type_text(pointee)} is")
    _movable(_pointer(translation, words[0]).storage, type_)


def _copy_memory(translation: Translation, words: Words) -> None:
    to, from_ = (_pointee(translation, id_) for id_ in words[:2])
    need(to == from_, f"a {type_text(from_)} is copied to where a {type_text(to)} is")
    for id_ in words[:2]:
        _movable(_pointer(translation, id_).storage, to)


def _access_chain(elements: int) -> Rule:
    """``elements``: how many indices come before those into the pointee."""

    def rule(translation: Translation, words: Words) -> None:
        base = _pointer(translation, words[2], "the base")
        if elements:
            need(kind_of(translation.type_of[words[3]]) is Kind.INT, "the element is no integer")
            if base.storage in CELL_STORAGE:
                raise Unsupported(f"a pointer to the neighbour of a variable of {base.storage.name} storage")
            if has_no_bytes(translation.target(base)):
                raise Malformed(f"{type_text(translation.target(base))} has no bytes")
        type_ = translation.target(base)
        for id_ in words[3 + elements :]:
            need(kind_of(translation.type_of[id_]) is Kind.INT, "an index is no integer")
            constant = translation.constant(id_)
            if isinstance(type_, Struct):
                need(constant.__class__ is int, "an index into a structure is no constant")
                type_ = constituent(type_, constant)
            elif isinstance(type_, Array | Vector | MatrixType):
                type_ = constituent(type_, 0)
            else:
                raise Malformed(f"an index into a {type_text(type_)}")
        result = translation.types[words[0]]
        if not isinstance(result, PointerType) or result.storage != base.storage or translation.target(result) != type_:
            raise Malformed(
                f"the result is a {type_text(result)}, and not a pointer to a {type_text(type_)} in {base.storage.name} storage"
            )

    return rule


def _array_length(translation: Translation, words: Words) -> None:
    type_, member, result = _pointee(translation, words[2]), words[3], translation.types[words[0]]
    fits = isinstance(type_, Struct) and member == len(type_.members) - 1
    if not fits or not isinstance(type_, Struct) or not isinstance(array := type_.members[member], Array) or array.length is not None:
        raise Malformed(f"member {member} of a {type_text(type_)} is no runtime array at its end")
    need(array.stride > 0, "the array has stride 0")
    need(isinstance(result, Number) and result.component.name == "u32", "the result is no unsigned 32-bit integer")


def _variable(translation: Translation, words: Words) -> None:
    pointer = translation.types[words[0]]
    if not isinstance(pointer, PointerType) or pointer.storage != words[2]:
        raise Malformed(f"the variable is a {type_text(pointer)}, and not a pointer to storage class {words[2]}")
    if len(words) > 3:
        initializer, contents = translation.type_of[words[3]], translation.target(pointer)
        need(initializer == contents, f"a {type_text(contents)} begins as a {type_text(initializer)}")
    _movable(pointer.storage, Bool() if pointer.storage in SHARED_STORAGE else translation.target(pointer))


def _atomic(kinds: frozenset[Kind], operands: Sequence[int], numbers: Sequence[int], pointer: int = 2) -> Rule:
    """By place of the operands: values of the type in memory, and scopes and semantics."""

    def rule(translation: Translation, words: Words) -> None:
        pointee = _pointee(translation, words[pointer])
        need(kind_of(pointee) in kinds, f"an atomic access of a {type_text(pointee)}")
        need(not pointer or translation.types[words[0]] == pointee, "the result is not of the type that the pointer leads to")
        need(all(translation.type_of[words[o]] == pointee for o in operands), "an operand is not of the type that the pointer leads to")
        for place in numbers:
            constant_integer(translation, words[place], "scope or semantics")

    return rule


def constant_integer(translation: Translation, id_: int, what: str) -> None:
    """Refuses what is not the id of an integer constant.

    Raises:
        Malformed: with ``what``.
    """
    need(kind_of(translation.type_of[id_]) is Kind.INT and translation.constant(id_).__class__ is int, f"{what} is no constant integer")


def _constants(translation: Translation, words: Words) -> None:
    for id_ in words:
        constant_integer(translation, id_, "scope or semantics")


def _group(kinds: frozenset[Kind], result: frozenset[Kind] | None = None, index: bool = False) -> Rule:
    """A group operation on a value of ``kinds``, whose result is of its type, or else of kind ``result``; ``index``: of another lane."""

    def rule(translation: Translation, words: Words) -> None:
        constant_integer(translation, words[2], "the scope")
        type_, operand = translation.types[words[0]], translation.type_of[words[3]]
        if not isinstance(operand, Number | Bool):
            raise Unsupported("a group operation on what is not a scalar")
        need(kind_of(operand) in kinds, f"a group operation on a {type_text(operand)}")
        need(kind_of(type_) in result if result else type_ == operand, f"the result is a {type_text(type_)}")
        need(not index or kind_of(translation.type_of[words[4]]) is Kind.INT, "the number of the invocation is no integer")

    return rule


def _elect(translation: Translation, words: Words) -> None:
    constant_integer(translation, words[2], "the scope")
    need(isinstance(translation.types[words[0]], Bool), "the result is no boolean")


def _ballot(translation: Translation, words: Words) -> None:
    constant_integer(translation, words[2], "the scope")
    type_ = translation.types[words[0]]
    fits = isinstance(type_, Vector) and type_.count == 4 and isinstance(type_.element, Number) and type_.element.component.name == "u32"
    need(fits, f"the result is a {type_text(type_)}, and not a vector of four unsigned 32-bit integers")
    need(isinstance(translation.type_of[words[3]], Bool), "the predicate is no boolean")


def _group_arithmetic(kinds: frozenset[Kind]) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        constant_integer(translation, words[2], "the scope")
        type_, operand = translation.types[words[0]], translation.type_of[words[4]]
        if not isinstance(operand, Number | Bool):
            raise Unsupported("a group operation on what is not a scalar")
        need(type_ == operand and kind_of(operand) in kinds, f"a {type_text(operand)} combines to a {type_text(type_)}")
        if len(words) > 5:
            raise Unsupported("a group operation in clusters")

    return rule


def _call(translation: Translation, words: Words) -> None:
    type_ = translation.function_types[words[2]]
    arguments = tuple(translation.type_of[id_] for id_ in words[3:])
    need(
        arguments == type_.parameters,
        f"{len(arguments)} arguments are not of the types of the function's {len(type_.parameters)} parameters",
    )
    need(translation.types[words[0]] == type_.result, "the result is not what the function returns")


def _phi(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[0]]
    need(all(translation.type_of[id_] == type_ for id_ in words[2::2]), f"a value is not of the type of the result, a {type_text(type_)}")
    need(not isinstance(type_, Void), "void has no value")


def _condition(translation: Translation, words: Words) -> None:
    type_ = translation.type_of[words[0]]
    need(isinstance(type_, Bool), f"the condition is a {type_text(type_)}")


def _switch(translation: Translation, words: Words) -> None:
    type_ = translation.type_of[words[0]]
    need(kind_of(type_) is Kind.INT, f"the selector is a {type_text(type_)}")


def _matrix_access(translation: Translation, words: Words) -> None:
    _pointer(translation, words[2])


def _matrix_store(translation: Translation, words: Words) -> None:
    _pointer(translation, words[0])


_SAME_INT = (
    *(Op.IAdd, Op.ISub, Op.IMul, Op.UDiv, Op.UMod, Op.SDiv, Op.SRem, Op.SMod, Op.SNegate, Op.Not, Op.BitCount, Op.BitReverse),
    *(Op.BitwiseAnd, Op.BitwiseOr, Op.BitwiseXor),
)
_SAME_FLOAT = (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FRem, Op.FMod, Op.FNegate)
_INT_COMPARISONS = (
    *(Op.IEqual, Op.INotEqual, Op.UGreaterThan, Op.UGreaterThanEqual, Op.ULessThan, Op.ULessThanEqual),
    *(Op.SGreaterThan, Op.SGreaterThanEqual, Op.SLessThan, Op.SLessThanEqual),
)
_FLOAT_TESTS = (
    *(Op.FOrdEqual, Op.FOrdNotEqual, Op.FOrdLessThan, Op.FOrdLessThanEqual, Op.FOrdGreaterThan, Op.FOrdGreaterThanEqual),
    *(Op.FUnordEqual, Op.FUnordNotEqual, Op.FUnordLessThan, Op.FUnordLessThanEqual, Op.FUnordGreaterThan, Op.FUnordGreaterThanEqual),
    *(Op.IsNan, Op.IsInf),
)
_LOGIC = (Op.LogicalAnd, Op.LogicalOr, Op.LogicalEqual, Op.LogicalNotEqual, Op.LogicalNot)
_ATOMIC_INTS = (
    *(Op.AtomicIAdd, Op.AtomicISub, Op.AtomicAnd, Op.AtomicOr, Op.AtomicXor),
    *(Op.AtomicUMin, Op.AtomicUMax, Op.AtomicSMin, Op.AtomicSMax),
)
_GROUP_INTS = (
    *(Op.GroupNonUniformIAdd, Op.GroupNonUniformIMul, Op.GroupNonUniformUMin, Op.GroupNonUniformUMax, Op.GroupNonUniformSMin),
    *(Op.GroupNonUniformSMax, Op.GroupNonUniformBitwiseAnd, Op.GroupNonUniformBitwiseOr, Op.GroupNonUniformBitwiseXor),
)
_GROUP_FLOATS = (Op.GroupNonUniformFAdd, Op.GroupNonUniformFMul, Op.GroupNonUniformFMin, Op.GroupNonUniformFMax)
_GROUP_BOOLS = (Op.GroupNonUniformLogicalAnd, Op.GroupNonUniformLogicalOr, Op.GroupNonUniformLogicalXor)
_SHUFFLES = (
    *(Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle, Op.GroupNonUniformShuffleXor),
    *(Op.GroupNonUniformShuffleUp, Op.GroupNonUniformShuffleDown),
)

SPECIALIZABLE = frozenset(
    {
        *_SAME_INT,
        *_INT_COMPARISONS,
        *_LOGIC,
        *(Op.ShiftLeftLogical, Op.ShiftRightLogical, Op.ShiftRightArithmetic, Op.SConvert, Op.UConvert, Op.FConvert, Op.Select),
        *(Op.VectorShuffle, Op.CompositeExtract, Op.CompositeInsert, Op.QuantizeToF16, Op.Bitcast, Op.CooperativeMatrixLengthKHR),
        *(Op.CooperativeMatrixLengthNV, Op.ConvertFToS, Op.ConvertSToF, Op.ConvertFToU, Op.ConvertUToF, *_SAME_FLOAT),
    }
) - {Op.BitCount, Op.BitReverse}
"""What OpSpecConstantOp computes."""

RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_SAME_INT, _elementwise(_INT)),
        **dict.fromkeys(_SAME_FLOAT, _elementwise(_FLOAT)),
        **dict.fromkeys(_INT_COMPARISONS, _elementwise(_INT, _BOOL)),
        **dict.fromkeys(_FLOAT_TESTS, _elementwise(_FLOAT, _BOOL)),
        **dict.fromkeys(_LOGIC, _elementwise(_BOOL)),
        **dict.fromkeys((Op.ShiftLeftLogical, Op.ShiftRightLogical, Op.ShiftRightArithmetic), _elementwise(_INT, widths=False)),
        Op.ConvertFToU: _conversion(_FLOAT, _INT),
        Op.ConvertFToS: _conversion(_FLOAT, _INT),
        Op.ConvertSToF: _conversion(_INT, _FLOAT),
        Op.ConvertUToF: _conversion(_INT, _FLOAT),
        Op.UConvert: _conversion(_INT, _INT),
        Op.SConvert: _conversion(_INT, _INT),
        Op.FConvert: _conversion(_FLOAT, _FLOAT),
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
        Op.IAddCarry: _two_scalar_results,
        Op.ISubBorrow: _two_scalar_results,
        Op.BitFieldInsert: _bit_field(2),
        Op.BitFieldSExtract: _bit_field(1),
        Op.BitFieldUExtract: _bit_field(1),
        Op.CompositeConstruct: _construct,
        Op.CompositeConstructReplicateEXT: _replicate,
        Op.CompositeExtract: _extract,
        Op.CompositeInsert: _insert,
        Op.VectorShuffle: _shuffle,
        Op.VectorExtractDynamic: _dynamic(2, 3, 0),
        Op.VectorInsertDynamic: _dynamic(2, 4, 3),
        Op.CopyObject: _copy,
        Op.CopyLogical: _copy_logical,
        Op.Undef: _undefined,
        Op.Variable: _variable,
        Op.Load: _load,
        Op.Store: _store,
        Op.CopyMemory: _copy_memory,
        Op.AccessChain: _access_chain(0),
        Op.InBoundsAccessChain: _access_chain(0),
        Op.PtrAccessChain: _access_chain(1),
        Op.InBoundsPtrAccessChain: _access_chain(1),
        Op.ArrayLength: _array_length,
        Op.AtomicLoad: _atomic(_NUMBER, (), (3, 4)),
        Op.AtomicStore: _atomic(_NUMBER, (3,), (1, 2), pointer=0),
        Op.AtomicExchange: _atomic(_NUMBER, (5,), (3, 4)),
        Op.AtomicCompareExchange: _atomic(_INT, (6, 7), (3, 4, 5)),
        Op.AtomicIIncrement: _atomic(_INT, (), (3, 4)),
        Op.AtomicIDecrement: _atomic(_INT, (), (3, 4)),
        **dict.fromkeys(_ATOMIC_INTS, _atomic(_INT, (5,), (3, 4))),
        **dict.fromkeys((Op.AtomicFAddEXT, Op.AtomicFMinEXT, Op.AtomicFMaxEXT), _atomic(_FLOAT, (5,), (3, 4))),
        Op.ControlBarrier: _constants,
        Op.MemoryBarrier: _constants,
        Op.GroupNonUniformElect: _elect,
        Op.GroupNonUniformAll: _group(_BOOL),
        Op.GroupNonUniformAny: _group(_BOOL),
        Op.GroupNonUniformAllEqual: _group(_NUMBER | _BOOL, _BOOL),
        Op.GroupNonUniformBroadcastFirst: _group(_NUMBER | _BOOL),
        **dict.fromkeys(_SHUFFLES, _group(_NUMBER | _BOOL, index=True)),
        Op.GroupNonUniformBallot: _ballot,
        **dict.fromkeys(_GROUP_INTS, _group_arithmetic(_INT)),
        **dict.fromkeys(_GROUP_FLOATS, _group_arithmetic(_FLOAT)),
        **dict.fromkeys(_GROUP_BOOLS, _group_arithmetic(_BOOL)),
        Op.FunctionCall: _call,
        Op.Phi: _phi,
        Op.BranchConditional: _condition,
        Op.Switch: _switch,
        Op.CooperativeMatrixLoadKHR: _matrix_access,
        Op.CooperativeMatrixStoreKHR: _matrix_store,
        Op.CooperativeMatrixLoadTensorNV: _matrix_access,
        Op.CooperativeMatrixStoreTensorNV: _matrix_store,
    }
)
"""By opcode. Instructions without an entry are checked by their handlers alone."""
