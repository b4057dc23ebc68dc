"""Reads and checks the types that a module declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, demanded, need, needed
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.limits import MAX_ELEMENTS, MAX_PARTS, Exhausted, extent_of
from cts.embedded.types.shapes import is_int32
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
    StridedVector,
    Struct,
    TensorLayoutType,
    TensorViewType,
    Type,
    Vector,
    Void,
    alignment_of,
    has_no_bytes,
    natural_offsets,
    number,
    size_of,
    type_text,
)
from generators.spirv.enumerants import (
    Capability,
    Decoration,
    FPEncoding,
    Op,
    StorageClass,
    TensorClampMode,
)
from generators.types import Scope, Use

_PLAIN_COMPONENTS = 4
_STORAGE_IMAGE = 2
"""The value of Sampled in OpTypeImage for a storage image."""

_WIDTHS = (8, 16, 32, 64)
_FLOATS = {
    (16,): "f16",
    (32,): "f32",
    (64,): "f64",
    (16, FPEncoding.BFloat16KHR): "bf16",
    (8, FPEncoding.Float8E4M3EXT): "e4m3",
    (8, FPEncoding.Float8E5M2EXT): "e5m2",
    (4, FPEncoding.Float4E2M1EXT): "e2m1",
    (6, FPEncoding.Float6E2M3EXT): "e2m3",
    (6, FPEncoding.Float6E3M2EXT): "e3m2",
    (8, FPEncoding.Float8UnsignedE8M0EXT): "ue8m0",
}
"""(width, encoding) of a float -> its component name."""


def declared_type(translation: Translation, op: Op, words: Words) -> Type:
    """Return the type that an OpType… instruction declares.

    Raises:
        Malformed: there is no such type.
        Violation: the declaration breaks a static rule.
        Unsupported: the interpreter lacks such types.
        Exhausted: the type's values would take too much memory.
    """
    declare = _DECLARED.get(op)
    if declare is None or (op in _CAPABILITIES and _CAPABILITIES[op] not in translation.capabilities):
        raise Unsupported(f"Op{op.name}")
    return declare(translation, words)


_CAPABILITIES: Mapping[Op, Capability] = MappingProxyType(
    {Op.TypeVectorIdEXT: Capability.LongVectorEXT, Op.TypeCooperativeVectorNV: Capability.CooperativeVectorNV}
)
"""The types that the interpreter has only in a module with this capability."""


def _integer(_: Translation, words: Words) -> Number:
    need(words[2] in (0, 1), f"signedness {words[2]}")
    if words[1] not in _WIDTHS:
        raise Unsupported(f"integers of {words[1]} bits")
    return number(("s" if words[2] else "u") + str(words[1]))


def _float(_: Translation, words: Words) -> Number:
    name = _FLOATS.get(words[1:])
    if name is None:
        raise Unsupported(f"floating-point numbers of {words[1]} bits in encoding {words[2] if len(words) > 2 else 'IEEE 754'}")
    return number(name)


def _plain_vector(translation: Translation, words: Words) -> Vector:
    if words[2] > _PLAIN_COMPONENTS and Capability.LongVectorEXT not in translation.capabilities:
        raise Violation("SPV_EXT_long_vector 3.31", f"a vector of {words[2]} components without the capability LongVectorEXT")
    return _vector(translation.types[words[1]], words[2])


def _long_vector(translation: Translation, words: Words) -> Vector:
    return _vector(translation.types[words[1]], translation.values[words[2]])


def _image(translation: Translation, words: Words) -> ImageType:
    return ImageType(translation.types[words[1]], words[2], bool(words[4]), bool(words[5]), words[6] == _STORAGE_IMAGE)


def _sampled_image(translation: Translation, words: Words) -> SampledImageType:
    image = translation.types[words[1]]
    image = needed(image, ImageType, f"a sampled image of a {type_text(image)}")
    return SampledImageType(image)


def _pointer(_: Translation, words: Words) -> PointerType:
    return PointerType(_storage(words[1]), words[2])


def _function(translation: Translation, words: Words) -> FunctionType:
    result, *parameters = (translation.types[w] for w in words[1:])
    need(not any(isinstance(parameter, Void) for parameter in parameters), "a parameter of type void")
    return FunctionType(result, tuple(parameters))


def _forward_pointer(translation: Translation, words: Words) -> PointerType:
    """Return the pointer type that a later instruction declares."""
    for op, later, _ in translation.instructions[translation.index :]:
        if op is Op.TypePointer and later[0] == words[0]:
            return _pointer(translation, later)
    raise Malformed(f"no OpTypePointer declares %{words[0]}")


_UNTYPED_STORAGE = frozenset(
    {
        *(StorageClass.Workgroup, StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.PushConstant),
        *(StorageClass.PhysicalStorageBuffer, StorageClass.UniformConstant, StorageClass.Image),
    }
)


def _untyped_pointer(_: Translation, words: Words) -> PointerType:
    """Return the type of a pointer without a pointee."""
    found = _storage(words[1])
    if found not in _UNTYPED_STORAGE:
        raise Violation("VUID-StandaloneSpirv-OpTypeUntypedPointerKHR-11417", f"an untyped pointer to {found.name} storage")
    return PointerType(found, 0)


def _storage(number_: int) -> StorageClass:
    if number_ not in StorageClass:
        raise Unsupported(f"storage class {number_}")
    return StorageClass(number_)


def _vector(element: Type, count: Any) -> Vector:
    if not isinstance(element, Number | Bool):
        raise Malformed(f"a vector of {type_text(element)}")
    need(count.__class__ is int and 2 <= count <= MAX_PARTS, f"a vector of {count} components")
    return Vector(element, count)


def _cooperative_vector(translation: Translation, words: Words) -> CooperativeVector:
    component, count = translation.types[words[1]], translation.values[words[2]]
    if not isinstance(component, Number):
        raise Violation("CV-TYPE-01", f"a cooperative vector of {type_text(component)}")
    length_type = translation.type_of[words[2]]
    if not isinstance(length_type, Number) or length_type.is_float or length_type.bits != 32 or count.__class__ is not int:
        raise Violation("CV-TYPE-02", "the number of components of a cooperative vector must be a 32-bit integer constant")
    if count < 1:
        raise Violation("CV-TYPE-02", "a cooperative vector without components")
    need(count <= MAX_PARTS, f"a cooperative vector of {count} components")
    return CooperativeVector(component, count)


def _columns(translation: Translation, words: Words) -> Array:
    """Return the type of an OpTypeMatrix: an array of its columns."""
    column, count = translation.types[words[1]], words[2]
    if not isinstance(column, Vector) or not isinstance(column.element, Number) or not column.element.is_float:
        raise Malformed(f"a matrix of columns of {type_text(column)}")
    need(2 <= count <= 4, f"a matrix of {count} columns")
    return Array(column, count, size_of(column))


def _runtime_array(translation: Translation, words: Words) -> Array:
    element = translation.types[words[1]]
    need(_is_part(element), f"an array of {type_text(element)}")
    stride = translation.decoration(words[0], Decoration.ArrayStride)
    natural = 0
    if not has_no_bytes(element) and (stride or not isinstance(element, PointerType)):
        natural = -(-size_of(element) // alignment_of(element)) * alignment_of(element)
    return Array(element, None, stride[0] if stride else natural)


def _array(translation: Translation, words: Words) -> Array:
    found, length = _runtime_array(translation, words), translation.values[words[2]]
    if length.__class__ is not int or length < 1:
        need(translation.is_outline, f"an array of length {length if length.__class__ is int else 'that is not an integer'}")
        length = 1
    return replace(found, length=length)


def _is_part(type_: Type) -> bool:
    """Return whether arrays and structures may have parts of a type. Runtime arrays have a separate check."""
    return not (isinstance(type_, Void | FunctionType) or (isinstance(type_, Array) and type_.length is None))


def _struct(translation: Translation, words: Words) -> Struct:
    id_, *member_ids = words
    members = tuple(translation.types[w] for w in member_ids)
    # Hashing a type hashes all its parts, so their number is checked before the first look-up.
    extent_of(Struct(members, ()), [translation.extents[w] for w in member_ids])
    last = members[-1] if members else None
    ends_open = isinstance(last, Array) and last.length is None
    need(all(map(_is_part, members[:-1] if ends_open else members)), "a member that no structure has")
    decorated = [translation.member_decorations.get((id_, i), {}) for i in range(len(members))]
    stored = tuple(_stored(member, decorations) for member, decorations in zip(members, decorated, strict=True))
    if members and all(Decoration.Offset in d for d in decorated):
        offsets = tuple(d[Decoration.Offset][0] for d in decorated)
    else:
        offsets = natural_offsets(members)
    read_only = frozenset(i for i, d in enumerate(decorated) if Decoration.NonWritable in d)
    return Struct(members, offsets, read_only, () if stored == members else stored)


def _stored(member: Type, decorations: Mapping[int, Words]) -> Type:
    """Return the type of a member in memory. MatrixStride and RowMajor determine the layout of a matrix or an array of matrices.

    Raises:
        Malformed: a member with MatrixStride is neither.
    """
    stride = decorations.get(Decoration.MatrixStride)
    if stride is None:
        return member
    member = needed(member, Array, f"MatrixStride of a {type_text(member)}")
    if isinstance(member.element, Array):
        return replace(member, element=_stored(member.element, decorations))
    column = needed(member.element, Vector, f"MatrixStride of a {type_text(member)}")
    if Decoration.RowMajor in decorations:
        return Array(StridedVector(column.element, column.count, stride[0]), member.length, size_of(column.element))
    return replace(member, stride=stride[0])


def _matrix(translation: Translation, words: Words) -> MatrixType:
    component = demanded(
        translation.types[words[1]], Number, "KHR-TYPE-01", "the component type of a cooperative matrix is not a scalar number"
    )
    has_use = len(words) > 5
    numbers = [translation.values[w] for w in words[2:6]]
    if not all(value.__class__ is int for value in numbers):
        raise Violation("KHR-TYPE-02", "scope, rows, columns and use of a cooperative matrix must be integer constants")
    scope, rows, columns = numbers[:3]
    if scope not in (Scope.WORKGROUP, Scope.SUBGROUP):
        raise Violation("VUID-StandaloneSpirv-Scope-12243", f"a cooperative matrix of scope {scope}")
    if has_use and numbers[3] not in (Use.A, Use.B, Use.ACCUMULATOR):
        raise Violation("KHR-TYPE-04", f"a cooperative matrix of use {numbers[3]}")
    if rows < 1 or columns < 1:
        raise Violation("KHR-TYPE-03", f"a cooperative matrix of {rows} x {columns}")
    if rows * columns > MAX_ELEMENTS:
        raise Exhausted(f"a cooperative matrix of {rows} x {columns}, more than {MAX_ELEMENTS:,} elements")
    return MatrixType(component, Scope(scope), rows, columns, Use(numbers[3]) if has_use else None)


_MAX_DIM = 5
_Operand = tuple[Type, Any]
"""Type and value of an operand; the value is None if the operand is not a constant."""


def _operands(translation: Translation, words: Words) -> list[_Operand]:
    return [(translation.type_of[w], translation.values[w]) for w in words[1:]]


def _tensor_layout(translation: Translation, words: Words) -> TensorLayoutType:
    """Return the type of a tensor layout from Dim and ClampMode."""
    dim, mode = _operands(translation, words)
    count = _dim(dim, "TA-TL-01", "layout")
    if not _is_constant_integer(mode) or mode[1] not in TensorClampMode:
        raise Violation("TA-TL-02", f"a tensor layout with ClampMode {mode[1]}, which is not a constant of a Tensor Clamp Mode")
    return TensorLayoutType(count, TensorClampMode(mode[1]))


def _tensor_view(translation: Translation, words: Words) -> TensorViewType:
    """Return the type of a tensor view from Dim, HasDimensions and the permutation."""
    dim, has_dimensions, *permutation = _operands(translation, words)
    count = _dim(dim, "TA-TV-01", "view")
    if not isinstance(has_dimensions[0], Bool) or has_dimensions[1] is None:
        raise Violation("TA-TV-02", "HasDimensions of a tensor view is not a constant boolean")
    order = tuple(value for _, value in permutation)
    if not all(map(_is_constant_integer, permutation)) or sorted(order) != list(range(count)):
        listed = ", ".join(map(str, order))
        raise Violation("TA-TV-03", f"({listed}) is not a permutation of 0 up to {count - 1}, in constants of 32-bit integer type")
    return TensorViewType(count, bool(has_dimensions[1]), order)


def _dim(operand: _Operand, rule: str, what: str) -> int:
    value = operand[1]
    if not _is_constant_integer(operand) or not 1 <= value <= _MAX_DIM:
        raise Violation(rule, f"a tensor {what} with Dim {value}, which is not a constant 32-bit integer from 1 to {_MAX_DIM}")
    return int(value)


def _is_constant_integer(operand: _Operand) -> bool:
    type_, value = operand
    return is_int32(type_) and value.__class__ is int


_DECLARED: Mapping[Op, Callable[[Translation, Words], Type]] = MappingProxyType(
    {
        Op.TypeForwardPointer: _forward_pointer,
        Op.TypeVoid: lambda _, __: Void(),
        Op.TypeBool: lambda _, __: Bool(),
        Op.TypeInt: _integer,
        Op.TypeFloat: _float,
        Op.TypeVector: _plain_vector,
        Op.TypeVectorIdEXT: _long_vector,
        Op.TypeCooperativeVectorNV: _cooperative_vector,
        Op.TypeImage: _image,
        Op.TypeSampler: lambda _, __: SamplerType(),
        Op.TypeSampledImage: _sampled_image,
        Op.TypeMatrix: _columns,
        Op.TypeArray: _array,
        Op.TypeRuntimeArray: _runtime_array,
        Op.TypeStruct: _struct,
        Op.TypePointer: _pointer,
        Op.TypeUntypedPointerKHR: _untyped_pointer,
        Op.TypeFunction: _function,
        Op.TypeCooperativeMatrixKHR: _matrix,
        Op.TypeCooperativeMatrixNV: _matrix,
        Op.TypeTensorLayoutNV: _tensor_layout,
        Op.TypeTensorViewNV: _tensor_view,
    }
)
"""Opcode -> the function that reads the declaration."""
