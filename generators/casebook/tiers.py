"""The pinned tiers: which cases the smoke and nightly tiers of a family have, read from ``golden/tiers/<family>.tsv``.

A run reads these files and never computes a tier; ``cts golden --update`` writes them (generators.casebook.pinning). The first line
names the outline of the family that the cases were chosen for, so a run notices later changes to the YAML. Each further line is a
case of the nightly tier: the first tier that has it, its id, and digests of its module, inputs and results, if they have been computed.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from generators.casebook.family import Family
from generators.casebook.ids import stated_labels
from generators.digests import digest
from generators.errors import CasebookError

FOLDER = Path("golden", "tiers")
"""Folder of the files in a checkout."""

COLUMNS = ("tier", "id", "spirv", "inputs", "expected")
_OUTLINE = "outline"


class Tier(enum.StrEnum):
    """How much of a family runs. Each tier contains the tiers before it."""

    SMOKE = "smoke"
    NIGHTLY = "nightly"
    FULL = "full"


class PinnedCase(NamedTuple):
    """A line of a family's file.

    Attributes:
        tier: the first that has the case, smoke or nightly.
        id: the id of the case.
        digests: the digests of its SPIR-V, its inputs and its expected results; empty until they are computed.
    """

    tier: Tier
    id: str
    digests: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Its line in the file."""
        return "\t".join((self.tier, self.id, *self.digests))


@dataclass(frozen=True, slots=True)
class PinnedTiers:
    """The contents of a family's file.

    Attributes:
        outline: the family's outline when its cases were chosen.
        cases: the nightly tier, in the order of the full tier.
    """

    outline: str = ""
    cases: tuple[PinnedCase, ...] = ()


def pinned_file(root: Path, name: str) -> Path:
    """Return the file that pins the tiers of the family ``name`` in the checkout ``root``."""
    return root / FOLDER / f"{name}.tsv"


def home(family: Family) -> Path:
    """Return the checkout that contains the family."""
    return family.path.absolute().parents[2]


def read_tiers(path: Path) -> PinnedTiers:
    """Return the tiers that ``path`` pins; none if there is no such file.

    Raises:
        CasebookError: a line is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return PinnedTiers()
    outline = ""
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        first, *rest = line.split("\t")
        if first == _OUTLINE and len(rest) == 1:
            outline = rest[0]
        elif first in _PINNED and rest:
            cases.append(PinnedCase(_PINNED[first], rest[0], tuple(rest[1:])))
        else:
            raise CasebookError(
                f"{path}:{number}: expected a tier, smoke or nightly, and a case id; write the file with 'cts golden --update'"
            )
    return PinnedTiers(outline, tuple(cases))


_PINNED = {tier.value: tier for tier in (Tier.SMOKE, Tier.NIGHTLY)}


def write_tiers(path: Path, tiers: PinnedTiers) -> None:
    """Write the file that pins ``tiers``."""
    lines = ["# " + "\t".join(COLUMNS), f"{_OUTLINE}\t{tiers.outline}", *(case.line for case in tiers.cases)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def outline(family: Family) -> str:
    """Return a digest of the inputs that decide the family's tiers: its labels, constraints and products, without their reasons.

    It leaves out the values of labels and the code of predicates: ``cts golden --check`` notices whether they changed a case.
    """
    return digest(part.encode() for part in _outline(family))


def _outline(family: Family) -> Iterator[str]:
    for parameter in (*family.parameters, *family.subcase_parameters):
        # The word is part of the digest in pinned tiers.
        yield f"axis {parameter.name} {parameter.rows is not None} {parameter.rows == 'flexible'}"
        yield from parameter.labels
    for constraint in family.constraints:
        yield f"predicate {constraint.predicate[0]}" if constraint.predicate else "exclusions"
        for exclusion in constraint.exclusions:
            yield "exclusion"
            for name, labels, inside in exclusion:
                yield f"{name} {inside}"
                yield from sorted(labels)
    for product in family.products:
        yield f"product {product.smoke} {product.nightly} {sorted(product.whole)}"
        if product.unit:
            yield f"unit {product.unit.subgroup_sizes} {product.unit.rows}"
        yield from (" ".join(map(str, numbers)) for numbers in product.choices)


@cache
def _pinned(family: Family) -> PinnedTiers:
    return read_tiers(pinned_file(home(family), family.name))


@cache
def pinned_digests(family: Family) -> Mapping[str, tuple[str, ...]]:
    """Return the digests of each pinned case of ``family`` by its id; none for a case whose digests have not been computed."""
    return {case.id: case.digests for case in _pinned(family).cases}


@cache
def certain_ids(family: Family) -> frozenset[str]:
    """Return the ids of the nightly tier, if its cases were chosen for the family's current outline; none otherwise.

    Each of them is written as ``Case.id`` writes it, and the constraints allow it.
    """
    pinned = _pinned(family)
    return frozenset(case.id for case in pinned.cases) if pinned.outline == outline(family) else frozenset()


@cache
def _checked(family: Family) -> tuple[PinnedCase, ...]:
    """Return the pinned cases of ``family``, after checking that they were chosen for its current outline."""
    pinned = _pinned(family)
    if not pinned.outline or (not pinned.cases and any(product.nightly for product in family.products)):
        raise CasebookError(f"{family.path}: no cases of '{family.name}' are pinned: {remedy(family)}")
    if pinned.outline != outline(family):
        raise CasebookError(
            f"{family.path}: parameters, constraints or products of '{family.name}' have changed since its cases were pinned: "
            f"{remedy(family)}"
        )
    return pinned.cases


def chosen_ids(family: Family, tier: Tier) -> list[str]:
    """Return the id of each pinned case of the smoke or the nightly tier, in the order of the full tier.

    Raises:
        CasebookError: see ``chosen_labels``.
    """
    return [case.id for case in _checked(family) if tier is Tier.NIGHTLY or case.tier is tier]


def chosen_labels(family: Family, tier: Tier, wanted: Callable[[str], bool] | None = None) -> list[tuple[str, ...]]:
    """Return the parameter labels of each pinned case of the smoke or the nightly tier, in the order of the full tier.

    Args:
        family: the family.
        tier: smoke or nightly.
        wanted: tells from an id whether the caller wants its case; by default all are wanted. The labels of other cases are never read.

    Raises:
        CasebookError: none are pinned, or they were chosen for another outline; the message says which command to run.
    """
    found = []
    for case in _checked(family):
        if (tier is Tier.SMOKE and case.tier is not Tier.SMOKE) or (wanted is not None and not wanted(case.id)):
            continue
        labels = labels_of(family, case.id)
        if labels is None:
            path = pinned_file(home(family), family.name)
            raise CasebookError(f"{path}: '{case.id}' is not a case of '{family.name}': {remedy(family)}")
        found.append(labels)
    return found


@cache
def pinned_labels(family: Family, tier: Tier) -> tuple[tuple[str, ...], ...]:
    """Return the parameter labels of all pinned cases of a tier, as ``chosen_labels`` does, read once."""
    return tuple(chosen_labels(family, tier))


@cache
def _defaults(family: Family) -> tuple[Mapping[str, int], tuple[str | None, ...]]:
    """Return the index of each parameter by its name, and the default of each."""
    return (
        {parameter.name: place for place, parameter in enumerate(family.parameters)},
        tuple(parameter.default for parameter in family.parameters),
    )


def labels_of(family: Family, id_: str) -> tuple[str, ...] | None:
    """Return the labels in ``id_``; None if it is not the id of one of the family's cases."""
    name, _, rest = id_.partition("[")
    if name != family.name or not rest.endswith("]"):
        return None
    places, defaults = _defaults(family)
    labels = list(defaults)
    given = set()
    for name, label in stated_labels(rest[:-1]):
        place = places.get(name)
        if place is None or name in given or label not in family.parameters[place].values:
            return None
        given.add(name)
        labels[place] = label
    return None if None in labels else tuple(cast("list[str]", labels))


def remedy(family: Family) -> str:
    """Tell the user which command updates tiers that do not fit the family."""
    return f"run 'cts golden --update --tiers --family {family.name}'"
