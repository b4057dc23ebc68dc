"""Error bounds of results: the suite's envelope of a sum of products, and quotients within some ULP.

The specification gives no bound for a float multiply-add (KHR-MAD-04, facts.md C1). The envelope is a policy of this suite: |D - x| <= (K +
1) * 2**(1 - p) * S + ulp(x), plus the loss from flushing denormals; S = sum |a*b| + |c|, and p is the number of bits of the narrowest
plausible accumulation. It holds for any order, any tree, any blocked alignment and any direction of rounding with p bits. The permitted
results of a multiply-add have their own hull, which also covers rounded factors and products.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from generators.numerics.exactness import Exactness
from generators.numerics.formats import denormals, smallest_normal
from generators.numerics.rounding import ulp
from generators.types import ComponentType

_FLOAT64_BITS = 53


def _loss_by_flushing(a: np.ndarray, b: np.ndarray, c: np.ndarray, proof: Exactness) -> np.ndarray:
    """Return the possible loss of an implementation that flushes denormal operands and partial sums to zero (facts.md C29), (..., M, N)."""
    type_a, type_b, type_c, type_result = proof.types
    floor = max(smallest_normal(type_result), smallest_normal(type_c))
    reachable = np.ldexp(1.0, np.minimum(proof.quantum.astype(np.int32), 1023)) < floor
    lost = np.where(reachable, (a.shape[-1] + 1) * floor, 0.0)
    tiny_a, tiny_b, tiny_c = denormals(a, type_a), denormals(b, type_b), denormals(c, type_c)
    if tiny_a.any() or tiny_b.any():
        lost = lost + np.abs(a * tiny_a) @ np.abs(b) + np.abs(a) @ np.abs(b * tiny_b)
    return np.asarray(lost + np.abs(c * tiny_c))


def envelope(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, proof: Exactness, center: np.ndarray, lost: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return S and the bound of |D - ``center``| for D = ``a`` x ``b`` + ``c``, float64, (..., M, N).

    Args:
        a, b, c: finite float64, (..., M, K), (..., K, N), (..., M, N).
        proof: their exactness. If it proves the sum and ``before`` is 0, the bound is 0.
        center, lost: the exact sum in float64 and its rounding error (generators.numerics.summation).
        before: the bound of ``c``.
    """
    magnitude = proof.magnitude + before
    bound = before + lost + (a.shape[-1] + 1) * 2.0 ** (1 - proof.precision) * magnitude + _loss_by_flushing(a, b, c, proof)
    bound = bound + ulp(proof.types[3], np.abs(center) + bound)
    return magnitude, np.where(proof.exact & (before == 0), 0.0, bound)


def hull(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, proof: Exactness, center: np.ndarray, lost: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return S and the bound of |D - ``center``| for D = ``a`` x ``b`` + ``c`` with factors, products and sums each rounded to the bits of
    ``proof``, in any direction, order and grouping; float64, (..., M, N).

    A term takes part in a rounding of each factor, one of their product, and at most one for each further term that is not zero: with n
    such terms it changes by no more than (1 + u)**(n + 3) - 1 times itself, u = 2**(1 - p). One ULP of the result's type and the loss from
    flushing denormals are added.

    Args:
        a, b, c, center, lost: as for ``envelope``.
        proof: the exactness in the bits that must be kept. If it proves the sum and ``before`` is 0, the bound is 0.
        before: the bound of ``c``.
    """
    terms = (a != 0).astype(np.float64) @ (b != 0).astype(np.float64) + (c != 0)
    magnitude = proof.magnitude + before
    relative = np.expm1((terms + 3) * np.log1p(2.0 ** (1 - proof.precision)))
    bound = before + lost + relative * magnitude + _loss_by_flushing(a, b, c, proof)
    bound = bound + ulp(proof.types[3], np.abs(center) + bound)
    return magnitude, np.where(proof.exact & (before == 0), 0.0, bound)


def quotient_bounds(component: ComponentType, x: np.ndarray, y: np.ndarray, ulps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 bounds of |D - x / y| <= ``ulps`` ULP (a multiple of a half) that divide the numbers of ``component`` as the exact
    bounds do.

    An exact bound is a multiple of half a step away from the quotient. A number of p bits is on the bound only if x / y has p + 1 bits;
    otherwise its relative distance from the bound is at least 2**-(2p + 1). Up to 24 bits that distance exceeds the error of float64, with
    one step outward for numbers on the bound. Beyond 24 bits, rational numbers decide.
    """
    quotient = x / y
    step = least_distance(component, quotient)
    if 2 * component.precision + 4 <= _FLOAT64_BITS:
        return np.nextafter(quotient - ulps * step, -np.inf), np.nextafter(quotient + ulps * step, np.inf)
    low, high = np.empty(x.shape), np.empty(x.shape)
    for at in np.ndindex(x.shape):
        exact = Fraction(float(x[at])) / Fraction(float(y[at]))
        # A quotient just above a power of two, which float64 rounded to that power, is in the power's own binade.
        distance = step[at] if abs(exact) <= abs(Fraction(float(quotient[at]))) else ulp(component, quotient[at])
        margin = Fraction(ulps) * Fraction(float(distance))
        low[at], high[at] = _inside(exact - margin, np.inf), _inside(exact + margin, -np.inf)
    return low, high


def least_distance(component: ComponentType, numbers: np.ndarray) -> np.ndarray:
    """Return ulp(x) of Vulkan, "the minimum possible distance" between numbers a <= x <= b: for a power of two, the distance to the number
    before it."""
    fraction, _ = np.frexp(numbers)
    step = ulp(component, numbers)
    return np.where((np.abs(fraction) == 0.5) & (np.abs(numbers) > smallest_normal(component)), step / 2, step)


def _inside(bound: Fraction, inward: float) -> float:
    """Return the float64 next to ``bound`` in the direction ``inward``, or ``bound`` itself."""
    # Conversion rounds to nearest: rounding outward would admit a number beyond the bound.
    converted = float(bound)
    outside = Fraction(converted) < bound if inward > 0 else Fraction(converted) > bound
    return float(np.nextafter(converted, inward)) if outside else converted
