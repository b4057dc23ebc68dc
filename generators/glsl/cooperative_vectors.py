"""coopVecLoadNV, coopVecStoreNV, constructors and subscripts (GL_NV_cooperative_vector, 5.4.X, 5.X and 8.X)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, declared
from generators.program.cooperative_vectors import (
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.values import ScalarValue


def uint(shader: Shader, value: ScalarValue, what: str) -> str:
    """Return an argument for a parameter of type uint.

    Raises:
        NotExpressible: it is not a 32-bit integer.
    """
    if value.type.is_float or value.type.bits != 32:
        raise NotExpressible(Lack.INDEX_TYPE, f"the {what} is a uint in GLSL, not {value.type}")
    return shader.text(value) if value.type.name == "u32" else f"uint({shader.text(value)})"


@prints(CooperativeVectorLoad)
def emit_vector_load(shader: Shader, load: CooperativeVectorLoad) -> None:
    """Write a load.

    Raises:
        NotExpressible: the vector is in an inner array.
    """
    arguments = declared(shader, load.result), _elements(shader, load), uint(shader, load.offset, "offset")
    shader.line(f"coopVecLoadNV({', '.join(arguments)});")


@prints(CooperativeVectorStore)
def emit_vector_store(shader: Shader, store: CooperativeVectorStore) -> None:
    """Write a store.

    Raises:
        NotExpressible: glslang cannot store vectors of the component type, or the vector goes to an inner array.
    """
    component = store.vector.type.component
    if not component.has_arithmetic:
        raise NotExpressible(Lack.COMPONENT_TYPE, f"glslang has no coopVecStoreNV for {component}")
    offset = uint(shader, store.offset, "offset")
    shader.line(f"coopVecStoreNV({shader.text(store.vector)}, {_elements(shader, store)}, {offset});")


def _elements(shader: Shader, access: CooperativeVectorLoad | CooperativeVectorStore) -> str:
    if access.inner is not None:
        raise NotExpressible(
            Lack.POINTER, f"glslang loads and stores vectors only in members of blocks, not in inner arrays of '{access.array.name}'"
        )
    return shader.elements(access.array)


@prints(CooperativeVectorExtract)
def emit_vector_extract(shader: Shader, extract: CooperativeVectorExtract) -> None:
    """Write a subscript."""
    assign(shader, extract.result, f"{shader.text(extract.vector)}[{shader.text(extract.index)}]")


@prints(CooperativeVectorInsert)
def emit_vector_insert(shader: Shader, insert: CooperativeVectorInsert) -> None:
    """Write a copy, and an assignment to its component."""
    assign(shader, insert.result, shader.text(insert.vector))
    shader.line(f"{identifier(insert.result.name)}[{shader.text(insert.index)}] = {shader.text(insert.part)};")
