"""File names of pages, and links between pages."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import quote, urlencode

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,60}")


def slug(id_: str, attempt: int = 1) -> str:
    """Return a file name for an attempt at a case: readable, at most 100 characters, and unique by the digest of the id."""
    repeated = f"-attempt-{attempt}" if attempt > 1 else ""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", id_).strip("_.-")[: 91 - len(repeated)] + repeated
    return f"{readable}-{hashlib.sha256(id_.encode()).hexdigest()[:8]}"


def failure_place(id_: str, attempt: int = 1) -> str:
    """Return the path of a case's page in a report directory."""
    return f"failures/{slug(id_, attempt)}.html"


def requirement_place(id_: str) -> str:
    """Return the path of a requirement's page in a report directory."""
    return f"requirements/{id_ if _SAFE.fullmatch(id_) else slug(id_)}.html"


def page_beside(page: Path, folder: Path) -> str:
    """Return the relative address that leads from a page in ``folder`` to ``page``; empty if there is no such page."""
    if not page.is_file():
        return ""
    # The prefix ./ keeps a folder's name from being read as a protocol.
    return "./" + quote(Path(os.path.relpath(page.resolve(), folder.resolve())).as_posix(), errors="surrogateescape")


def cases_query(**filters: str) -> str:
    """Return the fragment that shows some of the cases in the list of all: ``query(family="muladd")`` is ``#cases?family=muladd``."""
    return f"#cases?{urlencode({name: text for name, text in filters.items() if text})}"


def stable_id(kind: str, *parts: object) -> str:
    """Return an element id that is the same in every report with the same parts, so links to it stay valid."""
    return f"{kind}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:8]}"
