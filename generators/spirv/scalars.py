"""The index of a scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic, ScalarLoad
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, Op
from generators.spirv.shader import Shader
from generators.types import Scope, StorageClass

_OPCODES = {"add": Op.IAdd, "multiply": Op.IMul, "divide": Op.UDiv, "modulo": Op.UMod}


def emit_instance_index(shader: Shader, operation: InstanceIndex) -> None:
    """Emits WorkgroupIndex, or WorkgroupIndex * NumSubgroups + SubgroupId."""
    module, u32 = shader.module, scalar(shader.module, U32)
    result = shader.define(operation.result)
    if shader.program.scope is Scope.WORKGROUP:
        workgroup_index(shader, result)
        return
    before = module.value(Op.IMul, u32, workgroup_index(shader), shader.built_in(BuiltIn.NumSubgroups, "gl_NumSubgroups"))
    module.value(Op.IAdd, u32, before, shader.built_in(BuiltIn.SubgroupId, "gl_SubgroupID"), result=result)


def workgroup_index(shader: Shader, result: int | None = None) -> int:
    """Emits the number of the workgroup; ``result`` if its id has been given out already."""
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
    if component.is_signed and operation.operator in ("divide", "modulo"):
        raise GeneratorError(f"scalar {operation.result.name}: {operation.operator} is for unsigned integers, not {component}")
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
