"""Arrays and structs as values, and copies between variables."""

from __future__ import annotations

from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute
from generators.spirv.variables import part_pointer


@emits(CompositeConstruct)
def emit_construct(shader: Shader, operation: CompositeConstruct) -> None:
    """Emit OpCompositeConstruct."""
    compute(shader, Op.CompositeConstruct, operation.result, *[shader.id(part) for part in operation.parts])


@emits(CompositeExtract)
def emit_extract(shader: Shader, operation: CompositeExtract) -> None:
    """Emit OpCompositeExtract."""
    compute(shader, Op.CompositeExtract, operation.result, operation.composite, *operation.path)


@emits(CompositeInsert)
def emit_insert(shader: Shader, operation: CompositeInsert) -> None:
    """Emit OpCompositeInsert."""
    compute(shader, Op.CompositeInsert, operation.result, operation.part, operation.composite, *operation.path)


@emits(CopyObject)
def emit_copy_object(shader: Shader, operation: CopyObject) -> None:
    """Emit OpCopyObject."""
    compute(shader, Op.CopyObject, operation.result, operation.value)


@emits(CopyMemory)
def emit_copy_memory(shader: Shader, operation: CopyMemory) -> None:
    """Emit OpCopyMemory."""
    target = part_pointer(shader, operation.target, operation.target_path)
    shader.module.instruction(Op.CopyMemory, target, part_pointer(shader, operation.source, operation.source_path))
