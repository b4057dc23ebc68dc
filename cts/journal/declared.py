"""What the classes of the journal declare about their fields, for reports, docs/results.md and the JSON schema."""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from dataclasses import dataclass
from typing import Any, get_type_hints

from msgspec import Meta

_ATTRIBUTE = re.compile(r"^ {4}(?P<names>[a-z_]+(?:, [a-z_]+)*): (?P<meaning>.+(?:\n {8}.+)*)", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """How reports show a field. The ``Meta`` of its annotation, and of its type, declare it: ``title``, and the rest in ``extra``.

    Attributes:
        title: its heading.
        unit: the unit of a number: ``s``, or a noun in the singular; empty for a plain number or a text.
        empty: what an empty text means.
        order: what the list of all cases calls the order by it, if it is a column of the tables of cases: numbers from the largest down,
            texts from A to Z.
        number: whether it is a number.
    """

    title: str
    unit: str = ""
    empty: str = ""
    order: str = ""
    number: bool = False

    @property
    def key(self) -> str:
        """Return the name of its order in addresses."""
        return self.title.lower()


def types(kind: type) -> dict[str, Any]:
    """Return the type of each field of a class, with its annotations."""
    return get_type_hints(kind, include_extras=True)


def shown(kind: type) -> dict[str, Shown]:
    """Return how reports show the fields of a class that have a title, in their order.

    Args:
        kind: a dataclass or a TypedDict.
    """
    found = {}
    for name, hint in types(kind).items():
        metas = [meta for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Meta)]
        if title := next((meta.title for meta in metas if meta.title), None):
            extra = ChainMap(*(meta.extra or {} for meta in reversed(metas)))
            found[name] = Shown(title, number=hint.__origin__ in (int, float), **extra)
    return found


def meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field that the section ``Attributes`` of a class's docstring explains, on one line."""
    attributes = inspect.getdoc(kind).partition("\nAttributes:\n")[2].partition("\n\n")[0]  # type: ignore[union-attr]
    found = (match.groups() for match in _ATTRIBUTE.finditer(attributes))
    return {name: " ".join(meaning.split()) for names, meaning in found for name in names.split(", ")}
