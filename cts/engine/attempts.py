"""The remaining judgements of a case, if ``--repeat`` asks for several and a journal has some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attempts:
    """How often each case is judged, and which judgements exist. Data for other processes.

    Attributes:
        repeat: how often each case is judged; at least 1.
        judged: id of a case -> the attempts that already have a verdict.
    """

    repeat: int = 1
    judged: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def left(self, id_: str) -> list[int]:
        """Return the attempts that a case still gets, in order."""
        judged = self.judged.get(id_, frozenset())
        return [number for number in range(1, self.repeat + 1) if number not in judged]


def by_id(pairs: Iterable[tuple[str, int]]) -> dict[str, frozenset[int]]:
    """Return the attempts of each case, from pairs of id and attempt."""
    found: dict[str, set[int]] = {}
    for id_, attempt in pairs:
        found.setdefault(id_, set()).add(attempt)
    return {id_: frozenset(numbers) for id_, numbers in found.items()}
