"""The axes of a family, and their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from generators.casebook.builders import Builder
from generators.casebook.document import Element
from generators.errors import CasebookError
from generators.property_rows import check_property_row

NAME = re.compile(r"[a-z][a-z0-9_]*")
"""What names a family or an axis."""

_LABEL = re.compile(r"(?:(?!::)[^\s,\[\]-])+")


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
    if not NAME.fullmatch(name):
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


def read_axes(element: Element, taken: Sequence[Axis] = ()) -> tuple[Axis, ...]:
    """The axes that ``element`` maps to their values; ``taken`` are those of the case, whose names those of a subcase cannot have."""
    names = {axis.name for axis in taken}
    axes = []
    for name, item in element.entries("a mapping from axis name to values").items():
        if name in names:
            raise item.error(f"'{name}' is already an axis of the case")
        axes.append(_axis(name, item))
    if not axes:
        raise element.error("expected at least one axis")
    return tuple(axes)


def check_values(elements: Sequence[Element], builder: Builder, builder_name: str) -> None:
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
