"""Defects of sums that invocations accumulate in memory: terms are lost, or terms are added that no invocation has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, Each, every
from cts.defects.edits import in_elements, of_first, reread, with_scalar, zero
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.cooperative_vector_training import Added, add, outer_product_terms, reduce_sum_terms
from cts.reference.evaluate import perform
from cts.reference.memory import Memory
from cts.reference.state import State
from cts.verdict.elements import scatter
from cts.verdict.expected import Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, is_nan, sign_bit, values
from generators.numerics.rounding import nearest
from generators.program.control_flow import Branch, Exit, Loop, Switch
from generators.program.cooperative_vector_matmul import interpretation_value
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.walking import regions
from generators.types import COMPONENT_TYPES

Accumulation = OuterProductAccumulate | ReduceSumAccumulate


def _terms(state: State, operation: Accumulation) -> Added:
    return outer_product_terms(state, operation) if isinstance(operation, OuterProductAccumulate) else reduce_sum_terms(state, operation)


def _memory(state: State, operation: Accumulation) -> Memory:
    return state.memories[operation.array.name]


def _in_place(memory: Memory, added: Added, results: np.ndarray) -> None:
    """Write one result for each term; if an element has several, the last one stays."""
    flat, numbers = added.offsets.ravel(), results.ravel()
    places, last = np.unique(flat[::-1], return_index=True)
    # One store has all sums of an array. Adding zeros makes this store if it does not exist yet.
    add(memory, replace(added, offsets=places, terms=np.zeros(len(places))))
    sums = memory.placed[-1]
    expected = sums.expected
    assert isinstance(expected, Exact), "sums have one value"
    bits = expected.bits.copy()
    bits.reshape(-1)[np.searchsorted(sums.offsets.ravel(), places)] = encode(added.component, numbers[::-1][last])
    memory.placed[-1] = replace(sums, expectation=one_set(replace(expected, bits=bits), sums.expectation.authority))
    scatter(memory.contents, sums.offsets, bits)


def _stored(memory: Memory, added: Added) -> np.ndarray:
    """Return what memory holds now where the terms belong, as numbers."""
    return values(memory.load(added.offsets, added.component), added.component)


def _last_writer(state: State, operation: Accumulation) -> None:
    """Add without an atomic operation: all invocations read the old value, and the last one writes."""
    memory, added = _memory(state, operation), _terms(state, operation)
    _in_place(memory, added, _stored(memory, added) + added.terms)


def _overwritten(state: State, operation: Accumulation) -> None:
    """Store the sum of the terms in place of the old value."""
    memory, added = _memory(state, operation), _terms(state, operation)
    places, inverse = np.unique(added.offsets, return_inverse=True)
    totals = np.zeros(len(places))
    np.add.at(totals, inverse.ravel(), added.terms.ravel())
    _in_place(memory, replace(added, offsets=places, terms=totals), totals)


def _adding(edit: Callable[[Added], Added]) -> Substitute:
    """Build a step that adds other terms."""
    return lambda state, operation: add(_memory(state, operation), edit(_terms(state, operation)))


def _of_first_invocation(added: Added) -> Added:
    return replace(added, offsets=added.offsets[:1], terms=added.terms[:1])


def _last_workgroup_only(state: State, operation: Accumulation) -> None:
    """Lose the terms of all workgroups except the last one, as if additions were atomic only within a workgroup."""
    added, size = _terms(state, operation), state.program.shape.invocations
    assert size is not None, "a program whose invocations add states its workgroup size"
    workgroups = state.instances // size
    own = workgroups == workgroups.max()
    if own.all():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "one workgroup alone executes the instruction")
    add(_memory(state, operation), replace(added, offsets=added.offsets[own], terms=added.terms[own]))


def _without_last(added: Added) -> Added:
    """Lose the last component, or column, as if only whole pairs were added."""
    terms = added.terms.copy()
    terms[..., -1] = 0
    return replace(added, terms=terms)


def _neighbour_changed(state: State, operation: ReduceSumAccumulate) -> None:
    """Add in pairs, so also add zero to the element after the last one: -0 becomes 0, and a NaN another NaN."""
    memory, added = _memory(state, operation), _terms(state, operation)
    add(memory, added)
    component = added.component
    after = np.unique(added.offsets.max(axis=1) + component.bytes)
    assert memory.terms is not None, "sums have terms"
    after = after[after <= len(memory.contents) - component.bytes]
    after = after[~memory.terms.counted[after]]
    bits = memory.load(after, component)
    sign = component.bits_dtype.type(sign_bit(component))
    zero_added = np.where(is_nan(bits, component), sign - 1, np.where(bits == sign, 0, bits)).astype(bits.dtype)
    changed = zero_added != bits
    if changed.any():
        memory.write(after[changed], component, zero_added[changed], "the neighbour of a sum")


def _inactive_too(state: State, operation: Accumulation) -> None:
    """Add the terms of invocations that do not execute the instruction."""
    around = state
    while around.outside is not None and around.outside.activation is around.activation:
        around = around.outside
    if len(around.instances) == len(state.instances):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "all invocations execute the instruction")
    add(_memory(state, operation), _terms(around, operation))


def _rounded_to_half(state: State, operation: Accumulation) -> None:
    """Round the final sums to f16."""
    memory, added = _memory(state, operation), _terms(state, operation)
    add(memory, added)
    sums = nearest(COMPONENT_TYPES["f16"], _stored(memory, added))
    _in_place(memory, added, sums)


def _of_exchanged_factors(added: Added) -> Added:
    """Return the terms of the product of B and A: rows become columns."""
    turned = np.ascontiguousarray(added.terms.transpose(0, 2, 1)).reshape(added.terms.shape)
    return replace(added, terms=turned)


def _offset_in_elements(state: State, operation: ReduceSumAccumulate) -> None:
    perform(state, reread(state, operation, "offset", in_elements(operation.array)))


def _divergent(operations: Sequence[Operation], inside: bool = False) -> Iterator[Accumulation]:
    """Yield accumulations that a condition controls."""
    for operation in operations:
        if isinstance(operation, OuterProductAccumulate | ReduceSumAccumulate) and inside:
            yield operation
        for body in regions(operation):
            yield from _divergent(body, inside or isinstance(operation, Branch | Switch | Loop | Exit))


_of = Each("vector_training", "sums", lambda operation: operation.array.name)


@defects_of("vector_training", Accumulation)
def vector_training_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the accumulation by invocations with cooperative vectors in ``program``."""
    outer, sums = every(program.operations, OuterProductAccumulate), every(program.operations, ReduceSumAccumulate)
    accumulations: list[Accumulation] = [*outer, *sums]
    if not accumulations:
        return
    for name, step in (
        ("last_writer_wins", _last_writer),
        ("overwritten", _overwritten),
        ("first_invocation_only", _adding(_of_first_invocation)),
        ("added_twice", _adding(lambda added: replace(added, terms=2 * added.terms))),
        ("offset_ignored", with_scalar("offset", zero)),
        ("offset_of_first_invocation", with_scalar("offset", of_first)),
    ):
        yield from _of(accumulations, name, step)
    if program.workgroup_count > 1:
        yield from _of(accumulations, "last_workgroup_only", _last_workgroup_only)
    yield from _of([o for o in accumulations if _last_extent(o) % 2], "last_component_lost", _adding(_without_last))
    halves = [o for o in sums if o.vector.type.component is COMPONENT_TYPES["f16"] and _last_extent(o) % 2]
    yield from _of(halves, "neighbour_changed", _neighbour_changed)
    yield from _of(list(dict.fromkeys(_divergent(program.operations))), "inactive_too", _inactive_too)
    yield from _of([o for o in outer if min(o.a.type.count, o.b.type.count) > 1], "factors_exchanged", _adding(_of_exchanged_factors))
    yield from _of([o for o in accumulations if _is_wide(o)], "in_f16", _rounded_to_half)
    yield from _of([o for o in sums if o.array.pointee.bytes > 1], "offset_in_elements", _offset_in_elements)


def _last_extent(operation: Accumulation) -> int:
    """Return how many components the added vector has, or how many columns the outer product has."""
    return (operation.b if isinstance(operation, OuterProductAccumulate) else operation.vector).type.count


def _is_wide(operation: Accumulation) -> bool:
    component = (
        interpretation_value(operation.interpretation).component
        if isinstance(operation, OuterProductAccumulate)
        else operation.vector.type.component
    )
    return component is COMPONENT_TYPES["f32"]
