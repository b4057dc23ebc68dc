"""Arrays and structs as values, and copies between variables."""

from __future__ import annotations

from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.variables import part_pointer, type_id


@emits(CompositeConstruct)
def emit_construct(shader: Shader, operation: CompositeConstruct) -> None:
    """Emit OpCompositeConstruct."""
    parts = [shader.id(part) for part in operation.parts]
    shader.module.value(Op.CompositeConstruct, type_id(shader, operation.result.type), *parts, result=shader.define(operation.result))


@emits(CompositeExtract)
def emit_extract(shader: Shader, operation: CompositeExtract) -> None:
    """Emit OpCompositeExtract."""
    type_ = type_id(shader, operation.result.type)
    composite = shader.define(operation.composite)
    shader.module.value(Op.CompositeExtract, type_, composite, *operation.path, result=shader.define(operation.result))


@emits(CompositeInsert)
def emit_insert(shader: Shader, operation: CompositeInsert) -> None:
    """Emit OpCompositeInsert."""
    shader.module.value(
        Op.CompositeInsert,
        type_id(shader, operation.result.type),
        shader.id(operation.part),
        shader.define(operation.composite),
        *operation.path,
        result=shader.define(operation.result),
    )


@emits(CopyObject)
def emit_copy_object(shader: Shader, operation: CopyObject) -> None:
    """Emit OpCopyObject."""
    type_ = type_id(shader, operation.result.type)
    shader.module.value(Op.CopyObject, type_, shader.define(operation.value), result=shader.define(operation.result))


@emits(CopyMemory)
def emit_copy_memory(shader: Shader, operation: CopyMemory) -> None:
    """Emit OpCopyMemory."""
    target = part_pointer(shader, operation.target, operation.target_path)
    shader.module.instruction(Op.CopyMemory, target, part_pointer(shader, operation.source, operation.source_path))
