"""Units: the multiply-adds that real hardware has, from ``cases/units.yaml``.

A family that asks for them has each of its products a second time for each unit: with the unit's rows, sizes or shapes instead of the
product's own. So a device whose sizes no family lists still runs every kind of case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generators.casebook.conditions import ConstraintText
from generators.casebook.parameters import Parameter
from generators.casebook.requirements import cases_folder
from generators.document import read_document
from generators.errors import CasebookError
from generators.operands.constants import Varying
from generators.property_rows import PropertyRow, check_property_row, parse_row
from generators.types import ComponentType, Use

FILE = "units.yaml"

MOST_STRENGTH = 2
"""Highest strength of products on units."""

_MOST_SUBGROUP = 128
_COMPONENTS = ("component", "from", "to", "third", "read")
"""Names of the parameters that give the component types of the matrices of a case."""


Kind = tuple[object, ...]
"""What decides whether a product with some rows can have another row, too."""


@dataclass(frozen=True)
class Unit:
    """The multiply-adds of a kind of hardware, at subgroup scope.

    Attributes:
        name: its name.
        rows: its property rows, by label.
        subgroup_sizes: the subgroup sizes that its pipelines may require.
        strength: the highest strength of products on it.
    """

    name: str
    rows: tuple[str, ...]
    subgroup_sizes: tuple[int, ...]
    strength: int

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of each of its rows."""
        return {label: _kind(parse_row(label)) for label in self.rows}

    @cached_property
    def multiplies(self) -> Mapping[str, tuple[PropertyRow, ...]]:
        """The rows by their sizes, ``MxNxK``."""
        found: dict[str, tuple[PropertyRow, ...]] = {}
        for row in map(parse_row, self.rows):
            size = f"{row.m}x{row.n}x{row.k}"
            found[size] = (*found.get(size, ()), row)
        return found

    @cached_property
    def matrices(self) -> frozenset[tuple[ComponentType, Use, tuple[int, int]]]:
        """Component type, use and shape of each matrix of its rows."""
        found = set()
        for row in map(parse_row, self.rows):
            found |= {(row.a, Use.A, (row.m, row.k)), (row.b, Use.B, (row.k, row.n))}
            found |= {(component, Use.ACCUMULATOR, (row.m, row.n)) for component in (row.c, row.result)}
        return frozenset(found)


def load_units(root: Path) -> Mapping[str, Unit]:
    """Return every unit by its name, in file order; none if there is no file.

    Args:
        root: the checkout, or its folder ``cases``.

    Raises:
        CasebookError: the file is malformed.
    """
    path = cases_folder(root) / FILE
    if not path.exists():
        return MappingProxyType({})
    units: dict[str, Unit] = {}
    for name, element in read_document(path).entries("a mapping from unit to chips, subgroup_sizes, strength and rows").items():
        fields = element.fields(("chips", "subgroup_sizes", "strength", "rows"))
        fields["chips"].text("the chips that have the unit")
        sizes = tuple(size.integer(1, _MOST_SUBGROUP) for size in fields["subgroup_sizes"].items("subgroup sizes"))
        rows = []
        for item in fields["rows"].items("property rows"):
            try:
                check_property_row(item.label())
            except CasebookError as error:
                raise item.error(str(error)) from None
            rows.append(item.label())
        units[name] = Unit(name, tuple(rows), sizes, fields["strength"].integer(1, MOST_STRENGTH))
    return MappingProxyType(units)


def on_units(parameters: Sequence[Parameter], units: Sequence[Unit]) -> tuple[Parameter, ...]:
    """Return the parameters of a family with the labels that the units add to rows, to sizes, or to the shapes of matrices."""
    labels = [_labels_of_units(parameter, parameters, units) for parameter in parameters]
    return tuple(parameter.wider(added or ()) for parameter, added in zip(parameters, labels, strict=True))


def choices_on(unit: Unit, parameters: Sequence[Parameter], choices: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...] | None:
    """Return a product's choices on the unit's rows, sizes or shapes, at subgroup scope; None if the product has no case there.

    Args:
        unit: the unit.
        parameters: the family's parameters, with the labels of units.
        choices: the choices of the product.
    """
    found = []
    for parameter, chosen in zip(parameters, choices, strict=True):
        if parameter.rows == "exact":
            kinds = {_kind(parameter.values[parameter.labels[number]]) for number in chosen}
            labels: list[str] | None = [label for label, kind in unit.kinds.items() if kind in kinds]
        elif parameter.name == "scope":
            labels = [label for number in chosen if (label := parameter.labels[number]) == "subgroup"]
        else:
            labels = _labels_of_units(parameter, parameters, [unit])
        numbers = chosen if labels is None else sorted(parameter.numbers[label] for label in labels)
        if not numbers:
            return None
        found.append(tuple(numbers))
    return tuple(found)


def _labels_of_units(parameter: Parameter, parameters: Sequence[Parameter], units: Sequence[Unit]) -> list[str] | None:
    """Return the labels of the units for a parameter of rows, sizes or shapes, each once; None for any other parameter."""
    if parameter.rows == "exact":
        kinds = {_kind(parameter.values[label]) for label in parameter.listed}
        return list(dict.fromkeys(label for unit in units for label, kind in unit.kinds.items() if kind in kinds))
    if parameter.name not in ("sizes", "shape"):
        return None
    by_name = {one.name: one for one in parameters}
    if parameter.name == "sizes" and "types" in by_name:
        found = [size for unit in units for size in unit.multiplies]
    elif parameter.name == "shape" and "row" not in by_name:
        uses = {use for value in by_name["use"].values.values() for use in _each(value)} if "use" in by_name else {Use.ACCUMULATOR}
        components = {type_ for one in _components(by_name) for type_ in one.values.values()}
        shapes = [sorted({shape for type_, use, shape in unit.matrices if use in uses and type_ in components}) for unit in units]
        found = [f"{rows}x{columns}" for unit in shapes for rows, columns in unit]
    else:
        return None
    return list(dict.fromkeys(found))


def _components(by_name: Mapping[str, Parameter]) -> list[Parameter]:
    return [by_name[name] for name in _COMPONENTS if name in by_name and by_name[name].declaration.type is ComponentType]


def _kind(row: PropertyRow) -> Kind:
    return (*((type_.is_float, type_.is_signed) for type_ in (row.a, row.b, row.c, row.result)), row.saturating)


def _each(value: Any) -> tuple[Any, ...]:
    """Return the values of a parameter that may differ from pipeline to pipeline."""
    return value.values if isinstance(value, Varying) else (value,)


def fits(unit: Unit, parameters: Sequence[Parameter]) -> ConstraintText:
    """Return the constraint that a case's matrices, and the subgroup size that it requires, are the unit's."""
    by_name = {parameter.name: parameter for parameter in parameters}
    components = [parameter.declaration for parameter in _components(by_name)]
    has_shape, has_sizes = "shape" in by_name and "row" not in by_name, "sizes" in by_name and "types" in by_name
    has_use, has_subgroup_size = "use" in by_name, "subgroup_size" in by_name

    def predicate(values: Any) -> bool:
        if has_subgroup_size and values.subgroup_size not in (None, *unit.subgroup_sizes):
            return False
        if has_sizes:
            multiplies = {((row.m, row.n, row.k), (row.a, row.b, row.c, row.result)) for rows in unit.multiplies.values() for row in rows}
            return all(((size.m, size.n, size.k), values.types) in multiplies for size in _each(values.sizes))
        if not has_shape:
            return True
        places = product(_each(values.use) if has_use else (Use.ACCUMULATOR,), _each(values.shape))
        types = [getattr(values, one.attribute) for one in components if one.applies is None or one.applies(values)]
        return all((type_, *place) in unit.matrices for place in places for type_ in types)

    return ConstraintText(f"{unit.name} lacks such matrices", predicate=(f"fits {unit.name}", predicate))
