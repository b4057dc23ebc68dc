"""Buffer references to blocks of packed data (GL_EXT_buffer_reference)."""

from __future__ import annotations

from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.program.blocks import BlockAddress, BlockCast, BlockLoad
from generators.program.values import BlockType
from generators.types import COMPONENT_TYPES


def reference(shader: Shader, block: BlockType) -> str:
    """Return the name of a buffer reference; declare it the first time."""
    name = identifier(block.name)
    shader.require("GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout")
    members = []
    for i, member in enumerate(block.members):
        length = "" if member.length is None else f"[{member.length}]"
        members.append(f"layout(offset = {member.offset}) {shader.scalar_type(member.component)} member{i}{length};")
    head = f"layout(buffer_reference, scalar, buffer_reference_align = {block.alignment}) readonly buffer {name}"
    shader.references.setdefault(name, (f"{head} {{", *(f"    {member}" for member in members), "};"))
    return name


@prints(BlockLoad)
def emit_block_load(shader: Shader, load: BlockLoad) -> None:
    """Write the value of a member."""
    index = "" if load.index is None else f"[{shader.text(load.index)}]"
    member = f"{identifier(load.pointer.name)}.member{load.member}{index}"
    shader.line(f"{shader.scalar_type(load.result.type)} {identifier(load.result.name)} = {member};")


@prints(BlockAddress)
def emit_block_address(shader: Shader, operation: BlockAddress) -> None:
    """Write a reference made from an address."""
    type_, u64 = reference(shader, operation.result.type), shader.scalar_type(COMPONENT_TYPES["u64"])
    address = f"{u64}({identifier(operation.array.name)}) + {u64}({shader.text(operation.offset)})"
    shader.line(f"{type_} {identifier(operation.result.name)} = {type_}({address});")


@prints(BlockCast)
def emit_block_cast(shader: Shader, operation: BlockCast) -> None:
    """Write a reference made from another reference."""
    type_ = reference(shader, operation.result.type)
    shader.line(f"{type_} {identifier(operation.result.name)} = {type_}({identifier(operation.pointer.name)});")
