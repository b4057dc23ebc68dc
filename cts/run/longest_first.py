"""The order in which the processes of a run judge: long cases start first, each in a separate process as far as possible.

pytest-xdist deals the cases out in contiguous parts of equal length, one for each process. A process that has finished its part takes cases
from the end of another part, except the case that runs there and the next one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate


def longest_first(costs: Sequence[int | None], processes: int) -> list[int]:
    """Return the numbers of all cases in the order in which pytest-xdist must get them.

    Each process begins with long cases. They are assigned by decreasing cost, each to the process with the lowest cost so far.

    Args:
        costs: the estimate for each case, in any unit; None for a case that does not take long.
        processes: how many processes the run has, at least one.
    """
    sizes = [(len(costs) + number) // processes for number in range(processes)]
    ends = list(accumulate(sizes))
    begins: list[list[int]] = [[] for _ in range(processes)]
    loads = [(0, process) for process in range(processes) if sizes[process]]
    for cost, number in sorted((-cost, number) for number, cost in enumerate(costs) if cost is not None):
        load, process = heapq.heappop(loads)
        begins[process].append(number)
        if len(begins[process]) < sizes[process]:
            heapq.heappush(loads, (load - cost, process))
    others = iter([number for number, cost in enumerate(costs) if cost is None])
    found: list[int] = []
    for process, end in enumerate(ends):
        found += begins[process]
        found += [next(others) for _ in range(end - len(found))]
    return found
