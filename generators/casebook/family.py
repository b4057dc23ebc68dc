"""A family: the cases of one behaviour, as its YAML file describes them. docs/casebook.md documents the format."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generators.casebook.builders import Builder, CaseKind, kind_of, load_builder
from generators.casebook.constraints import Constraint, Exclusion, Predicate
from generators.casebook.document import Element, read_document
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, folder_name, load_requirements
from generators.errors import CasebookError
from generators.property_rows import parse_flexible_row, parse_row

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LABEL = re.compile(r"(?:(?!::)[^\s,\[\]-])+")
_ALL = "all"


@dataclass(frozen=True)
class Axis:
    """A named list of values.

    Attributes:
        name: unique among the family's axes and subcase axes.
        values: label -> value, in order.
        property_rows: whether the labels are property rows, to which a device may add.
        flexible: whether they are rows of flexible dimensions.
    """

    name: str
    values: Mapping[str, Any]
    property_rows: bool = False
    flexible: bool = False

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """In order."""
        return tuple(self.values)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Label -> its number."""
        return MappingProxyType({label: number for number, label in enumerate(self.values)})


@dataclass(frozen=True)
class Product:
    """A set of cases: every allowed combination of some labels of each axis.

    Attributes:
        name, why: for the reader.
        choices: for each axis of the family the numbers of its labels, ascending.
        whole: numbers of the axes of which the product takes all labels, whichever they are.
        smoke, nightly: strength of the covering arrays of these tiers.
        place: file and line, for messages.
    """

    name: str
    why: str
    choices: tuple[tuple[int, ...], ...]
    whole: frozenset[int]
    smoke: int
    nightly: int
    place: str


@dataclass(frozen=True)
class ConstraintText:
    """A constraint as the family states it: labels by axis and label name, so that it holds for any set of further labels.

    Attributes:
        exclusions: each forbids the cases that have one of the labels (or, where ``inside`` is false, none of them) on every
            axis: (axis name, labels, inside).
        predicate: name and function; None for the other kinds.
        place: file, line and key, for messages.
    """

    because: str
    exclusions: tuple[tuple[tuple[str, frozenset[str], bool], ...], ...] = ()
    predicate: tuple[str, Callable[[Mapping[str, Any]], bool]] | None = None
    place: str = ""


@dataclass(frozen=True, eq=False)
class Family:
    """The cases of one behaviour.

    Attributes:
        name: also the file's name, and the beginning of each case's id.
        specification: for example ``SPV_KHR_cooperative_matrix``.
        path: the YAML file.
        builder: the module that makes of the cases what a device judges.
        covers: ids of requirements.
        plan: in prose, what is tested and why these axes.
        todo: missing coverage, a line each.
        positions: ids of the suite's positions on which verdicts of the family rest.
        axes: of the cases, in the order of the labels in an id.
        subcase_axes: of the dispatches of each case.
        constraints: on all these axes.
        products: whose union is the full tier.
    """

    name: str
    specification: str
    path: Path
    builder: Builder
    covers: tuple[str, ...]
    plan: str
    todo: tuple[str, ...]
    positions: tuple[str, ...]
    axes: tuple[Axis, ...]
    subcase_axes: tuple[Axis, ...]
    constraints: tuple[ConstraintText, ...]
    products: tuple[Product, ...]

    @cached_property
    def rules(self) -> tuple[Constraint, ...]:
        """The constraints by axis and label number, case axes first and subcase axes after them."""
        return compile_constraints(self.constraints, (*self.axes, *self.subcase_axes))

    @cached_property
    def kind(self) -> CaseKind:
        """Of its cases."""
        return kind_of(self.builder)

    @cached_property
    def property_axis(self) -> int | None:
        """Number of the axis to which a device may add rows, or None."""
        return next((number for number, axis in enumerate(self.axes) if axis.property_rows), None)


def compile_constraints(constraints: Sequence[ConstraintText], axes: Sequence[Axis]) -> tuple[Constraint, ...]:
    """The constraints on axes and labels by number."""
    numbers = MappingProxyType({axis.name: number for number, axis in enumerate(axes)})
    values = tuple(tuple(axis.values.values()) for axis in axes)
    compiled: list[Constraint] = []
    for constraint in constraints:
        if constraint.predicate is not None:
            name, function = constraint.predicate
            compiled.append(Predicate(name, constraint.because, function, numbers, values, constraint.place))
        for exclusion in constraint.exclusions:
            labels = tuple(
                (numbers[name], frozenset(number for label, number in axes[numbers[name]].numbers.items() if (label in named) is inside))
                for name, named, inside in exclusion
            )
            compiled.append(Exclusion(labels, constraint.because))
    return tuple(compiled)


def _label(element: Element, label: str) -> str:
    if not _LABEL.fullmatch(label):
        raise element.error(f"the label '{label}' is empty or has one of '-', '[', ']', '::', ',' or a space; give it as label: value")
    return label


def check_property_row(label: str, flexible: bool = False) -> None:
    """Sees that ``label`` is a property row, of flexible dimensions or not, in the one form that ids use.

    Raises:
        CasebookError: it is not.
    """
    row = parse_flexible_row(label) if flexible else parse_row(label)
    if str(row) != label:
        raise CasebookError(f"'{label}' must be written {row}")


def _listed(items: Sequence[Element]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        label = _label(item, item.label("a scalar; values of other kinds need a mapping label: value"))
        if label in values:
            raise item.error(f"duplicate label '{label}'")
        values[label] = item.data()
    return values


def _axis(name: str, element: Element) -> Axis:
    if not _NAME.fullmatch(name):
        raise element.error(f"'{name}' cannot name an axis; expected lower-case letters, digits and underscores")
    property_rows = flexible = False
    if element.is_sequence:
        values = _listed(element.items("values"))
    elif "property_rows" in (entries := element.entries("a list of values or a mapping label: value")):
        fields = element.fields(("property_rows", "values"))
        property_rows, flexible = _row_kind(fields["property_rows"])
        values = _listed(fields["values"].items("property rows"))
        for item in fields["values"].items("property rows") if property_rows else ():
            try:
                check_property_row(item.label(), flexible)
            except CasebookError as error:
                raise item.error(str(error)) from None
    else:
        values = {_label(item, label): item.data() for label, item in entries.items()}
    if not values:
        raise element.error("expected at least one value")
    return Axis(name, MappingProxyType(values), property_rows, flexible)


def _row_kind(element: Element) -> tuple[bool, bool]:
    """Whether an axis has property rows, and whether they are flexible: ``true``, ``false`` or ``flexible``."""
    flexible = element.data() == "flexible"
    return (True, True) if flexible else (element.flag(), False)


def _axes(element: Element, taken: Sequence[Axis] = ()) -> tuple[Axis, ...]:
    names = {axis.name for axis in taken}
    axes = []
    for name, item in element.entries("a mapping from axis name to values").items():
        if name in names:
            raise item.error(f"'{name}' is already an axis of the case")
        axes.append(_axis(name, item))
    if not axes:
        raise element.error("expected at least one axis")
    return tuple(axes)


def _check_values(elements: Sequence[Element], builder: Builder, builder_name: str) -> None:
    """Every axis that the builder reads is there, with values that it takes."""
    taken: Mapping[str, Collection[Any] | re.Pattern[str] | None] = getattr(builder, "AXES", {})
    axes = {name: item for element in elements for name, item in element.entries("axes").items()}
    for name in taken:
        if name not in axes:
            raise elements[0].error(f"the builder '{builder_name}' needs an axis '{name}'")
    for name, item in axes.items():
        if taken and name not in taken:
            # It would multiply the cases and change none of them.
            raise item.error(f"the builder '{builder_name}' reads no axis '{name}'; it reads {', '.join(taken)}")
        wanted = taken.get(name)
        if wanted is None:
            continue
        for value in item.items("values") if item.is_sequence else item.entries("values").values():
            data = value.data()
            if isinstance(wanted, re.Pattern):
                known = wanted.fullmatch(str(data)) is not None
            else:
                # To Python true is 1, and would make it a label of its own.
                known = any(isinstance(one, bool) == isinstance(data, bool) and one == data for one in wanted)
            if not known:
                words = f"what matches {wanted.pattern}" if isinstance(wanted, re.Pattern) else ", ".join(map(str, wanted))
                raise value.error(f"the builder '{builder_name}' does not take '{data}' for '{name}'; it takes {words}")


class _Reader:
    """Reads what refers to axes."""

    def __init__(self, axes: Sequence[Axis], subcase_axes: Sequence[Axis], builder: Builder, builder_name: str) -> None:
        self._axes = axes
        self._by_name = {axis.name: axis for axis in (*axes, *subcase_axes)}
        self._predicates = builder.PREDICATES
        self._builder_name = builder_name

    def _labels(self, element: Element, axis: Axis) -> tuple[str, ...]:
        items = element.items(f"labels of axis '{axis.name}'") if element.is_sequence else [element]
        labels: list[str] = []
        for item in items:
            label = item.label(f"a label of axis '{axis.name}'")
            if label not in axis.values:
                raise item.error(f"axis '{axis.name}' has no label '{label}'; expected one of {', '.join(axis.labels)}")
            if label in labels:
                raise item.error(f"duplicate label '{label}'")
            labels.append(label)
        if not labels:
            raise element.error(f"expected at least one label of axis '{axis.name}'")
        return tuple(labels)

    def _conditions(self, element: Element) -> dict[str, frozenset[str]]:
        conditions = {}
        for name, item in element.entries("a mapping from axis to labels").items():
            if name not in self._by_name:
                raise item.error(f"there is no axis '{name}'; expected one of {', '.join(self._by_name)}")
            conditions[name] = frozenset(self._labels(item, self._by_name[name]))
        if not conditions:
            raise element.error("expected at least one axis")
        return conditions

    def constraint(self, element: Element) -> ConstraintText:
        entries = element.entries("a mapping with the keys when and require, exclude, or predicate")
        if "predicate" in entries:
            fields = element.fields(("predicate", "because"))
            name = fields["predicate"].text("the name of a predicate")
            if name not in self._predicates:
                known = ", ".join(self._predicates) or "none"
                raise fields["predicate"].error(f"the builder '{self._builder_name}' has no predicate '{name}'; it has {known}")
            place = f"{element.path}:{element.line}: {element.key}"
            return ConstraintText(fields["because"].text("a reason"), predicate=(name, self._predicates[name]), place=place)
        if "exclude" in entries:
            fields = element.fields(("exclude", "because"))
            conditions = self._conditions(fields["exclude"])
            return ConstraintText(fields["because"].text("a reason"), (tuple((name, labels, True) for name, labels in conditions.items()),))
        fields = element.fields(("when", "require", "because"))
        when = tuple((name, labels, True) for name, labels in self._conditions(fields["when"]).items())
        require = self._conditions(fields["require"])
        exclusions = tuple((*when, (name, labels, False)) for name, labels in require.items())
        return ConstraintText(fields["because"].text("a reason"), exclusions)

    def product(self, element: Element) -> Product:
        fields = element.fields(("name", "why", "axes", "smoke", "nightly"))
        entries = fields["axes"].entries("a mapping from axis to all or a list of labels")
        names = {axis.name for axis in self._axes}
        for name, item in entries.items():
            if name not in names:
                hint = "a subcase axis is always whole" if name in self._by_name else f"expected one of {', '.join(sorted(names))}"
                raise item.error(f"there is no case axis '{name}'; {hint}")
        choices: list[tuple[int, ...]] = []
        whole = set()
        for number, axis in enumerate(self._axes):
            chosen = entries.get(axis.name)
            if chosen is None:
                choices.append((0,))
            elif not chosen.is_sequence and not chosen.is_mapping and chosen.label() == _ALL:
                choices.append(tuple(range(len(axis.values))))
                whole.add(number)
            else:
                choices.append(tuple(sorted(axis.numbers[label] for label in self._labels(chosen, axis))))
        smoke, nightly = fields["smoke"].integer(0, 3), fields["nightly"].integer(0, 4)
        if nightly < smoke:
            raise fields["nightly"].error(f"expected at least the strength of smoke, {smoke}, found {nightly}")
        place = f"{element.path}:{element.line}: {element.key}"
        return Product(fields["name"].text(), fields["why"].text(), tuple(choices), frozenset(whole), smoke, nightly, place)


def _lines(element: Element) -> tuple[str, ...]:
    return tuple(item.text("a line of text") for item in element.items("lines of text"))


def _covers(element: Element, requirements: Mapping[str, Requirement]) -> tuple[str, ...]:
    covers: list[str] = []
    for item in element.items("requirement ids"):
        id_ = item.text("a requirement id")
        if id_ not in requirements:
            raise item.error(f"there is no requirement '{id_}'; expected an id from cases/requirements")
        if id_ in covers:
            raise item.error(f"duplicate requirement '{id_}'")
        covers.append(id_)
    return tuple(covers)


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
    path: Path, requirements: Mapping[str, Requirement] | None = None, positions: Mapping[str, Position] | None = None
) -> Family:
    """The family that ``path`` describes.

    Args:
        path: a YAML file in a specification's folder of ``cases``.
        requirements: what ``covers`` may name; by default those beside the specification's folder.
        positions: what ``positions`` may name; by default those beside the specification's folder.

    Raises:
        CasebookError: naming file, line, key and what was expected.
    """
    if requirements is None:
        requirements = load_requirements(path.absolute().parent.parent)
    if positions is None:
        positions = load_positions(path.absolute().parent.parent)
    top = read_document(path)
    fields = top.fields(
        ("family", "specification", "builder", "covers", "plan", "axes", "products"), ("todo", "positions", "constraints", "subcases")
    )
    name = fields["family"].text("the family's name")
    if not _NAME.fullmatch(name) or name != path.stem:
        raise fields["family"].error(f"'{name}' must be the file's name without .yaml, '{path.stem}', in lower case")
    specification = fields["specification"].text("the specification's name")
    known = sorted({requirement.specification for requirement in requirements.values()})
    if specification not in known:
        raise fields["specification"].error(f"unknown specification '{specification}'; expected one of {', '.join(known)}")
    if path.absolute().parent.name != folder_name(specification):
        raise fields["specification"].error(f"families of {specification} belong in the folder {folder_name(specification)}")
    builder_name = fields["builder"].text("the name of a builder")
    try:
        builder = load_builder(builder_name)
    except CasebookError as error:
        raise fields["builder"].error(str(error)) from None
    todo = _lines(fields["todo"]) if "todo" in fields else ()
    covers = _covers(fields["covers"], requirements)
    if not covers and not todo:
        raise fields["covers"].error("expected at least one requirement id; a family that has none yet says what is missing in todo")
    axes = _axes(fields["axes"])
    if sum(axis.property_rows for axis in axes) > 1:
        raise fields["axes"].error("expected at most one axis with property_rows")
    subcase_axes = _axes(fields["subcases"], axes) if "subcases" in fields else ()
    _check_values([fields["axes"], *([fields["subcases"]] if "subcases" in fields else [])], builder, builder_name)
    reader = _Reader(axes, subcase_axes, builder, builder_name)
    constraints = fields["constraints"].items("constraints") if "constraints" in fields else []
    products = tuple(reader.product(item) for item in fields["products"].items("products"))
    if not products:
        raise fields["products"].error("expected at least one product")
    for place, product in enumerate(products):
        if product.name in [other.name for other in products[:place]]:
            raise fields["products"].items("products")[place].error(f"duplicate product '{product.name}'")
    return Family(
        name=name,
        specification=specification,
        path=path,
        builder=builder,
        covers=covers,
        plan=fields["plan"].text("prose"),
        todo=todo,
        positions=_positions(fields["positions"], positions) if "positions" in fields else (),
        axes=axes,
        subcase_axes=subcase_axes,
        constraints=tuple(reader.constraint(item) for item in constraints),
        products=products,
    )
