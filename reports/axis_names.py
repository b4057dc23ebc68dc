"""The names of a family's axes, where the case files are at hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from reports.case_files import document, family_files


def axis_names(cases: Path, families: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    """Family -> names of its axes in the order in which ids have their values. A report can do without, so what cannot be read is left
    out."""
    names = {}
    for family, path in family_files(cases).items():
        if family in families:
            content = document(path)
            axes = content.get("axes") if isinstance(content, Mapping) else None
            if isinstance(axes, Mapping):
                names[family] = tuple(map(str, axes))
    return names
