"""Cooperative vectors: loads, stores, and components at a run-time index."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.cooperative_vectors import (
    VECTOR_ALIGNMENT,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.values import ScalarValue
from generators.spirv.enumerants import Op
from generators.spirv.load_store import memory_operands
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute
from generators.types import MemoryScope


def offset_id(shader: Shader, offset: ScalarValue) -> int:
    """Return the id of an offset in bytes.

    Raises:
        GeneratorError: it is not a 32-bit integer (RuntimeSpirv-OpCooperativeVectorLoadNV-11809).
    """
    if offset.type.is_float or offset.type.bits != 32:
        raise GeneratorError("CV-LD-05", f"offset {offset.name}: give a 32-bit integer, not {offset.type}")
    return shader.id(offset)


@emits(CooperativeVectorLoad)
def emit_vector_load(shader: Shader, load: CooperativeVectorLoad) -> None:
    """Emit OpCooperativeVectorLoadNV."""
    shader.module.value(
        Op.CooperativeVectorLoadNV,
        shader.vector_type(load.result.type),
        shader.elements(load.array, load.inner),
        offset_id(shader, load.offset),
        *memory_operands(shader, load.array, VECTOR_ALIGNMENT, load.memory, int(MemoryScope.WORKGROUP), writes=False),
        result=shader.define(load.result),
    )


@emits(CooperativeVectorStore)
def emit_vector_store(shader: Shader, store: CooperativeVectorStore) -> None:
    """Emit OpCooperativeVectorStoreNV."""
    shader.module.instruction(
        Op.CooperativeVectorStoreNV,
        shader.elements(store.array, store.inner),
        offset_id(shader, store.offset),
        shader.define(store.vector),
        *memory_operands(shader, store.array, VECTOR_ALIGNMENT, store.memory, int(MemoryScope.WORKGROUP), writes=True),
    )


@emits(CooperativeVectorExtract)
def emit_vector_extract(shader: Shader, extract: CooperativeVectorExtract) -> None:
    """Emit OpVectorExtractDynamic."""
    compute(shader, Op.VectorExtractDynamic, extract.result, extract.vector, extract.index)


@emits(CooperativeVectorInsert)
def emit_vector_insert(shader: Shader, insert: CooperativeVectorInsert) -> None:
    """Emit OpVectorInsertDynamic."""
    compute(shader, Op.VectorInsertDynamic, insert.result, insert.vector, insert.part, insert.index)
