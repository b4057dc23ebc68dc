"""What invocations know of their subgroup."""

from __future__ import annotations

from generators.program.subgroups import StoreSubgroups
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, Op
from generators.spirv.scalars import workgroup_index
from generators.spirv.shader import Shader
from generators.spirv.workgroup import memory_operands


def emit_store_subgroups(shader: Shader, operation: StoreSubgroups) -> None:
    """Emits the loads of four built-ins, and a store to the invocation's own element."""
    module, u32 = shader.module, scalar(shader.module, U32)
    size = shader.built_in(BuiltIn.SubgroupSize, "gl_SubgroupSize")
    count = shader.built_in(BuiltIn.NumSubgroups, "gl_NumSubgroups")
    subgroup = shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID")
    lane = shader.built_in(BuiltIn.SubgroupLocalInvocationId, "gl_SubgroupInvocationID")
    before = module.value(Op.IMul, u32, workgroup_index(shader), count)
    instance = module.value(Op.IAdd, u32, before, subgroup)
    start = module.value(Op.IMul, u32, instance, shader.u32(operation.subgroup_size))
    element = module.value(Op.IAdd, u32, start, lane)
    known = module.value(Op.CompositeConstruct, shader.pointee(operation.target), size, count, subgroup, lane)
    module.instruction(Op.Store, shader.element(operation.target, element), known, *memory_operands(shader, operation.target, writes=True))
