"""A family: the cases of one behaviour, as its YAML file describes them. docs/casebook.md documents the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from generators.casebook.builders import Builder, CaseKind, DeclaredTypes, declared_types, kind_of, load_builder
from generators.casebook.conditions import ConditionReader, ConstraintText, applying, compile_constraints, observing
from generators.casebook.constraints import Constraint
from generators.casebook.covers import CompiledCover, Cover, compile_covers, read_covers, read_disputed
from generators.casebook.parameters import NAME, Parameter, read_parameters
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, folder_name, load_requirements
from generators.casebook.units import FILE as UNITS
from generators.casebook.units import MOST_STRENGTH, Unit, choices_on, fits, load_units, on_units
from generators.document import Element, read_document
from generators.errors import CasebookError
from generators.parameters.declaration import declarations, declarations_in_ids

_ALL = "all"


@dataclass(frozen=True)
class Product:
    """A set of cases: every allowed combination of some labels of each parameter.

    Attributes:
        name, why: its name and its purpose, for the reader.
        choices: for each parameter of the family, the numbers of its labels, ascending.
        whole: numbers of the parameters for which the product takes every label, whatever the labels are.
        smoke, nightly: strength of the covering arrays of these tiers.
        place: file and line, for messages.
        unit: the unit of hardware whose rows or shapes replace those of the product that the YAML states; None for that product itself.
    """

    name: str
    why: str
    choices: tuple[tuple[int, ...], ...]
    whole: frozenset[int]
    smoke: int
    nightly: int
    place: str
    unit: Unit | None = None


@dataclass(frozen=True)
class Statements:
    """The requirements and positions that the casebook's ids name.

    Attributes:
        requirements: the requirements by id.
        positions: the positions by id.
    """

    requirements: Mapping[str, Requirement]
    positions: Mapping[str, Position]


@dataclass(frozen=True, eq=False)
class Family:
    """The cases of one behaviour.

    Attributes:
        name: also the name of its file, and the start of each case's id.
        specification: its specification, for example ``SPV_KHR_cooperative_matrix``.
        path: the YAML file.
        builder: the module that builds the cases.
        covers: requirements, with the cases that exercise each.
        plan: prose that says what the family tests and why it has these parameters.
        todo: missing coverage, one line each.
        positions: ids of the suite's positions that verdicts of the family depend on.
        parameters: the parameters of the cases, in the order of the labels in an id.
        subcase_parameters: the parameters of the dispatches of each case.
        constraints: on all these parameters.
        products: sets of cases; their union is the full tier. Those on units follow the ones of the YAML.
        statements: the requirements and positions that ids name.
        disputed: positions without which the text may forbid the modules of some cases, with those cases.
    """

    name: str
    specification: str
    path: Path
    builder: Builder
    covers: tuple[Cover, ...]
    plan: str
    todo: tuple[str, ...]
    positions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    subcase_parameters: tuple[Parameter, ...]
    constraints: tuple[ConstraintText, ...]
    products: tuple[Product, ...]
    statements: Statements
    disputed: tuple[Cover, ...] = ()

    @cached_property
    def declared(self) -> DeclaredTypes:
        """The dataclasses in which the builder declares its parameters."""
        return declared_types(self.builder)

    @cached_property
    def view(self) -> Callable[[Mapping[str, Any]], Any]:
        """Makes the argument of predicates from the values by name."""
        return observing(self.declared.subcase)

    @cached_property
    def rules(self) -> tuple[Constraint, ...]:
        """The constraints by parameter and label number, parameters of cases first and parameters of subcases after them."""
        return compile_constraints(self.constraints, (*self.parameters, *self.subcase_parameters), self.view)

    def rules_of(self, product: Product) -> tuple[Constraint, ...]:
        """Return the constraints on the cases of a product: all of the family's, and the one of the product's unit."""
        return (*self.rules, *self.rules_on(product.unit))

    def rules_on(self, unit: Unit | None) -> tuple[Constraint, ...]:
        """Return the constraints that only the products on a unit have."""
        return () if unit is None else self._rules_on_units[unit.name]

    @cached_property
    def _rules_on_units(self) -> Mapping[str, tuple[Constraint, ...]]:
        units = {product.unit.name: product.unit for product in self.products if product.unit}
        parameters = (*self.parameters, *self.subcase_parameters)
        return {name: compile_constraints([fits(unit, self.parameters)], parameters, self.view) for name, unit in units.items()}

    @cached_property
    def claims(self) -> tuple[CompiledCover, ...]:
        """Its covers by parameter and label number, as in ``rules``."""
        return compile_covers(self.covers, (*self.parameters, *self.subcase_parameters), self.view)

    @cached_property
    def disputes(self) -> tuple[CompiledCover, ...]:
        """Its disputes by parameter and label number, as in ``rules``."""
        return compile_covers(self.disputed, (*self.parameters, *self.subcase_parameters), self.view)

    @cached_property
    def subcase_choices(self) -> tuple[tuple[int, ...], ...]:
        """The choices for a row whose case is known: none for the parameters of cases, every label for the parameters of subcases."""
        return (*(() for _ in self.parameters), *(tuple(range(len(parameter.values))) for parameter in self.subcase_parameters))

    @cached_property
    def kind(self) -> CaseKind:
        """The kind of its cases."""
        return kind_of(self.builder)

    @cached_property
    def row_parameter(self) -> int | None:
        """Number of the parameter to which devices may add rows, or None."""
        return next((number for number, parameter in enumerate(self.parameters) if parameter.rows), None)


def _product(
    element: Element, parameters: Sequence[Parameter], subcase_parameters: Sequence[Parameter], reader: ConditionReader
) -> Product:
    fields = element.fields(("name", "why", "parameters", "smoke", "nightly"))
    entries = fields["parameters"].entries("a mapping from parameter to all or a list of labels")
    names = {parameter.name for parameter in parameters}
    for name, item in entries.items():
        if name not in names:
            subcase = any(parameter.name == name for parameter in subcase_parameters)
            hint = "products take every label of a subcase parameter" if subcase else f"expected one of {', '.join(sorted(names))}"
            raise item.error(f"cases have no parameter '{name}'; {hint}")
    choices: list[tuple[int, ...]] = []
    whole = set()
    for number, parameter in enumerate(parameters):
        chosen = entries.get(parameter.name)
        if chosen is None:
            choices.append((0,))
        elif not chosen.is_sequence and not chosen.is_mapping and chosen.label() == _ALL:
            choices.append(tuple(range(len(parameter.listed))))
            whole.add(number)
        else:
            choices.append(tuple(sorted(parameter.numbers[label] for label in reader.labels(chosen, parameter))))
    smoke, nightly = fields["smoke"].integer(0, 3), fields["nightly"].integer(0, 4)
    if nightly < smoke:
        raise fields["nightly"].error(f"expected at least the strength of smoke, {smoke}, found {nightly}")
    return Product(fields["name"].text(), fields["why"].text(), tuple(choices), frozenset(whole), smoke, nightly, element.place)


def _on_units(products: Sequence[Product], parameters: Sequence[Parameter], units: Sequence[Unit], strength: int) -> Iterator[Product]:
    """Yield the products on the rows, sizes or shapes of each unit. In the smoke tier is only the first product."""
    for unit in units:
        for place, product in enumerate(products):
            choices = choices_on(unit, parameters, product.choices)
            if choices is not None and product.nightly:
                name, nightly = f"{product.name} on {unit.name}", min(strength, unit.strength, product.nightly)
                smoke = 0 if place else min(1, product.smoke)
                yield replace(product, name=name, choices=choices, whole=frozenset(), smoke=smoke, nightly=nightly, unit=unit)


def _lines(element: Element) -> tuple[str, ...]:
    return tuple(item.text("a line of text") for item in element.items("lines of text"))


def _positions(element: Element, known: Mapping[str, Position]) -> tuple[str, ...]:
    found: list[str] = []
    for item in element.items("ids of positions"):
        id_ = item.text("the id of a position")
        if id_ not in known:
            raise item.error(f"there is no position '{id_}'; expected an id from cases/positions.yaml")
        if id_ in found:
            raise item.error(f"duplicate position '{id_}'")
        found.append(id_)
    return tuple(found)


def load_family(
    path: Path,
    requirements: Mapping[str, Requirement] | None = None,
    positions: Mapping[str, Position] | None = None,
    units_below: Callable[[Path], Mapping[str, Unit]] = load_units,
) -> Family:
    """Load the family that ``path`` describes.

    Args:
        path: a YAML file in a specification's folder of ``cases``.
        requirements: the requirements that ``covers`` may name; by default, the ones beside the specification's folder.
        positions: the positions that ``positions`` may name; by default, the ones beside the specification's folder.
        units_below: loads the units of a folder of cases, if the family asks for them.

    Raises:
        CasebookError: the file is malformed; the message names file, line, key and the expected value.
    """
    if requirements is None:
        requirements = load_requirements(path.absolute().parent.parent)
    if positions is None:
        positions = load_positions(path.absolute().parent.parent)
    top = read_document(path)
    fields = top.fields(
        ("family", "specification", "builder", "covers", "plan", "products"),
        ("todo", "positions", "disputed", "parameters", "constraints", "subcases", "units"),
    )
    name = fields["family"].text("the family's name")
    if not NAME.fullmatch(name) or name != path.stem:
        raise fields["family"].error(f"'{name}' must be the file's name without .yaml, '{path.stem}', in lower case")
    specification = fields["specification"].text("the specification's name")
    known = sorted({requirement.specification for requirement in requirements.values()})
    if specification not in known:
        raise fields["specification"].error(f"unknown specification '{specification}'; expected one of {', '.join(known)}")
    if path.absolute().parent.name != folder_name(specification):
        raise fields["specification"].error(f"families of {specification} belong in the folder {folder_name(specification)}")
    builder_name = fields["builder"].text("the name of a builder")
    try:
        builder = load_builder(builder_name, folder_name(specification))
    except CasebookError as error:
        raise fields["builder"].error(str(error)) from None
    todo = _lines(fields["todo"]) if "todo" in fields else ()
    types = declared_types(builder)
    of_case = declarations_in_ids(types.case)
    of_subcase = {name: one for name, one in declarations_in_ids(types.subcase).items() if name not in of_case}
    parameters = read_parameters(fields.get("parameters"), of_case, top)
    if sum(parameter.rows is not None for parameter in parameters) > 1:
        raise fields["parameters"].error("expected at most one parameter with property_rows")
    subcase_parameters = read_parameters(fields.get("subcases"), of_subcase, top)
    units = tuple(units_below(path.absolute().parent.parent).values()) if "units" in fields else ()
    if "units" in fields and not units:
        raise fields["units"].error(f"there are no units: cases/{UNITS} is missing or empty")
    parameters = on_units(parameters, units) if units else parameters
    reader = ConditionReader(parameters, subcase_parameters, builder, builder_name)
    covers = read_covers(fields["covers"], requirements, parameters, reader)
    if not covers and not todo:
        raise fields["covers"].error("expected at least one requirement id; a family that has none yet says what is missing in todo")
    constraints = fields["constraints"].items("constraints") if "constraints" in fields else []
    products = tuple(_product(item, parameters, subcase_parameters, reader) for item in fields["products"].items("products"))
    if not products:
        raise fields["products"].error("expected at least one product")
    for place, product in enumerate(products):
        if product.name in [other.name for other in products[:place]]:
            raise fields["products"].items("products")[place].error(f"duplicate product '{product.name}'")
    if units:
        products = (*products, *_on_units(products, parameters, units, fields["units"].integer(1, MOST_STRENGTH)))
    return Family(
        name=name,
        specification=specification,
        path=path,
        builder=builder,
        covers=covers,
        plan=fields["plan"].text("prose"),
        todo=todo,
        positions=_positions(fields["positions"], positions) if "positions" in fields else (),
        parameters=parameters,
        subcase_parameters=subcase_parameters,
        constraints=(*applying(declarations(types.subcase)), *(reader.constraint(item) for item in constraints)),
        products=products,
        statements=Statements(requirements, positions),
        disputed=read_disputed(fields["disputed"], positions, reader) if "disputed" in fields else (),
    )
