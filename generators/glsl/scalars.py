"""The number of the scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import NotExpressible
from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic, ScalarConvert, ScalarLoad, ScalarOperator, ScalarStore
from generators.types import Scope

_OPERATORS: Mapping[ScalarOperator, str] = MappingProxyType(
    {
        "add": "+",
        "subtract": "-",
        "multiply": "*",
        "divide": "/",
        "modulo": "%",
        "and": "&",
        "or": "|",
        "xor": "^",
        "shift_left": "<<",
        "shift_right": ">>",
    }
)


def emit_instance_index(shader: Shader, operation: InstanceIndex) -> None:
    """Writes the number of the scope instance."""
    index = workgroup_index(shader)
    if shader.program.scope is Scope.SUBGROUP:
        shader.require("GL_KHR_shader_subgroup_basic")
        index = f"{index} * gl_NumSubgroups + gl_SubgroupID"
    shader.line(f"uint {identifier(operation.result.name)} = {index};")


def workgroup_index(shader: Shader) -> str:
    """The expression for the number of the workgroup, to be multiplied."""
    _, wide_y, wide_z = (count > 1 for count in shader.program.workgroups)
    if not wide_y and not wide_z:
        return "gl_WorkGroupID.x"
    return "((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x)"


def emit_built_in_index(shader: Shader, operation: BuiltInIndex) -> None:
    """Writes the number of the workgroup or of the subgroup."""
    if operation.which == "subgroup":
        shader.require("GL_KHR_shader_subgroup_basic")
    built_in = "gl_WorkGroupID.x" if operation.which == "workgroup" else "gl_SubgroupID"
    shader.line(f"uint {identifier(operation.result.name)} = {built_in};")


def emit_arithmetic(shader: Shader, operation: ScalarArithmetic) -> None:
    """Write arithmetic.

    Raises:
        NotExpressible: the type has no arithmetic in GLSL.
    """
    component = operation.result.type
    if not component.has_arithmetic:
        raise NotExpressible(f"GLSL has no arithmetic on {component}")
    left, right = shader.text(operation.left), shader.text(operation.right)
    shader.line(f"{shader.scalar_type(component)} {identifier(operation.result.name)} = {left} {_OPERATORS[operation.operator]} {right};")


def emit_scalar_load(shader: Shader, operation: ScalarLoad) -> None:
    """Writes the value of an element."""
    element = f"{shader.elements(operation.array)}[{shader.text(operation.index)}]"
    shader.line(f"{shader.scalar_type(operation.result.type)} {identifier(operation.result.name)} = {element};")


def emit_scalar_convert(shader: Shader, operation: ScalarConvert) -> None:
    """Write a constructor."""
    type_ = shader.scalar_type(operation.result.type)
    shader.line(f"{type_} {identifier(operation.result.name)} = {type_}({shader.text(operation.value)});")


def emit_scalar_store(shader: Shader, operation: ScalarStore) -> None:
    """Write an assignment to an element."""
    shader.line(f"{shader.elements(operation.array)}[{shader.text(operation.index)}] = {shader.text(operation.value)};")
