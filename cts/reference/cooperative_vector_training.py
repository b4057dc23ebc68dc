"""Sums that invocations accumulate in memory with cooperative vectors (CV-OPA-*, CV-RSA-*).

Nothing orders the atomic additions of different invocations, and each of them rounds. So the model accepts only data for which no order
rounds: the initial contents of memory and all terms that are ever added to an element are multiples of a quantum q, and the sum of their
absolute values is below 2**p q, where p is the precision of the memory's type.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.reference.cooperative_vector_matmul import check_opaque, opaque_index
from cts.reference.cooperative_vectors import byte_offsets, check_inside
from cts.reference.memory import Memory, Terms
from cts.reference.state import State, evaluates
from cts.reference.values import MatrixValue
from cts.verdict.expected import Authority, Exact, Proof, one_set
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import NO_TERM, quantum_exponents
from generators.numerics.formats import denormals, encode, largest_finite, smallest_normal, values
from generators.numerics.rounding import nearest
from generators.program.cooperative_vector_matmul import interpretation_value, vector_layout_value
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.cooperative_vectors import VECTOR_ALIGNMENT
from generators.program.memory import Array
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, VectorMatrixLayout

OUTER_PRODUCT, SUM = Authority("CV-OPA-01"), Authority("CV-RSA-01")

SUMS = "the sums"
"""The name in messages of sums that invocations have accumulated in an array."""

_ACCUMULATED = ("f16", "f32")


def addends(value: MatrixValue, what: str) -> np.ndarray:
    """Return the numbers of vectors that are accumulated, float64, (invocations, components).

    Raises:
        GeneratorError: they have several allowed values, or a value about which nothing is promised.
    """
    if not value.is_certain:
        raise GeneratorError(Rule.SEVERAL_VALUES, f"{what} takes a vector with several allowed values; use exact data")
    numbers = values(value.bits, value.component)[:, 0]
    if not np.isfinite(numbers).all():
        raise GeneratorError(
            Rule.NOT_FINITE, f"{what} takes a vector with NaN or infinity, for which nothing is promised; use finite data (facts.md C30)"
        )
    if denormals(numbers, value.component).any():
        raise GeneratorError(
            Rule.DENORMAL, f"{what} takes a vector with denormals, which may count as zero; use larger numbers (facts.md C29)"
        )
    return numbers


def products(a: np.ndarray, b: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the outer products of vectors (invocations, M) and (invocations, N): float64, (invocations, M, N).

    Args:
        component: the type of the vectors.

    Raises:
        GeneratorError: that type cannot represent a product. It is unspecified whether products round to it before they are added
            (F-CV-10).
    """
    found = a[:, :, None] * b[:, None, :]
    if (nearest(component, found) != found).any() or denormals(found, component).any():
        raise GeneratorError(
            "F-CV-10", f"a product of an outer product is not a normal {component}, and it is unspecified where it rounds (F-CV-10)"
        )
    return np.asarray(found)


@dataclass(frozen=True)
class Added:
    """The terms that an instruction adds to memory.

    Attributes:
        offsets: byte offsets of elements, int64, the first axis for the invocations; an element may occur any number of times.
        terms: float64, of the same shape.
        component: the type of the elements.
        authority: the basis of the sums.
    """

    offsets: np.ndarray
    terms: np.ndarray
    component: ComponentType
    authority: Authority


def add(memory: Memory, added: Added) -> None:
    """Add terms to elements of a buffer, in any order.

    Raises:
        GeneratorError: some order may round, overflow or flush; or an element has not been written before.
    """
    component = added.component
    places, inverse = np.unique(added.offsets, return_inverse=True)
    before = values(memory.load(places, component), component)
    counted = _terms(memory)
    new = ~counted.counted[places]
    counted.quantum[places[new]] = quantum_exponents(before[new])
    counted.magnitude[places[new]] = np.abs(before[new])
    counted.counted[places] = True
    flat, at = added.terms.ravel(), places[inverse.ravel()]
    np.minimum.at(counted.quantum, at, quantum_exponents(flat).astype(np.int32))
    np.add.at(counted.magnitude, at, np.abs(flat))
    totals = before.copy()
    np.add.at(totals, inverse.ravel(), flat)
    quantum, magnitude = counted.quantum[places], counted.magnitude[places]
    with np.errstate(divide="ignore", over="ignore"):
        margin = np.where(magnitude == 0, np.inf, component.precision + quantum - np.log2(magnitude))
        fits = (magnitude < np.ldexp(1.0, np.minimum(component.precision + quantum, 1023))) & (magnitude <= largest_finite(component))
        normal = np.ldexp(1.0, np.minimum(quantum, 1023)) >= smallest_normal(component)
    if not ((fits & normal) | (magnitude == 0)).all():
        raise GeneratorError(
            "F-CV-9",
            f"the sums in {memory.array.name} may round, overflow or be denormal in some order of the additions, which are atomic and "
            f"unordered; use smaller whole numbers, or fewer terms (F-CV-9, {component})",
        )
    _write(memory, places, encode(component, totals), (component, margin), added.authority)


def _terms(memory: Memory) -> Terms:
    if memory.terms is None:
        size = len(memory.contents)
        memory.terms = Terms(np.full(size, NO_TERM, np.int32), np.zeros(size), np.zeros(size, bool))
    return memory.terms


def _write(memory: Memory, places: np.ndarray, bits: np.ndarray, known: tuple[ComponentType, np.ndarray], authority: Authority) -> None:
    """Write sums, together with the existing ones: one store contains all of them, so other sums never cover it in part.

    Args:
        places: ascending byte offsets.
        bits: the sums.
        known: their type, and the bits that an element leaves unused.
    """
    component, margin = known
    terms = memory.terms
    assert terms is not None, "sums have terms"
    margins = dict(zip(places.tolist(), margin.tolist(), strict=True))
    for placed in memory.placed:
        if placed.what == SUMS and placed.component is component:
            earlier = placed.offsets.ravel()
            kept = ~np.isin(earlier, places) & terms.counted[earlier]
            expected = placed.expected
            assert isinstance(expected, Exact), "sums have one value"
            assert expected.proof is not None, "sums are proved exact"
            margins.update(zip(earlier[kept].tolist(), expected.proof.margin_bits.ravel()[kept].tolist(), strict=True))
            places = np.concatenate([places, earlier[kept]])
            bits = np.concatenate([bits, expected.bits.ravel()[kept]])
    order = np.argsort(places)
    places, bits = places[order], bits[order]
    shape = _shape(memory.array, places, component)
    proof = Proof(component.precision, np.array([margins[place] for place in places.tolist()]).reshape(shape))
    counted = terms.counted.copy()
    memory.store(places.reshape(shape), one_set(Exact(component, bits.reshape(shape), True, proof), authority), SUMS)
    terms.counted[:] = counted


def _shape(array: Array, places: np.ndarray, component: ComponentType) -> tuple[int, int, int]:
    """Return the shape in which messages show sums: whole matrices, runs of one length, or one row."""
    if array.opaque is not None:
        return (-1, array.opaque.rows, array.opaque.columns)
    starts = np.flatnonzero(np.diff(places, prepend=-component.bytes - 1) != component.bytes)
    lengths = np.diff(starts, append=len(places))
    return (len(starts), 1, int(lengths[0])) if (lengths == lengths[0]).all() else (1, 1, len(places))


@evaluates(OuterProductAccumulate)
def outer_product(state: State, operation: OuterProductAccumulate) -> None:
    """See ``outer_product_terms``."""
    add(state.memories[operation.array.name], outer_product_terms(state, operation))


def outer_product_terms(state: State, operation: OuterProductAccumulate) -> Added:
    """Return ``a``[m] * ``b``[n] of every invocation for element (m, n) of the matrix that it names (CV-OPA-01 to CV-OPA-05), of shape
    (invocations, M, N).

    Raises:
        GeneratorError: a type, layout or storage class is not one that Vulkan allows (CV-OPA-06, CV-OPA-07), or the sums are not exact.
    """
    array, name = operation.array, f"the outer product of {operation.a.name} and {operation.b.name}"
    component, layout = interpretation_value(operation.interpretation).component, vector_layout_value(operation.layout)
    _check(array, component, name)
    a, b = (state.matrices[vector.name] for vector in (operation.a, operation.b))
    if a.component is not COMPONENT_TYPES["f16"] or b.component is not a.component:
        raise GeneratorError("CV-OPA-02", f"{name} is of {a.component} and {b.component}; Vulkan allows only f16 (CV-OPA-02)")
    if layout is not VectorMatrixLayout.TRAINING_OPTIMAL:
        raise GeneratorError(
            "CV-OPA-07", f"{name} goes to a matrix in layout {layout.name}; Vulkan allows only TRAINING_OPTIMAL (CV-OPA-07)"
        )
    shape = (a.bits.shape[2], b.bits.shape[2])
    opaque = check_opaque(array, component, shape, layout, name)
    first = opaque_index(state, array, operation.offset, opaque, name) * opaque.bytes
    offsets = first[:, None, None] + np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape) * component.bytes
    terms = products(addends(a, name), addends(b, name), a.component)
    return Added(offsets, terms, component, OUTER_PRODUCT)


@evaluates(ReduceSumAccumulate)
def reduce_sum(state: State, operation: ReduceSumAccumulate) -> None:
    """See ``reduce_sum_terms``."""
    add(state.memories[operation.array.name], reduce_sum_terms(state, operation))


def reduce_sum_terms(state: State, operation: ReduceSumAccumulate) -> Added:
    """Return component i of every invocation's vector for element i after the byte that it names (CV-RSA-01 to CV-RSA-03), of shape
    (invocations, components).

    Raises:
        GeneratorError: a type or storage class is not one that Vulkan allows (CV-RSA-04), or the sums are not exact.
    """
    array, name = operation.array, f"the sum of {operation.vector.name}"
    vector = state.matrices[operation.vector.name]
    component = vector.component
    _check(array, component, name)
    if array.opaque is not None:
        raise GeneratorError(
            Rule.OPAQUE, f"{name} goes to {array.name}, whose bytes the device decides; use an array without opaque matrices"
        )
    memory = state.memories[array.name]
    first = byte_offsets(state, array, operation.offset, VECTOR_ALIGNMENT, name, operation.inner)
    count = vector.bits.shape[2]
    check_inside(memory, first + count * component.bytes, name)
    offsets = first[:, None] + np.arange(count, dtype=np.int64) * component.bytes
    return Added(offsets, addends(vector, name), component, SUM)


def _check(array: Array, component: ComponentType, name: str) -> None:
    if component.name not in _ACCUMULATED:
        raise GeneratorError(Rule.COMPONENT_TYPE, f"{name} is accumulated in {component}; Vulkan allows f16 and f32 (CV-OPA-03, CV-RSA-03)")
    if array.storage is StorageClass.WORKGROUP:
        raise GeneratorError(Rule.STORAGE_CLASS, f"{name} goes to workgroup memory; Vulkan allows only buffers (CV-OPA-06, CV-RSA-04)")
    if array.role != "inout":
        raise GeneratorError(
            Rule.ROLE, f"{name} goes to {array.name}, which needs the role inout: a sum begins with the contents of memory"
        )
