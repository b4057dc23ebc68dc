"""Defects of cooperative vectors in memory and of their components: another byte, another invocation's operand, too many bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, Each, every
from cts.defects.edits import in_elements, of_first, reread, skipped, with_scalar, zero
from cts.defects.known import defects_of
from cts.reference.cooperative_vectors import starts, store_rows
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vectors import (
    VECTOR_ALIGNMENT,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.program import Program

Access = CooperativeVectorLoad | CooperativeVectorStore


def _counted_in_elements(state: State, operation: Access) -> None:
    perform(state, reread(state, operation, "offset", in_elements(operation.array)))


def _rounded_up(state: State, operation: CooperativeVectorStore) -> None:
    """Store whole pieces of 16 bytes; the end of the last piece is zero."""
    value, component = state.matrices[operation.vector.name], operation.vector.type.component
    if not value.is_certain:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "zeros after a vector that may have several values cannot be distinguished from it")
    whole = -(-operation.vector.type.bytes // VECTOR_ALIGNMENT) * VECTOR_ALIGNMENT // component.bytes
    bits = np.zeros((*value.bits.shape[:2], whole), component.bits_dtype)
    bits[:, :, : value.bits.shape[2]] = value.bits
    first = state.scalar(operation.offset).astype(np.int64) + starts(state, operation.array, operation.inner)
    memory = state.memories[operation.array.name]
    copies = state.copies(memory) if memory.copies > 1 else np.zeros(1, np.int64)
    offsets = (first + copies)[:, None, None] + np.arange(whole, dtype=np.int64) * component.bytes
    if offsets.max() + component.bytes > len(memory.contents):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a store of whole pieces leaves its array")
    store_rows(state, memory, replace(value, bits=bits), offsets, operation.vector.name)


def _by_array_stride(state: State, operation: CooperativeVectorLoad) -> None:
    """Load as if the elements of the array had the distance that the ArrayStride decoration says."""
    array, type_ = operation.array, operation.result.type
    assert array.other_stride is not None, "it is decorated"
    memory = state.memories[array.name]
    first = state.scalar(operation.offset).astype(np.int64) + starts(state, array, operation.inner)
    places = first[:, None, None] + np.arange(type_.count, dtype=np.int64) * type_.component.bytes
    strided = places // array.pointee.bytes * array.other_stride + places % array.pointee.bytes
    copies = state.copies(memory)[:, None, None] if memory.copies > 1 else 0
    state.matrices[operation.result.name] = MatrixValue(type_.component, memory.load(strided + copies, type_.component))


Dynamic = CooperativeVectorExtract | CooperativeVectorInsert


def _vector(operation: Access | Dynamic) -> str:
    return operation.result.name if isinstance(operation, CooperativeVectorLoad) else operation.vector.name


_of = Each("cooperative_vector", "vector", _vector)


@defects_of("cooperative_vector", Access, Dynamic)
def vector_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of loads and stores of cooperative vectors in ``program``, and of components at a run-time index."""
    loads, stores = every(program.operations, CooperativeVectorLoad), every(program.operations, CooperativeVectorStore)
    accesses: tuple[tuple[str, Sequence[Access]], ...] = (("loaded", loads), ("stored", stores))
    for access, operations in accesses:
        wide = [one for one in operations if one.array.pointee.bytes > 1]
        yield from _of(wide, "offset_in_elements", _counted_in_elements, access=access)
    yield from _of([one for one in loads if one.array.other_stride is not None], "array_stride_as_element", _by_array_stride)
    yield from _of(loads, "offset_ignored", with_scalar("offset", zero))
    yield from _of(loads, "offset_of_first_invocation", with_scalar("offset", of_first))
    yield from _of([one for one in stores if one.vector.type.bytes % VECTOR_ALIGNMENT], "store_rounded_up", _rounded_up)
    yield from _of(stores, "not_stored", skipped)
    dynamic: tuple[tuple[str, Sequence[Dynamic]], ...] = (
        ("taken", every(program.operations, CooperativeVectorExtract)),
        ("replaced", every(program.operations, CooperativeVectorInsert)),
    )
    for access, indexed in dynamic:
        several = [one for one in indexed if one.vector.type.count > 1]
        yield from _of(several, "index_ignored", with_scalar("index", zero), access=access)
        yield from _of(several, "index_of_first_invocation", with_scalar("index", of_first), access=access)
