"""The schema of ``meta.json``: what a run says of itself, beside its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, cast

from cts.journal.schema import WrongField, convert
from cts.verdict.sizes import Count, Ordinal, Seconds

MOST_LEVELS = 20
"""Of nesting in what the schema does not name."""


class DeviceRecord(TypedDict, total=False):
    """The part of what a device says of itself (cts.devices.device.DeviceDescription) that reports and a resumed run look at."""

    name: str
    driver: str
    uuid: str
    kind: str
    api_version: str
    subgroup_size: Count
    property_rows: Count


class FindingRecord(TypedDict):
    """Something that went wrong outside of every case, for example while the device was closed."""

    step: str
    what: str


class Resumption(TypedDict, total=False):
    """A later part of a run: its command, as one line or as words, and when it began."""

    command: str | tuple[str, ...]
    started: str


class PartRecord(TypedDict, total=False):
    """One shard of a merged run: which, where it was judged, and by which command."""

    shard: str
    device: DeviceRecord
    command: str | tuple[str, ...]
    started: str
    finished: str
    seconds: Seconds


class RunRecord(TypedDict, total=False):
    """The contents of ``meta.json``.

    Attributes:
        fallback: why the embedded device stands in for a Vulkan device, a sentence; empty where it does not.
        stopped: why the run ended early, a sentence.
        known_failures: names of the files whose failures count as known, empty for none.
        left_out_by: names of the files that say which cases are not judged, empty for none.
        command: one line, or words.
        not_judged: family -> how many selected judgements a time limit has left out; empty without one.
        shard: ``K/N`` where the run judges a part; empty for the whole. ``selection``: a digest of what else decides which cases it has.
        units: the devices of the run, where there are several (cts.verdict.verdict.CaseResult).
        merged: what the parts of a merged run say of themselves, in the order of their shards.
        repeat: how many judgements of each case were asked for. ``selected``: how many cases.
        rounds: how often a GPU ran each dispatch.
    """

    suite_version: str
    device: DeviceRecord
    units: tuple[str, ...]
    selector: str
    why: str
    fallback: str
    stopped: str
    findings: tuple[FindingRecord, ...]
    tier: str
    front_end: str
    validation: bool
    embedded_mapping: str
    isolated: bool
    known_failures: str
    left_out_by: str
    shard: str
    selection: str
    merged: tuple[PartRecord, ...]
    command: str | tuple[str, ...]
    started: str
    finished: str
    repeat: Ordinal
    rounds: Ordinal
    selected: Count
    not_judged: dict[str, Count]
    seconds: Seconds
    resumed: tuple[Resumption, ...]


def _plain(value: Any, levels: int = MOST_LEVELS) -> Any:
    """Return anything that the schema does not name: a later version of the suite may say more."""
    if levels == 0:
        raise WrongField(f"nested deeper than {MOST_LEVELS} levels")
    if isinstance(value, dict):
        return {key: _plain(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    return value


def meta_of(document: object, wrong: Callable[[WrongField], None]) -> RunRecord:
    """Return the fields of ``document`` that fit the schema, and those that the schema does not name as they are.

    Args:
        document: what ``meta.json`` holds.
        wrong: called for each field that does not fit; it is left out.

    Raises:
        WrongField: the document is not an object.
    """
    found: dict[str, Any] = {}
    for name, value in convert(document, dict[str, Any]).items():
        try:
            found |= _field(name, value)
        except WrongField as error:
            wrong(error)
    return cast(RunRecord, found)


def _field(name: str, value: Any) -> dict[str, Any]:
    if name not in RunRecord.__annotations__:
        try:
            return {name: _plain(value)}
        except WrongField as error:
            raise WrongField(error.problem, name) from None
    known = cast(dict[str, Any], convert({name: value}, RunRecord))
    if name == "device":
        known["device"] = {**_plain(value), **known["device"]}
    return known
