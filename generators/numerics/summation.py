"""Exact sums of products of floats: A x B + c as integers times a power of two, rounded once, to float64."""

from __future__ import annotations

import math

import numpy as np

from generators.numerics.exactness import NO_TERM, Exactness, quantum_exponents

_FLOAT64_BITS = 53

_WIDEST = 900
"""Maximum number of operand bits, counted from their common quantum, for which float64 holds every intermediate result of the splitting."""


def _common_quantum(values: np.ndarray) -> int:
    quantum = int(quantum_exponents(values).min(initial=NO_TERM))
    return 0 if quantum == NO_TERM else quantum


def _width(values: np.ndarray, quantum: int) -> int:
    """Return the bits of the largest magnitude, in units of 2**quantum."""
    return math.frexp(float(np.abs(values).max(initial=0.0)))[1] - quantum


def _limbs(values: np.ndarray, quantum: int, width: int, count: int) -> list[np.ndarray]:
    """Return float64 integers below 2**width, lowest first, whose sum of limb * 2**(width * i) is values / 2**quantum."""
    rest = np.ldexp(np.abs(values), -quantum)
    limbs = []
    for i in reversed(range(count)):
        limb = np.floor(np.ldexp(rest, -width * i))
        rest = rest - np.ldexp(limb, width * i)
        limbs.append(np.copysign(limb, values))
    return limbs[::-1]


def _integers(values: np.ndarray, quantum: int) -> np.ndarray:
    """Return values / 2**quantum, which are whole, as Python integers."""
    fraction, exponent = np.frexp(values)
    digits = np.ldexp(fraction, _FLOAT64_BITS).astype(np.int64).astype(object)
    shift = exponent - _FLOAT64_BITS - quantum
    left = np.array([1 << int(s) for s in np.maximum(shift, 0).flat], object).reshape(shift.shape)
    right = np.array([1 << int(s) for s in np.maximum(-shift, 0).flat], object).reshape(shift.shape)
    return np.asarray(digits * left // right)


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """Return ``a`` x ``b`` as Python integers, and the exponent of their unit."""
    quantum_a, quantum_b = _common_quantum(a), _common_quantum(b)
    width_a, width_b = _width(a, quantum_a), _width(b, quantum_b)
    terms = a.shape[-1]
    if max(width_a, width_b) > _WIDEST:
        return np.asarray(_integers(a, quantum_a) @ _integers(b, quantum_b)), quantum_a + quantum_b
    # Limbs so narrow that a float64 holds any sum of their products: 2 * width + log2(terms) bits.
    width = (_FLOAT64_BITS - 1 - max(1, terms - 1).bit_length()) // 2
    limbs_a = _limbs(a, quantum_a, width, -(-max(width_a, 1) // width))
    limbs_b = _limbs(b, quantum_b, width, -(-max(width_b, 1) // width))
    total = np.zeros((*a.shape[:-1], b.shape[-1]), object)
    for i, limb_a in enumerate(limbs_a):
        for j, limb_b in enumerate(limbs_b):
            total = total + (limb_a @ limb_b).astype(np.int64).astype(object) * (1 << (width * (i + j)))
    return total, quantum_a + quantum_b


def _round_to_odd(number: int, exponent: int) -> tuple[float, bool]:
    """Return number * 2**exponent as float64, and whether it is exact. The last bit is set if bits were lost, so a later rounding to a
    narrower type is still correct."""
    lost = max(0, abs(number).bit_length() - _FLOAT64_BITS)
    kept = abs(number) >> lost
    exact = kept << lost == abs(number)
    if not exact:
        kept |= 1
    rounded = math.ldexp(kept, exponent + lost)
    # Below the normal range of float64, ldexp rounds a second time.
    exact = exact and math.ldexp(rounded, -(exponent + lost)) == kept
    return (-rounded if number < 0 else rounded), exact


def exact_sum(a: np.ndarray, b: np.ndarray, c: np.ndarray, proof: Exactness) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``a`` x ``b`` + ``c`` without intermediate rounding.

    Args:
        a, b, c: finite float64, (instances, M, K), (instances, K, N), (instances, M, N).
        proof: their exactness.

    Returns:
        The sums in float64, and a bound of the rounding error to float64 (0 if there is none).
    """
    if (proof.magnitude < np.ldexp(1.0, np.minimum(proof.quantum.astype(np.int32) + _FLOAT64_BITS, 1023))).all():
        # Every partial sum is a multiple of q below 2**53 q: float64 never rounds.
        return a @ b + c, np.zeros(c.shape)
    products, unit = _product(a, b)
    unit_c = _common_quantum(c)
    common = min(unit, unit_c)
    total = products * (1 << (unit - common)) + _integers(c, unit_c) * (1 << (unit_c - common))
    rounded = [_round_to_odd(number, common) for number in total.flat]
    center = np.array([value for value, _ in rounded]).reshape(c.shape)
    exact = np.array([exact for _, exact in rounded]).reshape(c.shape)
    return center, np.where(exact, 0.0, np.spacing(np.abs(center)))
