"""Chooses which invocation holds which element of a cooperative matrix. Any choice is allowed (KHR-LEN-02, KHR-COMP-03)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.machine.remembering import remember_small
from generators.errors import CtsError

NO_ELEMENT = -1


def _interleaved(rows: int, columns: int, _: int) -> np.ndarray:
    return np.arange(rows * columns)


def _columns(rows: int, columns: int, _: int) -> np.ndarray:
    return np.arange(rows * columns).reshape(rows, columns).T.ravel()


def _blocked(rows: int, columns: int, lanes: int) -> np.ndarray:
    count = rows * columns
    per_lane = -(-count // lanes)
    order = np.full(per_lane * lanes, NO_ELEMENT)
    order[:count] = np.arange(count)
    return order.reshape(lanes, per_lane).T.ravel()


def _scattered(rows: int, columns: int, lanes: int) -> np.ndarray:
    return np.random.default_rng((rows, columns, lanes)).permutation(rows * columns)


MAPPINGS: Mapping[str, Callable[[int, int, int], np.ndarray]] = MappingProxyType(
    {"interleaved": _interleaved, "columns": _columns, "blocked": _blocked, "scattered": _scattered}
)
"""Name -> the elements (row * columns + column) in the order that they are dealt to the invocations, one at a time.

``interleaved`` goes along rows, ``columns`` along columns. ``blocked`` gives each invocation a run of neighbours. ``scattered`` has no
order."""


@remember_small(maxsize=256, elements=lambda _, rows, columns, *__: rows * columns)
def element_table(mapping: str, rows: int, columns: int, lanes: int) -> np.ndarray:
    """Return the element that is component i of invocation l.

    The result is int64 of shape (most components, lanes), with NO_ELEMENT if an invocation has fewer components.

    Raises:
        CtsError: the mapping does not exist.
    """
    if mapping not in MAPPINGS:
        raise CtsError(f"no mapping '{mapping}' of elements to invocations; choose one of {', '.join(MAPPINGS)}")
    order = MAPPINGS[mapping](rows, columns, lanes)
    table = np.full(-(-order.size // lanes) * lanes, NO_ELEMENT)
    table[: order.size] = order
    return table.reshape(-1, lanes)


@remember_small(maxsize=256, elements=lambda _, rows, columns, *__: rows * columns)
def component_counts(mapping: str, rows: int, columns: int, lanes: int) -> np.ndarray:
    """Return the number of components of each invocation: int64 of shape (lanes,)."""
    counts: np.ndarray = (element_table(mapping, rows, columns, lanes) != NO_ELEMENT).sum(axis=0)
    return counts
