"""The order in which a run with a time limit judges: at any time, the judged cases cover as much as possible.

A case covers the pairs of its labels. Each family's cases are in the order that a greedy choice takes them in, and families share the
run by the part of their pairs that their next case adds, so a family of four cases is over soon, and one of a thousand begins with
those that differ most.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

Labels = Sequence[Sequence[str]]
"""For each case of a family the labels of its parameters; every case has as many."""


def covering_order(families: Sequence[Labels]) -> list[tuple[int, int]]:
    """Return every case once, as the number of its family and its number there. Equal input gives equal order."""
    queue = []
    for number, labels in enumerate(families):
        for rank, (case, part) in enumerate(_greedy(labels)):
            # Those that add nothing follow evenly from all families.
            queue.append((-part, rank / len(labels), number, case))
    return [(number, case) for _, _, number, case in sorted(queue)]


def _greedy(labels: Labels) -> list[tuple[int, float]]:
    """Return the cases of a family in order, each with the part of the pairs that it adds to those before it, which never grows."""
    pairs, count = _pairs(labels)
    covered = np.zeros(count, bool)
    waiting = [(-pairs.shape[1], case) for case in range(len(labels))]
    found: list[tuple[int, float]] = []
    while waiting:
        _, case = waiting[0]
        # It adds at most as much as it would have added to fewer cases.
        gain = int(np.count_nonzero(~covered[pairs[case]]))
        heapq.heapreplace(waiting, (-gain, case))
        if waiting[0] == (-gain, case):
            heapq.heappop(waiting)
            covered[pairs[case]] = True
            found.append((case, gain / max(count, 1)))
    return found


def _pairs(labels: Labels) -> tuple[np.ndarray, int]:
    """Return for each case the numbers of the pairs of labels that it has, shape (cases, pairs of parameters), and how many pairs there
    are. A label makes a pair with itself."""
    columns = [np.unique(column, return_inverse=True)[1] for column in zip(*labels, strict=True)]
    numbers, count = [], 0
    for one, other in combinations_with_replacement(columns, 2):
        present, inverse = np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)
        numbers.append(inverse + count)
        count += len(present)
    table = np.stack(numbers, axis=1) if numbers else np.zeros((len(labels), 0), np.int64)
    return table, count
