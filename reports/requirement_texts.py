"""The texts of requirements and positions, if the case files are available."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.case_files import document


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


def requirement_texts(cases: Path) -> Mapping[str, RequirementText]:
    """Return id -> text, from ``cases/requirements/*.yaml`` and ``cases/positions.yaml``. A report works without them, so unreadable texts
    are left out."""
    texts = {}
    for path in sorted((cases / "requirements").glob("*.yaml")):
        content = document(path)
        specification = str(content.get("specification") or "") if isinstance(content, Mapping) else ""
        for id_, entry in _entries(content):
            kinds = entry.get("test")
            texts[id_] = RequirementText(
                str(entry.get("text") or ""),
                str(entry.get("place") or ""),
                specification,
                tuple(map(str, kinds)) if isinstance(kinds, list) else (),
                str(entry.get("note") or ""),
            )
    for id_, entry in _entries(document(cases / "positions.yaml")):
        question, position, because = (str(entry.get(key) or "") for key in ("question", "position", "because"))
        between = "" if question.endswith("?") else ":"
        texts[id_] = RequirementText(f"{question}{between} {position}, because {because}", "")
    return texts


def _entries(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the requirements of a file: a mapping id -> entry, or a list of entries with an ``id``."""
    requirements = document.get("requirements", document) if isinstance(document, Mapping) else document
    if isinstance(requirements, Mapping):
        yield from ((str(id_), entry) for id_, entry in requirements.items() if isinstance(entry, Mapping))
    elif isinstance(requirements, list):
        yield from ((str(entry["id"]), entry) for entry in requirements if isinstance(entry, Mapping) and "id" in entry)
