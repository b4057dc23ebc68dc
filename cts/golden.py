"""Pinned facts of a suite version: which cases there are, and digests of what each is made of.

``golden/cases/<family>.tsv`` has a line for every case of the nightly tier: its first tier, its id, and digests of its SPIR-V,
its inputs and its expected results, as the kind of case has them.
``golden/cases/full.tsv`` has a line for every family: how many cases the full tier has, and a
digest of their ids.
A review of a change sees in these files which cases it adds, loses or alters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
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


def case_lines(root: Path, tiers: dict[str, str], ids: Sequence[str]) -> list[str]:
    """The lines of some cases, computed anew."""
    casebook = load_casebook(root)
    lines = []
    for id_ in ids:
        case = find_case(casebook, id_)
        fields = KINDS[case.definition.kind].digests(case)
        lines.append("\t".join((tiers[id_], id_, *fields)))
    return lines


def family_lines(root: Path, family: Family, jobs: int) -> list[str]:
    """The lines of a family's nightly tier, in its order, computed by ``jobs`` processes."""
    smoke = {case.id for case in expand(family, "smoke")}
    tiers = {case.id: "smoke" if case.id in smoke else "nightly" for case in expand(family, "nightly")}
    if jobs == 1:
        return case_lines(root, tiers, list(tiers))
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        batches = [list(batch) for batch in _batched(tiers, _BATCH)]
        parts = [{id_: tiers[id_] for id_ in batch} for batch in batches]
        return [line for lines in pool.map(partial(case_lines, root), parts, batches) for line in lines]


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
    differences = []
    for name in sorted({*casebook.families, *pinned_full}):
        old = {line.split("\t")[1]: line for line in _lines(folder / f"{name}.tsv")}
        family = casebook.families.get(name)
        if family is None:
            differences.append(Difference(name, (), tuple(old), (), "the family is gone"))
            continue
        new = {line.split("\t")[1]: line for line in family_lines(root, family, jobs)}
        altered = tuple((id_, _what_changed(old[id_], new[id_])) for id_ in old if id_ in new and old[id_] != new[id_])
        was, now = pinned_full.get(name, f"{name}\t0\t"), full_line(family)
        note = "" if was == now else f"full tier: {was.split(chr(9))[1]} cases pinned, {now.split(chr(9))[1]} now"
        if note and was.split("\t")[1] == now.split("\t")[1]:
            note += " with other ids"
        differences.append(
            Difference(name, tuple(id_ for id_ in new if id_ not in old), tuple(id_ for id_ in old if id_ not in new), altered, note)
        )
    return differences


def update(root: Path, casebook: Casebook, jobs: int) -> dict[str, int]:
    """Writes the facts of the suite as it is; returns how many cases are pinned in each family."""
    folder = root / "golden" / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    counts = {}
    for family in casebook.families.values():
        lines = family_lines(root, family, jobs)
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
