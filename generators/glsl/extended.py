"""Built-in functions of GLSL on scalars."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.program.extended import Extended, ExtendedName, check_extended

_FUNCTIONS: Mapping[ExtendedName, str] = MappingProxyType(
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


@prints(Extended)
def emit_extended(shader: Shader, operation: Extended) -> None:
    """Write a call. Raises GeneratorError as ``check_extended``."""
    check_extended(operation)
    operands = ", ".join(shader.text(operand) for operand in operation.operands)
    type_, name = shader.scalar_type(operation.result.type), identifier(operation.result.name)
    shader.line(f"{type_} {name} = {_FUNCTIONS[operation.which]}({operands});")
