"""Selects the cases of a run: all of the tier, or those named on the command line or in a case list, without those already judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from cts.devices.device import DeviceDescription
from cts.devices.requirements import queried_subgroup_size
from cts.engine.attempts import Attempts
from cts.engine.case_list import CaseListError, read_case_list
from cts.engine.costs import read_costs
from cts.engine.request import Request, SelectionError
from cts.engine.shards import Part, Shard, blocks_of, part_of_ids, part_of_tier
from cts.verdict.failure_lists import Expressions
from generators.casebook import Case, Casebook, Family, Tier, expand, find_case, named_case
from generators.casebook.blocks import Block, block_cases
from generators.casebook.cases import Identified, expand_ids
from generators.casebook.ids import family_of
from generators.casebook.tiers import certain_ids
from generators.digests import digest
from generators.errors import CasebookError
from generators.property_rows import FlexibleRow, PropertyRow
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope
from generators.vector_rows import VectorTypes, is_defined

_Named = TypeVar("_Named", Case, Identified)


@dataclass(frozen=True)
class Selection:
    """The cases of a run, by the file of their family.

    Attributes:
        tier: the tier, which selects if no ids are named.
        extra_rows: property rows of the device, for families whose cases follow them.
        named: family -> ids named on the command line.
        listed: family -> ids in the case list, in its order; None without a list.
        attempts: the remaining judgements; a case without any is left out.
        skips: known failures whose cases are left out.
        shard: the part of the cases to judge; None for all.
        asked: family -> ids of its cases that have items, in order; None if pytest selects among them.
    """

    casebook: Casebook
    tier: Tier
    extra_rows: tuple[str, ...] = ()
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] | None = None
    attempts: Attempts = field(default_factory=Attempts)
    skips: tuple[Expressions, ...] = ()
    shard: Shard | None = None
    asked: Mapping[str, tuple[str, ...]] | None = None

    @property
    def files(self) -> list[Path]:
        """The files of the families that may have selected cases, in order."""
        return [self.casebook.families.files[name] for name in self._names]

    def family(self, path: Path) -> Family | None:
        """Return the family that the file describes."""
        families = self.casebook.families
        return families[path.stem] if families.files.get(path.stem) == path else None

    @property
    def families(self) -> Iterator[Family]:
        """The families that may have selected cases, in order."""
        return map(self.casebook.family, self._names)

    @property
    def _names(self) -> Iterator[str]:
        return (name for name in self.casebook.families if self.listed is None or name in self.listed)

    def file(self, name: str) -> str:
        """Return a family's file as node ids name it: that depends neither on the kind of installation nor on pytest's rootdir."""
        return self.casebook.families.files[name].relative_to(self.casebook.root.parent).as_posix()

    def cases(self, family: Family, wanted: Callable[[str], bool] | None = None) -> Iterator[Case]:
        """Return the family's cases, in an order that is the same in every process.

        Args:
            family: the family.
            wanted: tells from an id whether its case is asked for. Other cases are left out if that saves time.
        """
        part, blocks = self._part, self.blocks(family)
        if blocks is not None:
            cases: Iterator[Case] = (case for block in blocks for case in block_cases(family, block))
        else:
            ids = self._ids(family)
            cases = iter(
                expand(family, self.tier, self.extra_rows, wanted) if ids is None else (named_case(self.casebook, id_) for id_ in ids)
            )
            if part is not None:
                mine = part.ids.get(family.name, frozenset())
                cases = (case for case in cases if case.id in mine)
        return self.left(cases)

    def identified(self, family: Family) -> Iterator[Identified]:
        """Return what ``cases`` returns, by id, in a tenth of its time. The family is not selected by blocks."""
        part, ids = self._part, self._ids(family)
        chosen = expand_ids(family, self.tier, self.extra_rows) if ids is None else ids
        mine = None if part is None else part.ids.get(family.name, frozenset())
        return self.left(Identified(family, id_) for id_ in chosen if mine is None or id_ in mine)

    def left(self, cases: Iterable[_Named]) -> Iterator[_Named]:
        """Return the cases that must be judged and have not had all attempts."""
        if self.skips:
            cases = (case for case in cases if not any(skips.match(case.id) for skips in self.skips))
        return (case for case in cases if self.attempts.left(case.id)) if self.attempts.judged else iter(cases)

    def blocks(self, family: Family) -> tuple[Block, ...] | None:
        """Return the blocks that have exactly the family's selected cases; None if it is not selected by blocks."""
        if self.tier is not Tier.FULL or self._ids(family) is not None:
            return None
        part = self._part
        if part is None or family.name in part.ids:
            return blocks_of(family, self.extra_rows)
        return part.blocks.get(family.name, ())

    @cached_property
    def _part(self) -> Part | None:
        """The cases of the shard; None without one."""
        if self.shard is None:
            return None
        costs = read_costs(self.casebook.root.parent)
        if self.listed is not None:
            return part_of_ids(self.listed, costs, self.shard)
        return part_of_tier(self.casebook, self.tier, self.extra_rows, self.named, costs, self.shard)

    def _ids(self, family: Family) -> Sequence[str] | None:
        named = self.named.get(family.name)
        if self.listed is None:
            return named
        listed = self.listed.get(family.name, ())
        return listed if named is None else [id_ for id_ in named if id_ in set(listed)]


def list_ids(casebook: Casebook, path: Path) -> dict[str, tuple[str, ...]]:
    """Return the ids of a case list by family, each once: a list may name a case in several ways.

    Raises:
        CaseListError: the list cannot be read, or an id in it belongs to no case; the message names file and line.
    """
    families: dict[str, dict[str, None]] = {}
    certain: dict[str, frozenset[str]] = {}
    for id_, place in read_case_list(path).items():
        name = family_of(id_)
        if name not in certain:
            family = casebook.families.get(name)
            certain[name] = frozenset() if family is None else certain_ids(family)
        if id_ in certain[name]:
            families.setdefault(name, {})[id_] = None
            continue
        try:
            case = find_case(casebook, id_)
        except CasebookError as error:
            raise CaseListError(f"{place}: {error}") from error
        families.setdefault(case.family, {})[case.id] = None
    return {family: tuple(ids) for family, ids in families.items()}


def check_named(casebook: Casebook, request: Request) -> dict[str, tuple[str, ...]]:
    """Return the named ids by family. Each is a case of the file in which it was named.

    Raises:
        CasebookError, SelectionError: an id belongs to no case, or to a case of another file.
    """
    named: dict[str, tuple[str, ...]] = {}
    for path, ids in request.files.items():
        for id_ in ids:
            case = find_case(casebook, id_)
            home = case.definition.path
            if home != path:
                raise SelectionError(f"{id_} is a case of {home.name}, not of {path.name}")
            named[case.family] = ids
    return named


def selection_digest(request: Request, words: str, listed: Mapping[str, tuple[str, ...]] | None, rows: Sequence[str]) -> str:
    """Return a digest of everything except tier and shard that selects the cases of a run: equal for all shards of one selection.

    Args:
        request: what the command line names.
        words: the words of ``-k``.
        listed: ids of the case list by family, or None.
        rows: property rows of the device, as ``device_rows`` returns them.
    """
    named = [f"{path.name} {' '.join(ids)}" for path, ids in sorted(request.files.items())]
    lists = [] if listed is None else [f"{family} {' '.join(ids)}" for family, ids in listed.items()]
    parts = [str(request.everything), words.strip(), *named, str(listed is None), *lists, *rows]
    return digest(part.encode("utf-8", "surrogateescape") for part in parts)


def device_rows(description: DeviceDescription) -> tuple[str, ...]:
    """Return the device's property rows, sorted, each once.

    Exact rows of subgroup scope are named ``MxNxK.A.B.C.Result``; rows of flexible dimensions also end in ``.flex`` or ``.wgN``. Rows of
    cooperative vectors follow, named as in ``generators.vector_rows``.

    Rows that are listed for one subgroup size are returned if pipelines of the suite have that size without requiring it.

    Rows whose results no text defines are left out: component types that the suite does not know, integers mixed with floats,
    and floats that saturate (F-KHR-7).

    The embedded device has no such rows: it accepts any row, so running all of them would show nothing.
    """
    if description.kind == "embedded":
        return ()
    rows = set()
    for row in description.rows:
        if row.subgroup_size not in (None, queried_subgroup_size(description)):
            continue
        types = [COMPONENT_TYPES[name] for name in (row.a, row.b, row.c, row.result) if name in COMPONENT_TYPES]
        subgroups, rest = divmod(row.invocations, description.subgroup_size)
        fits = row.scope == Scope.SUBGROUP or (row.flexible and row.scope == Scope.WORKGROUP and subgroups > 0 and rest == 0)
        if len(types) == 4 and fits:
            a, b, c, result = types
            floats = {type_.is_float for type_ in types}
            if len(floats) > 1 or (row.saturating and result.is_float):
                continue
            exact = PropertyRow(row.m, row.n, row.k, a, b, c, result, row.saturating)
            workgroup = subgroups if row.scope == Scope.WORKGROUP else None
            rows.add(str(FlexibleRow(exact, workgroup) if row.flexible else exact))
    return (*sorted(rows), *_vector_rows(description))


def _vector_rows(description: DeviceDescription) -> tuple[str, ...]:
    """Return the device's rows of cooperative vectors, sorted.

    Entries that differ only in transposition are one row, which supports transposition if one of them does.
    """
    rows: dict[str, VectorTypes] = {}
    for row in description.vector_rows:
        known = all(name in INTERPRETATIONS for name in row.types[1:4]) and {row.input, row.result} <= COMPONENT_TYPES.keys()
        if not known:
            continue
        interpretation, matrix, bias = (INTERPRETATIONS[name] for name in row.types[1:4])
        types = VectorTypes(COMPONENT_TYPES[row.input], interpretation, matrix, bias, COMPONENT_TYPES[row.result], row.transpose)
        before = rows.get(".".join(row.types))
        if is_defined(types) and not (before and before.transposes):
            rows[".".join(row.types)] = types
    return tuple(sorted(str(types) for types in rows.values()))
