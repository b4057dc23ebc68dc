"""The glossary of defects: every mistake that the diagnosis knows, by its id, with its sentence for messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from generators.document import Element, read_document
from generators.errors import CasebookError

FILE = Path(__file__).with_name("glossary.yaml")

ParameterValue = str | int | None
"""The value of a defect's parameter. For the parameter that names the wrong operation, None means all operations of the program."""

EVERY = None
"""The value of a parameter that means all operations."""


@dataclass(frozen=True)
class Subject:
    """How a message names one wrong operation, and all of them.

    Attributes:
        merged: whether a mistake in all operations is the same kind of mistake as in one of them alone.
    """

    one: str
    all: str
    merged: bool = False


@dataclass(frozen=True)
class Entry:
    """A mistake that a device may make.

    Attributes:
        id: AREA.NAME. It never changes.
        text: the sentence of a message, with the names of parameters in braces.
        kinds: parameters that make another kind of mistake; all others say where in a program it is.
        does: what the device does, if ``text`` does not say it all.
        bugs: bugs of real implementations that have this mistake.
        classes: ids of classes of bugs (cases/bug_classes.yaml).
        instructions, families: instructions and families that would show it.
        unfinished: why no case can show it yet; empty if cases can.
        changes_others: whether it changes other values than the results of the wrong operations.
    """

    id: str
    text: str
    kinds: tuple[str, ...]
    does: str
    bugs: tuple[str, ...]
    classes: tuple[str, ...]
    instructions: tuple[str, ...]
    families: tuple[str, ...]
    unfinished: str = ""
    changes_others: bool = False


@dataclass(frozen=True)
class Glossary:
    """All defects by id, and the subjects of their sentences by the parameter that holds them.

    Attributes:
        areas: the areas in the order in which the diagnosis tries them.
    """

    entries: Mapping[str, Entry]
    subjects: Mapping[str, Subject]
    areas: tuple[str, ...]

    def __contains__(self, id_: object) -> bool:
        return id_ in self.entries

    def sentence(self, id_: str, parameters: Mapping[str, ParameterValue]) -> str:
        """Return the sentence of a message about a defect with these parameters."""
        phrases = {name: self._phrase(name, parameters) for name in parameters}
        return self._entry(id_).text.format_map(phrases)

    def kind(self, id_: str, parameters: Mapping[str, ParameterValue]) -> str:
        """Return the id with the parameters that make another kind of mistake; it is the same in every program."""
        own = self._entry(id_).kinds
        kinds = [f"{name}:{parameters[name]}" for name in own if parameters[name] is not EVERY]
        # A mistake in all operations can cancel out; a mistake in one of them alone cannot.
        kinds += ["every" for name, value in parameters.items() if value is EVERY and not self.subjects[name].merged]
        return f"{id_}[{'/'.join(kinds)}]" if kinds else id_

    def _entry(self, id_: str) -> Entry:
        entry = self.entries.get(id_)
        if entry is None:
            raise CasebookError(f"cts/defects/glossary.yaml has no defect '{id_}': add an entry (CONTRIBUTING.md, 'A new defect')")
        return entry

    def _phrase(self, name: str, parameters: Mapping[str, ParameterValue]) -> str:
        subject = self.subjects.get(name)
        if subject is None:
            return str(parameters[name])
        return (subject.all if parameters[name] is EVERY else subject.one).format_map(parameters)


@cache
def glossary() -> Glossary:
    """Read the glossary that belongs to this package, once."""
    return read(FILE)


def read(path: Path) -> Glossary:
    """Read a glossary.

    Raises:
        CasebookError: the file is not a glossary.
    """
    top = read_document(path).fields(("subjects", "areas"))
    areas = top["areas"].entries()
    entries = {entry.id: entry for name, area in areas.items() for entry in _entries(name, area)}
    subjects = {name: _subject(element) for name, element in top["subjects"].entries().items()}
    return Glossary(MappingProxyType(entries), MappingProxyType(subjects), tuple(areas))


def _subject(element: Element) -> Subject:
    found = element.fields(("one", "all"), ("merged",))
    return Subject(found["one"].text(), found["all"].text(), "merged" in found and found["merged"].flag())


def _entries(name: str, area: Element) -> Iterator[Entry]:
    of_area = area.fields(("instructions", "families", "classes", "defects"), ("unfinished",))
    instructions, families, classes = (_texts(of_area.get(field)) for field in ("instructions", "families", "classes"))
    of_all = of_area["unfinished"].text("a reason") if "unfinished" in of_area else ""
    for key, element in of_area["defects"].entries().items():
        found = element.fields(("text",), ("kinds", "does", "bugs", "classes", "unfinished", "changes_others"))
        yield Entry(
            f"{name}.{key}",
            found["text"].text(),
            _texts(found.get("kinds")),
            found["does"].text() if "does" in found else "",
            _texts(found.get("bugs")),
            _texts(found["classes"]) if "classes" in found else classes,
            instructions,
            families,
            found["unfinished"].text("a reason") if "unfinished" in found else of_all,
            "changes_others" in found and found["changes_others"].flag(),
        )


def _texts(element: Element | None) -> tuple[str, ...]:
    return tuple(item.text() for item in element.items("texts")) if element is not None else ()
