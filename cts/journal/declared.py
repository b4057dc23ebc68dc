"""What the classes of the journal declare about their fields, for reports and for docs/results.md."""

from __future__ import annotations

from typing import Any, get_type_hints

from msgspec import Meta


def shown(kind: type) -> dict[str, Meta]:
    """Return how reports show the fields of a class that have a title, in their order.

    Args:
        kind: a dataclass or a TypedDict; a title is in the ``Meta`` of a field's annotation.
    """
    hints: dict[str, Any] = get_type_hints(kind, include_extras=True)
    metas = ((name, meta) for name, hint in hints.items() for meta in getattr(hint, "__metadata__", ()) if isinstance(meta, Meta))
    return {name: meta for name, meta in metas if meta.title}
