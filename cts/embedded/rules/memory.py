"""Types of pointers, of their pointees, and of values that are loaded, stored and exchanged through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, need
from cts.embedded.module.translation import Rule, Translation, Words
from cts.embedded.rules.constants import constant_integer
from cts.embedded.types.shapes import CELL_STORAGE, FLOAT, INT, NUMBER, SHARED_STORAGE, TypeKind, is_number, is_physical, kind_of
from cts.embedded.types.spirv_types import (
    Array,
    Bool,
    CooperativeVector,
    FunctionType,
    ImageType,
    MatrixType,
    Number,
    PointerType,
    SampledImageType,
    SamplerType,
    Struct,
    Type,
    Vector,
    Void,
    constituent_type,
    has_no_bytes,
    type_text,
)
from generators.spirv.enumerants import Capability, Op, StorageClass


def _pointer(translation: Translation, id_: int, what: str = "the pointer") -> PointerType:
    type_ = translation.type_of[id_]
    if not isinstance(type_, PointerType):
        raise Malformed(f"{what} is a {type_text(type_)}")
    return type_


def _pointee(translation: Translation, id_: int, what: str = "the pointer") -> Type:
    return translation.types[_pointer(translation, id_, what).pointee]


def _movable(storage: object, type_: Type) -> None:
    """Refuse types without values, and types without bytes in storage that has bytes."""
    if isinstance(type_, Void):
        raise Malformed("void has no value")
    if storage is StorageClass.UniformConstant:
        need(isinstance(type_, ImageType | SamplerType | SampledImageType), f"a {type_text(type_)} in UniformConstant storage")
    elif storage not in CELL_STORAGE:
        _in_bytes(type_)


def _in_bytes(type_: Type) -> None:
    match type_:
        case Array() if type_.length is None:
            raise Malformed("a whole runtime array is accessed")
        case CooperativeVector():
            raise Violation("CV-TYPE-05", "a cooperative vector in memory that has bytes")
        case Array() | Vector():
            _in_bytes(type_.element)
        case Struct():
            for member in type_.members:
                _in_bytes(member)
        case PointerType() if not is_physical(type_):
            raise Unsupported(f"a pointer to {type_.storage.name} storage in memory")
        case Number() if type_.bits % 8:
            raise Violation("SPV_EXT_ocp_microscaling_types 2.16.11", f"a {type_text(type_)} in memory that has bytes")
        case Number() | Bool() | PointerType():
            return
        case _:
            raise Malformed(f"a {type_text(type_)} is accessed in memory that has bytes")


def _accessed(translation: Translation, pointer: int, type_id: int, type_: Type, what: str) -> None:
    """Check that a value may be loaded or stored through a pointer. ``what`` is the participle for messages."""
    if translation.is_untyped(pointer):
        if type_id not in translation.laid_out:
            raise Violation("UP-ACC-01", f"a {type_text(type_)} without an explicit layout is {what} through an untyped pointer")
        return
    pointee = _pointee(translation, pointer)
    need(type_ == pointee, f"a {type_text(pointee)} is {what} as a {type_text(type_)}")


def _load(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[0]]
    _pointer(translation, words[2])
    _accessed(translation, words[2], words[0], type_, "loaded")
    _movable(_pointer(translation, words[2]).storage, type_)


def _store(translation: Translation, words: Words) -> None:
    type_ = translation.type_of[words[1]]
    _pointer(translation, words[0])
    _accessed(translation, words[0], translation.type_ids[words[1]], type_, "stored")
    _movable(_pointer(translation, words[0]).storage, type_)


def _copy_memory(translation: Translation, words: Words) -> None:
    typed = [id_ for id_ in words[:2] if not translation.is_untyped(id_)]
    need(bool(typed), "both pointers are untyped")
    to, from_ = _pointee(translation, typed[0]), _pointee(translation, typed[-1])
    need(to == from_, f"a {type_text(from_)} cannot be copied to where a {type_text(to)} is")
    for id_ in words[:2]:
        _movable(_pointer(translation, id_).storage, to)


def _access_chain(elements: int, untyped: bool = False) -> Rule:
    """Return the rule of an access chain.

    Args:
        elements: number of indices before the ones into the pointee.
        untyped: whether a Base Type comes before the base.
    """
    at = 3 if untyped else 2

    def rule(translation: Translation, words: Words) -> None:
        base = _pointer(translation, words[at], "the base")
        if untyped:
            _check_base_type(translation, words[2], words[at])
            type_: Type = translation.types[words[2]]
        else:
            type_ = translation.target(base)
        if elements:
            need(kind_of(translation.type_of[words[at + 1]]) is TypeKind.INT, "the element is not an integer")
            if base.storage in CELL_STORAGE:
                raise Unsupported(f"a pointer to the neighbour of a variable of {base.storage.name} storage")
            if has_no_bytes(type_):
                raise Malformed(f"{type_text(type_)} has no bytes")
        for id_ in words[at + 1 + elements :]:
            need(kind_of(translation.type_of[id_]) is TypeKind.INT, "an index is not an integer")
            constant = translation.constant(id_)
            if isinstance(type_, Struct):
                need(constant.__class__ is int, "an index into a structure is not a constant")
                type_ = constituent_type(type_, constant)
            elif isinstance(type_, Array | Vector | MatrixType):
                type_ = constituent_type(type_, 0)
            else:
                raise Malformed(f"an index into a {type_text(type_)}")
        result = translation.types[words[0]]
        fits = isinstance(result, PointerType) and result.storage == base.storage and result.is_untyped is untyped
        if not isinstance(result, PointerType) or not fits or (not untyped and translation.target(result) != type_):
            to = "an untyped pointer" if untyped else f"a pointer to a {type_text(type_)}"
            raise Malformed(f"the result is a {type_text(result)}, not {to} in {base.storage.name} storage")

    return rule


def _check_base_type(translation: Translation, base_type: int, base: int) -> None:
    """Check the Base Type of an untyped access chain."""
    type_ = translation.types[base_type]
    if isinstance(type_, PointerType | Void | FunctionType):
        raise Malformed(f"the Base Type is a {type_text(type_)}")
    if base_type not in translation.laid_out:
        raise Violation("UP-CHN-01", f"the Base Type, a {type_text(type_)}, has no explicit layout")
    if translation.is_descriptor_array(base) and translation.variables[base].data != base_type:
        raise Violation("UP-CHN-02", "the Base Type of a chain from an array of blocks is not the type of that array")


def _array_length(translation: Translation, words: Words) -> None:
    _check_length(_pointee(translation, words[2]), words[3], translation.types[words[0]])


def _untyped_array_length(translation: Translation, words: Words) -> None:
    _pointer(translation, words[3])
    need(translation.is_block(words[2]) and words[2] in translation.laid_out, "the structure is not an explicitly laid out block")
    _check_length(translation.types[words[2]], words[4], translation.types[words[0]])


def _check_length(type_: Type, member: int, result: Type) -> None:
    fits = isinstance(type_, Struct) and member == len(type_.members) - 1
    if not fits or not isinstance(type_, Struct) or not isinstance(array := type_.members[member], Array) or array.length is not None:
        raise Malformed(f"member {member} of a {type_text(type_)} is not a runtime array at its end")
    need(array.stride > 0, "the array has stride 0")
    need(is_number(result, "u32"), "the result is not an unsigned 32-bit integer")


def _variable(translation: Translation, words: Words) -> None:
    pointer = translation.types[words[0]]
    if not isinstance(pointer, PointerType) or pointer.storage != words[2]:
        raise Malformed(f"the variable is a {type_text(pointer)}, not a pointer to storage class {words[2]}")
    if len(words) > 3:
        initializer, contents = translation.type_of[words[3]], translation.target(pointer)
        need(initializer == contents, f"a {type_text(contents)} cannot be initialized with a {type_text(initializer)}")
    _movable(pointer.storage, Bool() if pointer.storage in SHARED_STORAGE else translation.target(pointer))


def _untyped_variable(translation: Translation, words: Words) -> None:
    pointer = translation.types[words[0]]
    if not isinstance(pointer, PointerType) or not pointer.is_untyped or pointer.storage != words[2]:
        raise Malformed(f"the variable is a {type_text(pointer)}, not an untyped pointer to storage class {words[2]}")
    if len(words) < 4:
        raise Violation("VUID-StandaloneSpirv-OpUntypedVariableKHR-11167", "an untyped variable without a Data Type")
    if len(words) > 4:
        initializer, contents = translation.type_of[words[4]], translation.types[words[3]]
        need(initializer == contents, f"a {type_text(contents)} cannot be initialized with a {type_text(initializer)}")


def _atomic(kinds: frozenset[TypeKind], operands: Sequence[int], numbers: Sequence[int], pointer: int = 2) -> Rule:
    """Return the rule of an atomic instruction.

    ``operands``: positions of the operands with the pointee's type. ``numbers``: positions of scopes and semantics.
    """

    def rule(translation: Translation, words: Words) -> None:
        is_untyped = translation.is_untyped(words[pointer])
        of_value = translation.types[words[0]] if pointer else translation.type_of[words[operands[0]]]
        pointee = of_value if is_untyped else _pointee(translation, words[pointer])
        need(kind_of(pointee) in kinds, f"an atomic access of a {type_text(pointee)}")
        need(not pointer or translation.types[words[0]] == pointee, "the result does not have the pointee's type")
        need(all(translation.type_of[words[o]] == pointee for o in operands), "an operand does not have the pointee's type")
        for place in numbers:
            constant_integer(translation, words[place], "scope or semantics")

    return rule


def _through(at: int, what: str = "the pointer") -> Rule:
    """Return the rule that operand ``at`` is a pointer."""

    def rule(translation: Translation, words: Words) -> None:
        _pointer(translation, words[at], what)

    return rule


_ATOMIC_INTS = (
    *(Op.AtomicIAdd, Op.AtomicISub, Op.AtomicAnd, Op.AtomicOr, Op.AtomicXor),
    *(Op.AtomicUMin, Op.AtomicUMax, Op.AtomicSMin, Op.AtomicSMax),
)

_READS = (Op.CooperativeMatrixLoadKHR, Op.CooperativeMatrixLoadTensorNV, Op.CooperativeVectorLoadNV)
_WRITES = (
    *(Op.CooperativeMatrixStoreKHR, Op.CooperativeMatrixStoreTensorNV, Op.CooperativeVectorStoreNV),
    *(Op.CooperativeVectorOuterProductAccumulateNV, Op.CooperativeVectorReduceSumAccumulateNV),
)

_CHOOSING = frozenset({Op.Select, Op.Phi})
_VARIABLE_POINTERS = frozenset({Capability.VariablePointers, Capability.VariablePointersStorageBuffer})
_PASSED_ON = frozenset({Op.FunctionCall, Op.Select, Op.CopyObject, Op.Bitcast})


def check_passed_on(translation: Translation, op: Op, words: Words) -> None:
    """Refuse to choose a pointer without a capability, and to pass on a pointer into a matrix with gaps or in row-major order, because its
    user would not know the matrix's layout.

    Raises:
        Malformed: the instruction chooses, and the module lacks the capability.
        Unsupported: the instruction passes on a pointer into such a matrix.
    """
    if op in _CHOOSING and isinstance(type_ := translation.types[words[0]], PointerType) and not is_physical(type_):
        need(
            not translation.is_logical or not translation.capabilities.isdisjoint(_VARIABLE_POINTERS),
            f"Op{op.name} of pointers needs the capability VariablePointersStorageBuffer or VariablePointers",
        )
    if translation.stored and op in _PASSED_ON and not translation.stored.keys().isdisjoint(words[2:]):
        raise Unsupported("a pointer into a matrix with gaps or by rows that is not just accessed")


RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        Op.Variable: _variable,
        Op.Load: _load,
        Op.Store: _store,
        Op.CopyMemory: _copy_memory,
        Op.AccessChain: _access_chain(0),
        Op.InBoundsAccessChain: _access_chain(0),
        Op.PtrAccessChain: _access_chain(1),
        Op.InBoundsPtrAccessChain: _access_chain(1),
        Op.ArrayLength: _array_length,
        Op.UntypedVariableKHR: _untyped_variable,
        Op.UntypedAccessChainKHR: _access_chain(0, untyped=True),
        Op.UntypedInBoundsAccessChainKHR: _access_chain(0, untyped=True),
        Op.UntypedPtrAccessChainKHR: _access_chain(1, untyped=True),
        Op.UntypedInBoundsPtrAccessChainKHR: _access_chain(1, untyped=True),
        Op.UntypedArrayLengthKHR: _untyped_array_length,
        Op.AtomicLoad: _atomic(NUMBER, (), (3, 4)),
        Op.AtomicStore: _atomic(NUMBER, (3,), (1, 2), pointer=0),
        Op.AtomicExchange: _atomic(NUMBER, (5,), (3, 4)),
        Op.AtomicCompareExchange: _atomic(INT, (6, 7), (3, 4, 5)),
        Op.AtomicIIncrement: _atomic(INT, (), (3, 4)),
        Op.AtomicIDecrement: _atomic(INT, (), (3, 4)),
        **dict.fromkeys(_ATOMIC_INTS, _atomic(INT, (5,), (3, 4))),
        **dict.fromkeys((Op.AtomicFAddEXT, Op.AtomicFMinEXT, Op.AtomicFMaxEXT), _atomic(FLOAT, (5,), (3, 4))),
        **dict.fromkeys(_READS, _through(2)),
        **dict.fromkeys(_WRITES, _through(0)),
        **dict.fromkeys((Op.CooperativeVectorMatrixMulNV, Op.CooperativeVectorMatrixMulAddNV), _through(4, "the matrix")),
    }
)
"""Opcode -> rule."""
