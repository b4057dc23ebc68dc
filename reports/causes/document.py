"""Boxes as JSON. docs/results.md describes them."""

from __future__ import annotations

from typing import Any

from reports.causes.boxes import Between, Condition, Inside, OneOf


def document(inside: Inside) -> dict[str, Any]:
    """Return a box and the outcomes of the cases in it."""
    return {
        "family": inside.family,
        "conditions": [_condition(one) for one in inside.box],
        "failing": inside.failing,
        "passing": inside.passing,
        "other": inside.other,
        "tentative": inside.tentative,
    }


def _condition(one: Condition) -> dict[str, Any]:
    axis = {"parameter": one.axis.parameter, "part": one.axis.part, "words": str(one)}
    if isinstance(one, OneOf):
        return axis | {"none_of" if one.outside else "one_of": one.values}
    if isinstance(one, Between):
        return axis | {"least": one.least, "most": one.most}
    return axis | {"no_multiple_of" if one.outside else "multiple_of": one.by}
