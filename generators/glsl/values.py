"""Types and values in expressions and assignments."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader
from generators.glsl.spelling import CLAMP_MODES, identifier
from generators.program.memory import Pointee
from generators.program.values import (
    AnyValue,
    ArrayType,
    BlockType,
    CooperativeVectorType,
    MatrixType,
    Operand,
    PointerType,
    StructType,
    TensorLayoutType,
    TensorViewType,
    ValueType,
    VectorType,
    is_matrix,
)
from generators.program.variables import Path, part_type
from generators.types import ClampMode, ComponentType


def type_name(shader: Shader, type_: ValueType) -> str:
    """Return the type of a variable or a value; declare a struct that is not declared yet."""
    if isinstance(type_, MatrixType):
        return shader.matrix_type(type_)
    if isinstance(type_, CooperativeVectorType):
        return shader.vector_type(type_)
    if isinstance(type_, ComponentType):
        return shader.scalar_type(type_)
    if isinstance(type_, TensorLayoutType | TensorViewType):
        shader.require("GL_NV_cooperative_matrix2")
        return f"{'tensorLayoutNV' if isinstance(type_, TensorLayoutType) else 'tensorViewNV'}<{tensor_parameters(shader, type_)}>"
    if isinstance(type_, BlockType):
        return _reference(shader, type_)
    if isinstance(type_, PointerType):
        raise NotExpressible(Lack.POINTER, "GLSL has no pointers")
    if isinstance(type_, VectorType):
        return shader.pointee_type(Pointee(type_.component, type_.lanes))
    if isinstance(type_, ArrayType):
        # float[2][3] is two arrays of three: the outermost length comes first.
        lengths = ""
        element: ValueType = type_
        while isinstance(element, ArrayType):
            lengths += f"[{shader.extent(element.length)}]"
            element = element.element
        return f"{type_name(shader, element)}{lengths}"
    name = identifier(type_.name)
    if name not in shader.structs:
        members = [f"{type_name(shader, member)} {member_name(i)};" for i, member in enumerate(type_.members)]
        # A struct is added after its members, so it precedes the structs that contain it.
        shader.structs[name] = tuple(members)
    return name


def tensor_parameters(shader: Shader, type_: TensorLayoutType | TensorViewType) -> str:
    """Return the parameters of the type of a tensor layout or view, which its creation repeats."""
    if isinstance(type_, TensorLayoutType):
        clamp = CLAMP_MODES[type_.clamp] if isinstance(type_.clamp, ClampMode) else shader.extent(type_.clamp)
        return f"{shader.extent(type_.rank)}, {clamp}"
    rank = shader.extent(len(type_.permutation) if type_.rank is None else type_.rank)
    given = type_.has_dimensions
    has_dimensions = shader.extent(given) if isinstance(given, Operand) else str(given).lower()
    return ", ".join((rank, has_dimensions, *(shader.extent(dimension) for dimension in type_.permutation)))


def _reference(shader: Shader, block: BlockType) -> str:
    """Return the name of a buffer reference; declare it the first time."""
    name = identifier(block.name)
    shader.require("GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout")
    members = []
    for i, member in enumerate(block.members):
        length = "" if member.length is None else f"[{member.length}]"
        members.append(f"layout(offset = {member.offset}) {shader.scalar_type(member.component)} member{i}{length};")
    head = f"layout(buffer_reference, scalar, buffer_reference_align = {block.alignment}) readonly buffer {name}"
    shader.references.setdefault(name, (f"{head} {{", *(f"    {member}" for member in members), "};"))
    return name


def member_name(index: int) -> str:
    """Return the name of a struct's member."""
    return f"member{index}"


def steps(shader: Shader, type_: ValueType, path: Path) -> str:
    """Return the indices and members that ``path`` takes from a value of ``type_``."""
    text = ""
    for place, index in enumerate(path):
        if isinstance(part_type(type_, path[:place]), StructType):
            assert isinstance(index, int), "a path into a struct has an int there"
            text += f".{member_name(index)}"
        else:
            text += f"[{index}]" if isinstance(index, int) else f"[{shader.text(index)}]"
    return text


def _is_sized_by_a_constant(type_: ValueType) -> bool:
    """Tell whether a specialization constant is a length in the type."""
    if isinstance(type_, ArrayType):
        return (isinstance(type_.length, Operand) and type_.length.source == "specialization") or _is_sized_by_a_constant(type_.element)
    return isinstance(type_, StructType) and any(_is_sized_by_a_constant(member) for member in type_.members)


def check_movable(type_: ValueType) -> None:
    """Raise NotExpressible if no value of this type may be assigned or initialized as a whole."""
    if _is_sized_by_a_constant(type_):
        raise NotExpressible(
            Lack.WHOLE_ARRAY, "GLSL does not assign whole arrays whose length is a specialization constant, nor structs of them"
        )


def value_text(shader: Shader, value: AnyValue | Operand) -> str:
    """Return the expression for any value."""
    check_movable(value.type)
    return shader.text(value)


def assignee(shader: Shader, result: AnyValue) -> str:
    """Return the text before ``=`` in the assignment of ``result``."""
    if is_matrix(result):
        return shader.assignee(result)
    check_movable(result.type)
    return f"{type_name(shader, result.type)} {identifier(result.name)}"


def assign(shader: Shader, result: AnyValue, expression: str) -> None:
    """Write the assignment of ``expression`` to ``result``, with its declaration unless its variable exists already."""
    shader.line(f"{assignee(shader, result)} = {expression};")


def declared(shader: Shader, result: AnyValue) -> str:
    """Return the variable of ``result``, for a call that writes it; declare it unless it exists already."""
    if result.name not in shader.variables:
        shader.line(f"{assignee(shader, result)};")
    return shader.text(result)
