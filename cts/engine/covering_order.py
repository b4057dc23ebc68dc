"""The order in which a run with a time limit judges: at any time, the judged cases cover as much as possible.

A case covers the pairs of its labels. A greedy choice orders the cases of each family. The next case of the run comes from the family in
which it adds the largest part of the pairs. So a family of four cases is done soon, and a family of a thousand begins with the cases that
differ most.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np

from generators.casebook import Case

Labels = Sequence[Sequence[str]]
"""The labels of the parameters of each case of a family; every case has the same number of labels."""


def in_covering_order(cases: Sequence[Case]) -> list[int]:
    """Return the numbers of the cases in a covering order."""
    families: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        families.setdefault(case.family, []).append(number)
    known = list(families.values())
    order = covering_order([[cases[number].labels for number in numbers] for numbers in known])
    return [known[family][case] for family, case in order]


def covering_order(families: Sequence[Labels]) -> list[tuple[int, int]]:
    """Return every case once, as the number of its family and its number there. Equal inputs always give the same order."""
    queue = []
    for number, labels in enumerate(families):
        for rank, (case, part) in enumerate(_greedy(labels)):
            # Cases that add nothing follow, evenly from all families.
            queue.append((-part, rank / len(labels), number, case))
    return [(number, case) for _, _, number, case in sorted(queue)]


def _greedy(labels: Labels) -> list[tuple[int, float]]:
    """Return the cases of a family in order, each with the part of all pairs that it adds to the cases before it. This part never grows."""
    pairs, count = _pairs(labels)
    covered = np.zeros(count, bool)
    waiting = [(-pairs.shape[1], case) for case in range(len(labels))]
    found: list[tuple[int, float]] = []
    while waiting:
        _, case = waiting[0]
        # A case never adds more than it would have added to fewer cases.
        gain = int(np.count_nonzero(~covered[pairs[case]]))
        heapq.heapreplace(waiting, (-gain, case))
        if waiting[0] == (-gain, case):
            heapq.heappop(waiting)
            covered[pairs[case]] = True
            found.append((case, gain / max(count, 1)))
    return found


def _pairs(labels: Labels) -> tuple[np.ndarray, int]:
    """Return the numbers of each case's pairs of labels, shape (cases, pairs of parameters), and how many pairs there are.

    A label makes a pair with itself.
    """
    columns = [np.unique(column, return_inverse=True)[1] for column in zip(*labels, strict=True)]
    numbers, count = [], 0
    for one, other in combinations_with_replacement(columns, 2):
        present, inverse = np.unique(one * (int(other.max()) + 1) + other, return_inverse=True)
        numbers.append(inverse + count)
        count += len(present)
    table = np.stack(numbers, axis=1) if numbers else np.zeros((len(labels), 0), np.int64)
    return table, count
