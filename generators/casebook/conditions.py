"""What the YAML of a family says of its axes' labels: the conditions of constraints, and constraints as they stand there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from generators.casebook.axes import Axis
from generators.casebook.builders import Builder
from generators.casebook.constraints import Constraint, Exclusion, Predicate
from generators.casebook.document import Element
from generators.parameters.declaration import Declaration, declarations


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
    predicate: tuple[str, Callable[[Any], bool]] | None = None
    place: str = ""


class _Observed:
    """Parameters of which each is taken from a mapping when it is read."""

    observed: Mapping[str, Any]

    def __init__(self, observed: Mapping[str, Any]) -> None:
        object.__setattr__(self, "observed", observed)


def _read(name: str) -> property:
    return property(lambda self: self.observed[name])


def observing(parameters: type) -> Callable[[Mapping[str, Any]], Any]:
    """Return what makes an object that looks like ``parameters`` and takes each parameter from a mapping when it is read."""
    return type(
        parameters.__name__, (_Observed, parameters), {one.attribute: _read(name) for name, one in declarations(parameters).items()}
    )


def compile_constraints(
    constraints: Sequence[ConstraintText], axes: Sequence[Axis], view: Callable[[Mapping[str, Any]], Any]
) -> tuple[Constraint, ...]:
    """Compile constraints to axes and labels by number.

    Args:
        constraints: as the family states them.
        axes: of its cases, then those of subcases.
        view: makes what predicates are given.
    """
    numbers = MappingProxyType({axis.name: number for number, axis in enumerate(axes)})
    values = tuple(tuple(axis.values.values()) for axis in axes)
    compiled: list[Constraint] = []
    for constraint in constraints:
        if constraint.predicate is not None:
            name, function = constraint.predicate
            compiled.append(Predicate(name, constraint.because, function, numbers, values, constraint.place, view))
        for exclusion in constraint.exclusions:
            labels = tuple(
                (numbers[name], frozenset(number for label, number in axes[numbers[name]].numbers.items() if (label in named) is inside))
                for name, named, inside in exclusion
            )
            compiled.append(Exclusion(labels, constraint.because))
    return tuple(compiled)


def applying(declared: Mapping[str, Declaration]) -> tuple[ConstraintText, ...]:
    """Return a constraint for each parameter that need not apply: a case to which it does not has the default."""

    def constraint(one: Declaration, applies: Callable[[Any], bool]) -> ConstraintText:
        default = one.default_value

        def predicate(parameters: Any) -> bool:
            return applies(parameters) or bool(getattr(parameters, one.attribute) == default)

        return ConstraintText(f"{one.name} does not apply", predicate=(f"{one.name} applies", predicate))

    return tuple(constraint(one, one.applies) for one in declared.values() if one.applies is not None)


class ConditionReader:
    """Reads what refers to axes, to their labels and to the builder's predicates."""

    def __init__(self, axes: Sequence[Axis], subcase_axes: Sequence[Axis], builder: Builder, builder_name: str) -> None:
        self._by_name = {axis.name: axis for axis in (*axes, *subcase_axes)}
        self._predicates = builder.PREDICATES
        self._builder_name = builder_name

    def labels(self, element: Element, axis: Axis) -> tuple[str, ...]:
        """Labels of ``axis``: a list, or a single one."""
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

    def conditions(self, element: Element) -> dict[str, frozenset[str]]:
        """Axis name -> labels."""
        conditions = {}
        for name, item in element.entries("a mapping from axis to labels").items():
            if name not in self._by_name:
                raise item.error(f"there is no axis '{name}'; expected one of {', '.join(self._by_name)}")
            conditions[name] = frozenset(self.labels(item, self._by_name[name]))
        if not conditions:
            raise element.error("expected at least one axis")
        return conditions

    def predicate(self, element: Element) -> tuple[str, Callable[[Any], bool]]:
        """Name and function of a predicate of the builder."""
        name = element.text("the name of a predicate")
        if name not in self._predicates:
            known = ", ".join(self._predicates) or "none"
            raise element.error(f"the builder '{self._builder_name}' has no predicate '{name}'; it has {known}")
        return name, self._predicates[name]

    def constraint(self, element: Element) -> ConstraintText:
        """An entry of ``constraints``."""
        entries = element.entries("a mapping with the keys when and require, exclude, or predicate")
        if "predicate" in entries:
            fields = element.fields(("predicate", "because"))
            predicate = self.predicate(fields["predicate"])
            return ConstraintText(fields["because"].text("a reason"), predicate=predicate, place=element.place)
        if "exclude" in entries:
            fields = element.fields(("exclude", "because"))
            conditions = self.conditions(fields["exclude"])
            return ConstraintText(fields["because"].text("a reason"), (tuple((name, labels, True) for name, labels in conditions.items()),))
        fields = element.fields(("when", "require", "because"))
        when = tuple((name, labels, True) for name, labels in self.conditions(fields["when"]).items())
        require = self.conditions(fields["require"])
        exclusions = tuple((*when, (name, labels, False)) for name, labels in require.items())
        return ConstraintText(fields["because"].text("a reason"), exclusions)
