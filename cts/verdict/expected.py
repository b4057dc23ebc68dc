"""What a dispatch may leave in memory: a set of allowed values for each element that is written, poison everywhere else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from generators.types import ComponentType


@dataclass(frozen=True)
class Proof:
    """Why a computed float has one value: every partial sum, in every order and grouping, is exact (facts.md C31).

    Attributes:
        precision: bits of the narrowest plausible accumulation, in which that holds.
        margin_bits: for each element, how many bits of them the sum of absolute values leaves unused; float64, infinite for a sum of
            zeros.
    """

    precision: int
    margin_bits: np.ndarray

    def __str__(self) -> str:
        return (
            f"exact under any order and grouping: every partial sum fits {self.precision} bits, with "
            f"{self.margin_bits.min():.2f} bits to spare in the tightest element"
        )


@dataclass(frozen=True)
class Allowed:
    """The set of allowed values of each element of an array of any shape.

    Attributes:
        component: type of the elements.
        kind: ``exact`` (``bits`` alone), ``alternatives`` (``bits`` or any of ``others``), or ``interval`` (``low`` <= value <= ``high``).
        bits: unsigned integers of the component's width. For ``interval``, the bits nearest to the true value.
        others: further allowed bit patterns, each of the shape of ``bits``.
        low, high: float64 bounds, inclusive, of the shape of ``bits``. A value outside, or NaN, is not allowed.
        nan: elements (bool array, or one bool) for which any NaN is allowed as well.
        either_zero: whether -0 and +0 are the same (facts.md C7: true unless SignedZeroInfNanPreserve, for computed floats).
        proof: of floats that are ``exact`` although they were computed, else None.
        center, magnitude, bound: for messages about an ``interval``: true value x, S = sum of |a*b| + |c|, and half its width, float64.
            Only the suite's envelope has the latter two: None where the specification itself gives the interval.
    """

    component: ComponentType
    kind: Literal["exact", "alternatives", "interval"]
    bits: np.ndarray
    others: tuple[np.ndarray, ...] = ()
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    nan: np.ndarray | bool = False
    either_zero: bool = False
    proof: Proof | None = None
    center: np.ndarray | None = None
    magnitude: np.ndarray | None = None
    bound: np.ndarray | None = None


@dataclass(frozen=True)
class Placed:
    """Elements that a store writes.

    Attributes:
        array: name of the array.
        offsets: int64 byte offsets from the start of the array, shape (instances, rows, columns).
        allowed: of the same shape.
        what: the name of the stored value, for messages.
        cells: where only some of a matrix's elements are written: instance, row and column of each, int64, (count, 3). ``offsets`` and
            ``allowed`` have the shape (1, 1, count) then. None where all are.
        shape: (instances, rows, columns) of that matrix, None where ``cells`` is.
    """

    array: str
    offsets: np.ndarray
    allowed: Allowed
    what: str
    cells: np.ndarray | None = None
    shape: tuple[int, int, int] | None = None

    def cell(self, at: tuple[int, int, int]) -> tuple[int, int, int]:
        """Instance, row and column of the element at a position of ``offsets``."""
        if self.cells is None:
            return at
        instance, row, column = self.cells[at[2]].tolist()
        return instance, row, column

    def in_matrix(self, values: np.ndarray) -> np.ndarray:
        """``values`` of the shape of ``offsets`` where they belong in the matrix, zero where it writes nothing."""
        if self.cells is None or self.shape is None:
            return values
        whole = np.zeros(self.shape, values.dtype)
        whole[tuple(self.cells.T)] = values.reshape(-1)
        return whole


@dataclass(frozen=True)
class Expected:
    """All elements that a dispatch writes. Where stores overlap in time, only the last one is listed. Bytes of output arrays that no
    element covers keep what they held before."""

    placed: tuple[Placed, ...]
    notes: tuple[str, ...] = field(default=())
