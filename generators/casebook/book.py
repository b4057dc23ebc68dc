"""All families together, and the lookup of a case by its id."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from generators.casebook.cases import Case, violated
from generators.casebook.family import Family, load_family
from generators.casebook.ids import parse_labels
from generators.casebook.positions import Position, load_positions
from generators.casebook.requirements import Requirement, cases_folder, load_requirements
from generators.casebook.units import load_units
from generators.errors import CasebookError
from generators.suggestion import FAMILIES, suggestion

_ID = re.compile(r"(?:(?P<path>.*\.yaml)::)?(?P<family>[^\[\]]*)\[(?P<labels>[^\[\]]*)\]")


class Families(Mapping[str, Family]):
    """Families by name, in the order of their files. Each is loaded when it is first asked for.

    Args:
        files: the file of each family, by name.
        load: loads a family from its file.

    Asking for a family raises ``CasebookError``: see ``load_family``.
    """

    def __init__(self, files: Mapping[str, Path], load: Callable[[Path], Family]) -> None:
        self.files = files
        self._load = load
        self._loaded: dict[str, Family] = {}

    def __getitem__(self, name: str) -> Family:
        if name not in self._loaded:
            self._loaded[name] = self._load(self.files[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


@dataclass(frozen=True)
class Casebook:
    """Everything that the suite tests.

    Attributes:
        root: the folder of cases.
        families: the families.
        requirements: the requirements by id.
        positions: the positions by id.
    """

    root: Path
    families: Families
    requirements: Mapping[str, Requirement]
    positions: Mapping[str, Position]

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
        CasebookError: see ``open_casebook`` and ``load_family``.
    """
    casebook = open_casebook(root, only)
    load_families(casebook)
    return casebook


def load_families(casebook: Casebook) -> None:
    """Load all families of an opened casebook.

    Raises:
        CasebookError: see ``load_family``.
    """
    for _ in casebook:
        pass


def open_casebook(root: Path, only: Collection[str] | None = None) -> Casebook:
    """Return the casebook of a folder, which loads each family when it is first asked for: all of them take a second.

    Args:
        root, only: see ``load_casebook``.

    Raises:
        CasebookError: two families have one name, a name of ``only`` is unknown, or the requirements or positions are malformed.
    """
    folder = cases_folder(root)
    for path in sorted(folder.glob("*/*.yml")):
        raise CasebookError(f"{path}: files of the casebook end in .yaml: rename it to {path.stem}.yaml, or nothing in it runs")
    # A family has the name of its file.
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*/*.yaml")):
        if path.parent.name == "requirements":
            continue
        if path.stem in files:
            raise CasebookError(f"{path}:1: family: '{path.stem}' is already the family of {files[path.stem]}")
        files[path.stem] = path
    for name in only or ():
        if name not in files:
            raise _no_family(name, files)
    requirements, positions = load_requirements(folder), load_positions(folder)
    chosen = {name: path for name, path in files.items() if only is None or name in only}
    families = Families(chosen, partial(load_family, requirements=requirements, positions=positions, units_below=cache(load_units)))
    return Casebook(folder, families, requirements, positions)


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
    case = named_case(casebook, id_)
    because = violated(case)
    if because:
        raise CasebookError(f"'{id_}' is not a case of the suite: {because}")
    return case


def named_case(casebook: Casebook, id_: str) -> Case:
    """Return the case that ``id_`` names, as ``find_case`` does, without asking whether the constraints allow it.

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
