"""The index of a scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.scalars import InstanceIndex, ScalarArithmetic, ScalarLoad
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, Op
from generators.spirv.shader import Shader
from generators.types import Scope, StorageClass

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


def emit_scalar_load(shader: Shader, operation: ScalarLoad) -> None:
    """Emits a load of an element of a buffer."""
    array = operation.array
    if array.storage is not StorageClass.STORAGE_BUFFER or array.pointee.lanes != 1:
        raise GeneratorError(
            f"scalar {operation.result.name}: scalars are loaded from storage buffers of scalars, and {array.name} is none"
        )
    pointer = shader.element(array, shader.scalar(operation.index))
    shader.module.value(Op.Load, shader.pointee(array), pointer, result=shader.define(operation.result))
