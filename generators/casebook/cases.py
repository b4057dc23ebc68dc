"""Cases of a family: the cases of a tier, and the program and subcases of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import getitem
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np

from generators.casebook.builders import ConversionBuilder, KernelBuilder, QueryBuilder, StaticBuilder
from generators.casebook.constraints import ALLOWED, UNASSIGNED, Assignment, Row, for_one_case, rows
from generators.casebook.covers import never
from generators.casebook.family import Family, Product
from generators.casebook.ids import named_labels
from generators.casebook.placement_kinds import load_kinds
from generators.casebook.tiers import Tier, chosen_ids, chosen_labels, pinned_labels
from generators.errors import CasebookError
from generators.layout_conversion import LayoutConversion
from generators.module_check import ModuleCheck
from generators.operands.run_time import usual_operands
from generators.parameters.declaration import make_parameters
from generators.placements.place import Placed, place
from generators.program.program import Built, Program, Subcase
from generators.property_query import PropertyQuery
from generators.property_rows import by_likeness, check_row, row_kind

ONLY_SUBCASE = "only"
"""Name of the subcase of a family whose subcases have no parameters."""


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


@dataclass(frozen=True, slots=True)
class Case:
    """One shader: a label for every parameter of its family.

    Attributes:
        definition: the family to which it belongs.
        labels: one for each of the family's parameters.
    """

    definition: Family
    labels: tuple[str, ...]

    @property
    def family(self) -> str:
        """Name of the family."""
        return self.definition.name

    @property
    def id(self) -> str:
        """``family[name:label/name:label/…]``, without parameters that have their default value."""
        return f"{self.definition.name}[{named_labels(self.definition.parameters, self.labels)}]"

    @property
    def named(self) -> dict[str, str]:
        """Label of each parameter that the case has, by name, including defaults."""
        values = self.parameters
        labelled = zip(self.definition.parameters, self.labels, strict=True)
        return {parameter.name: label for parameter, label in labelled if parameter.applies(values)}

    @property
    def values(self) -> dict[str, Any]:
        """Parameter name -> value."""
        return {parameter.name: parameter.value(label) for parameter, label in zip(self.definition.parameters, self.labels, strict=True)}

    @property
    def parameters(self) -> Any:
        """The values in the form that the family's builder takes: an object of its class ``Parameters``."""
        return make_parameters(self.definition.declared.case, self.values)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids of the requirements that the case exercises, in the order of its family's ``covers``."""
        family, assignment = _assigned(self.definition, self.labels)
        choices = family.subcase_choices
        return tuple([claim.id for claim in family.claims if claim.holds(family.rules, choices, assignment)])

    @property
    def disputed(self) -> tuple[str, ...]:
        """Ids of the positions without which the text may forbid the case's module, in the order of its family's ``disputed``."""
        family, assignment = _assigned(self.definition, self.labels)
        choices = family.subcase_choices
        return tuple([dispute.id for dispute in family.disputes if dispute.holds(family.rules, choices, assignment)])

    @property
    def subcases(self) -> list[tuple[str, Any]]:
        """Name and parameters (of case and subcase) of each dispatch.

        Raises:
            CasebookError: the constraints leave none.
        """
        family, values = self.definition, self.values
        if not family.subcase_parameters:
            return [(ONLY_SUBCASE, self.parameters)]
        declared = family.declared
        wider, assignment = _assigned(family, self.labels)
        start = len(family.parameters)
        found = []
        for row in rows(for_one_case(wider.rules), family.subcase_choices, assignment):
            labels = [parameter.labels[number] for parameter, number in zip(family.subcase_parameters, row[start:], strict=True)]
            extra = {parameter.name: parameter.values[label] for parameter, label in zip(family.subcase_parameters, labels, strict=True)}
            both = values | extra
            found.append(
                (
                    named_labels(family.subcase_parameters, labels) or ONLY_SUBCASE,
                    make_parameters(declared.subcase, both),
                )
            )
        if not found:
            raise CasebookError(f"{family.path}: the constraints leave no subcase of {self.id}; exclude the case")
        return found

    def __str__(self) -> str:
        return self.id


class Identified(NamedTuple):
    """A case of which only the id is needed: reading the labels of a tier takes a second.

    Attributes:
        definition: the family to which it belongs.
        id: as ``Case.id``.
    """

    definition: Family
    id: str


def with_property_rows(family: Family, labels: Sequence[str]) -> Family:
    """Return the family with further rows at the end of its parameter of property rows; the family itself if it has no such parameter.

    Raises:
        CasebookError: a label is not a property row.
    """
    number = family.row_parameter
    if number is None:
        return family
    parameter = family.parameters[number]
    assert parameter.rows is not None, "it is the parameter of rows"
    new = [label for label in labels if label not in parameter.values]
    for label in new:
        check_row(label, parameter.rows)
    added = {label: parameter.value(label) for label in new}
    wider = replace(parameter, values=MappingProxyType({**parameter.values, **added}))
    return replace(family, parameters=(*family.parameters[:number], wider, *family.parameters[number + 1 :]))


@cache
def _with_row(family: Family, label: str) -> Family:
    return with_property_rows(family, [label])


def _assigned(family: Family, labels: Sequence[str]) -> tuple[Family, Assignment]:
    """Return the family and ``labels`` as an assignment of its parameters. If ``labels`` contain a row that a device added, the returned
    family has it too."""
    row = family.row_parameter
    if row is not None and labels[row] not in family.parameters[row].values:
        family = _with_row(family, labels[row])
    numbers = [parameter.numbers[label] for parameter, label in zip(family.parameters, labels, strict=True)]
    return family, [*numbers, *(UNASSIGNED for _ in family.subcase_parameters)]


def violated(case: Case) -> str:
    """Tell why the constraints forbid ``case``; empty if they do not."""
    family, assignment = _assigned(case.definition, case.labels)
    count = len(case.definition.parameters)
    for rule in family.rules:
        needed = rule.decide(assignment)
        if needed != ALLOWED and needed < count:
            return rule.because
    return ""


def product_choices(family: Family, product: Product) -> list[Sequence[int]]:
    """Return the numbers of the product's labels for each parameter of the family; none for the parameters of subcases."""
    return [*product.choices, *(() for _ in family.subcase_parameters)]


@cache
def check_covers(family: Family) -> None:
    """Check that each cover and each dispute of the family has a case in a product.

    Raises:
        CasebookError: one has no such case.
    """
    subcases = family.subcase_choices[len(family.parameters) :]
    products = [[*product.choices, *subcases] for product in family.products if product.unit is None]
    for claim in (*family.claims, *family.disputes):
        if never(claim, family.rules, products):
            raise CasebookError(
                f"{claim.place}: no case of '{family.name}' exercises '{claim.id}': "
                "widen its 'when', add cases to a product, or remove the entry"
            )


def full_rows(family: Family) -> list[Row]:
    """Return the cases of the full tier by label number, in order.

    Raises:
        CasebookError: the constraints leave a product empty, or a cover without a case.
    """
    check_covers(family)
    found: list[Row] = []
    for product in family.products:
        chosen = rows(family.rules_of(product), product_choices(family, product))
        if not chosen and product.unit is None:
            raise CasebookError(f"{product.place}: the constraints leave no case of the product '{product.name}'")
        found += chosen
    # Each product's rows are in order, so sorting them with their duplicates takes hardly any longer than reading them
    return list(dict.fromkeys(sorted(found)))


def expand(family: Family, tier: Tier | str, extra: Sequence[str] | None = None, wanted: Callable[[str], bool] | None = None) -> list[Case]:
    """Return the cases of a tier, in the order of the full tier. Every tier contains the smaller tiers; smoke and nightly are pinned.

    Args:
        family: the family.
        tier: ``smoke``, ``nightly`` or ``full``.
        extra: property rows (labels) of every kind that a device lists. Rows of the family's kind that the family does not name come after
            the others, from the products that take all rows.
        wanted: tells from the id of a pinned case whether the caller wants it; by default all are wanted. Cases that are not pinned are
            always returned.

    Raises:
        CasebookError: the tier is unknown or not pinned, a row is malformed, or the constraints leave a product empty.
    """
    try:
        tier = Tier(tier)
    except ValueError:
        raise CasebookError(f"unknown tier '{tier}'; expected one of {', '.join(Tier)}") from None
    found = _labelled(family, full_rows(family)) if tier is Tier.FULL else chosen_labels(family, tier, wanted)
    for label in added_rows(family, extra or ()):
        found += _labels_on_row(family, label, tier)
    # A unit may have the same row
    return [Case(family, labels) for labels in dict.fromkeys(found)]


def expand_ids(family: Family, tier: Tier, extra: Sequence[str] = ()) -> list[str]:
    """Return the ids of the cases of the smoke or the nightly tier; see ``expand``."""
    found = chosen_ids(family, tier)
    for label in added_rows(family, extra):
        found += [Case(family, labels).id for labels in _labels_on_row(family, label, tier)]
    return list(dict.fromkeys(found))


def full_ids(family: Family, full: Iterable[Row] | None = None) -> Iterator[str]:
    """Yield the ids of the full tier, in its order. Some families have a million cases, so this makes no Case objects.

    Args:
        family: the family.
        full: its cases by label number, if they are known.

    Raises:
        CasebookError: a product that the constraints leave empty.
    """
    named = [
        ["" if label == parameter.default else f"{parameter.name}:{label}" for label in parameter.labels] for parameter in family.parameters
    ]
    for row in full_rows(family) if full is None else full:
        yield f"{family.name}[{'/'.join(filter(None, map(getitem, named, row)))}]"


def cases_on_row(family: Family, label: str) -> list[Case]:
    """Return the cases of the full tier on a row that only a device lists."""
    return [Case(family, labels) for labels in _labels_on_row(family, label, Tier.FULL)]


def labelled_rows(family: Family, selected: Iterable[Row]) -> list[Case]:
    """Return the cases that have these labels, by number."""
    return [Case(family, labels) for labels in _labelled(family, selected)]


def _labelled(family: Family, selected: Iterable[Row]) -> list[tuple[str, ...]]:
    tables = [parameter.labels for parameter in family.parameters]
    return [tuple([table[number] for table, number in zip(tables, row, strict=False)]) for row in selected]


def added_rows(family: Family, extra: Sequence[str]) -> list[str]:
    """Return the rows among ``extra``, a device's property rows, that are of the family's kind and that its YAML does not list.

    Raises:
        CasebookError: a row is malformed.
    """
    if family.row_parameter is None:
        return []
    parameter = family.parameters[family.row_parameter]
    assert parameter.rows is not None, "it is the parameter of rows"
    added = list(dict.fromkeys(label for label in extra if row_kind(label) == parameter.rows and label not in parameter.listed))
    for label in added:
        check_row(label, parameter.rows)
    return added


def _labels_on_row(family: Family, label: str, tier: Tier) -> list[tuple[str, ...]]:
    """Return the cases of a row that only a device lists. The full tier has all such cases of the products that take all rows. The other
    tiers take the pinned cases of one listed row and replace the row. Of the rows with pinned cases, they take the one most like this one,
    or the first if there are several."""
    place = family.row_parameter
    assert place is not None
    products = [product for product in family.products if place in product.whole]
    if tier is Tier.FULL:
        wider = _with_row(family, label)
        found: set[Row] = set()
        for product in products:
            choices = product_choices(family, product)
            choices[place] = (wider.parameters[place].numbers[label],)
            found.update(rows(wider.rules, choices))
        on_units = [product for product in family.products if product.unit]
        own = slice(len(family.parameters))
        return _labelled(wider, sorted(row for row in found if not any(within(family, product, row[own]) for product in on_units)))
    for model in by_likeness(label, family.parameters[place].listed):
        moved = _moved(family, products, place, model, label, Tier.NIGHTLY)
        if moved and tier is Tier.SMOKE:
            # Both tiers use the same row, so nightly contains the cases of smoke
            chosen = [product for product in products if product.smoke] or products
            return _moved(family, chosen, place, model, label, Tier.SMOKE)
        if moved:
            return moved
    return []


def _moved(family: Family, products: Sequence[Product], place: int, model: str, label: str, tier: Tier) -> list[tuple[str, ...]]:
    """Return a tier's pinned cases of the row ``model``, a label of parameter ``place``, with that label replaced by ``label``.

    Every returned case is in a product, and the constraints allow it.
    """
    found = []
    for labels in _pinned_on_rows(family, tier).get(model, ()):
        numbers = [parameter.numbers[label] for parameter, label in zip(family.parameters, labels, strict=True)]
        if any(within(family, product, numbers) for product in products):
            moved = (*labels[:place], label, *labels[place + 1 :])
            if not violated(Case(family, moved)):
                found.append(moved)
    return found


@cache
def _pinned_on_rows(family: Family, tier: Tier) -> dict[str, list[tuple[str, ...]]]:
    """Return the pinned cases of a tier by their row."""
    assert family.row_parameter is not None, "the family has rows"
    found: dict[str, list[tuple[str, ...]]] = {}
    for labels in pinned_labels(family, tier):
        found.setdefault(labels[family.row_parameter], []).append(labels)
    return found


def within(family: Family, product: Product, row: Sequence[int]) -> bool:
    """Tell whether a product has a case, given by label number, that the family's constraints allow."""
    inside = all(number in chosen for number, chosen in zip(row, product.choices, strict=True))
    return inside and all(rule.decide(list(row)) == ALLOWED for rule in family.rules_on(product.unit))


@dataclass(frozen=True)
class BuiltCase:
    """A kernel case and the program that its family's builder made from it, built once.

    Attributes:
        case: the case.
        built: what the builder made.
        placed: the builder's program, with placements that show wrong addresses.
    """

    case: Case
    built: Built
    placed: Placed

    @property
    def program(self) -> Program:
        """The shader's program."""
        return self.placed.program

    def subcases(self, program: Program | None = None) -> list[Subcase]:
        """Draw the data of the dispatches. Random data depend on the case's id and the subcase's name.

        Args:
            program: by default the program itself; or one of its ``others``, whose label then follows each subcase's name.
        """
        program = program or self.program
        id_ = self.case.id
        suffix = f"@{program.label}" if program.label else ""
        names = [(f"{name}{suffix}", parameters) for name, parameters in self.case.subcases]
        usual = usual_operands(program)
        drawn = []
        for number, (name, parameters) in enumerate(names):
            rng = np.random.default_rng(_seed(f"{id_}\n{name}"))
            if self.placed.moved:
                subcase = self.placed.subcase(self.built.draw(name, parameters, self.built.program, rng), number, rng)
            else:
                subcase = self.built.draw(name, parameters, program, rng)
            drawn.append(replace(subcase, operands=usual | dict(subcase.operands)) if usual else subcase)
        return drawn


def build(case: Case, is_placed: bool = True) -> BuiltCase:
    """Build a kernel case; without placements, as its family's builder makes it, if not ``is_placed``."""
    builder = cast(KernelBuilder, case.definition.builder)
    built = builder.build(case.parameters)
    kinds = load_kinds()
    choice = _seed(case.id) if is_placed and case.family in kinds.families else 0
    return BuiltCase(case, built, place(built.program, choice, kinds.unplaced, kinds.most_bytes))


def build_module(case: Case) -> ModuleCheck:
    """Return the module of a static case, and whether a validator must accept it."""
    return cast(StaticBuilder, case.definition.builder).module(case.parameters)


def build_query(case: Case) -> PropertyQuery:
    """Return the query that a case asks a device."""
    return cast(QueryBuilder, case.definition.builder).query(case.parameters)


def build_conversion(case: Case) -> LayoutConversion:
    """Return the conversions of a conversion case."""
    return cast(ConversionBuilder, case.definition.builder).conversion(case.parameters)
