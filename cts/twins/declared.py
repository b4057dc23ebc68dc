"""Which cases are twins: reads twins.yaml, and finds the twins of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from cts.front_ends import FrontEnd
from generators.casebook import Case
from generators.casebook.cases import violated
from generators.document import Element, read_document

FILE = Path(__file__).with_name("twins.yaml")

FRONT_END = "front_end"
"""What makes two modules of one case twins, in the place of a parameter's name."""


@dataclass(frozen=True)
class Likeness:
    """The labels of a parameter that make twins.

    Attributes:
        labels: the labels, the base first.
        in_flow: whether the code must also compute what it writes in the same way.
    """

    labels: tuple[str, ...]
    in_flow: bool


@dataclass(frozen=True)
class Declaration:
    """What makes cases twins.

    Attributes:
        front_ends: the front ends whose modules of one case are twins, the base first.
        families: family -> parameter -> its labels that make twins.
    """

    front_ends: tuple[str, ...]
    families: Mapping[str, Mapping[str, Likeness]]


@dataclass(frozen=True)
class Twin:
    """A case with whose code another case's code is compared.

    Attributes:
        differs_in: the parameter in which the two cases differ, or FRONT_END.
        case, front_end: the case, and the front end that makes its module.
        in_flow: see Likeness.
    """

    differs_in: str
    case: Case
    front_end: FrontEnd
    in_flow: bool


@cache
def load() -> Declaration:
    """Return the declaration of the suite's twins."""
    return read(FILE)


def read(path: Path) -> Declaration:
    """Read a declaration.

    Raises:
        CasebookError: the file is malformed.
    """
    top = read_document(path).fields(("front_ends", "families"))
    families = {family: MappingProxyType(_likenesses(element)) for family, element in top["families"].entries().items()}
    return Declaration(_labels(top["front_ends"]), MappingProxyType(families))


def _likenesses(element: Element) -> dict[str, Likeness]:
    return {
        name: Likeness(_labels(labels), kind == "flow")
        for kind, parameters in element.fields((), ("flow", "accesses")).items()
        for name, labels in parameters.entries().items()
    }


def _labels(element: Element) -> tuple[str, ...]:
    found = tuple(item.label() for item in element.items("labels"))
    if len(found) < 2:
        raise element.error("expected a base and at least one other label")
    return found


def twins_of(case: Case, front_end: FrontEnd, declared: Declaration) -> list[Twin]:
    """Return the twins that are the bases of a case: one for each parameter in which the case has another label than the base."""
    found: list[Twin] = []
    if front_end in declared.front_ends[1:]:
        found.append(Twin(FRONT_END, case, cast(FrontEnd, declared.front_ends[0]), in_flow=False))
    parameters, stated = case.definition.parameters, case.named
    for name, alike in declared.families.get(case.family, {}).items():
        if stated.get(name) not in alike.labels[1:]:
            continue
        changed = tuple(alike.labels[0] if one.name == name else label for one, label in zip(parameters, case.labels, strict=True))
        twin = Case(case.definition, changed)
        if not violated(twin):
            found.append(Twin(name, twin, front_end, alike.in_flow))
    return found
