"""The facts of a run, and the fields of a result, that reports show. cts.journal.run_record and cts.verdict.verdict declare their form."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from cts.journal.declared import Shown, shown
from cts.journal.outline import Outline
from cts.journal.run_record import DeviceRecord, RunRecord
from cts.verdict.verdict import CaseResult
from reports.formats import count, duration

_SHOWN = {("device" if name == "name" else name): one for kind in (DeviceRecord, RunRecord) for name, one in shown(kind).items()}

FACTS: Mapping[str, str] = MappingProxyType({key: one.title for key, one in _SHOWN.items()})
"""The facts: key -> heading."""

FIELDS: Mapping[str, Shown] = MappingProxyType(shown(CaseResult))
"""The fields of a result that reports show."""

HEADINGS = MappingProxyType({**{key: one.title for key, one in FIELDS.items()}, **FACTS})
"""The headings of the facts, and those of the fields of a result."""

_OF_A_CASE = ("device", "driver", "front_end", "tier")
"""Facts that each result states too; there they take precedence over ``meta.json``."""


def facts(wanted: Collection[str], results: Iterable[CaseResult | Outline], metas: Iterable[RunRecord]) -> dict[str, str]:
    """Return some facts of a run by key, in the order of FACTS.

    Several values (shards on several hosts) are joined; unknown facts are empty.
    """
    judged = set(map(attrgetter(*_OF_A_CASE), results))
    of_cases = {key: sorted({texts[place] for texts in judged} - {""}) for place, key in enumerate(_OF_A_CASE)}
    stated = [_stated(meta) for meta in metas]
    found = {key: of_cases.get(key) or list(dict.fromkeys(one[key] for one in stated if one[key])) for key in FACTS if key in wanted}
    return {key: ("; " if key == "command" else ", ").join(texts) for key, texts in found.items()}


def _stated(meta: RunRecord) -> dict[str, str]:
    """Return the facts that ``meta.json`` states, in words; a list of strings there is a command line."""
    device = meta.get("device", {})
    values = {**meta, "device": device.get("name"), "driver": device.get("driver")}
    return {key: _in_words(values.get(key), one) for key, one in _SHOWN.items()}


def field(result: CaseResult, name: str) -> str:
    """Return a field of FIELDS in words; empty if it has its default, which says nothing."""
    return _text(getattr(result, name), name)


def _text(value: object, name: str) -> str:
    return "" if value == CaseResult.__dataclass_fields__[name].default else _in_words(value, FIELDS[name])


def columns(results: Sequence[CaseResult]) -> dict[str, Shown]:
    """Return the columns of a table of cases besides id and verdict: the fields with an order that say something in any of the results."""
    return {name: one for name, one in FIELDS.items() if one.order and any(_text(value, name) for value in _values(results, name))}


def ordered(results: Iterable[CaseResult], name: str) -> dict[Any, str]:
    """Return the text of each value of a column, in the order of the texts; an empty text is the last."""
    texts = {value: _text(value, name) for value in sorted(_values(results, name), reverse=FIELDS[name].number)}
    return dict(sorted(texts.items(), key=lambda one: not one[1]))


def _values(results: Iterable[CaseResult], name: str) -> set[Any]:
    return set(map(attrgetter(name), results))


def _in_words(value: object, how: Shown) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "on" if value else "off"
        case list() | tuple():
            return shlex.join(map(str, value))
        case int() | float() if how.unit == "s":
            return duration(value)
        case int():
            return count(value, how.unit)
    return str(value) or how.empty
