"""The schema of ``meta.json``, which describes a run beside its results.

A field that reports show as a fact of the run has its heading as title, and, where an empty text means something, the word for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NotRequired, TypedDict, cast

from msgspec import Meta

from cts.devices.device import Finding, Step
from cts.journal.schema import WrongField, convert
from cts.verdict.sizes import Count, Ordinal, Seconds

MOST_LEVELS = 20
"""The deepest nesting in fields that the schema does not name."""


EVERY_CASE = "all"
"""The value of ``--junit`` for a test of each case."""


class DeviceRecord(TypedDict, total=False):
    """The part of a device's description (cts.devices.device.DeviceDescription) that reports and resumed runs use.

    Attributes:
        property_rows: how many property rows it lists.
        rows: the rows, in words.
        digest: the digest of the whole description (cts.devices.identity).
        number: its number on its machine, if another device there has the same UUID.
    """

    name: Annotated[str, Meta(title="Device")]
    driver: Annotated[str, Meta(title="Driver")]
    uuid: str
    kind: str
    api_version: str
    subgroup_size: Count
    property_rows: Count
    rows: tuple[str, ...]
    digest: str
    number: Count


class FindingRecord(TypedDict):
    """Something that went wrong outside of any case, for example while the device was closed.

    Attributes:
        outside: whether something else than the driver caused it (cts.devices.device.Finding).
    """

    step: str
    what: str
    outside: NotRequired[bool]


def finding_record(finding: Finding) -> FindingRecord:
    """Return the record of a finding, in values that can be sent between processes."""
    record: FindingRecord = {"step": finding.step.value if finding.step else "", "what": finding.what}
    return {**record, "outside": True} if finding.outside else record


def finding_of(record: FindingRecord) -> Finding:
    """Return the finding that a record holds."""
    # A later version of the suite may know more steps.
    step = next((step for step in Step if step == record["step"]), None)
    return Finding(step, record["what"], record.get("outside", False))


class Resumption(TypedDict, total=False):
    """A later part of a run: its command, as one line or as words, and its start."""

    command: str | tuple[str, ...]
    started: str


class PartRecord(TypedDict, total=False):
    """One shard of a merged run: its number, its device, and its command."""

    shard: str
    device: DeviceRecord
    command: str | tuple[str, ...]
    started: str
    finished: str
    seconds: Seconds


class RunRecord(TypedDict, total=False):
    """The contents of ``meta.json``.

    Attributes:
        fallback: why the embedded device replaces a Vulkan device, as a sentence; empty if it does not.
        modelled: which model ran what the driver compiled, and what its results do not say, as a sentence; empty for other devices.
        stopped: why the run ended early, as a sentence.
        known_failures: names of the files whose failures count as known; empty for none.
        left_out_by: names of the files that say which cases are not judged; empty for none.
        command: one line, or words.
        not_judged: family -> how many selected judgements a time limit left out; empty without a limit.
        shard: ``K/N`` if the run judges a part; empty for the whole.
        selection: a digest of everything except tier and shard that selects the cases.
        units: the devices of the run, if there are several (cts.verdict.verdict.CaseResult).
        merged: descriptions of the parts of a merged run, in the order of their shards.
        repeat: how many judgements of each case were asked for.
        selected: how many cases were selected.
        rounds: how often a GPU ran each dispatch in which invocations could race.
        host: the operating system, the processor and the Python of the process that began the run.
        environment: its variables that change Vulkan's loader, layers or drivers.
        junit: EVERY_CASE if each case is a test of ``junit.xml``.
    """

    device: DeviceRecord
    front_end: Annotated[str, Meta(title="Front end")]
    tier: Annotated[str, Meta(title="Tier")]
    suite_version: Annotated[str, Meta(title="Suite version")]
    validation: Annotated[bool, Meta(title="Validation layer")]
    known_failures: Annotated[str, Meta(title="Known failures", extra={"empty": "none"})]
    started: Annotated[str, Meta(title="Started")]
    command: Annotated[str | tuple[str, ...], Meta(title="Command")]
    units: tuple[str, ...]
    selector: str
    why: str
    fallback: str
    modelled: str
    stopped: str
    findings: tuple[FindingRecord, ...]
    embedded_mapping: str
    isolated: bool
    left_out_by: str
    shard: str
    selection: str
    merged: tuple[PartRecord, ...]
    finished: str
    repeat: Ordinal
    rounds: Ordinal
    host: str
    environment: dict[str, str]
    junit: str
    selected: Count
    not_judged: dict[str, Count]
    seconds: Seconds
    resumed: tuple[Resumption, ...]


def _plain(value: Any, levels: int = MOST_LEVELS) -> Any:
    """Return a field that the schema does not name: a later version of the suite may have more fields."""
    if levels == 0:
        raise WrongField(f"nested deeper than {MOST_LEVELS} levels")
    if isinstance(value, dict):
        return {key: _plain(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, levels - 1) for item in value]
    return value


def meta_of(document: object, wrong: Callable[[WrongField], None]) -> RunRecord:
    """Return the fields of ``document`` that fit the schema, and, unchanged, the fields that the schema does not name.

    Args:
        document: the value in ``meta.json``.
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
