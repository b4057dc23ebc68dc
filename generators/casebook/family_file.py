"""Reads the YAML file of a family. docs/casebook.md documents the format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generators.casebook.builders import Builder, load_builder
from generators.casebook.document import Element, read_document
from generators.casebook.family import Axis, ConstraintText, Family, Product
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, folder_name, load_requirements
from generators.errors import CasebookError
from generators.property_rows import check_property_row

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LABEL = re.compile(r"(?:(?!::)[^\s,\[\]-])+")
_ALL = "all"


def _label(element: Element, label: str) -> str:
    if not _LABEL.fullmatch(label):
        raise element.error(f"the label '{label}' is empty or has one of '-', '[', ']', '::', ',' or a space; give it as label: value")
    return label


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
        wanted = taken.get(name)
        if wanted is None:
            continue
        for value in item.items("values") if item.is_sequence else item.entries("values").values():
            data = value.data()
            known = wanted.fullmatch(str(data)) if isinstance(wanted, re.Pattern) else data in wanted
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
