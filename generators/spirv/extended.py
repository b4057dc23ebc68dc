"""OpExtInst of GLSL.std.450."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.program.extended import BOUNDED, Extended, ExtendedName, check_extended
from generators.spirv.declarations import scalar
from generators.spirv.enumerants import GlslStd450, Op
from generators.spirv.shader import Shader, emits

_FLOAT: Mapping[ExtendedName, GlslStd450] = MappingProxyType(
    {
        "minimum": GlslStd450.FMin,
        "maximum": GlslStd450.FMax,
        "clamp": GlslStd450.FClamp,
        "absolute": GlslStd450.FAbs,
        "floor": GlslStd450.Floor,
        "fused": GlslStd450.Fma,
        **{name: GlslStd450.named(function) for name, function in BOUNDED.items()},
    }
)
_SIGNED: Mapping[ExtendedName, GlslStd450] = MappingProxyType(
    {"minimum": GlslStd450.SMin, "maximum": GlslStd450.SMax, "clamp": GlslStd450.SClamp, "absolute": GlslStd450.SAbs}
)
_UNSIGNED: Mapping[ExtendedName, GlslStd450] = MappingProxyType(
    {"minimum": GlslStd450.UMin, "maximum": GlslStd450.UMax, "clamp": GlslStd450.UClamp}
)


@emits(Extended)
def emit_extended(shader: Shader, operation: Extended) -> None:
    """Emit the instruction. Raises GeneratorError as ``check_extended``."""
    check_extended(operation)
    component, module = operation.result.type, shader.module
    table = _FLOAT if component.is_float else _SIGNED if component.is_signed else _UNSIGNED
    operands = [shader.id(operand) for operand in operation.operands]
    instructions = module.instruction_set("GLSL.std.450")
    module.value(
        Op.ExtInst, scalar(module, component), instructions, table[operation.which], *operands, result=shader.define(operation.result)
    )
