"""The constraints and conditions on parameter labels, as a family's YAML states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from generators.casebook.builders import Builder
from generators.casebook.constraints import Constraint, Exclusion, Predicate
from generators.casebook.parameters import Parameter
from generators.document import Element
from generators.parameters.declaration import Declaration, declarations


@dataclass(frozen=True)
class ConstraintText:
    """A constraint as the family states it: by names of parameters and labels, so it stays valid when labels are added.

    Attributes:
        exclusions: each forbids the cases that have one of the labels (or, where ``inside`` is false, none of them) on every
            parameter: (parameter name, labels, inside).
        predicate: name and function; None for the other kinds.
        place: file, line and key, for messages.
    """

    because: str
    exclusions: tuple[tuple[tuple[str, frozenset[str], bool], ...], ...] = ()
    predicate: tuple[str, Callable[[Any], bool]] | None = None
    place: str = ""


class _Observed:
    """An object whose attributes are parameters, each taken from a mapping when it is read."""

    observed: Mapping[str, Any]

    def __init__(self, observed: Mapping[str, Any]) -> None:
        object.__setattr__(self, "observed", observed)


def _read(name: str) -> property:
    return property(lambda self: self.observed[name])


def observing(parameters: type) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that makes objects like ``parameters`` that take each parameter from a mapping when it is read."""
    return type(
        parameters.__name__, (_Observed, parameters), {one.attribute: _read(name) for name, one in declarations(parameters).items()}
    )


def compile_constraints(
    constraints: Sequence[ConstraintText], parameters: Sequence[Parameter], view: Callable[[Mapping[str, Any]], Any]
) -> tuple[Constraint, ...]:
    """Compile constraints, replacing names of parameters and labels by numbers.

    Args:
        constraints: the constraints as the family states them.
        parameters: the parameters of its cases, then the parameters of subcases.
        view: makes the object that predicates get.
    """
    numbers = MappingProxyType({parameter.name: number for number, parameter in enumerate(parameters)})
    values = tuple(tuple(parameter.values.values()) for parameter in parameters)
    compiled: list[Constraint] = []
    for constraint in constraints:
        if constraint.predicate is not None:
            name, function = constraint.predicate
            compiled.append(Predicate(name, constraint.because, function, numbers, values, constraint.place, view))
        for exclusion in constraint.exclusions:
            labels = tuple(
                (
                    numbers[name],
                    frozenset(number for label, number in parameters[numbers[name]].numbers.items() if (label in named) is inside),
                )
                for name, named, inside in exclusion
            )
            compiled.append(Exclusion(labels, constraint.because))
    return tuple(compiled)


def applying(declared: Mapping[str, Declaration]) -> tuple[ConstraintText, ...]:
    """Return a constraint for each parameter that does not apply to every case: a case to which it does not apply has its default."""

    def constraint(one: Declaration, applies: Callable[[Any], bool]) -> ConstraintText:
        default = one.default_value

        def predicate(parameters: Any) -> bool:
            return applies(parameters) or bool(getattr(parameters, one.attribute) == default)

        return ConstraintText(f"{one.name} does not apply", predicate=(f"{one.name} applies", predicate))

    return tuple(constraint(one, one.applies) for one in declared.values() if one.applies is not None)


class ConditionReader:
    """Reads references to parameters, their labels and the builder's predicates."""

    def __init__(
        self, parameters: Sequence[Parameter], subcase_parameters: Sequence[Parameter], builder: Builder, builder_name: str
    ) -> None:
        self._by_name = {parameter.name: parameter for parameter in (*parameters, *subcase_parameters)}
        self._predicates = builder.PREDICATES
        self._builder_name = builder_name

    def labels(self, element: Element, parameter: Parameter) -> tuple[str, ...]:
        """Read the labels of ``parameter``: a list, or a single one."""
        items = element.items(f"labels of parameter '{parameter.name}'") if element.is_sequence else [element]
        labels: list[str] = []
        for item in items:
            label = item.label(f"a label of parameter '{parameter.name}'")
            if label not in parameter.values:
                raise item.error(f"parameter '{parameter.name}' has no label '{label}'; expected one of {', '.join(parameter.labels)}")
            if label in labels:
                raise item.error(f"duplicate label '{label}'")
            labels.append(label)
        if not labels:
            raise element.error(f"expected at least one label of parameter '{parameter.name}'")
        return tuple(labels)

    def conditions(self, element: Element) -> dict[str, frozenset[str]]:
        """Read conditions: parameter name -> labels."""
        conditions = {}
        for name, item in element.entries("a mapping from parameter to labels").items():
            if name not in self._by_name:
                raise item.error(f"there is no parameter '{name}'; expected one of {', '.join(self._by_name)}")
            conditions[name] = frozenset(self.labels(item, self._by_name[name]))
        if not conditions:
            raise element.error("expected at least one parameter")
        return conditions

    def predicate(self, element: Element) -> tuple[str, Callable[[Any], bool]]:
        """Return the name and function of a predicate of the builder."""
        name = element.text("the name of a predicate")
        if name not in self._predicates:
            known = ", ".join(self._predicates) or "none"
            raise element.error(f"the builder '{self._builder_name}' has no predicate '{name}'; it has {known}")
        return name, self._predicates[name]

    def constraint(self, element: Element) -> ConstraintText:
        """Read an entry of ``constraints``."""
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
