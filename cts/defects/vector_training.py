"""Defects of sums that invocations accumulate in memory: terms that are lost, or that nobody has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.evaluation import Substitute
from cts.defects.vectors import Bend, bent, in_elements, zero
from cts.reference.cooperative_vector_training import SUMS, Added, add, outer_product_terms, reduce_sum_terms
from cts.reference.memory import Memory
from cts.reference.state import State
from cts.verdict.expected import Exact, one_set
from generators.errors import GeneratorError
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest
from generators.program.control_flow import Branch, Exit, Loop, Switch, bodies
from generators.program.cooperative_vector_matmul import interpretation_value
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.operation import Operation
from generators.program.program import Program
from generators.types import COMPONENT_TYPES

Accumulation = OuterProductAccumulate | ReduceSumAccumulate


def _terms(state: State, operation: Accumulation) -> Added:
    return outer_product_terms(state, operation) if isinstance(operation, OuterProductAccumulate) else reduce_sum_terms(state, operation)


def _memory(state: State, operation: Accumulation) -> Memory:
    return state.memories[operation.array.name]


def _in_place(memory: Memory, added: Added, results: np.ndarray) -> None:
    """Write results, one for each term; of several for an element the last one stays."""
    flat, numbers = added.offsets.ravel(), results.ravel()
    places, last = np.unique(flat[::-1], return_index=True)
    bits = encode(added.component, numbers[::-1][last])
    memory.store(places.reshape(1, 1, -1), one_set(Exact(added.component, bits.reshape(1, 1, -1), True)), SUMS)


def _before(memory: Memory, added: Added) -> np.ndarray:
    return values(memory.load(added.offsets, added.component), added.component)


def _last_writer(state: State, operation: Accumulation) -> None:
    """Add without an atomic operation: all invocations read what was there before, and the last one writes."""
    memory, added = _memory(state, operation), _terms(state, operation)
    _in_place(memory, added, _before(memory, added) + added.terms)


def _overwritten(state: State, operation: Accumulation) -> None:
    """Store the sum of the terms in place of what was there before."""
    memory, added = _memory(state, operation), _terms(state, operation)
    places, inverse = np.unique(added.offsets, return_inverse=True)
    totals = np.zeros(len(places))
    np.add.at(totals, inverse.ravel(), added.terms.ravel())
    _in_place(memory, replace(added, offsets=places, terms=totals), totals)


def _first_only(state: State, operation: Accumulation) -> None:
    """Add the terms of the first invocation alone."""
    added = _terms(state, operation)
    add(_memory(state, operation), replace(added, offsets=added.offsets[:1], terms=added.terms[:1]))


def _inactive_too(state: State, operation: Accumulation) -> None:
    """Add the terms of invocations that do not execute the instruction."""
    around = state
    while around.outside is not None and around.outside.activation is around.activation:
        around = around.outside
    if len(around.instances) == len(state.instances):
        raise GeneratorError("all invocations execute the instruction")
    add(_memory(state, operation), _terms(around, operation))


def _rounded_to_half(state: State, operation: Accumulation) -> None:
    """Keep the sums in f16."""
    memory, added = _memory(state, operation), _terms(state, operation)
    add(memory, added)
    sums = nearest(COMPONENT_TYPES["f16"], _before(memory, added))
    _in_place(memory, added, sums)


def _factors_exchanged(state: State, operation: OuterProductAccumulate) -> None:
    """Lay out rows as columns: the product of B and A."""
    added = outer_product_terms(state, operation)
    count, rows, columns = added.terms.shape
    turned = np.ascontiguousarray(added.terms.transpose(0, 2, 1)).reshape(count, rows, columns)
    add(_memory(state, operation), replace(added, terms=turned))


def _moved(state: State, operation: Accumulation, bend: Bend) -> None:
    offset = bent(state, operation.offset, bend)
    add(_memory(state, operation), _terms(state, replace(operation, offset=offset)))


def _offset_ignored(state: State, operation: Accumulation) -> None:
    _moved(state, operation, zero)


def _offset_in_elements(state: State, operation: ReduceSumAccumulate) -> None:
    _moved(state, operation, in_elements(operation.array))


def _name(operation: Accumulation) -> str:
    return operation.array.name


def _divergent(operations: Sequence[Operation], inside: bool = False) -> Iterator[Accumulation]:
    """Yield accumulations that a condition decides about."""
    for operation in operations:
        if isinstance(operation, OuterProductAccumulate | ReduceSumAccumulate) and inside:
            yield operation
        for body in bodies(operation):
            yield from _divergent(body, inside or isinstance(operation, Branch | Switch | Loop | Exit))


def vector_training_defects(program: Program) -> Iterator[Defect]:
    """Defects of what invocations accumulate with cooperative vectors in ``program``."""

    def of(chosen: Sequence[Accumulation], name: str, step: Substitute) -> Iterator[Defect]:
        return each_and_all(chosen, f"vector_training.{name}", "sums", _name, step)

    outer, sums = every(program.operations, OuterProductAccumulate), every(program.operations, ReduceSumAccumulate)
    accumulations: list[Accumulation] = [*outer, *sums]
    if not accumulations:
        return
    for name, step in (
        ("last_writer_wins", _last_writer),
        ("overwritten", _overwritten),
        ("first_invocation_only", _first_only),
        ("offset_ignored", _offset_ignored),
    ):
        yield from of(accumulations, name, step)
    yield from of(list(dict.fromkeys(_divergent(program.operations))), "inactive_too", _inactive_too)
    yield from of([o for o in outer if min(o.a.type.count, o.b.type.count) > 1], "factors_exchanged", _factors_exchanged)
    yield from of([o for o in accumulations if _is_wide(o)], "in_f16", _rounded_to_half)
    yield from of([o for o in sums if o.array.pointee.bytes > 1], "offset_in_elements", _offset_in_elements)


def _is_wide(operation: Accumulation) -> bool:
    component = (
        interpretation_value(operation.interpretation).component
        if isinstance(operation, OuterProductAccumulate)
        else operation.vector.type.component
    )
    return component is COMPONENT_TYPES["f32"]
