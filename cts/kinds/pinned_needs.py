"""The needs of the cases of the nightly tier, pinned in ``golden/needs/<family>.tsv``, so a run builds no case that the device cannot run.

The line of a case begins with a key. It is a digest of the case's line in ``golden/tiers``, so the needs of a changed case are not found.
After the key it has, for every pipeline of the case, the numbers of three of the parts above the line, and the pipeline's label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from cts.devices.kernel_needs import Environment, KernelNeeds, Sizes, Types
from generators.casebook import Case, Family
from generators.casebook.cases import Identified
from generators.casebook.tiers import home, pinned_digests
from generators.digests import digest

FOLDER = Path("golden", "needs")
"""The folder of the files in a checkout."""

_PARTS = (("environment", Environment), ("sizes", Sizes), ("types", Types))
_FIELDS = digest([f"{name}.{field}".encode() for name, part in _PARTS for field in part._fields])
_HEAD = f"# what each case needs of a device, by parts that several have ({_FIELDS}); written by 'cts golden --update'"
"""The header, with a digest of the parts' fields: a file with other fields counts as empty."""

CaseNeeds = tuple[tuple[str, KernelNeeds], ...]
"""Label and needs of each pipeline of a case."""


def needs_file(root: Path, name: str) -> Path:
    """Return the file that pins the needs of the family ``name`` in the checkout ``root``."""
    return root / FOLDER / f"{name}.tsv"


def key_of(id_: str, digests: Sequence[str]) -> str:
    """Return the key of a case, from its id and its digests in ``golden/tiers``."""
    return digest([id_.encode(), *(one.encode() for one in digests)])


def lines_of(cases: Iterable[tuple[str, CaseNeeds]]) -> list[str]:
    """Return the lines of a file, for the keys and needs of the cases of a family."""
    tables: list[dict[str, int]] = [{} for _ in _PARTS]
    lines, last = [_HEAD], []
    for key, pipelines in cases:
        words = [key]
        for label, needs in pipelines:
            numbers = []
            for (name, _), table, part in zip(_PARTS, tables, needs, strict=True):
                text = msgspec.json.encode(part).decode()
                if text not in table:
                    table[text] = len(table)
                    lines.append(f"{name}\t{text}")
                numbers.append(str(table[text]))
            words.append(f"{'.'.join(numbers)}:{label}")
        last.append("\t".join(words))
    return [*lines, *last]


@dataclass(frozen=True)
class PinnedNeeds:
    """A file of pinned needs.

    Attributes:
        parts: the texts of environments, of sizes and of types.
        cases: key -> numbers of the parts and label of each pipeline.
    """

    parts: tuple[tuple[str, ...], ...]
    cases: Mapping[str, tuple[str, ...]]

    def of(self, key: str) -> CaseNeeds | None:
        """Return the needs of the case with that key, if they are pinned."""
        words = self.cases.get(key)
        return None if words is None else tuple(self._pipeline(word) for word in words)

    def _pipeline(self, word: str) -> tuple[str, KernelNeeds]:
        """Return the label and the needs of a pipeline; every occurrence of a word gives the same object."""
        found = self._pipelines.get(word)
        if found is None:
            numbers, _, label = word.partition(":")
            environment, sizes, types = (_decoded(place, self.parts[place][int(number)]) for place, number in enumerate(numbers.split(".")))
            needs = KernelNeeds(environment, sizes, types)
            found = self._pipelines[word] = (label, needs)
        return found

    @cached_property
    def _pipelines(self) -> dict[str, tuple[str, KernelNeeds]]:
        return {}


@cache
def _decoded(place: int, text: str) -> Any:
    """Return the part of needs that a text describes, by its place in KernelNeeds; every occurrence of a text gives the same object."""
    return msgspec.json.decode(text, type=_PARTS[place][1])


def read_needs_file(path: Path) -> PinnedNeeds:
    """Return the pinned needs of ``path``; empty if the file does not exist, or has other parts."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    parts: dict[str, list[str]] = {name: [] for name, _ in _PARTS}
    cases: dict[str, tuple[str, ...]] = {}
    head, *lines = text.splitlines() or [""]
    for line in lines if head == _HEAD else ():
        first, *rest = line.split("\t")
        if first in parts:
            parts[first] += rest
        else:
            cases[first] = tuple(rest)
    return PinnedNeeds(tuple(tuple(texts) for texts in parts.values()), cases)


@cache
def _pinned(family: Family) -> PinnedNeeds:
    return read_needs_file(needs_file(home(family), family.name))


def pinned_needs(case: Case | Identified) -> CaseNeeds | None:
    """Return the needs of a case if they are pinned."""
    pinned = _pinned(case.definition)
    if not pinned.cases:
        return None
    id_ = case.id
    digests = pinned_digests(case.definition).get(id_)
    return None if digests is None else pinned.of(key_of(id_, digests))


def is_pinned(case: Case, module: str) -> bool:
    """Return whether a module, given by its digest, is the one that is pinned for a case."""
    return pinned_digests(case.definition).get(case.id, ())[:1] == (module,)
