"""The requirements that the families cover, and the ones that are still open."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from generators.casebook.book import Casebook
from generators.casebook.cases import expand
from generators.casebook.family import Family
from generators.casebook.requirements import Requirement, load_unfinished
from generators.casebook.tiers import Tier


class Status(enum.StrEnum):
    """How far a requirement is covered."""

    COVERED = "covered"
    OPEN = "open"
    NOT_TESTABLE = "not_testable"


@dataclass(frozen=True, slots=True)
class RequirementCoverage:
    """A requirement and the families that cover it.

    Attributes:
        requirement: the statement.
        cases: family -> the number of its nightly cases that exercise it (nightly contains smoke), or of its full cases if no nightly case
            does. Families without such a case are left out; the order is the casebook's.
        status: covered if there is such a case; otherwise not_testable or open.
        reason: why no case can test it; empty unless not_testable.
    """

    requirement: Requirement
    cases: Mapping[str, int]
    status: Status
    reason: str

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families that cover it."""
        return tuple(self.cases)


@dataclass(frozen=True, slots=True)
class Todo:
    """Missing coverage that a family's author wrote down."""

    family: str
    text: str


@dataclass(frozen=True, slots=True)
class UnusedLabel:
    """A parameter label that no product takes, so no tier has a case with it."""

    family: str
    parameter: str
    label: str


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that a family claims but only its full tier exercises."""

    family: str
    requirement: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The state of the whole casebook.

    Attributes:
        requirements: every one, in the order of the specifications.
        todo: the missing coverage of all families.
        unused: labels that are in no product.
        unmet: claims without a case in the nightly tier.
        unfinished: specification -> why its requirements may be open.
    """

    requirements: tuple[RequirementCoverage, ...]
    todo: tuple[Todo, ...]
    unused: tuple[UnusedLabel, ...]
    unmet: tuple[Unmet, ...]
    unfinished: Mapping[str, str]

    @property
    def totals(self) -> Mapping[str, Mapping[Status, int]]:
        """Specification -> status -> number of requirements."""
        totals: dict[str, Counter[Status]] = {}
        for entry in self.requirements:
            totals.setdefault(entry.requirement.specification, Counter())[entry.status] += 1
        return {name: {status: counts[status] for status in Status} for name, counts in totals.items()}

    @property
    def open(self) -> tuple[RequirementCoverage, ...]:
        """The requirements that a case could test but none does."""
        return tuple(entry for entry in self.requirements if entry.status is Status.OPEN)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the casebook, one line each: a requirement of a finished specification that is open, or that cannot be tested and
        gives no reason; a specification that is called unfinished but has no open requirement; a label that no product takes; a claim that
        no nightly case exercises."""
        faults = []
        for entry in self.requirements:
            requirement = entry.requirement
            if requirement.specification in self.unfinished:
                continue
            if entry.status is Status.OPEN:
                faults.append(
                    f"{requirement.id} is open: let a family cover it; if nothing can test it, say so in its 'test' and why in its 'note'"
                )
            elif entry.status is Status.NOT_TESTABLE and not requirement.note:
                faults.append(f"{requirement.id} cannot be tested, and nothing says why: write its 'note'")
        open_ = {entry.requirement.specification for entry in self.open}
        here = {entry.requirement.specification for entry in self.requirements}
        faults += [
            f"{name} is called unfinished but has no open requirement: remove the key" for name in self.unfinished if name in here - open_
        ]
        faults += [f"no product of {label.family} takes '{label.label}' of '{label.parameter}': use or remove it" for label in self.unused]
        faults += [
            f"no case of the nightly tier of {claim.family} exercises {claim.requirement}: add a product to that tier, or remove the claim"
            for claim in self.unmet
        ]
        return tuple(faults)


def unused_labels(family: Family) -> list[UnusedLabel]:
    """Return the labels of a family that no product takes."""
    return [
        UnusedLabel(family.name, parameter.name, label)
        for number, parameter in enumerate(family.parameters)
        for index, label in enumerate(parameter.labels)
        if not any(index in product.choices[number] for product in family.products)
    ]


def _entry(requirement: Requirement, cases: Mapping[str, int]) -> RequirementCoverage:
    if cases:
        return RequirementCoverage(requirement, cases, Status.COVERED, "")
    if requirement.testable:
        return RequirementCoverage(requirement, cases, Status.OPEN, "")
    return RequirementCoverage(requirement, cases, Status.NOT_TESTABLE, requirement.why_not_testable)


def best_tier(family: Family) -> Tier:
    """Return the tier whose cases support the claims of a family: nightly, or full if no product of the family is in nightly."""
    return Tier.NIGHTLY if any(product.nightly for product in family.products) else Tier.FULL


def coverage(casebook: Casebook, specification: str | None = None) -> Coverage:
    """Return the coverage of the nightly tier of ``casebook``.

    Args:
        casebook: all families.
        specification: restricts the requirements to this specification; families that claim none of them are not expanded. Todo and labels
            always cover all families.
    """
    requirements = {id_: entry for id_, entry in casebook.requirements.items() if specification in (None, entry.specification)}
    counts: dict[str, dict[str, int]] = {}
    unmet = []
    for family in casebook:
        claimed = [cover.id for cover in family.covers if cover.id in requirements]
        if not claimed:
            continue
        found = Counter(id_ for case in expand(family, best_tier(family)) for id_ in case.requirements)
        for id_ in claimed:
            if found[id_]:
                counts.setdefault(id_, {})[family.name] = found[id_]
            else:
                unmet.append(Unmet(family.name, id_))
    entries = tuple(_entry(requirement, counts.get(id_, {})) for id_, requirement in requirements.items())
    todo = tuple(Todo(family.name, text) for family in casebook for text in family.todo)
    unused = tuple(label for family in casebook for label in unused_labels(family))
    return Coverage(entries, todo, unused, tuple(unmet), load_unfinished(casebook.root))
