"""coopVecLoadNV, coopVecStoreNV, constructors and subscripts (GL_NV_cooperative_vector, 5.4.X, 5.X and 8.X)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.program.cooperative_vectors import (
    CooperativeVectorConstant,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorNull,
    CooperativeVectorSplat,
    CooperativeVectorStore,
    CooperativeVectorUndefined,
)
from generators.program.values import CooperativeVector, ScalarValue


def declared(shader: Shader, result: CooperativeVector) -> str:
    """Return the declaration of the variable of ``result``, without its initializer."""
    return f"{shader.vector_type(result.type)} {identifier(result.name)}"


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
    """Write a load."""
    shader.line(f"{declared(shader, load.result)};")
    offset = uint(shader, load.offset, "offset")
    shader.line(f"coopVecLoadNV({identifier(load.result.name)}, {shader.elements(load.array)}, {offset});")


@prints(CooperativeVectorStore)
def emit_vector_store(shader: Shader, store: CooperativeVectorStore) -> None:
    """Write a store.

    Raises:
        NotExpressible: glslang cannot store vectors of the component type.
    """
    component = store.vector.type.component
    if not component.has_arithmetic:
        raise NotExpressible(Lack.COMPONENT_TYPE, f"glslang has no coopVecStoreNV for {component}")
    offset = uint(shader, store.offset, "offset")
    shader.line(f"coopVecStoreNV({shader.text(store.vector)}, {shader.elements(store.array)}, {offset});")


@prints(CooperativeVectorSplat)
def emit_vector_splat(shader: Shader, splat: CooperativeVectorSplat) -> None:
    """Write a constructor of one scalar.

    Raises:
        NotExpressible: the module must have a constituent for each component, but glslang replicates.
    """
    if not splat.replicated:
        raise NotExpressible(Lack.REPLICATED_COMPOSITE, "glslang makes a replicated composite if one scalar fills a cooperative vector")
    shader.line(f"{declared(shader, splat.result)} = {shader.vector_type(splat.result.type)}({shader.text(splat.value)});")


@prints(CooperativeVectorConstant)
def emit_vector_constant(shader: Shader, constant: CooperativeVectorConstant) -> None:
    """Write a constant."""
    qualifier = "const " if all(value.source == "literal" for value in constant.values) else ""
    shader.line(f"{qualifier}{declared(shader, constant.result)} = {vector_constant_text(shader, constant)};")


def vector_constant_text(shader: Shader, constant: CooperativeVectorConstant) -> str:
    """Return the constant as an expression."""
    values = ", ".join(shader.text(value) for value in constant.values)
    return f"{shader.vector_type(constant.result.type)}({values})"


@prints(CooperativeVectorNull)
def emit_vector_null(shader: Shader, null: CooperativeVectorNull) -> None:
    """Write a variable with a null initializer: an OpVariable initialized with an OpConstantNull."""
    shader.require("GL_EXT_null_initializer")
    shader.line(f"{declared(shader, null.result)} = {{}};")


@prints(CooperativeVectorUndefined)
def emit_vector_undefined(shader: Shader, undefined: CooperativeVectorUndefined) -> None:
    """Write a variable without a value."""
    shader.line(f"{declared(shader, undefined.result)};")


@prints(CooperativeVectorExtract)
def emit_vector_extract(shader: Shader, extract: CooperativeVectorExtract) -> None:
    """Write a subscript."""
    type_, name = shader.scalar_type(extract.result.type), identifier(extract.result.name)
    shader.line(f"{type_} {name} = {shader.text(extract.vector)}[{shader.text(extract.index)}];")


@prints(CooperativeVectorInsert)
def emit_vector_insert(shader: Shader, insert: CooperativeVectorInsert) -> None:
    """Write a copy, and an assignment to its component."""
    shader.line(f"{declared(shader, insert.result)} = {shader.text(insert.vector)};")
    shader.line(f"{identifier(insert.result.name)}[{shader.text(insert.index)}] = {shader.text(insert.part)};")
