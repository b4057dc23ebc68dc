"""All families together, and the lookup of a case by its id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from generators.casebook.cases import Case, violated
from generators.casebook.family import Family, load_family
from generators.casebook.ids import parse_labels
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, cases_folder, load_requirements, load_unfinished
from generators.errors import CasebookError
from generators.suggestion import FAMILIES, suggestion

_ID = re.compile(r"(?:(?P<path>.*\.yaml)::)?(?P<family>[^\[\]]*)\[(?P<labels>[^\[\]]*)\]")


@dataclass(frozen=True)
class Casebook:
    """Everything that the suite tests.

    Attributes:
        root: the folder of cases.
        families: families by name, in the order of their files.
        requirements: the requirements by id.
        positions: the positions by id.
        unfinished: specification -> why its requirements may be open.
    """

    root: Path
    families: Mapping[str, Family]
    requirements: Mapping[str, Requirement]
    positions: Mapping[str, Position]
    unfinished: Mapping[str, str]

    def resting_on(self, position: str) -> tuple[str, ...]:
        """Return the names of the families whose verdicts depend on that position."""
        return tuple(family.name for family in self if position in family.positions)

    def __iter__(self) -> Iterator[Family]:
        return iter(self.families.values())

    def family(self, name: str) -> Family:
        """Return the family of that name.

        Raises:
            CasebookError: there is none.
        """
        try:
            return self.families[name]
        except KeyError:
            raise _no_family(name, self.families) from None


def load_casebook(root: Path, only: Collection[str] | None = None) -> Casebook:
    """Load the families below ``root``, sorted by specification and name.

    Args:
        root: the checkout, or its folder ``cases``.
        only: the names of the families to load; by default, all.

    Raises:
        CasebookError: see ``load_family``; or two families have one name, or a name of ``only`` is unknown.
    """
    folder = cases_folder(root)
    for path in sorted(folder.glob("*/*.yml")):
        raise CasebookError(f"{path}: files of the casebook end in .yaml: rename it to {path.stem}.yaml, or nothing in it runs")
    # A family has the name of its file.
    files = [path for path in sorted(folder.glob("*/*.yaml")) if path.parent.name != "requirements"]
    for name in only or ():
        if name not in (names := [path.stem for path in files]):
            raise _no_family(name, names)
    requirements, positions = load_requirements(folder), load_positions(folder)
    families: dict[str, Family] = {}
    for path in files:
        if only is not None and path.stem not in only:
            continue
        family = load_family(path, requirements, positions)
        if family.name in families:
            raise CasebookError(f"{path}:1: family: '{family.name}' is already the family of {families[family.name].path}")
        families[family.name] = family
    return Casebook(folder, MappingProxyType(families), requirements, positions, load_unfinished(folder))


def _no_family(name: str, known: Collection[str]) -> CasebookError:
    return CasebookError(f"there is no family '{name}'; {suggestion(name, known, FAMILIES)}")


def load_case(root: Path, id_: str) -> Case:
    """Return the case that ``id_`` names, as ``find_case`` does, but load only its family.

    Raises:
        CasebookError: see ``find_case``.
    """
    return find_case(load_casebook(root, [_parsed(id_)["family"]]), id_)


def find_case(casebook: Casebook, id_: str) -> Case:
    """Return the case that ``id_`` names, found without expanding its family. The case need not be in a product, but the constraints must
    allow it.

    Args:
        casebook: all families.
        id_: ``family[name:label/…]``, with or without ``path.yaml::`` before it; the order is free, and defaults may be included.

    Raises:
        CasebookError: the id is malformed, or names an unknown family, an unknown label, or a case that a constraint forbids.
    """
    case = accepted_case(casebook, id_)
    because = violated(case)
    if because:
        raise CasebookError(f"'{id_}' is not a case of the suite: {because}")
    return case


def accepted_case(casebook: Casebook, id_: str) -> Case:
    """Return the case of an id that ``find_case`` has accepted, here or in another process: the constraints are not asked again.

    Raises:
        CasebookError: the id is malformed, or names an unknown family or label.
    """
    match = _parsed(id_)
    family = casebook.family(match["family"])
    if match["path"] is not None and Path(match["path"]).name != family.path.name:
        raise CasebookError(f"'{id_}': the family '{family.name}' is in {family.path}")
    try:
        labels = parse_labels(family.parameters, match["labels"])
    except CasebookError as error:
        raise CasebookError(f"'{id_}': {error}") from None
    return Case(family, labels)


def _parsed(id_: str) -> re.Match[str]:
    match = _ID.fullmatch(id_.strip())
    if match is None:
        raise CasebookError(f"'{id_}' is not a case id; expected family[name:label/name:label/…], as 'cts list' prints it")
    return match
