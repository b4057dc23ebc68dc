"""Elements that each affect their reduction: it is exact in every order, and changes if one element is left out or counted twice."""

from __future__ import annotations

import math

import numpy as np

from generators.types import ComponentType

SIGNS = ("mixed", "positive", "negative")
"""Signs of all elements; for unsigned integers, the top bit."""


def _signed(magnitudes: np.ndarray, signs: str, rng: np.random.Generator) -> np.ndarray:
    if signs == "mixed":
        return np.asarray(magnitudes * rng.choice(np.array([-1.0, 1.0]), magnitudes.shape))
    return -magnitudes if signs == "negative" else magnitudes


def summands(
    component: ComponentType, shape: tuple[int, ...], group: int, signs: str, rng: np.random.Generator, largest: int | None = None
) -> np.ndarray:
    """Draw nonzero multiples of one unit whose sum over any ``group`` of them is exact: the magnitudes add up to at most 2^p units,
    and each is at most ``largest``. If there are more elements than units, the others are zero; each draw leaves out different elements.

    Returns:
        float64 of ``shape``.
    """
    budget = 1 << component.precision
    most = budget // group if largest is None else min(budget // group, largest)
    if most >= 1:
        whole = rng.integers(1, most, shape, endpoint=True).astype(np.float64)
    else:
        # Any group has at most ``budget`` nonzero elements, since all elements together have no more.
        flat = np.zeros(math.prod(shape))
        for start in range(0, len(flat), group):
            flat[start + rng.permutation(min(group, len(flat) - start))[: budget // 2]] = 1.0
        whole = flat.reshape(shape)
    # Units other than one, so both fractions and whole numbers occur, far from overflow.
    unit = 2.0 ** -min(component.precision // 2, 5)
    # Adding zero turns minus zeros into zeros: it is open which of the two a reduction keeps (F-CM2-14).
    return _signed(whole, signs, rng) * unit + 0.0


def distinct(component: ComponentType, shape: tuple[int, ...], signs: str, rng: np.random.Generator) -> np.ndarray:
    """Draw normal numbers with significands that use every bit, of magnitudes from 1/8 to 8: for choices, which do not round.

    Returns:
        float64 of ``shape``.
    """
    steps = 1 << (component.precision - 1)
    significands = 1.0 + rng.integers(0, steps, shape) / steps
    return _signed(np.ldexp(significands, rng.integers(-3, 3, shape)), signs, rng)


def factors(shape: tuple[int, ...], group: int, signs: str, rng: np.random.Generator) -> np.ndarray:
    """Draw minus one (``positive``: one; ``mixed``: both), with a few powers of two in each consecutive ``group`` of elements. Products
    stay normal in every order. A factor that is left out or doubled changes the sign or the exponent.

    Returns:
        float64 of ``shape``.
    """
    flat = np.ones(math.prod(shape))
    for start in range(0, len(flat), group):
        # The exponents do not cancel, so the square of the product is a different number.
        exponents = np.concatenate([rng.integers(1, 4, 4), [2, -1, -1, -1]])[rng.permutation(8)][: min(group, 8)]
        flat[start + rng.permutation(group)[: len(exponents)]] = np.exp2(exponents)
    if signs == "mixed":
        flat = flat * rng.choice(np.array([-1.0, -1.0, 1.0]), flat.shape)
    return (-flat if signs == "negative" else flat).reshape(shape)


def integers(component: ComponentType, shape: tuple[int, ...], kind: str, group: int, signs: str, rng: np.random.Generator) -> np.ndarray:
    """Draw random integers of the whole width, suited to a reduction by ``kind``: odd for products, and with few bits set (or) or clear
    (and), so one element of the group decides most bits of a result.

    Returns:
        The component's dtype, of ``shape``.
    """
    bits = rng.integers(0, 1 << component.bits, shape, dtype=np.uint64, endpoint=False) if component.bits < 64 else _words(shape, rng)
    top = np.uint64(1 << (component.bits - 1))
    if kind in ("and", "or"):
        one = np.uint64(1) << rng.integers(0, component.bits, shape, dtype=np.uint64)
        sparse = np.where(rng.random(shape) < min(1.0, component.bits / (2 * group)), one, np.uint64(0))
        bits = sparse if kind == "or" else ~sparse
    elif signs != "mixed":
        bits = bits & ~top if signs == "positive" else bits | top
    if kind == "multiply":
        bits = bits | np.uint64(1)
    if kind == "circle":
        # a + 1 is the factor, and odd.
        bits = bits & ~np.uint64(1)
    return bits.astype(component.bits_dtype).view(component.dtype)


def _words(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, np.iinfo(np.uint64).max, shape, dtype=np.uint64, endpoint=True)


def elements_for(
    component: ComponentType, shape: tuple[int, ...], kind: str, group: int, signs: str, rng: np.random.Generator
) -> np.ndarray:
    """Draw elements to be reduced by ``kind`` (a Combination of generators.element_functions) in groups of ``group``.

    Args:
        shape: (instances, rows, columns), with the elements of each group next to each other along the last axes.

    Returns:
        The component's dtype, of ``shape``.
    """
    if not component.is_float:
        found = integers(component, shape, kind, group, signs, rng)
    elif kind == "add":
        found = summands(component, shape, group, signs, rng).astype(component.dtype)
    elif kind == "multiply":
        found = factors(shape, group, signs, rng).astype(component.dtype)
    else:
        found = distinct(component, shape, signs, rng).astype(component.dtype)
    if kind in ("minimum", "maximum", "magnitude"):
        _turn_extremes(found.reshape(-1, group), kind, rng)
    return found


def _turn_extremes(groups: np.ndarray, kind: str, rng: np.random.Generator) -> None:
    """Put the deciding element of each group at a different place than in the group before, so as many groups as places test every
    place."""
    keys = groups.astype(np.float64)
    keys = np.abs(keys) if kind == "magnitude" else -keys if kind == "minimum" else keys
    count, size = groups.shape
    lines = np.arange(count)
    places, wanted = keys.argmax(axis=1), (lines + rng.integers(size)) % size
    groups[lines, places], groups[lines, wanted] = groups[lines, wanted], groups[lines, places]
