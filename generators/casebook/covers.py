"""The requirements that a case exercises and the positions that dispute it, from the entries of ``covers`` and ``disputed``. An entry
concerns every case of the family, or the cases that meet its conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from generators.casebook.conditions import ConditionReader, ConstraintText, compile_constraints
from generators.casebook.constraints import FORBIDDEN, UNASSIGNED, Assignment, Choices, Completion, Constraint
from generators.casebook.parameters import Parameter
from generators.casebook.requirements import Requirement
from generators.document import Element

_NAMED = "requirement"
"""Key, in a parameter's value, whose entry names the requirement of the cases with that value."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A requirement and the cases that exercise it, or a position and the cases whose modules may be invalid without it.

    Attributes:
        id: the id of the requirement or position.
        when: alternatives, stated as constraints; a case must meet one of them. Every case meets a single empty alternative.
        place: file, line and key, for messages.
    """

    id: str
    when: tuple[tuple[ConstraintText, ...], ...] = ((),)
    place: str = ""


@dataclass(frozen=True, slots=True)
class _Kind:
    """The kind of object that an entry's id names, for messages."""

    name: str
    home: str


_REQUIREMENT, _POSITION = _Kind("requirement", "cases/requirements"), _Kind("position", "cases/positions.yaml")


@dataclass(frozen=True, slots=True)
class CompiledCover:
    """A cover whose parameters and labels are numbers.

    Attributes:
        id: the id of the requirement or position.
        when: alternatives, each a set of constraints that must all hold.
        place: file, line and key, for messages.
    """

    id: str
    when: tuple[tuple[Constraint, ...], ...]
    place: str

    def holds(self, rules: Sequence[Constraint], choices: Choices, assignment: Assignment) -> bool:
        """Tell whether the cover applies to some row that the rules allow and that completes ``assignment``.

        Args:
            rules: the rules of the family.
            choices: the labels of each parameter that ``assignment`` leaves open. A case leaves the labels of its subcases open, since all
                of them run.
            assignment: the known part of the row.
        """
        return any(_met(needs, rules, choices, assignment) for needs in self.when)


def _met(needs: Sequence[Constraint], rules: Sequence[Constraint], choices: Choices, assignment: Assignment) -> bool:
    open_ = []
    for need in needs:
        parameter = need.decide(assignment)
        if parameter == FORBIDDEN:
            return False
        if parameter >= 0:
            open_.append(need)
    # The rules allow the case itself; they can forbid a completion only if a parameter is open
    return not open_ or Completion((*rules, *open_), choices).possible(assignment)


def compile_covers(
    covers: Sequence[Cover], parameters: Sequence[Parameter], view: Callable[[Mapping[str, Any]], Any]
) -> tuple[CompiledCover, ...]:
    """Compile covers, replacing names of parameters and labels by numbers; ``view`` makes the object that predicates are given."""
    return tuple(
        CompiledCover(cover.id, tuple(compile_constraints(needs, parameters, view) for needs in cover.when), cover.place)
        for cover in covers
    )


def never(cover: CompiledCover, rules: Sequence[Constraint], products: Sequence[Choices]) -> bool:
    """Tell whether the cover applies to no case of the products, each given as the choices of all parameters."""
    return not any(_possible(needs, rules, choices) for needs in cover.when for choices in products)


def _possible(needs: Sequence[Constraint], rules: Sequence[Constraint], choices: Choices) -> bool:
    # Remove labels that a single need forbids beforehand: most products have few or none of the needed labels
    narrowed = list(choices)
    for need in needs:
        parameter = need.decide([UNASSIGNED] * len(choices))
        if parameter >= 0:
            narrowed[parameter] = [
                label for label in narrowed[parameter] if need.decide(_only(parameter, label, len(choices))) != FORBIDDEN
            ]
            if not narrowed[parameter]:
                return False
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in narrowed]
    return Completion((*needs, *rules), narrowed).possible(start)


def _only(parameter: int, label: int, count: int) -> Assignment:
    assignment = [UNASSIGNED] * count
    assignment[parameter] = label
    return assignment


def read_covers(
    element: Element, requirements: Mapping[str, Requirement], parameters: Sequence[Parameter], reader: ConditionReader
) -> tuple[Cover, ...]:
    """Read the key ``covers``: a list of entries, or the name of the parameter whose values name their requirements."""
    if not element.is_mapping and not element.is_sequence:
        return _named_by_parameter(element, requirements, parameters)
    return _entries(element, requirements, _REQUIREMENT, reader)


def read_disputed(element: Element, positions: Collection[str], reader: ConditionReader) -> tuple[Cover, ...]:
    """Read the key ``disputed``: a list of entries, each with the id of a position."""
    return _entries(element, positions, _POSITION, reader)


def _entries(element: Element, ids: Collection[str], kind: _Kind, reader: ConditionReader) -> tuple[Cover, ...]:
    covers: dict[str, Cover] = {}
    for item in element.items(f"{kind.name} ids"):
        cover = _cover(item, ids, kind, reader)
        if cover.id in covers:
            raise item.error(f"duplicate {kind.name} '{cover.id}'")
        covers[cover.id] = cover
    return tuple(covers.values())


def _named_by_parameter(element: Element, requirements: Mapping[str, Requirement], parameters: Sequence[Parameter]) -> tuple[Cover, ...]:
    name = element.label("a list of requirement ids, or the name of a parameter")
    parameter = next((parameter for parameter in parameters if parameter.name == name), None)
    if parameter is None:
        raise element.error(f"expected a list of requirement ids, or the parameter whose values have a key '{_NAMED}', found '{name}'")
    labels: dict[str, list[str]] = {}
    for label, value in parameter.values.items():
        id_ = str(value.get(_NAMED, "") if isinstance(value, Mapping) else getattr(value, _NAMED, ""))
        if id_ not in requirements:
            found = f"there is no requirement '{id_}'" if id_ else f"the value has no key '{_NAMED}'"
            raise element.error(f"'{label}' of parameter '{name}': {found}; expected an id from cases/requirements")
        labels.setdefault(id_, []).append(label)
    return tuple(
        Cover(id_, ((ConstraintText("", (((name, frozenset(found), False),),)),),), f"{element.place}: {id_}")
        for id_, found in labels.items()
    )


def _cover(item: Element, ids: Collection[str], kind: _Kind, reader: ConditionReader) -> Cover:
    if not item.is_mapping:
        return Cover(_known_id(item, ids, kind), place=item.place)
    fields = item.fields(("id",), ("when", "predicate"))
    id_ = _known_id(fields["id"], ids, kind)
    if len(fields) == 1:
        raise item.error(f"key 'when' or 'predicate' is missing; if the entry holds for every case, write only '{id_}'")
    alternatives: list[tuple[ConstraintText, ...]] = [()]
    if "when" in fields:
        when = fields["when"]
        alternatives = [_needs(entry, reader) for entry in (when.items("conditions") if when.is_sequence else [when])]
        if not alternatives:
            raise when.error("expected at least one condition")
    shared: tuple[ConstraintText, ...] = ()
    if "predicate" in fields:
        shared = (ConstraintText("", predicate=reader.predicate(fields["predicate"]), place=item.place),)
    return Cover(id_, tuple((*needs, *shared) for needs in alternatives), item.place)


def _needs(element: Element, reader: ConditionReader) -> tuple[ConstraintText, ...]:
    conditions = reader.conditions(element)
    return tuple(ConstraintText("", (((name, labels, False),),)) for name, labels in conditions.items())


def _known_id(element: Element, ids: Collection[str], kind: _Kind) -> str:
    """Return the id that an element is, if it is one of ``ids``."""
    id_ = element.text(f"a {kind.name} id")
    if id_ not in ids:
        raise element.error(f"there is no {kind.name} '{id_}'; expected an id from {kind.home}")
    return id_
