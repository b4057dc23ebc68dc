"""The texts of requirements and positions, if the case files are available."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generators.casebook import Casebook


@dataclass(frozen=True)
class RequirementText:
    """The text of a requirement; for a position, only its answer and reason.

    Attributes:
        text: the statement.
        place: section or instruction of the specification.
        specification: the extension that states it.
        kinds: how it is tested, by the values of generators.casebook.TestKind.
        note: a hint for the tests; may be empty.
    """

    text: str
    place: str
    specification: str = ""
    kinds: tuple[str, ...] = ()
    note: str = ""


def requirement_texts(casebook: Casebook | None) -> Mapping[str, RequirementText]:
    """Return id -> text of the requirements and positions of a casebook; none without a casebook."""
    if casebook is None:
        return {}
    requirements = {
        one.id: RequirementText(one.text, one.place, one.specification, one.kinds, one.note) for one in casebook.requirements.values()
    }
    return requirements | {one.id: RequirementText(one.words, "") for one in casebook.positions.values()}
