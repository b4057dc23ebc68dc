"""The templates of pages, with the filters that all of them use."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from reports import formats
from reports.facts import HEADINGS, field
from reports.known_issues import versions
from reports.links import cases_query, requirement_place, stable_id
from reports.picture import allowed
from reports.verdicts import NUMBERS, WORDING

_TESTED = MappingProxyType(
    {
        "dynamic": "a shader runs, and its values are judged",
        "static": "a validator must accept or reject a module",
        "api": "calls of the Vulkan API are judged",
        "undefined": "not at all: breaking it is undefined behaviour",
        "not_testable": "not at all: nothing that a test could observe depends on it",
    }
)
"""The kinds of tests of a requirement, in words."""


def _embedded(value: Any) -> Markup:
    """Return JSON that may be inside a script element."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


def _breakable(id_: str) -> Markup:
    """Return a case's id that may wrap at the start of a parameter."""
    return Markup("<wbr>").join(Markup.escape(part) for part in re.split(r"(?<=[/\[])", id_))


def _prose(text: str) -> Markup:
    """Return text with backticked parts as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup.escape(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else Markup.escape(part) for place, part in enumerate(parts))


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of reports/templates."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "json": _embedded,
        "allowed": allowed,
        "count": formats.count,
        "duration": formats.duration,
        "field": field,
        "percent": formats.percent,
        "rate": formats.rate,
        "number": lambda number: f"{number:,}",
        "breakable": _breakable,
        "prose": _prose,
        "requirement": requirement_place,
        "tested": lambda kind: _TESTED.get(kind, kind),
        "stable_id": stable_id,
        "versions": versions,
    }
    environment.globals |= {"wording": WORDING, "numbers": NUMBERS, "headings": HEADINGS, "query": cases_query}
    return environment.get_template(name)
