"""Arrays and structs as values: initializer lists, subscripts, members, assignments."""

from __future__ import annotations

from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, check_movable, steps, type_name, value_text
from generators.glsl.variables import part
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.values import MOST_PLAIN_LANES, CooperativeVectorType, VectorType
from generators.program.variables import part_type


@prints(CompositeConstruct)
def emit_construct(shader: Shader, operation: CompositeConstruct) -> None:
    """Write a constructor for a cooperative or long vector, and an initializer list for every other type: glslang 16.6 mistakes a
    constructor of an array of matrices for a constructor of a matrix, and has no initializer lists for long vectors."""
    parts = ", ".join(value_text(shader, part) for part in operation.parts)
    type_ = operation.result.type
    is_long = isinstance(type_, VectorType) and type_.lanes > MOST_PLAIN_LANES
    has_constructor = is_long or isinstance(type_, CooperativeVectorType)
    assign(shader, operation.result, f"{type_name(shader, type_)}({parts})" if has_constructor else f"{{{parts}}}")


@prints(CompositeExtract)
def emit_extract(shader: Shader, operation: CompositeExtract) -> None:
    """Write the part of a value."""
    composite = operation.composite
    assign(shader, operation.result, value_text(shader, composite) + steps(shader, composite.type, operation.path))


@prints(CompositeInsert)
def emit_insert(shader: Shader, operation: CompositeInsert) -> None:
    """Write a copy, and an assignment to its part."""
    assign(shader, operation.result, value_text(shader, operation.composite))
    place = identifier(operation.result.name) + steps(shader, operation.result.type, operation.path)
    shader.line(f"{place} = {value_text(shader, operation.part)};")


@prints(CopyObject)
def emit_copy_object(shader: Shader, operation: CopyObject) -> None:
    """Write an initialization."""
    assign(shader, operation.result, value_text(shader, operation.value))


@prints(CopyMemory)
def emit_copy_memory(shader: Shader, operation: CopyMemory) -> None:
    """Write an assignment, which glslang makes a load and a store."""
    check_movable(part_type(operation.target.type, operation.target_path))
    source = part(shader, operation.source, operation.source_path)
    shader.line(f"{part(shader, operation.target, operation.target_path)} = {source};")
