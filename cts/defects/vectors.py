"""Defects of cooperative vectors in memory and of their components: another byte, another invocation's operand, too many bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.cooperative_vectors import store_rows
from cts.reference.evaluate import perform
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vectors import (
    VECTOR_ALIGNMENT,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.memory import Array
from generators.program.program import Program
from generators.program.values import Scalar, ScalarValue, Value

Bend = Callable[[np.ndarray], np.ndarray]
"""Takes the operand of each invocation (uint64), and returns the wrong operand."""


Access = CooperativeVectorLoad | CooperativeVectorStore


def bent(state: State, operand: ScalarValue, bend: Bend) -> Scalar:
    """Return a scalar with the value that a wrong device uses, in each invocation, instead of the operand."""
    name = f"{operand.name} as a wrong device reads it"
    state.scalars[name] = np.asarray(bend(state.scalar(operand)), np.uint64)
    return Value(name, operand.type)


def in_elements(array: Array) -> Bend:
    """Return a function that counts an offset in elements of the array, not in bytes."""
    return lambda operand: operand * np.uint64(array.pointee.bytes)


def of_first(operand: np.ndarray) -> np.ndarray:
    """Return the operand of the first invocation that executes the instruction."""
    return np.broadcast_to(operand[:1], operand.shape)


def zero(operand: np.ndarray) -> np.ndarray:
    """Return zeros in place of an operand that is ignored."""
    return np.zeros_like(operand)


def _at(state: State, operation: Access, bend: Bend) -> None:
    """Load or store at another offset."""
    offset = bent(state, operation.offset, bend)
    perform(state, replace(operation, offset=offset))


def _accessed(bend: Bend) -> Substitute:
    return lambda state, operation: _at(state, operation, bend)


def _counted_in_elements(state: State, operation: Access) -> None:
    _at(state, operation, in_elements(operation.array))


def _rounded_up(state: State, operation: CooperativeVectorStore) -> None:
    """Store whole pieces of 16 bytes; the end of the last piece is zero."""
    value, component = state.matrices[operation.vector.name], operation.vector.type.component
    if not value.is_certain:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "zeros after a vector that may have several values cannot be distinguished from it")
    whole = -(-operation.vector.type.bytes // VECTOR_ALIGNMENT) * VECTOR_ALIGNMENT // component.bytes
    bits = np.zeros((*value.bits.shape[:2], whole), component.bits_dtype)
    bits[:, :, : value.bits.shape[2]] = value.bits
    first = state.scalar(operation.offset).astype(np.int64)
    memory = state.memories[operation.array.name]
    copies = state.copies(memory) if memory.copies > 1 else np.zeros(1, np.int64)
    offsets = (first + copies)[:, None, None] + np.arange(whole, dtype=np.int64) * component.bytes
    if offsets.max() + component.bytes > len(memory.contents):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a store of whole pieces leaves its array")
    store_rows(state, memory, replace(value, bits=bits), offsets, operation.vector.name)


def _not_stored(_: State, __: CooperativeVectorStore) -> None:
    """Store nothing."""


Dynamic = CooperativeVectorExtract | CooperativeVectorInsert


def _indexed(bend: Bend) -> Substitute:
    def step(state: State, operation: Dynamic) -> None:
        other = bent(state, operation.index, bend)
        perform(state, replace(operation, index=other))

    return step


def _vector(operation: Access | Dynamic) -> str:
    return operation.result.name if isinstance(operation, CooperativeVectorLoad) else operation.vector.name


@defects_of("cooperative_vector", Access, Dynamic)
def vector_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of loads and stores of cooperative vectors in ``program``, and of components at a run-time index."""

    def of(chosen: Sequence[Access] | Sequence[Dynamic], name: str, step: Substitute, **kinds: str) -> Iterator[Defect]:
        return each_and_all(chosen, f"cooperative_vector.{name}", "vector", _vector, step, None, **kinds)

    loads, stores = every(program.operations, CooperativeVectorLoad), every(program.operations, CooperativeVectorStore)
    accesses: tuple[tuple[str, Sequence[Access]], ...] = (("loaded", loads), ("stored", stores))
    for access, operations in accesses:
        wide = [one for one in operations if one.array.pointee.bytes > 1]
        yield from of(wide, "offset_in_elements", _counted_in_elements, access=access)
    yield from of(loads, "offset_ignored", _accessed(zero))
    yield from of(loads, "offset_of_first_invocation", _accessed(of_first))
    yield from of([one for one in stores if one.vector.type.bytes % VECTOR_ALIGNMENT], "store_rounded_up", _rounded_up)
    yield from of(stores, "not_stored", _not_stored)
    dynamic: tuple[tuple[str, Sequence[Dynamic]], ...] = (
        ("taken", every(program.operations, CooperativeVectorExtract)),
        ("replaced", every(program.operations, CooperativeVectorInsert)),
    )
    for access, indexed in dynamic:
        several = [one for one in indexed if one.vector.type.count > 1]
        yield from of(several, "index_ignored", _indexed(zero), access=access)
        yield from of(several, "index_of_first_invocation", _indexed(of_first), access=access)
