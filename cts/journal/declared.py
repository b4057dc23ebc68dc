"""What the classes of the journal declare about their fields, for reports, docs/results.md and the JSON schema."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_type_hints

from msgspec import Meta

_ATTRIBUTE = re.compile(r"^ {4}(?P<names>[a-z_]+(?:, [a-z_]+)*): (?P<meaning>.+(?:\n {8}.+)*)", re.MULTILINE)


def types(kind: type) -> dict[str, Any]:
    """Return the type of each field of a class, with its annotations."""
    return get_type_hints(kind, include_extras=True)


def shown(kind: type) -> dict[str, Meta]:
    """Return how reports show the fields of a class that have a title, in their order.

    Args:
        kind: a dataclass or a TypedDict; a title is in the ``Meta`` of a field's annotation.
    """
    metas = ((name, meta) for name, hint in types(kind).items() for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Meta))
    return {name: meta for name, meta in metas if meta.title}


def meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field that the section ``Attributes`` of a class's docstring explains, on one line."""
    attributes = inspect.getdoc(kind).partition("\nAttributes:\n")[2].partition("\n\n")[0]  # type: ignore[union-attr]
    found = (match.groups() for match in _ATTRIBUTE.finditer(attributes))
    return {name: " ".join(meaning.split()) for names, meaning in found for name in names.split(", ")}
