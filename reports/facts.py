"""The facts of a run that reports show: what was judged, by which software. cts.journal.run_record declares each with its heading."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from cts.journal.declared import shown
from cts.journal.outline import Outline
from cts.journal.run_record import DeviceRecord, RunRecord
from cts.verdict.verdict import CaseResult

_SHOWN = {("device" if name == "name" else name): meta for kind in (DeviceRecord, RunRecord) for name, meta in shown(kind).items()}

FACTS: Mapping[str, str] = MappingProxyType({key: meta.title or "" for key, meta in _SHOWN.items()})
"""The facts: key -> heading."""

HEADINGS = MappingProxyType({**{key: meta.title or "" for key, meta in shown(CaseResult).items()}, **FACTS})
"""The headings of the facts, and those of the fields of a result."""

_OF_A_CASE = ("device", "driver", "front_end", "tier")
"""Facts that each result states too; there they take precedence over ``meta.json``."""


def facts(wanted: Collection[str], results: Iterable[CaseResult | Outline], metas: Iterable[RunRecord]) -> dict[str, str]:
    """Return some facts of a run by key, in the order of FACTS.

    Several values (shards on several hosts) are joined; unknown facts are empty.
    """
    judged = {tuple(getattr(one, key) for key in _OF_A_CASE) for one in results}
    of_cases = {key: sorted({texts[place] for texts in judged} - {""}) for place, key in enumerate(_OF_A_CASE)}
    stated = [_stated(meta) for meta in metas]
    found = {key: of_cases.get(key) or list(dict.fromkeys(one[key] for one in stated if one[key])) for key in FACTS if key in wanted}
    return {key: ("; " if key == "command" else ", ").join(texts) for key, texts in found.items()}


def _stated(meta: RunRecord) -> dict[str, str]:
    """Return the facts that ``meta.json`` states, in words; a list of strings there is a command line."""
    device = meta.get("device", {})
    values = {**meta, "device": device.get("name"), "driver": device.get("driver")}
    return {key: _in_words(values.get(key), (one.extra or {}).get("empty", "")) for key, one in _SHOWN.items()}


def _in_words(value: object, empty: str) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "on" if value else "off"
        case list() | tuple():
            return shlex.join(map(str, value))
    return str(value) or empty
