"""The items of a run: each is a case, or a block of cases of the full tier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from cts.engine.selection import Selection
from generators.casebook import Family
from generators.casebook.blocks import Block, block_cases
from generators.casebook.ids import family_of
from generators.casebook.tiers import labels_of

Key = tuple[str, int]
"""The id of a case, and the number of the attempt."""


@dataclass(frozen=True)
class Selected:
    """Counts judgements without enumerating blocks, as far as that is possible.

    Attributes:
        selection: the selection of the run.
        foretold: the ids of cases that have no item, because the device is known not to support them.
    """

    selection: Selection
    foretold: tuple[str, ...] = ()

    def count(self, name: str) -> int:
        """Return how many judgements of a case or a block, by id or name, are still to be made."""
        found = self._blocks.get(name)
        if found is None:
            return len(self.selection.attempts.left(name))
        return found[1].count * self.selection.attempts.repeat - self._judged[name]

    def keys(self, name: str) -> Iterator[Key]:
        """Yield the judgements of a case or a block that are still to be made."""
        found = self._blocks.get(name)
        ids = [name] if found is None else [case.id for case in block_cases(*found)]
        yield from ((id_, attempt) for id_ in ids for attempt in self.selection.attempts.left(id_))

    def home(self, id_: str) -> str:
        """Return the name of the block that has a case; the case's id if no block has it."""
        family = self.selection.casebook.families.get(family_of(id_))
        blocks = self._by_labels.get(family.name) if family is not None else None
        labels = labels_of(family, id_) if family is not None and blocks else None
        if not blocks or family is None or labels is None:
            return id_
        row = family.row_parameter
        if row is not None and labels[row] not in family.parameters[row].values:
            return f"{family.name}{{{labels[row]}}}"
        named = [f"{parameter.name}:{label}" for parameter, label in zip(family.parameters, labels, strict=True)]
        return next((block for depth in range(len(named) + 1) if (block := blocks.get(tuple(named[:depth])))), id_)

    @property
    def asked(self) -> tuple[str, ...] | None:
        """The ids of all other cases, in the order of the families; None if nothing is known before the device is asked."""
        return None if self.selection.asked is None else tuple(chain.from_iterable(self.selection.asked.values()))

    @cached_property
    def _blocks(self) -> Mapping[str, tuple[Family, Block]]:
        return {block.name: (family, block) for family in self.selection.families for block in self.selection.blocks(family) or ()}

    @cached_property
    def _by_labels(self) -> Mapping[str, Mapping[tuple[str, ...], str]]:
        found: dict[str, dict[tuple[str, ...], str]] = {}
        for name, (family, block) in self._blocks.items():
            if not block.row:
                found.setdefault(family.name, {})[block.labels] = name
        return found

    @cached_property
    def _judged(self) -> Counter[str]:
        """How many judgements of each block have been made."""
        attempts = self.selection.attempts
        found: Counter[str] = Counter()
        for id_ in attempts.judged:
            found[self.home(id_)] += attempts.repeat - len(attempts.left(id_))
        return found
