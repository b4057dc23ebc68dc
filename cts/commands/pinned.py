"""Pinned facts of a suite version: the cases and their digests.

``golden/tiers/<family>.tsv`` has a line for every case of the nightly tier (generators.casebook.tiers); runs read the cases of the smoke
and nightly tiers from it. ``golden/tiers/full.tsv`` has a line for every family: how many cases the full tier has, and a digest of their
ids. ``golden/full/<family>.tsv`` counts these by blocks (generators.casebook.blocks). These files show in a review which cases a change
adds, loses or alters. ``golden/needs/<family>.tsv`` has the needs of each case (cts.kinds.pinned_needs), and ``golden/must_pass`` which
cases a device owes (cts.conformance.owed).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from cts.conformance.owed import is_owed, must_pass_file, owed_of, read_must_pass, write_must_pass
from cts.kinds.kernel_digests import needs, only_positions
from cts.kinds.pinned_needs import FOLDER as NEEDS
from cts.kinds.pinned_needs import CaseNeeds, key_of, lines_of, needs_file
from cts.kinds.table import KINDS
from generators.casebook import Casebook, Family, find_case, full_ids, load_casebook
from generators.casebook.blocks import block_file, blocks_text, divided
from generators.casebook.cases import full_rows
from generators.casebook.pinning import choose_tiers, tier_faults
from generators.casebook.tiers import COLUMNS, FOLDER, pinned_file, read_tiers, write_tiers
from generators.digests import digest
from generators.errors import CtsError

FULL = "full.tsv"
_BATCH = 64
_NO_DIGESTS = ("-", "-", "-")
_NEEDS_CHANGED = "what cases need of a device differs from golden/needs: write it with 'cts golden --update'"

_OWED_CHANGED = "what a device owes differs from golden/must_pass: write it with 'cts golden --update'"


@dataclass(frozen=True)
class Difference:
    """The differences between a family and its pinned facts.

    Attributes:
        family: its name.
        lost: pinned ids that are no longer cases.
        altered: ids of cases that have changed, and which of their digests differ.
        notes: what is wrong with the tiers, and with the number of cases in the full tier.
        is_gone: whether the family no longer exists.
    """

    family: str
    lost: tuple[str, ...] = ()
    altered: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    is_gone: bool = False

    def __bool__(self) -> bool:
        return bool(self.lost or self.altered or self.notes)


@dataclass(frozen=True)
class Change:
    """How an update changed the pinned cases of a family.

    Attributes:
        cases: how many cases are pinned now.
        added, lost: how many of them are new, and how many are gone.
    """

    cases: int
    added: int
    lost: int


Digests = tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """The pinned facts of a case: its digests, its needs if they can be pinned, and the positions that alone decide it, if they do."""

    digests: Digests
    needs: CaseNeeds | None
    positions: tuple[str, ...]


Compute = Callable[[Iterable[str]], dict[str, Facts]]
"""Computes the facts of cases from their ids."""


def case_facts(casebook: Casebook, ids: Iterable[str]) -> dict[str, Facts]:
    """Compute the facts of some cases in this process, in order."""
    found: dict[str, Facts] = {}
    for id_ in ids:
        case = find_case(casebook, id_)
        found[id_] = Facts(KINDS[case.definition.kind].digests(case), needs(case), only_positions(case))
    return found


@cache
def _loaded(root: Path) -> Casebook:
    """Load the casebook, once: in a process that only computes facts, its files do not change."""
    return load_casebook(root)


def _facts_elsewhere(root: Path, ids: Sequence[str]) -> dict[str, Facts]:
    return case_facts(_loaded(root), ids)


@contextmanager
def computing(root: Path, casebook: Casebook, jobs: int) -> Iterator[Compute]:
    """Return a function that computes in this process, or in ``jobs`` other processes, which end with the context."""
    if jobs == 1:
        yield partial(case_facts, casebook)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:

        def spread(ids: Iterable[str]) -> dict[str, Facts]:
            found: dict[str, Facts] = {}
            for part in pool.map(partial(_facts_elsewhere, root), _batched(ids, _BATCH)):
                found |= part
            return found

        yield spread


@dataclass(frozen=True)
class FullTier:
    """The pinned facts of the full tier of a family.

    Attributes:
        line: its line in the list of families.
        blocks: the text of the file with its blocks.
    """

    line: str
    blocks: str


def full_tier(family: Family) -> FullTier:
    """Return the facts to pin for a family's full tier."""
    full = full_rows(family)
    ids = sorted(full_ids(family, full))
    line = f"{family.name}\t{len(ids)}\t{digest(id_.encode() for id_ in ids)}"
    return FullTier(line, blocks_text(family, divided(family, full)))


def check(root: Path, casebook: Casebook, jobs: int, names: Collection[str] = ()) -> list[Difference]:
    """Compare the pinned facts with the current suite.

    Args:
        root: the checkout.
        casebook: its families.
        jobs: processes.
        names: the families to compare; by default all families that exist or are pinned.

    Raises:
        CtsError: nothing is pinned.
    """
    full = _full_lines(root)
    if not full:
        raise CtsError(f"{root / FOLDER / FULL} has no facts: write them with 'cts golden --update'")
    with computing(root, casebook, jobs) as compute:
        return [
            _difference(root, name, casebook.families.get(name), full.get(name, ""), compute)
            for name in sorted(names or {*casebook.families, *full})
        ]


def _difference(root: Path, name: str, family: Family | None, full: str, compute: Compute) -> Difference:
    pinned = read_tiers(pinned_file(root, name))
    old = {case.id: case.digests or _NO_DIGESTS for case in pinned.cases}
    if family is None:
        return Difference(name, tuple(old), notes=("the family is gone",), is_gone=True)
    faults = tier_faults(family, pinned)
    new = compute(id_ for id_ in old if id_ not in faults.lost)
    altered = tuple((id_, _what_changed(old[id_], now.digests)) for id_, now in new.items() if old[id_] != now.digests)
    # Only if nothing else has changed: needs of changed cases are not found, because they are pinned together with the cases.
    others: tuple[str, ...] = () if altered or faults.lost or lines_of(_keyed(new)) == _lines(needs_file(root, name)) else (_NEEDS_CHANGED,)
    if is_owed(family) and not altered and not faults.lost:
        owed = owed_of(family, old, {id_: one.positions for id_, one in new.items()})
        others = others if owed == read_must_pass(must_pass_file(root)).get(name) else (*others, _OWED_CHANGED)
    tier = full_tier(family)
    notes = [*faults.notes, *others, *_full_tier_note(full, tier.line)]
    path = block_file(root, name)
    if not path.is_file() or path.read_text(encoding="utf-8") != tier.blocks:
        notes.append("full tier: the blocks differ from the pinned ones")
    return Difference(name, faults.lost, altered, tuple(notes))


def _full_tier_note(pinned: str, now: str) -> tuple[str, ...]:
    if pinned == now:
        return ()
    _, before, _ = pinned.split("\t") if pinned else ("", "no", "")
    _, after, _ = now.split("\t")
    return (f"full tier: {before} cases pinned, {after} now" + (" with other ids" if before == after else ""),)


def update(
    root: Path, casebook: Casebook, jobs: int, names: Collection[str] = (), tiers_alone: bool = False, anew: bool = False
) -> dict[str, Change]:
    """Pin the current suite.

    Args:
        root: the checkout.
        casebook: its families.
        jobs: processes.
        names: the families to pin; by default all, and the facts of families that no longer exist are removed.
        anew: whether to choose all cases again; by default pinned cases stay.
        tiers_alone: whether to compute no digests, and keep existing ones. Nothing is built, so the builder need not work yet.

    Returns:
        The changes, by family.
    """
    changes = {}
    full = {name: line for name, line in _full_lines(root).items() if name in casebook.families}
    must_pass = read_must_pass(must_pass_file(root))
    with computing(root, casebook, jobs) as compute:
        for name in [name for name in casebook.families if not names or name in names]:
            family, path = casebook.families[name], pinned_file(root, name)
            pinned = read_tiers(path)
            old = {case.id: case.digests for case in pinned.cases}
            tiers = choose_tiers(family, old, None if anew else pinned)
            if not tiers_alone:
                facts = compute([case.id for case in tiers.cases])
                tiers = replace(tiers, cases=tuple(case._replace(digests=facts[case.id].digests) for case in tiers.cases))
                _write_needs(needs_file(root, name), facts)
                if is_owed(family):
                    owed = {case.id: case.digests for case in tiers.cases}
                    must_pass[name] = owed_of(family, owed, {id_: one.positions for id_, one in facts.items()})
            write_tiers(path, tiers)
            new = {case.id for case in tiers.cases}
            changes[name] = Change(len(new), len(new - old.keys()), len(old.keys() - new))
            whole = full_tier(family)
            full[name] = whole.line
            block_file(root, name).parent.mkdir(parents=True, exist_ok=True)
            block_file(root, name).write_text(whole.blocks, encoding="utf-8")
    write_must_pass(must_pass_file(root), ((name, must_pass[name]) for name in casebook.families if name in must_pass))
    _write(root / FOLDER / FULL, ["# family\tcases\tids", *(full[name] for name in casebook.families if name in full)])
    if not names:
        for path in (root / FOLDER).glob("*.tsv"):
            if path.name != FULL and path.stem not in casebook.families:
                path.unlink()
                block_file(root, path.stem).unlink(missing_ok=True)
        for path in (root / NEEDS).glob("*.tsv"):
            if path.stem not in casebook.families:
                path.unlink()
    return changes


def _keyed(facts: Mapping[str, Facts]) -> Iterator[tuple[str, CaseNeeds]]:
    """Yield the keys and needs of the cases that have pinned needs."""
    for id_, one in facts.items():
        if one.needs is not None:
            yield key_of(id_, one.digests), one.needs


def _write_needs(path: Path, facts: Mapping[str, Facts]) -> None:
    """Write the needs of a family's cases; no file if they have none."""
    if any(one.needs is not None for one in facts.values()):
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, lines_of(_keyed(facts)))
    else:
        path.unlink(missing_ok=True)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file of needs; if it does not exist, the lines of a file without cases."""
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else lines_of(())


def _what_changed(old: Digests, new: Digests) -> str:
    if old == _NO_DIGESTS:
        return "not pinned yet"
    return ", ".join(name for name, was, now in zip(COLUMNS[2:], old, new, strict=False) if was != now) or "form"


def _batched(ids: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    rest = iter(ids)
    while batch := tuple(islice(rest, size)):
        yield batch


def _full_lines(root: Path) -> dict[str, str]:
    path = root / FOLDER / FULL
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0]: line for line in lines if line and not line.startswith("#")}


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
