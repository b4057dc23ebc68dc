"""Kinds of mistakes that real implementations have made, and the families that would show them; from ``cases/bug_classes.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from generators.casebook.book import Casebook
from generators.document import Element, read_document

FILE = "bug_classes.yaml"

_NAME = re.compile(r"[A-Z]+")
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class BugClass:
    """A kind of mistake.

    Attributes:
        name: short, in capitals.
        bugs, drivers: how many bugs are documented, and how many of them are in drivers.
        what: the mistake, one line.
        families: family -> the parameters (of cases or subcases) that would show it.
        specifications: specifications whose families will add coverage.
        tests: the suite's own tests, where test suites make the mistake; paths relative to the checkout.
        note: missing coverage, or an explanation; may be empty.
    """

    name: str
    bugs: int
    drivers: int
    what: str
    families: Mapping[str, tuple[str, ...]]
    specifications: tuple[str, ...]
    tests: tuple[str, ...]
    note: str


def load_bug_classes(casebook: Casebook) -> tuple[BugClass, ...]:
    """Return every class, in file order.

    Raises:
        CasebookError: the file is malformed, or names a family, parameter, specification or test that does not exist.
    """
    document = read_document(casebook.root / FILE)
    return tuple(
        _bug_class(name, element, casebook) for name, element in document.entries("a mapping from class to its description").items()
    )


def _bug_class(name: str, element: Element, casebook: Casebook) -> BugClass:
    if not _NAME.fullmatch(name):
        raise element.error(f"'{name}' cannot name a class; expected capitals")
    fields = element.fields(("bugs", "drivers", "what"), ("families", "specifications", "tests", "note"))
    if not fields.keys() & {"families", "specifications", "tests"}:
        raise element.error("expected families that show it, specifications that will add them, or tests of the suite itself")
    return BugClass(
        name=name,
        bugs=fields["bugs"].integer(1, _MOST),
        drivers=fields["drivers"].integer(0, _MOST),
        what=fields["what"].text("one line"),
        families=_families(fields["families"], casebook) if "families" in fields else MappingProxyType({}),
        specifications=_specifications(fields["specifications"], casebook) if "specifications" in fields else (),
        tests=_tests(fields["tests"], casebook.root.parent) if "tests" in fields else (),
        note=fields["note"].text("one line") if "note" in fields else "",
    )


def _families(element: Element, casebook: Casebook) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, item in element.entries("a mapping from family to parameters").items():
        if name not in casebook.families:
            raise item.error(f"there is no family '{name}'; expected one of {', '.join(casebook.families)}")
        family = casebook.families[name]
        parameters = [parameter.name for parameter in (*family.parameters, *family.subcase_parameters)]
        for parameter in item.items(f"parameters of {name}"):
            if parameter.text() not in parameters:
                raise parameter.error(f"the family '{name}' has no parameter '{parameter.text()}'; expected one of {', '.join(parameters)}")
        found[name] = tuple(parameter.text() for parameter in item.items("parameters"))
    return MappingProxyType(found)


def _specifications(element: Element, casebook: Casebook) -> tuple[str, ...]:
    known = sorted({requirement.specification for requirement in casebook.requirements.values()})
    for item in element.items("specifications"):
        if item.text() not in known:
            raise item.error(f"unknown specification '{item.text()}'; expected one of {', '.join(known)}")
    return tuple(item.text() for item in element.items("specifications"))


def _tests(element: Element, checkout: Path) -> tuple[str, ...]:
    # A wheel has no tests.
    here = (checkout / "tests").is_dir()
    for item in element.items("paths of tests"):
        if here and not (checkout / item.text()).is_file():
            raise item.error(f"there is no test '{item.text()}'; expected a path from the checkout")
    return tuple(item.text() for item in element.items("paths of tests"))
