"""The schema of ``meta.json``: what a run says of itself, beside its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cts.journal.record import Kind, WrongField, count, each, fields, flag, line, seconds, text

MOST_LEVELS = 20
"""Of nesting in what the schema does not name."""


def _words(value: Any) -> str | tuple[str, ...]:
    """Take a command: one line, or its words."""
    return each(line)(value) if isinstance(value, list) else line(value)


def _device(value: Any) -> dict[str, Any]:
    known = fields(DEVICE, value)
    return {**_plain(value), **known}


def _plain(value: Any, levels: int = MOST_LEVELS) -> Any:
    """Take anything: what a later version of the suite may say."""
    if levels == 0:
        raise WrongField(f"nested deeper than {MOST_LEVELS} levels")
    if isinstance(value, dict):
        return {line(key): _plain(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    return text(value) if isinstance(value, str) else value


def _finding(value: Any) -> dict[str, Any]:
    return fields(FINDING, value, FINDING)


def _resumption(value: Any) -> dict[str, Any]:
    return fields(RESUMPTION, value)


DEVICE: Mapping[str, Kind] = MappingProxyType(
    {"name": line, "driver": line, "uuid": line, "kind": line, "api_version": line, "subgroup_size": count, "property_rows": count}
)
"""Of what a device says of itself (cts.devices.device.DeviceDescription): what reports and a resumed run look at."""

FINDING: Mapping[str, Kind] = MappingProxyType({"step": line, "what": line})
"""Of something that went wrong outside of every case, for example while the device was closed."""

RESUMPTION: Mapping[str, Kind] = MappingProxyType({"command": _words, "started": line})

META: Mapping[str, Kind] = MappingProxyType(
    {
        "suite_version": line,
        "device": _device,
        "selector": line,
        "why": line,
        "fallback": line,
        "stopped": line,
        "findings": each(_finding),
        "tier": line,
        "front_end": line,
        "validation": flag,
        "embedded_mapping": line,
        "isolated": flag,
        "known_failures": line,
        "command": _words,
        "started": line,
        "finished": line,
        "selected": count,
        "seconds": seconds,
        "resumed": each(_resumption),
    }
)
"""``known_failures``: name of the file whose failures count as known, empty for none; ``fallback``: why the embedded device stands in for a
Vulkan device; ``stopped``: why the run ended early. The last two are sentences."""


def meta_of(document: Any, wrong: Callable[[WrongField], None]) -> dict[str, Any]:
    """Return the fields of ``document`` that fit the schema, and those that it does not name as they are.

    Args:
        document: what ``meta.json`` holds.
        wrong: called for each field that does not fit; it is left out.

    Raises:
        WrongField: the document is no object.
    """
    if not isinstance(document, dict):
        fields(META, document)
    found: dict[str, Any] = {}
    for name, value in document.items():
        try:
            found |= fields({name: META.get(name, _plain)}, {name: value})
        except WrongField as error:
            wrong(error)
    return found
