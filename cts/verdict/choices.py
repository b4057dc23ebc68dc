"""Tells which of two decode functions gave the elements of a matrix, if they give different ones (DV-SEM-02)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.verdict.elements import gather
from cts.verdict.expected import Expected, OneOf, Placed

EITHER_FUNCTION = "DV-SEM-01"
"""The requirement that lets an element have the result of either function. The scalar function's result is the first choice."""

_MOST_ROWS = 32


def decode_choices(expected: Expected, outputs: Mapping[str, np.ndarray]) -> list[str]:
    """Tell how many elements of a matrix each of two decode functions gave, and where in the first scope instance.

    The text is only for matrices whose elements either function may give.

    Args:
        expected: the expected results of one dispatch, which permit everything in ``outputs``.
        outputs: contents of the output arrays, uint8.
    """
    told: list[str] = []
    for placed in expected.placed:
        permitted = placed.permitted
        if placed.expectation.authority.requirement == EITHER_FUNCTION and isinstance(permitted, OneOf) and len(permitted.choices) > 1:
            told += _told(placed, permitted, gather(outputs[placed.array], placed.offsets, placed.component))
    return told


def _told(placed: Placed, permitted: OneOf, got: np.ndarray) -> list[str]:
    scalar, *vectors = permitted.choices
    by_vector = np.logical_or.reduce([got == vector for vector in vectors]) & (got != scalar)
    differ = np.logical_or.reduce([vector != scalar for vector in vectors])
    counts = int(by_vector.sum()), int((differ & ~by_vector).sum())
    line = f"{placed.what}: {counts[0]} elements by DecodeVectorFunc, {counts[1]} by DecodeFunc"
    same = int((~differ).sum())
    lines = [f"{line}, {same} equal by both" if same else line]
    if placed.cells is None and got.shape[1] <= _MOST_ROWS:
        marks = np.where(by_vector[0], "V", np.where(differ[0], "s", "."))
        lines += ["  " + "".join(row) for row in marks.tolist()]
    return lines
