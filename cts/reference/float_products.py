"""Float multiply-add: the exact value if every implementation must find it, otherwise the suite's envelope (generators.numerics)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.values import Certain, Envelope, MatrixValue
from cts.verdict.expected import Authority, Proof
from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import envelope, hull
from generators.numerics.exactness import Exactness, History, exactness, factors_fit, permitted_precision
from generators.numerics.formats import encode, largest_finite
from generators.numerics.rounding import nearest
from generators.numerics.summation import exact_sum
from generators.types import ComponentType

PRODUCT, ROUNDED_PRODUCT = Authority("KHR-MAD-03"), Authority("KHR-MAD-04")

FACTORS, SUMS = "F-KHR-25", "F-KHR-26"
"""Positions that factors have all bits of their types, and sums the bits of C and Result."""


def multiply_add(a: MatrixValue, b: MatrixValue, c: MatrixValue, result: ComponentType, is_permitted_known: bool = True) -> MatrixValue:
    """Compute ``a`` x ``b`` + ``c`` for floats (KHR-MAD-03, KHR-MAD-04).

    The expected result is the exact value if every sum is exact in the narrowest plausible accumulation, otherwise the suite's envelope.
    All results of any order, grouping and rounding of factors, products and sums to the bits that must be kept are permitted.

    Args:
        a, b, c: the operands.
        result: the component type of the result.
        is_permitted_known: whether the result has its permitted values; without them, it is found sooner.

    Raises:
        GeneratorError: an operand is not finite, or a sum within its bound may overflow: nothing is promised then (facts.md C30).
    """
    types = (a.component, b.component, c.component, result)
    left, right, addend = a.numbers, b.numbers, c.addend
    before = c.known.bound if isinstance(c.known, Envelope) else np.zeros(addend.shape)
    proof = exactness(left, right, addend, types, c.history)
    center, lost = exact_sum(left, right, addend, proof)
    history = History(proof.quantum, proof.magnitude)
    proved = proof.exact & (before == 0)
    if proved.all():
        known = Certain(Proof(proof.precision, proof.margin_bits))
        value = MatrixValue(result, encode(result, center), True, known, history, authority=PRODUCT)
        return _with_permitted(value, (left, right, addend), proof, c, center, lost) if is_permitted_known else value
    magnitude, bound = envelope(left, right, addend, proof, center, lost, before)
    if (np.maximum(magnitude, np.abs(center)) + bound > largest_finite(result)).any():
        raise GeneratorError(
            Rule.OVERFLOW, f"a sum of a float multiply-add may overflow {result}; make the operands smaller (facts.md C30)"
        )
    bits = encode(result, nearest(result, center))
    value = MatrixValue(result, bits, True, Envelope(center, bound, magnitude), history, authority=ROUNDED_PRODUCT)
    return _with_permitted(value, (left, right, addend), proof, c, center, lost) if is_permitted_known else value


def _with_permitted(
    value: MatrixValue,
    operands: tuple[np.ndarray, np.ndarray, np.ndarray],
    proof: Exactness,
    c: MatrixValue,
    center: np.ndarray,
    lost: np.ndarray,
) -> MatrixValue:
    """Return the result with its permitted values, if there are more than the expected ones.

    Args:
        value: the result with its expected values.
        operands: the numbers of A, B and C. ``proof``: their exactness. ``c``: C itself.
        center, lost: as for generators.numerics.error_bounds.hull.
    """
    left, right, addend = operands
    before = c.permitted.bound if isinstance(c.permitted, Envelope) else np.zeros(center.shape)
    precision = permitted_precision(*proof.types)
    is_narrow = max(proof.types[0].precision, proof.types[1].precision) <= precision
    fit = np.ones(center.shape, bool) if is_narrow else factors_fit(left, right, precision)
    proof = proof.with_precision(precision)
    proof = replace(proof, exact=proof.exact & fit)
    if (proof.exact & (before == 0)).all():
        return value
    magnitude, bound = hull(left, right, addend, proof, center, lost, before)
    if isinstance(value.known, Envelope):
        bound = np.maximum(bound, value.known.bound)
    quality = FACTORS if _only_factors_round(left, right, addend, proof, fit) and not before.any() else SUMS
    return replace(value, permitted=Envelope(center, bound, magnitude), authority=replace(value.authority, position=SUMS, quality=quality))


def _only_factors_round(left: np.ndarray, right: np.ndarray, addend: np.ndarray, proof: Exactness, fit: np.ndarray) -> bool:
    """Tell whether only the rounding of factors can change a result: each element that is not exact is one product of wide factors.

    Args:
        left, right, addend: the numbers of A, B and C.
        proof: which elements are exact in the bits that an implementation must keep.
        fit: for each element, whether all its factors fit in these bits.
    """
    terms = (left != 0).astype(np.float64) @ (right != 0).astype(np.float64) + (addend != 0)
    return bool((proof.exact | (~fit & (terms <= 1))).all())
