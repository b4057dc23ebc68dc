"""A family: the cases of one behaviour, as its YAML file describes them (see family_file)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from generators.casebook.builders import Builder, CaseKind, kind_of
from generators.casebook.constraints import Constraint, Exclusion, Predicate


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
