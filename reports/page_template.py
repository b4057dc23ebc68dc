"""The templates of pages, with the filters that all of them use."""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from reports import documents, formats
from reports.documents import linked
from reports.facts import HEADINGS, field
from reports.known_issues import versions
from reports.links import cases_query, requirement_place, stable_id
from reports.picture import allowed
from reports.requirement_texts import RequirementText
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


@lru_cache(4096)
def _breakable(id_: str) -> Markup:
    """Return a case's id that may wrap at the start of a parameter."""
    return Markup("<wbr>").join(Markup.escape(part) for part in re.split(r"(?<=[/\[])", id_))


def _prose(text: str) -> Markup:
    """Return text with backticked parts as code, and links to the documents that it names."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return linked(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else linked(part) for place, part in enumerate(parts))


def _document(text: RequirementText) -> str:
    """Return the address of the place that states a requirement; empty if it is not known."""
    return documents.place(text.specification, text.place)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        cache_size=-1,
        auto_reload=False,
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
        "linked": linked,
        "document": _document,
        "tested": lambda kind: _TESTED.get(kind, kind),
        "stable_id": stable_id,
        "versions": versions,
    }
    environment.globals |= {"wording": WORDING, "numbers": NUMBERS, "headings": HEADINGS, "query": cases_query}
    return environment


def template(name: str) -> jinja2.Template:
    """Return a template of reports/templates."""
    return _environment().get_template(name)


def compile_templates() -> None:
    """Compile all templates: processes that this one forks need not do it again."""
    for name in _environment().list_templates():
        template(name)
