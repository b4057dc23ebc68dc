"""The text of requirements and positions, where the case files are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.case_files import document


@dataclass(frozen=True)
class RequirementText:
    """What a requirement says, and its place in the specification; of a position, its answer and the reason, and no place."""

    text: str
    place: str


def requirement_texts(cases: Path) -> Mapping[str, RequirementText]:
    """Return id -> text, from ``cases/requirements/*.yaml`` and ``cases/positions.yaml``. A report can do without, so what cannot be read
    is left out."""
    texts = {}
    for path in sorted((cases / "requirements").glob("*.yaml")):
        for id_, entry in _entries(document(path)):
            texts[id_] = RequirementText(str(entry.get("text") or ""), str(entry.get("place") or ""))
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
