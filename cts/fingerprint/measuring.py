"""What a unit computes for the probes and for random operands of a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.fingerprint.dispatching import NotMeasured, Unit, run_vectors
from cts.fingerprint.one_operand import OneOperand, Row
from cts.fingerprint.probes import Vectors, probes
from cts.fingerprint.samples import samples

_CHUNK = 512
"""Matrices of random operands that a unit gets at once."""
_MOST_RESULTS = 100_000
"""The most random results of a reduction or conversion, in whole matrices."""
_MOST_OPERANDS = 1 << 21
"""The most elements that random reductions add."""


@dataclass(frozen=True)
class Measured:
    """What a unit computed for a row.

    Attributes:
        row: the row.
        probes, results: the probes, and the bits of their results.
        seed: of the random operands.
        random: the bits of their results, (elements).
        failure: why nothing was measured; then the rest is empty.
    """

    row: Row
    probes: Vectors
    results: np.ndarray
    seed: int
    random: np.ndarray
    failure: str = ""


def unmeasured(row: Row, failure: str = "", seed: int = 0) -> Measured:
    """Return what is known of a row without results."""
    nothing = np.zeros(0, row.result.bits_dtype)
    a, b = (np.zeros((0, row.k), component.bits_dtype) for component in (row.a, row.b))
    return Measured(row, Vectors((), a, b, np.zeros(0, row.c.bits_dtype)), nothing, seed, nothing, failure)


def measure(unit: Unit, row: Row, seed: int, elements: int) -> Measured:
    """Run the probes of a row, and random operands for at least ``elements`` results, in whole matrices."""
    given = probes(row)
    # Sums of integers are exact, so few results tell all.
    if isinstance(row, OneOperand):
        elements = min(elements, _MOST_RESULTS, _MOST_OPERANDS // row.k)
    matrices = -(-(elements if row.result.is_float else elements // 16) // (row.m * row.n))
    try:
        results = run_vectors(unit, row, given)
        random = [np.zeros(0, row.result.bits_dtype)]
        for first in range(0, matrices, _CHUNK):
            random.append(unit(row, *samples(row, seed, first, min(_CHUNK, matrices - first))).reshape(-1))
    except NotMeasured as failure:
        return unmeasured(row, str(failure), seed)
    return Measured(row, given, results, seed, np.concatenate(random))
