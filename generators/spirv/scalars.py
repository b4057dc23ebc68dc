"""The index of a scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, Op
from generators.spirv.shader import Shader
from generators.types import Scope

_OPCODES = {"add": Op.IAdd, "multiply": Op.IMul}


def emit_instance_index(shader: Shader, operation: InstanceIndex) -> None:
    """Emits WorkgroupId.x, or WorkgroupId.x * NumSubgroups + SubgroupId."""
    module, u32 = shader.module, scalar(shader.module, U32)
    result = shader.define(operation.result)
    workgroup = shader.built_in(BuiltIn.WorkgroupId, "gl_WorkGroupID")
    if shader.program.scope is Scope.WORKGROUP:
        module.value(Op.CompositeExtract, u32, workgroup, 0, result=result)
        return
    x = module.value(Op.CompositeExtract, u32, workgroup, 0)
    before = module.value(Op.IMul, u32, x, shader.built_in(BuiltIn.NumSubgroups, "gl_NumSubgroups"))
    module.value(Op.IAdd, u32, before, shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID"), result=result)


def emit_built_in_index(shader: Shader, operation: BuiltInIndex) -> None:
    """Emits WorkgroupId.x or SubgroupId."""
    module, u32 = shader.module, scalar(shader.module, U32)
    result = shader.define(operation.result)
    if operation.which == "workgroup":
        module.value(Op.CompositeExtract, u32, shader.built_in(BuiltIn.WorkgroupId, "gl_WorkGroupID"), 0, result=result)
    else:
        module.value(Op.CopyObject, u32, shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID"), result=result)


def emit_arithmetic(shader: Shader, operation: ScalarArithmetic) -> None:
    """Emits integer arithmetic."""
    component = operation.result.component
    if component.is_float:
        raise GeneratorError(f"scalar {operation.result.name}: arithmetic of scalars is for integers, not {component}")
    shader.module.value(
        _OPCODES[operation.operator],
        scalar(shader.module, component),
        shader.scalar(operation.left),
        shader.scalar(operation.right),
        result=shader.define(operation.result),
    )
