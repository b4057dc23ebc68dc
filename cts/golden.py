"""Pinned facts of a suite version: which cases there are, and digests of what each is made of.

``golden/cases/<family>.tsv`` has a line for every case of the nightly tier: its first tier, its id, and digests of its SPIR-V,
its inputs and its expected results, as the kind of case has them.
``golden/cases/full.tsv`` has a line for every family: how many cases the full tier has, and a
digest of their ids.
A review of a change sees in these files which cases it adds, loses or alters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from cts.kinds.table import KINDS
from generators.casebook import Casebook, Family, expand, find_case, load_casebook
from generators.digests import digest
from generators.errors import CtsError

FULL = "full.tsv"
_BATCH = 64


@dataclass(frozen=True)
class Difference:
    """How a family's cases differ from the pinned ones; ids, and for ``altered`` what changed."""

    family: str
    added: tuple[str, ...]
    lost: tuple[str, ...]
    altered: tuple[tuple[str, str], ...]
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.added or self.lost or self.altered or self.note)


COLUMNS = ("tier", "id", "spirv", "inputs", "expected")


Compute = Callable[[Mapping[str, str]], list[str]]
"""Makes the lines of cases, computed anew, from their ids and first tiers."""


def case_lines(casebook: Casebook, tiers: Mapping[str, str]) -> list[str]:
    """The lines of some cases, in order, computed in this process."""
    lines = []
    for id_, tier in tiers.items():
        case = find_case(casebook, id_)
        lines.append("\t".join((tier, id_, *KINDS[case.definition.kind].digests(case))))
    return lines


@cache
def _loaded(root: Path) -> Casebook:
    """For a process that only computes lines: its files are those that it began with."""
    return load_casebook(root)


def _lines_elsewhere(root: Path, tiers: Mapping[str, str]) -> list[str]:
    return case_lines(_loaded(root), tiers)


@contextmanager
def computing(root: Path, casebook: Casebook, jobs: int) -> Iterator[Compute]:
    """Computes in this process, or in ``jobs`` others, which end with the context."""
    if jobs == 1:
        yield partial(case_lines, casebook)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:

        def spread(tiers: Mapping[str, str]) -> list[str]:
            batches = [{id_: tiers[id_] for id_ in batch} for batch in _batched(tiers, _BATCH)]
            return [line for lines in pool.map(partial(_lines_elsewhere, root), batches) for line in lines]

        yield spread


def family_lines(family: Family, compute: Compute) -> list[str]:
    """The lines of a family's nightly tier, in its order."""
    smoke = {case.id for case in expand(family, "smoke")}
    return compute({case.id: "smoke" if case.id in smoke else "nightly" for case in expand(family, "nightly")})


def full_line(family: Family) -> str:
    """The line of a family's full tier."""
    ids = sorted(case.id for case in expand(family, "full"))
    return f"{family.name}\t{len(ids)}\t{digest(id_.encode() for id_ in ids)}"


def check(root: Path, casebook: Casebook, jobs: int) -> list[Difference]:
    """The differences between the pinned facts and the suite as it is, a Difference for every family that there is or was.

    Raises:
        CtsError: nothing is pinned.
    """
    folder = root / "golden" / "cases"
    pinned_full = {line.split("\t")[0]: line for line in _lines(folder / FULL)}
    if not pinned_full:
        raise CtsError(f"{folder / FULL} has no facts: write them with 'cts golden --update'")
    names = sorted({*casebook.families, *pinned_full})
    with computing(root, casebook, jobs) as compute:
        return [_difference(folder, name, casebook.families.get(name), pinned_full.get(name), compute) for name in names]


def _difference(folder: Path, name: str, family: Family | None, pinned: str | None, compute: Compute) -> Difference:
    """``pinned`` is the line of the full tier."""
    old = {line.split("\t")[1]: line for line in _lines(folder / f"{name}.tsv")}
    if family is None:
        return Difference(name, (), tuple(old), (), "the family is gone")
    new = {line.split("\t")[1]: line for line in family_lines(family, compute)}
    altered = tuple((id_, _what_changed(old[id_], new[id_])) for id_ in old if id_ in new and old[id_] != new[id_])
    was, now = pinned or f"{name}\t0\t", full_line(family)
    note = "" if was == now else f"full tier: {was.split(chr(9))[1]} cases pinned, {now.split(chr(9))[1]} now"
    if note and was.split("\t")[1] == now.split("\t")[1]:
        note += " with other ids"
    return Difference(name, tuple(id_ for id_ in new if id_ not in old), tuple(id_ for id_ in old if id_ not in new), altered, note)


def update(root: Path, casebook: Casebook, jobs: int) -> dict[str, int]:
    """Writes the facts of the suite as it is; returns how many cases are pinned in each family."""
    folder = root / "golden" / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    with computing(root, casebook, jobs) as compute:
        for family in casebook.families.values():
            lines = family_lines(family, compute)
            _write(folder / f"{family.name}.tsv", ["# " + "\t".join(COLUMNS), *lines])
            counts[family.name] = len(lines)
    _write(folder / FULL, ["# family\tcases\tids", *(full_line(family) for family in casebook.families.values())])
    for path in folder.glob("*.tsv"):
        if path.name != FULL and path.stem not in casebook.families:
            path.unlink()
    return counts


def _what_changed(old: str, new: str) -> str:
    return ", ".join(name for name, was, now in zip(COLUMNS, old.split("\t"), new.split("\t"), strict=False) if was != now) or "form"


def _batched(ids: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    rest = iter(ids)
    while batch := tuple(islice(rest, size)):
        yield batch


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
