"""Which process judges which case next.

Long cases come first, to whichever process needs one. Then each process has its own part of the others, because neighbours in the order
share much of their work. A process that is done takes cases from the end of the largest part that is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence

AHEAD = 2
"""How many cases a process of pytest-xdist has at least: it begins one only when it knows the next one."""

MOST = 64
"""The most cases that a process gets at once."""

_SHARES = 8
"""A process gets this part of its part at once."""


class Dealing:
    """The cases that no process has yet, as numbers.

    Args:
        first: the cases that come first, in their order.
        ahead: how many of the first cases a process has.
    """

    def __init__(self, first: Iterable[int], ahead: int = AHEAD) -> None:
        self._first = deque(first)
        self._ahead = ahead
        self._parts: dict[Hashable, deque[int]] = {}

    def divide(self, others: Sequence[int], processes: Sequence[Hashable]) -> None:
        """Give each of the processes a part of the other cases."""
        for number, process in enumerate(processes):
            begin, end = (len(others) * place // len(processes) for place in (number, number + 1))
            self._parts[process] = deque(others[begin:end])

    @property
    def left(self) -> int:
        """How many cases no process has."""
        return len(self._first) + sum(map(len, self._parts.values()))

    def put_back(self, cases: Sequence[int]) -> None:
        """Take cases back from a process that died. They come before all others."""
        self._first.extendleft(reversed(cases))

    def take(self, process: Hashable, has: int, most: int = MOST) -> list[int]:
        """Return the cases that a process gets now: none if the ``has`` cases that it has are enough."""
        own = self._parts.get(process)
        part = own or max(self._parts.values(), key=len, default=deque())
        wanted = self._ahead if self._first else min(max(len(part) // _SHARES, AHEAD), MOST)
        dealt: list[int] = []
        if has > wanted // 2:
            return dealt
        for _ in range(min(wanted - has, most)):
            if self._first:
                dealt.append(self._first.popleft())
            elif part:
                dealt.append(part.popleft() if part is own else part.pop())
        return dealt
