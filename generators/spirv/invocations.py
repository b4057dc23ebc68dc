"""Code that each invocation runs for itself: the number of the invocation, and the code as it is."""

from __future__ import annotations

from generators.program.invocations import PerInvocation
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, Op
from generators.spirv.scalars import workgroup_index
from generators.spirv.shader import Shader
from generators.types import Scope


def emit_per_invocation(shader: Shader, operation: PerInvocation) -> None:
    """Emit the index, and the body."""
    module, u32 = shader.module, scalar(shader.module, U32)
    instance = workgroup_index(shader)
    if shader.program.scope is Scope.SUBGROUP:
        before = module.value(Op.IMul, u32, instance, shader.built_in(BuiltIn.NumSubgroups, "gl_NumSubgroups"))
        instance = module.value(Op.IAdd, u32, before, shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID"))
        own = shader.built_in(BuiltIn.SubgroupLocalInvocationId, "gl_SubgroupInvocationID")
    else:
        own = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
    first = module.value(Op.IMul, u32, instance, shader.u32(operation.size))
    module.value(Op.IAdd, u32, first, own, result=shader.define(operation.index))
    shader.emit(operation.body)
