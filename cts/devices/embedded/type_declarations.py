"""The types that a module declares, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cts.devices.embedded.diagnostics import Unsupported, Violation
from cts.devices.embedded.spirv_types import (
    Array,
    Bool,
    FunctionType,
    MatrixType,
    Number,
    PointerType,
    Struct,
    Type,
    Vector,
    Void,
    has_no_bytes,
    natural_offsets,
    number,
    size_of,
)
from cts.devices.embedded.tensor_types import tensor_layout_type, tensor_view_type
from generators.spirv.enumerants import (
    Capability,
    Decoration,
    FPEncoding,
    Op,
    StorageClass,
)
from generators.types import Scope, Use

if TYPE_CHECKING:
    from cts.devices.embedded.translation import Translation, Words

_ENCODINGS = {FPEncoding.BFloat16KHR: "bf16", FPEncoding.Float8E4M3EXT: "e4m3", FPEncoding.Float8E5M2EXT: "e5m2"}


def declared_type(translation: Translation, op: Op, words: Words) -> Type:
    """What an OpType… instruction declares.

    Raises:
        Violation: it breaks a static rule.
        Unsupported: the interpreter does not have such types.
    """
    id_ = words[0]
    match op:
        case Op.TypeForwardPointer:
            return _forward_pointer(translation, id_)
        case Op.TypeVoid:
            return Void()
        case Op.TypeBool:
            return Bool()
        case Op.TypeInt:
            return number(("s" if words[2] else "u") + str(words[1]))
        case Op.TypeFloat:
            return number(_ENCODINGS[FPEncoding(words[2])] if len(words) > 2 else f"f{words[1]}")
        case Op.TypeVector:
            return Vector(translation.types[words[1]], words[2])
        case Op.TypeVectorIdEXT if Capability.LongVectorEXT in translation.capabilities:
            return Vector(translation.types[words[1]], translation.values[words[2]])
        case Op.TypeArray | Op.TypeRuntimeArray:
            element = translation.types[words[1]]
            stride = translation.decorations.get(id_, {}).get(Decoration.ArrayStride)
            natural = 0 if has_no_bytes(element) or (isinstance(element, PointerType) and not stride) else size_of(element)
            length = None if op is Op.TypeRuntimeArray else translation.values[words[2]]
            return Array(element, length, stride[0] if stride else natural)
        case Op.TypeStruct:
            return _struct(translation, id_, words[1:])
        case Op.TypePointer:
            return PointerType(StorageClass(words[1]), words[2])
        case Op.TypeFunction:
            return FunctionType(translation.types[words[1]], tuple(translation.types[w] for w in words[2:]))
        case Op.TypeCooperativeMatrixKHR:
            return _matrix(translation, words)
        case Op.TypeTensorLayoutNV:
            return tensor_layout_type(*((translation.type_of[w], translation.values[w]) for w in words[1:]))
        case Op.TypeTensorViewNV:
            return tensor_view_type(*((translation.type_of[w], translation.values[w]) for w in words[1:]))
        case _:
            raise Unsupported(f"Op{op.name}")


def _forward_pointer(translation: Translation, id_: int) -> PointerType:
    """The pointer type that a later instruction declares."""
    for op, words, _ in translation.instructions[translation.index :]:
        if op is Op.TypePointer and words[0] == id_:
            return PointerType(StorageClass(words[1]), words[2])
    raise Violation("SPIR-V 3.42.6 OpTypeForwardPointer", f"no OpTypePointer declares %{id_}")


def _struct(translation: Translation, id_: int, member_ids: Words) -> Struct:
    members = tuple(translation.types[w] for w in member_ids)
    decorated = [translation.member_decorations.get((id_, i), {}) for i in range(len(members))]
    if members and all(Decoration.Offset in d for d in decorated):
        offsets = tuple(d[Decoration.Offset][0] for d in decorated)
    else:
        offsets = natural_offsets(members)
    return Struct(members, offsets, frozenset(i for i, d in enumerate(decorated) if Decoration.NonWritable in d))


def _matrix(translation: Translation, words: Words) -> MatrixType:
    component = translation.types[words[1]]
    if not isinstance(component, Number):
        raise Violation("KHR-TYPE-01", "the component type of a cooperative matrix is not a scalar number")
    scope, rows, columns, use = (translation.values[w] for w in words[2:6])
    if not all(value.__class__ is int for value in (scope, rows, columns, use)):
        raise Violation("KHR-TYPE-02", "scope, rows, columns and use of a cooperative matrix must be integer constants")
    if scope not in (Scope.WORKGROUP, Scope.SUBGROUP):
        raise Violation("VUID-StandaloneSpirv-Scope-12243", f"a cooperative matrix of scope {scope}")
    if use not in (Use.A, Use.B, Use.ACCUMULATOR):
        raise Violation("KHR-TYPE-04", f"a cooperative matrix of use {use}")
    if rows < 1 or columns < 1:
        raise Violation("KHR-TYPE-03", f"a cooperative matrix of {rows} x {columns}")
    return MatrixType(component, Scope(scope), rows, columns, Use(use))
