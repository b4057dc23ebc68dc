"""The parameters of a family, with the labels and values that its YAML enumerates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from generators.document import Element
from generators.errors import CasebookError
from generators.parameters.declaration import Declaration, NotAValue
from generators.property_rows import RowKind, check_row

NAME = re.compile(r"[a-z][a-z0-9_]*")
"""Pattern of the name of a family or a parameter."""

_DEFAULT = "default"
"""Stands for the values of a parameter that has its default in all cases of the family."""

_LABEL = re.compile(r"[^\s,:/\[\]]+")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a family: a name, and the values that the family enumerates.

    Attributes:
        name: unique among the parameters of the family's cases and subcases.
        values: label -> value, in order.
        declaration: the builder's declaration of the parameter.
        rows: if the labels are property rows, the kind of the rows, to which a device may add; otherwise None.
        added: how many of the last labels the family does not list: units add them (generators.casebook.units).
    """

    name: str
    values: Mapping[str, Any]
    declaration: Declaration
    rows: RowKind | None = None
    added: int = 0

    def value(self, label: str) -> Any:
        """Return the value of a label. A label that the parameter lacks is a property row that a device added."""
        if label in self.values:
            return self.values[label]
        return self.declaration.value(label, label)

    @cached_property
    def default(self) -> str | None:
        """Label of the declared default, which ids leave out; None if there is none."""
        return self.declaration.default

    def applies(self, parameters: Any) -> bool:
        """Tell whether a case with these parameters has this one."""
        return self.declaration.applies is None or self.declaration.applies(parameters)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Its labels, in order."""
        return tuple(self.values)

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The labels that the family lists, in order."""
        return self.labels[: len(self.values) - self.added]

    def wider(self, labels: Iterable[str]) -> Parameter:
        """Return the parameter with further labels at the end, which the family does not list."""
        new = {label: self.value(label) for label in labels if label not in self.values}
        return replace(self, values=MappingProxyType({**self.values, **new}), added=self.added + len(new)) if new else self

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Label -> its number."""
        return MappingProxyType({label: number for number, label in enumerate(self.values)})


def _label(element: Element, label: str) -> str:
    if not _LABEL.fullmatch(label):
        raise element.error(f"the label '{label}' is empty or has one of ':', '/', '[', ']', ',' or a space; give it as label: value")
    return label


def _value(element: Element, label: str, declaration: Declaration) -> Any:
    try:
        return declaration.value(element.data(), label)
    except NotAValue as error:
        raise element.error(str(error)) from None


def _listed(items: Sequence[Element], declaration: Declaration) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in items:
        label = _label(item, item.label("a scalar; values of other kinds need a mapping label: value"))
        if label in values:
            raise item.error(f"duplicate label '{label}'")
        values[label] = _value(item, label, declaration)
    return values


def _is_default(element: Element) -> bool:
    return not element.is_sequence and not element.is_mapping and element.label() == _DEFAULT


def _all_values(family: Element, declaration: Declaration) -> Parameter:
    """Return a parameter that takes all values of its type."""
    if declaration.values is None:
        raise family.error(f"the type of the builder's parameter '{declaration.name}' lists no values, so they are needed here")
    return Parameter(declaration.name, declaration.values, declaration)


def _parameter(name: str, element: Element, declaration: Declaration) -> Parameter:
    if not NAME.fullmatch(name):
        raise element.error(f"'{name}' cannot name a parameter; expected lower-case letters, digits and underscores")
    if _is_default(element):
        if declaration.default is None:
            raise element.error(f"the builder declares no default of '{name}'; expected a list of values")
        return Parameter(name, MappingProxyType({declaration.default: declaration.default_value}), declaration)
    rows: RowKind | None = None
    if element.is_sequence:
        values = _listed(element.items("values"), declaration)
    elif "property_rows" in (entries := element.entries(f"a list of values, a mapping label: value, or {_DEFAULT}")):
        fields = element.fields(("property_rows", "values"))
        rows = _row_kind(fields["property_rows"])
        values = _listed(fields["values"].items("property rows"), declaration)
        for item in fields["values"].items("property rows") if rows else ():
            assert rows is not None
            try:
                check_row(item.label(), rows)
            except CasebookError as error:
                raise item.error(str(error)) from None
    else:
        values = {_label(item, label): _value(item, label, declaration) for label, item in entries.items()}
    if not values:
        raise element.error("expected at least one value")
    parameter = Parameter(name, MappingProxyType(values), declaration, rows)
    if declaration.applies is not None and declaration.default not in values:
        raise element.error(f"'{name}' does not apply to every case, so its default, {declaration.default}, must be among its values")
    return parameter


def _row_kind(element: Element) -> RowKind | None:
    """Return the kind of property rows that a parameter has: ``true`` (exact sizes), ``flexible``, ``vector``, or ``false`` for none."""
    match element.data():
        case "flexible":
            return "flexible"
        case "vector":
            return "vector"
    return "exact" if element.flag() else None


def read_parameters(element: Element | None, declared: Mapping[str, Declaration], family: Element) -> tuple[Parameter, ...]:
    """Return the declared parameters in order. Those that keep their default in all cases follow the others.

    Args:
        element: maps parameters to their values; None if the family takes all values of all parameters.
        declared: the builder's declarations.
        family: the whole document, for messages.
    """
    entries = element.entries("a mapping from parameter name to values") if element is not None else {}
    place = element or family
    for name, item in entries.items():
        if name not in declared:
            # Such a parameter would multiply the cases and change none of them.
            raise item.error(f"the builder declares no parameter '{name}' that belongs here; expected one of {', '.join(declared)}")
    found = {
        name: _parameter(name, entries[name], declaration) if name in entries else _all_values(place, declaration)
        for name, declaration in declared.items()
    }
    fixed = [name for name, item in entries.items() if _is_default(item)]
    return (*(parameter for name, parameter in found.items() if name not in fixed), *(found[name] for name in fixed))
