"""The index of the scope instance, the arithmetic of addresses, and built-in functions on scalars."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Lack, NotExpressible, Rule
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign
from generators.program import scalars as language
from generators.types import Scope

_OPERATORS: Mapping[language.ScalarOperator, str] = MappingProxyType(
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


@prints(language.InstanceIndex)
def emit_instance_index(shader: Shader, operation: language.InstanceIndex) -> None:
    """Write the index of the scope instance."""
    index = _workgroup_index(shader)
    if shader.program.scope is Scope.SUBGROUP:
        shader.require("GL_KHR_shader_subgroup_basic")
        index = f"{index} * gl_NumSubgroups + gl_SubgroupID"
    assign(shader, operation.result, index)


def _workgroup_index(shader: Shader) -> str:
    """Return the expression for the index of the workgroup, in a form that can be multiplied."""
    _, wide_y, wide_z = (count > 1 for count in shader.program.workgroups)
    if not wide_y and not wide_z:
        return "gl_WorkGroupID.x"
    return "((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x)"


_BUILT_INS: Mapping[language.BuiltInName, str] = MappingProxyType(
    {
        "workgroup": "gl_WorkGroupID.x",
        "workgroup_y": "gl_WorkGroupID.y",
        "workgroup_z": "gl_WorkGroupID.z",
        "workgroups_x": "gl_NumWorkGroups.x",
        "workgroups_y": "gl_NumWorkGroups.y",
        "local_invocation": "gl_LocalInvocationIndex",
        "subgroup": "gl_SubgroupID",
        "subgroups": "gl_NumSubgroups",
        "subgroup_size": "gl_SubgroupSize",
        "subgroup_invocation": "gl_SubgroupInvocationID",
    }
)


@prints(language.BuiltInScalar)
def emit_built_in(shader: Shader, operation: language.BuiltInScalar) -> None:
    """Write nothing: the built-in's name appears where its value is used. The number of invocations is a product of extents."""
    if operation.which.startswith("subgroup"):
        shader.require("GL_KHR_shader_subgroup_basic")
    if operation.which == "workgroup_invocations":
        shape = shader.program.shape
        extents = [f"gl_WorkGroupSize.{axis}" for axis, extent in zip("xyz", (None, shape.y, shape.z), strict=True) if extent != 1]
        text = extents[0] if len(extents) == 1 else f"({' * '.join(extents)})"
    elif operation.which == "draw_invocation":
        text = _draw_invocation(shader)
    else:
        text = _BUILT_INS[operation.which]
    shader.variables[operation.result.name] = text


def _draw_invocation(shader: Shader) -> str:
    """Return the expression for the index of an invocation in its draw; helper invocations outside the viewport have the last index."""
    draw = shader.program.shape.draw
    if draw is None:
        raise GeneratorError(Rule.STAGE, "an invocation of a compute shader is in a dispatch and not in a draw; give WorkgroupShape.stage")
    if draw.stage == "vertex":
        return "uint(gl_VertexIndex)"
    if draw.stage == "raygen":
        return "gl_LaunchIDEXT.x"
    return f"min(uint(gl_FragCoord.y) * {draw.width}u + uint(gl_FragCoord.x), {draw.invocations - 1}u)"


@prints(language.ScalarArithmetic)
def emit_arithmetic(shader: Shader, operation: language.ScalarArithmetic) -> None:
    """Write arithmetic.

    Raises:
        NotExpressible: the type has no arithmetic in GLSL.
    """
    component = operation.result.type
    if not component.has_arithmetic:
        raise NotExpressible(Lack.ARITHMETIC, f"GLSL has no arithmetic on {component}")
    left, right = shader.text(operation.left), shader.text(operation.right)
    assign(shader, operation.result, f"{left} {_OPERATORS[operation.operator]} {right}")


@prints(language.ScalarConvert)
def emit_scalar_convert(shader: Shader, operation: language.ScalarConvert) -> None:
    """Write a constructor."""
    assign(shader, operation.result, f"{shader.scalar_type(operation.result.type)}({shader.text(operation.value)})")


_FUNCTIONS: Mapping[language.ExtendedName, str] = MappingProxyType(
    {
        "minimum": "min",
        "maximum": "max",
        "clamp": "clamp",
        "absolute": "abs",
        "floor": "floor",
        "fused": "fma",
        "exponential": "exp",
        "power_of_two": "exp2",
        "logarithm": "log",
        "inverse_root": "inversesqrt",
        "hyperbolic_tangent": "tanh",
    }
)


@prints(language.Extended)
def emit_extended(shader: Shader, operation: language.Extended) -> None:
    """Write a call. Raises GeneratorError as ``check_extended``."""
    language.check_extended(operation)
    operands = ", ".join(shader.text(operand) for operand in operation.operands)
    assign(shader, operation.result, f"{_FUNCTIONS[operation.which]}({operands})")
