"""The index of a scope instance, arithmetic, conversions, loads of scalars, and OpExtInst of GLSL.std.450."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program import scalars as language
from generators.program.conversion import conversions
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, GlslStd450, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute
from generators.types import COMPONENT_TYPES, Scope

_INTEGER: Mapping[language.ScalarOperator, Op] = MappingProxyType(
    {
        "add": Op.IAdd,
        "subtract": Op.ISub,
        "multiply": Op.IMul,
        "divide": Op.UDiv,
        "modulo": Op.UMod,
        "and": Op.BitwiseAnd,
        "or": Op.BitwiseOr,
        "xor": Op.BitwiseXor,
        "shift_left": Op.ShiftLeftLogical,
        "shift_right": Op.ShiftRightLogical,
    }
)
_SIGNED: Mapping[language.ScalarOperator, Op] = MappingProxyType(
    {"divide": Op.SDiv, "modulo": Op.SRem, "shift_right": Op.ShiftRightArithmetic}
)
"""The opcodes for signed integers that differ."""
_FLOAT: Mapping[language.ScalarOperator, Op] = MappingProxyType({"add": Op.FAdd, "subtract": Op.FSub, "multiply": Op.FMul})


@emits(language.InstanceIndex)
def emit_instance_index(shader: Shader, operation: language.InstanceIndex) -> None:
    """Emit WorkgroupIndex, or WorkgroupIndex * NumSubgroups + SubgroupId."""
    module, u32 = shader.module, scalar(shader.module, U32)
    result = shader.define(operation.result)
    if shader.program.scope is Scope.WORKGROUP:
        _workgroup_index(shader, result)
        return
    before = module.value(Op.IMul, u32, _workgroup_index(shader), shader.built_in(BuiltIn.NumSubgroups, "gl_NumSubgroups"))
    module.value(Op.IAdd, u32, before, shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID"), result=result)


def _workgroup_index(shader: Shader, result: int | None = None) -> int:
    """Emit the index of the workgroup; ``result`` is its id if that is assigned already."""
    module, u32 = shader.module, scalar(shader.module, U32)
    workgroup = shader.built_in(BuiltIn.WorkgroupId, "gl_WorkGroupID")
    _, wide_y, wide_z = (count > 1 for count in shader.program.workgroups)
    if not wide_y and not wide_z:
        return module.value(Op.CompositeExtract, u32, workgroup, 0, result=result)
    counts = shader.built_in(BuiltIn.NumWorkgroups, "gl_NumWorkGroups")
    x, y, z = (module.value(Op.CompositeExtract, u32, workgroup, axis) for axis in range(3))
    count_x, count_y = (module.value(Op.CompositeExtract, u32, counts, axis) for axis in range(2))
    plane = module.value(Op.IMul, u32, z, count_y)
    line = module.value(Op.IAdd, u32, plane, y)
    before = module.value(Op.IMul, u32, line, count_x)
    return module.value(Op.IAdd, u32, before, x, result=result)


_BUILT_INS: Mapping[language.BuiltInName, tuple[BuiltIn, str, int | None]] = MappingProxyType(
    {
        "workgroup": (BuiltIn.WorkgroupId, "gl_WorkGroupID", 0),
        "workgroup_y": (BuiltIn.WorkgroupId, "gl_WorkGroupID", 1),
        "workgroup_z": (BuiltIn.WorkgroupId, "gl_WorkGroupID", 2),
        "workgroups_x": (BuiltIn.NumWorkgroups, "gl_NumWorkGroups", 0),
        "workgroups_y": (BuiltIn.NumWorkgroups, "gl_NumWorkGroups", 1),
        "local_invocation": (BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex", None),
        "subgroup": (BuiltIn.SubgroupId, "gl_SubgroupID", None),
        "subgroups": (BuiltIn.NumSubgroups, "gl_NumSubgroups", None),
        "subgroup_size": (BuiltIn.SubgroupSize, "gl_SubgroupSize", None),
        "subgroup_invocation": (BuiltIn.SubgroupLocalInvocationId, "gl_SubgroupInvocationID", None),
    }
)
"""The built-in, the name of its variable, and the component of a vector."""


@emits(language.BuiltInScalar)
def emit_built_in(shader: Shader, operation: language.BuiltInScalar) -> None:
    """Emit the load of a built-in; for the number of invocations, which is constant, the product."""
    module, u32 = shader.module, scalar(shader.module, U32)
    result = shader.define(operation.result)
    if operation.which == "workgroup_invocations":
        module.value(Op.CopyObject, u32, shader.invocations(), result=result)
        return
    if operation.which == "draw_invocation":
        _draw_invocation(shader, result)
        return
    built_in, name, component = _BUILT_INS[operation.which]
    if component is None:
        module.value(Op.CopyObject, u32, shader.built_in(built_in, name), result=result)
    else:
        module.value(Op.CompositeExtract, u32, shader.built_in(built_in, name), component, result=result)


def _draw_invocation(shader: Shader, result: int) -> None:
    """Emit the index of an invocation in its draw; helper invocations outside the viewport get the last index."""
    module, u32, draw = shader.module, scalar(shader.module, U32), shader.program.shape.draw
    if draw is None:
        raise GeneratorError(Rule.STAGE, "an invocation of a compute shader is in a dispatch and not in a draw; give WorkgroupShape.stage")
    if draw.stage == "vertex":
        module.value(Op.CopyObject, u32, shader.built_in(BuiltIn.VertexIndex, "gl_VertexIndex"), result=result)
        return
    if draw.stage == "raygen":
        launch = shader.built_in(BuiltIn.LaunchIdKHR, "gl_LaunchIDEXT")
        module.value(Op.CompositeExtract, u32, launch, 0, result=result)
        return
    f32, place = scalar(module, COMPONENT_TYPES["f32"]), shader.built_in(BuiltIn.FragCoord, "gl_FragCoord")
    x, y = (module.value(Op.ConvertFToU, u32, module.value(Op.CompositeExtract, f32, place, axis)) for axis in range(2))
    before = module.value(Op.IMul, u32, y, shader.u32(draw.width))
    number, last = module.value(Op.IAdd, u32, before, x), shader.u32(draw.invocations - 1)
    module.value(Op.ExtInst, u32, module.instruction_set("GLSL.std.450"), GlslStd450.UMin, number, last, result=result)


@emits(language.ScalarArithmetic)
def emit_arithmetic(shader: Shader, operation: language.ScalarArithmetic) -> None:
    """Emit arithmetic.

    Raises:
        GeneratorError: the type does not have it.
    """
    component, operator = operation.result.type, operation.operator
    op = (_FLOAT if component.is_float else _INTEGER).get(operator)
    if op is None:
        raise GeneratorError(Rule.COMPONENT_TYPE, f"scalar {operation.result.name}: {component} has no {operator}; use another type")
    if component.is_signed:
        op = _SIGNED.get(operator, op)
    compute(shader, op, operation.result, operation.left, operation.right)


@emits(language.ScalarConvert)
def emit_scalar_convert(shader: Shader, operation: language.ScalarConvert) -> None:
    """Emit a conversion; a copy if the types are the same."""
    module, source, target = shader.module, operation.value.type, operation.result.type
    value, type_, result = shader.id(operation.value), scalar(module, target), shader.define(operation.result)
    if source is target:
        module.value(Op.CopyObject, type_, value, result=result)
        return
    op = Op.named(conversions(source, target)[0].value)
    if op is Op.SConvert and not source.is_signed and target.bits > source.bits:
        # Widen the unsigned number to the unsigned type of that width; a bitcast then makes it signed.
        unsigned = module.value(Op.UConvert, module.type(Op.TypeInt, target.bits, 0), value)
        module.value(Op.Bitcast, type_, unsigned, result=result)
        return
    module.value(op, type_, value, result=result)


_FLOAT_FUNCTIONS: Mapping[language.ExtendedName, GlslStd450] = MappingProxyType(
    {
        "minimum": GlslStd450.FMin,
        "maximum": GlslStd450.FMax,
        "clamp": GlslStd450.FClamp,
        "absolute": GlslStd450.FAbs,
        "floor": GlslStd450.Floor,
        "fused": GlslStd450.Fma,
        **{name: GlslStd450.named(function) for name, function in language.BOUNDED.items()},
    }
)
_SIGNED_FUNCTIONS: Mapping[language.ExtendedName, GlslStd450] = MappingProxyType(
    {"minimum": GlslStd450.SMin, "maximum": GlslStd450.SMax, "clamp": GlslStd450.SClamp, "absolute": GlslStd450.SAbs}
)
_UNSIGNED_FUNCTIONS: Mapping[language.ExtendedName, GlslStd450] = MappingProxyType(
    {"minimum": GlslStd450.UMin, "maximum": GlslStd450.UMax, "clamp": GlslStd450.UClamp}
)


@emits(language.Extended)
def emit_extended(shader: Shader, operation: language.Extended) -> None:
    """Emit the instruction. Raises GeneratorError as ``check_extended``."""
    language.check_extended(operation)
    component = operation.result.type
    table = _FLOAT_FUNCTIONS if component.is_float else _SIGNED_FUNCTIONS if component.is_signed else _UNSIGNED_FUNCTIONS
    operands = [shader.id(operand) for operand in operation.operands]
    instructions = shader.module.instruction_set("GLSL.std.450")
    compute(shader, Op.ExtInst, operation.result, instructions, int(table[operation.which]), *operands)
