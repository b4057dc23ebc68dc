"""Cases of a family: expansion by tier, and the program and subcases of each."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from generators.casebook.builders import KernelBuilder, QueryBuilder, StaticBuilder
from generators.casebook.constraints import ALLOWED, UNASSIGNED, Assignment, Constraint, Row, rows
from generators.casebook.covering import covering_rows
from generators.casebook.covers import never
from generators.casebook.family import Family, Product
from generators.errors import CasebookError
from generators.module_check import ModuleCheck
from generators.program.program import Program, Subcase
from generators.property_query import PropertyQuery
from generators.property_rows import check_property_row, is_flexible

ONLY_SUBCASE = "only"
"""Name of the subcase of a family without subcase axes."""


class Tier(enum.StrEnum):
    """How much of a family runs. Each tier has the cases of those before it."""

    SMOKE = "smoke"
    NIGHTLY = "nightly"
    FULL = "full"


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


@dataclass(frozen=True, slots=True)
class Case:
    """One shader: every axis of its family has a label.

    Attributes:
        definition: the family that it is a case of.
        labels: one for each of the family's axes.
    """

    definition: Family
    labels: tuple[str, ...]

    @property
    def family(self) -> str:
        """Name of the family."""
        return self.definition.name

    @property
    def id(self) -> str:
        """``family[label-label-…]``."""
        return f"{self.definition.name}[{'-'.join(self.labels)}]"

    @property
    def values(self) -> dict[str, Any]:
        """Axis name -> value."""
        # A label that the axis does not have is a row that a device added: it is its own value
        return {axis.name: axis.values.get(label, label) for axis, label in zip(self.definition.axes, self.labels, strict=True)}

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids of the requirements that the case exercises, in the order of its family's ``covers``."""
        family, assignment = _assigned(self.definition, self.labels)
        choices = family.subcase_choices
        return tuple([claim.requirement for claim in family.claims if claim.holds(family.rules, choices, assignment)])

    @property
    def subcases(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and values (case axes and subcase axes) of each dispatch.

        Raises:
            CasebookError: the constraints leave none.
        """
        family, values = self.definition, self.values
        if not family.subcase_axes:
            return [(ONLY_SUBCASE, values)]
        wider, assignment = _assigned(family, self.labels)
        start = len(family.axes)
        found = []
        for row in rows(wider.rules, family.subcase_choices, assignment):
            labels = [axis.labels[number] for axis, number in zip(family.subcase_axes, row[start:], strict=True)]
            extra = {axis.name: axis.values[label] for axis, label in zip(family.subcase_axes, labels, strict=True)}
            found.append(("-".join(labels), values | extra))
        if not found:
            raise CasebookError(f"{family.path}: the constraints leave no subcase of {self.id}; exclude the case")
        return found

    def __str__(self) -> str:
        return self.id


def with_property_rows(family: Family, labels: Sequence[str]) -> Family:
    """The family with further rows at the end of its property_rows axis; the family itself if it has no such axis.

    Raises:
        CasebookError: a label is not a property row.
    """
    number = family.property_axis
    if number is None:
        return family
    axis = family.axes[number]
    added = {label: label for label in labels if label not in axis.values}
    for label in added:
        check_property_row(label, axis.flexible)
    wider = replace(axis, values=MappingProxyType({**axis.values, **added}))
    return replace(family, axes=(*family.axes[:number], wider, *family.axes[number + 1 :]))


@cache
def _with_row(family: Family, label: str) -> Family:
    return with_property_rows(family, [label])


def _assigned(family: Family, labels: Sequence[str]) -> tuple[Family, Assignment]:
    """The family with the row that a device added, if one of ``labels`` is one, and ``labels`` as an assignment of the case axes."""
    row = family.property_axis
    if row is not None and labels[row] not in family.axes[row].values:
        family = _with_row(family, labels[row])
    numbers = [axis.numbers[label] for axis, label in zip(family.axes, labels, strict=True)]
    return family, [*numbers, *(UNASSIGNED for _ in family.subcase_axes)]


def violated(case: Case) -> str:
    """Why the constraints forbid ``case``; empty if they do not."""
    family, assignment = _assigned(case.definition, case.labels)
    axes = len(case.definition.axes)
    for rule in family.rules:
        needed = rule.decide(assignment)
        if needed != ALLOWED and needed < axes:
            return rule.because
    return ""


def _select(rules: Sequence[Constraint], choices: Sequence[Sequence[int]], smoke: int, nightly: int, tier: Tier) -> list[Row]:
    if tier is Tier.FULL:
        return rows(rules, choices)
    chosen = covering_rows(rules, choices, smoke)
    return chosen if tier is Tier.SMOKE else covering_rows(rules, choices, nightly, chosen)


def _choices(family: Family, product: Product) -> list[Sequence[int]]:
    return [*product.choices, *(() for _ in family.subcase_axes)]


def _extra_rows(family: Family, wider: Family, tier: Tier) -> list[Row]:
    """Rows on the labels that ``wider`` adds to the property_rows axis.

    The array covers what has not been covered: a combination of t labels one of which is the new row is one of t - 1 others.
    """
    axis = family.property_axis
    assert axis is not None
    found: set[Row] = set()
    for number in range(len(family.axes[axis].values), len(wider.axes[axis].values)):
        for product in family.products:
            if axis not in product.whole:
                continue
            choices = _choices(family, product)
            choices[axis] = (number,)
            if tier is Tier.FULL:
                found.update(rows(wider.rules, choices))
                continue
            smoke = _one_fixed(wider.rules, choices, product.smoke, [])
            found.update(smoke if tier is Tier.SMOKE else _one_fixed(wider.rules, choices, product.nightly, smoke))
    return sorted(found, key=lambda row: (row[axis], row))


def _one_fixed(rules: Sequence[Constraint], choices: Sequence[Sequence[int]], strength: int, given: Sequence[Row]) -> list[Row]:
    if strength == 0 or (strength == 1 and given):
        return list(given)
    # Strength 1 wants the new row once, with any other labels
    return covering_rows(rules, choices, strength - 1, given) if strength > 1 else covering_rows(rules, choices, 1)[:1]


@cache
def check_covers(family: Family) -> None:
    """Sees that a case of each cover of the family is in a product.

    Raises:
        CasebookError: none is.
    """
    subcases = family.subcase_choices[len(family.axes) :]
    products = [[*product.choices, *subcases] for product in family.products]
    for claim in family.claims:
        if never(claim, family.rules, products):
            raise CasebookError(
                f"{claim.place}: no case of '{family.name}' exercises '{claim.requirement}': "
                "widen its 'when', add cases to a product, or take the requirement out of covers"
            )


def expand(family: Family, tier: Tier | str, extra: Sequence[str] | None = None) -> list[Case]:
    """The cases of a tier, in the order of the full product; every tier has the cases of the smaller tiers.

    Args:
        family: the family.
        tier: ``smoke``, ``nightly`` or ``full``.
        extra: property rows (labels) that a device has, flexible ones and others; those that the family does not name, of the kind
            that it has, come after the others, from the products that take all rows.

    Raises:
        CasebookError: unknown tier, a row of another form, or a product that the constraints leave empty.
    """
    try:
        tier = Tier(tier)
    except ValueError:
        raise CasebookError(f"unknown tier '{tier}'; expected one of {', '.join(Tier)}") from None
    check_covers(family)
    found: set[Row] = set()
    for product in family.products:
        chosen = _select(family.rules, _choices(family, product), product.smoke, product.nightly, tier)
        if not chosen and (tier is Tier.FULL or (product.smoke if tier is Tier.SMOKE else product.nightly)):
            raise CasebookError(f"{product.place}: the constraints leave no case of the product '{product.name}'")
        found.update(chosen)
    selected = sorted(found)
    axes = family.axes
    if extra and family.property_axis is not None:
        flexible = family.axes[family.property_axis].flexible
        wider = with_property_rows(family, [label for label in extra if is_flexible(label) is flexible])
        selected += _extra_rows(family, wider, tier)
        axes = wider.axes
    tables = [axis.labels for axis in axes]
    return [Case(family, tuple([table[number] for table, number in zip(tables, row, strict=False)])) for row in selected]


def build_program(case: Case) -> Program:
    """The program of a kernel case."""
    return cast(KernelBuilder, case.definition.builder).program(case.values)


def build_subcases(case: Case, program: Program) -> list[Subcase]:
    """The dispatches of ``case`` with ``program``, which has been built for it: the case's own, or one of its ``others``, whose
    label then follows the subcase's name. Random data depend on the case's id and the subcase's name."""
    id_ = case.id
    subcase = cast(KernelBuilder, case.definition.builder).subcase
    suffix = f"@{program.label}" if program.label else ""
    names = [(f"{name}{suffix}", values) for name, values in case.subcases]
    return [subcase(name, values, program, np.random.default_rng(_seed(f"{id_}\n{name}"))) for name, values in names]


def build_module(case: Case) -> ModuleCheck:
    """The module of a static case, and what a validator must make of it."""
    return cast(StaticBuilder, case.definition.builder).module(case.values)


def build_query(case: Case) -> PropertyQuery:
    """What a query case asks of a device."""
    return cast(QueryBuilder, case.definition.builder).query(case.values)
