"""Pointers as values, as far as GLSL has them: an element of a buffer, which may be part of an array of buffers; and buffer references to
blocks of packed data (GL_EXT_buffer_reference)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.load_store import call_arguments
from generators.glsl.shader import REFERENCE_MEMBER, Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, declared, type_name
from generators.program import pointers as language
from generators.types import COMPONENT_TYPES


@prints(language.ElementPointer)
def emit_element_pointer(shader: Shader, operation: language.ElementPointer) -> None:
    """Record the elements that the pointer refers to, without writing a line."""
    array = operation.arrays[0]
    if operation.which is None:
        elements = shader.elements(array)
    else:
        if operation.non_uniform:
            # glslang 16.6 decorates the index with NonUniform, but not the pointer that the access takes.
            raise NotExpressible(Lack.NON_UNIFORM, "glslang does not decorate the pointers of matrix accesses with NonUniform")
        which = shader.text(operation.which)
        elements = f"{identifier(array.descriptors)}[{which}].{REFERENCE_MEMBER}"
    shader.pointers[operation.result.name] = elements, operation.index


@prints(language.PointerSelect, language.PointerMoved)
def emit_no_pointer(_: Shader, operation: language.PointerSelect | language.PointerMoved) -> None:
    """Refuse an operation that makes a pointer from other pointers.

    Raises:
        NotExpressible: always.
    """
    raise NotExpressible(Lack.POINTER, f"GLSL has no pointers such as '{operation.result.name}'")


@prints(language.PointerLoad)
def emit_pointer_load(shader: Shader, load: language.PointerLoad) -> None:
    """Write a load."""
    shader.line(f"coopMatLoad({_arguments(shader, declared(shader, load.result), load)});")


@prints(language.PointerStore)
def emit_pointer_store(shader: Shader, store: language.PointerStore) -> None:
    """Write a store."""
    shader.line(f"coopMatStore({_arguments(shader, shader.text(store.matrix), store)});")


def _arguments(shader: Shader, matrix: str, access: language.PointerLoad | language.PointerStore) -> str:
    elements, first = shader.pointers[access.pointer.name]
    if access.memory is not None:
        raise NotExpressible(Lack.ACCESS_OPERANDS, "GLSL qualifies arrays, not accesses through pointers")
    return call_arguments(shader, matrix, elements, first, access.stride, access.layout)


@prints(language.BlockLoad)
def emit_block_load(shader: Shader, load: language.BlockLoad) -> None:
    """Write the value of a member."""
    index = "" if load.index is None else f"[{shader.text(load.index)}]"
    member = f"{identifier(load.pointer.name)}.member{load.member}{index}"
    assign(shader, load.result, member)


@prints(language.BlockAddress)
def emit_block_address(shader: Shader, operation: language.BlockAddress) -> None:
    """Write a reference made from an address."""
    type_, u64 = type_name(shader, operation.result.type), shader.scalar_type(COMPONENT_TYPES["u64"])
    address = f"{u64}({identifier(operation.array.name)}) + {u64}({shader.text(operation.offset)})"
    assign(shader, operation.result, f"{type_}({address})")


@prints(language.BlockCast)
def emit_block_cast(shader: Shader, operation: language.BlockCast) -> None:
    """Write a reference made from another reference."""
    assign(shader, operation.result, f"{type_name(shader, operation.result.type)}({identifier(operation.pointer.name)})")
