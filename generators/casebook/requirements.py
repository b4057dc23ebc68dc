"""The normative statements of the specifications, from ``cases/requirements/*.yaml``."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from generators.document import Element, read_document
from generators.errors import CasebookError

_ID = re.compile(r"[A-Z][A-Z0-9]*-[A-Z0-9]+-[0-9]{2}")


class TestKind(enum.StrEnum):
    """How a requirement is tested."""

    __test__ = False  # Keep pytest from collecting it as a test class

    DYNAMIC = "dynamic"
    """Tested by running a shader and judging values."""
    STATIC = "static"
    """Tested by a module that a validator must accept or reject."""
    API = "api"
    """Tested by calls to the host API."""
    UNDEFINED = "undefined"
    """Not tested: breaking it is undefined behaviour, so it constrains the modules that the suite generates."""
    NOT_TESTABLE = "not_testable"
    """Not tested: nothing that a test could observe depends on it."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One normative statement.

    Attributes:
        id: its id, for example ``KHR-MAD-06``.
        specification: the extension that states it.
        text: the statement, a sentence.
        place: name of the specification's section, with its number if it has one.
        kinds: how it is tested; several if it has several aspects.
        validator: how spirv-val 2026.4 judges a violation or the legal form; empty if unknown.
        note: a hint for the tests, or the reason why it cannot be tested; may be empty.
    """

    id: str
    specification: str
    text: str
    place: str
    kinds: tuple[TestKind, ...]
    validator: str
    note: str

    @property
    def testable(self) -> bool:
        """Whether a case could show that an implementation violates it."""
        return any(kind not in (TestKind.UNDEFINED, TestKind.NOT_TESTABLE) for kind in self.kinds)

    @property
    def why_not_testable(self) -> str:
        """The reason, in one line; empty if it is testable."""
        if self.testable:
            return ""
        if TestKind.UNDEFINED in self.kinds:
            reason = "a violation is undefined behaviour: it constrains what the suite generates"
            return f"{reason} ({self.note})" if self.note else reason
        return self.note or "nothing observable depends on it"


def cases_folder(root: Path) -> Path:
    """Return the folder of cases of a checkout; ``root`` may be the checkout or that folder itself."""
    return root / "cases" if (root / "cases").is_dir() else root


def folder_name(specification: str) -> str:
    """Return the name of the folder below ``cases`` for ``SPV_KHR_cooperative_matrix`` and the like."""
    return specification.removeprefix("SPV_").lower()


def _kind(element: Element) -> TestKind:
    text = element.label()
    try:
        return TestKind(text)
    except ValueError:
        raise element.error(f"unknown kind of test '{text}'; expected one of {', '.join(TestKind)}") from None


def _requirement(id_: str, element: Element, specification: str) -> Requirement:
    if not _ID.fullmatch(id_):
        raise element.error(f"'{id_}' is not a requirement id; expected one like KHR-MAD-06")
    fields = element.fields(("text", "place", "test"), ("validator", "note"))
    kinds = tuple(_kind(item) for item in fields["test"].items("kinds of test"))
    if not kinds:
        raise fields["test"].error(f"expected at least one of {', '.join(TestKind)}")
    return Requirement(
        id=id_,
        specification=specification,
        text=fields["text"].text(),
        place=fields["place"].text(),
        kinds=kinds,
        validator=fields["validator"].text() if "validator" in fields else "",
        note=fields["note"].text() if "note" in fields else "",
    )


def _files(root: Path) -> Iterator[tuple[str, Mapping[str, Element]]]:
    """Yield each specification, with the keys of its file."""
    folder = cases_folder(root) / "requirements"
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise CasebookError(f"{folder}: no requirements found; expected one YAML file per specification")
    for path in paths:
        fields = read_document(path).fields(("specification", "requirements"), ("unfinished",))
        specification = fields["specification"].text()
        if path.stem != folder_name(specification):
            raise fields["specification"].error(f"the file of '{specification}' must be named {folder_name(specification)}.yaml")
        yield specification, fields


def load_unfinished(root: Path) -> Mapping[str, str]:
    """Return specification -> why its requirements may be open. In every other specification, each requirement must be covered or have a
    reason why no case can test it.

    Args:
        root: the checkout, or its folder ``cases``.

    Raises:
        CasebookError: a file is malformed.
    """
    reasons = {name: fields["unfinished"].text("a reason") for name, fields in _files(root) if "unfinished" in fields}
    return MappingProxyType(reasons)


def load_requirements(root: Path) -> Mapping[str, Requirement]:
    """Return every requirement by its id, in the order of the files.

    Args:
        root: the checkout, or its folder ``cases``.

    Raises:
        CasebookError: a file is malformed, or an id occurs twice.
    """
    requirements: dict[str, Requirement] = {}
    for specification, fields in _files(root):
        for id_, element in fields["requirements"].entries("a mapping from requirement id to its text, place and test").items():
            if id_ in requirements:
                raise element.error(f"the id is already in the requirements of {requirements[id_].specification}")
            requirements[id_] = _requirement(id_, element, specification)
    return MappingProxyType(requirements)
