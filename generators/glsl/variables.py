"""Variables of ``main`` and of the module, and structs."""

from __future__ import annotations

from collections.abc import Sequence

from generators.errors import Lack, NotExpressible
from generators.glsl.blocks import reference
from generators.glsl.construction import constant_text
from generators.glsl.cooperative_vectors import vector_constant_text
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.tensor import tensor_type
from generators.program.construction import MatrixConstant
from generators.program.cooperative_vectors import CooperativeVectorConstant
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
from generators.program.variables import Initializer, Path, Variable, VariableLoad, VariableStore, part_type
from generators.types import ComponentType


def type_name(shader: Shader, type_: ValueType) -> str:
    """Return the type of a variable or a value; declare a struct that is not declared yet."""
    if isinstance(type_, MatrixType):
        return shader.matrix_type(type_)
    if isinstance(type_, CooperativeVectorType):
        return shader.vector_type(type_)
    if isinstance(type_, ComponentType):
        return shader.scalar_type(type_)
    if isinstance(type_, TensorLayoutType | TensorViewType):
        return tensor_type(shader, type_)
    if isinstance(type_, BlockType):
        return reference(shader, type_)
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


def member_name(index: int) -> str:
    """Return the name of a struct's member."""
    return f"member{index}"


def declare_variables(shader: Shader) -> None:
    """Declare the variables: with Function storage in ``main``, all others before it."""
    declare(shader, shader.program.variables)


def declare(shader: Shader, variables: Sequence[Variable]) -> None:
    """Declare variables: with Function storage here, all others before the functions."""
    for variable in variables:
        start = "" if variable.initializer is None else f" = {_initializer(shader, variable.initializer)}"
        declaration = f"{type_name(shader, variable.type)} {identifier(variable.name)}{start};"
        if variable.storage == "private":
            shader.globals.append(declaration)
        else:
            shader.line(declaration)


def _initializer(shader: Shader, initializer: Initializer) -> str:
    if isinstance(initializer, MatrixConstant):
        return constant_text(shader, initializer)
    if isinstance(initializer, Operand):
        return shader.text(initializer)
    if isinstance(initializer, CooperativeVectorConstant):
        return vector_constant_text(shader, initializer)
    if isinstance(initializer, tuple):
        return f"{{{', '.join(_initializer(shader, part) for part in initializer)}}}"
    shader.require("GL_EXT_null_initializer")
    return "{}"


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


def part(shader: Shader, variable: Variable, path: Path) -> str:
    """Return the expression for a part of a variable."""
    return identifier(variable.name) + steps(shader, variable.type, path)


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


@prints(VariableLoad)
def emit_variable_load(shader: Shader, load: VariableLoad) -> None:
    """Write a load of a part."""
    shader.line(f"{assignee(shader, load.result)} = {part(shader, load.variable, load.path)};")


@prints(VariableStore)
def emit_variable_store(shader: Shader, store: VariableStore) -> None:
    """Write an assignment to a part, unless a load has written it."""
    if not isinstance(store.value, Operand) and shader.loaded_into.get(store.value.name) == store:
        return
    shader.line(f"{part(shader, store.variable, store.path)} = {value_text(shader, store.value)};")
