"""Checks the members of a package: what can be derived is derived, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from cts.conformance.owed import cases_of, check_must_pass, why_not_owed
from cts.conformance.package import STATEMENT, SUMS, WAIVERS, Members, checksums
from cts.conformance.refusal import Check, Refusal, Refused, refusal
from cts.conformance.rejudge import Rejudging
from cts.conformance.statement import encoded, statement
from cts.conformance.suite import DIRTY, Suite, is_same_version
from cts.conformance.waivers import UNUSABLE, Files, files_of
from cts.devices.device import COMPILES_ONLY, DeviceDescription
from cts.devices.identity import description_of, digest
from cts.devices.spec import EMBEDDED
from cts.embedded.profile import load_profile
from cts.engine.plan import rounds_of
from cts.engine.request import Request
from cts.engine.run import TIME
from cts.engine.selection import device_rows, selection_digest
from cts.journal.journal import META, RESULTS
from cts.journal.record import MOST_BYTES, SCHEMA, SEVERAL_LINES, encode_object, result_of
from cts.journal.run_record import RunRecord, finding_of, meta_of
from cts.journal.schema import WrongField
from cts.journal.strict_json import NotJson, parse
from cts.opening import list_profiles
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Tier
from generators.errors import CtsError

MOST_FAULTS = 1_000
"""After so many malformed lines, the rest of a journal is not read."""

HEADER = encode_object({"schema": SCHEMA})

FULFILLED = frozenset({Verdict.PASS, Verdict.QUALITY_WARNING, Verdict.UNEXPECTED_PASS, Verdict.NOT_SUPPORTED, Verdict.KNOWN_FAIL})
"""The verdicts with which a device has given what it owes; a known failure needs a waiver too."""


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    Attributes:
        refusals: why the package is refused; none if it is not.
        statement: the statement that follows from the other members.
    """

    refusals: tuple[Refusal, ...]
    statement: Mapping[str, Any]


def check(members: Members, suite: Suite) -> Checked:
    """Check the members of a package against the suite that runs.

    Raises:
        Refused: nothing can be derived: the run or the device is not described.
        CtsError: the suite itself is not whole.
    """
    check_must_pass(suite.casebook)
    meta = _meta(members)
    try:
        description = description_of(meta.get("device", {}))
        rows = device_rows(description)
        cases = {case.id: case for family in suite.casebook for case in cases_of(family, rows)}
    except (CtsError, ArithmeticError) as why:
        raise Refused(refusal(Check.DEVICE, META, why)) from why
    found = [*_suite(meta, suite)]
    found += (refusal(Check.RUN, META, why, name) for name, (why, is_right) in _RULES.items() if not is_right(meta, description))
    results, faults = results_of(members[RESULTS])
    found += faults
    found += (refusal(Check.MISSING, id_) for id_ in cases.keys() - results.keys())
    found += (refusal(Check.UNKNOWN, id_) for id_ in results.keys() - cases.keys())
    names = list(filter(None, meta.get("known_failures", "").split(", ")))
    try:
        files = files_of(suite, names, description.driver, members)
    except UNUSABLE as why:
        files = Files()
        found.append(refusal(Check.FILES, WAIVERS, why))
    judge = Rejudging(description, files.known)
    for id_, result in results.items():
        if id_ in cases:
            try:
                found += judge.refusals(cases[id_], result)
            except Exception as error:
                # A forged description or result may hold anything.
                found.append(refusal(Check.RESULT, id_, f"it cannot be judged again: {type(error).__name__}: {error}", "unreadable"))
    shown: dict[str, list[str]] = {}
    for id_, result in results.items():
        if id_ in cases and not why_not_owed(cases[id_]):
            if result.verdict not in FULFILLED:
                found.append(refusal(Check.OWED, id_, result.code or result.verdict))
            elif result.verdict is Verdict.KNOWN_FAIL:
                shown.setdefault(result.known, []).append(id_)
    waivers = files.waivers(shown)
    found += (one for waiver in waivers for one in waiver.refusals(description.driver, meta.get("finished", "")[:10]))
    return Checked(tuple(found), statement(suite, meta, description, cases.values(), results, waivers))


def check_package(members: Members, suite: Suite) -> Checked:
    """Check a whole package: as ``check``, and its statement and checksums.

    Raises:
        Refused, CtsError: see ``check``.
    """
    checked = check(members, suite)
    claimed: Any = None
    try:
        claimed = parse(members[STATEMENT])
        folders = claimed["suite"]["folders"]
        found = [refusal(Check.SOURCES, STATEMENT, name=name) for name, was in suite.digests.items() if folders.get(name) != was]
    except (NotJson, KeyError, TypeError, AttributeError):
        found = []
    if members[STATEMENT] != encoded(checked.statement):
        found.append(refusal(Check.STATEMENT, STATEMENT))
    if members[SUMS] != checksums(members):
        found.insert(0, refusal(Check.CHECKSUM, SUMS))
    return Checked((*found, *checked.refusals), checked.statement)


def assembled(meta: bytes, journal: Iterable[bytes], waivers: Mapping[str, Path], suite: Suite) -> tuple[dict[str, bytes], Checked]:
    """Return the members of a package, and what their check has found.

    Args:
        meta: the contents of ``meta.json``.
        journal: the lines of the journal.
        waivers: the files of known failures that are not the suite's own, by name.
        suite: the suite that ran.

    Raises:
        Refused, CtsError: see ``check``.
    """
    lines = [line.rstrip(b"\n") + b"\n" for line in journal if line.startswith(b'{"id"')]
    lines.sort(key=_id_in)
    members = {META: meta, RESULTS: HEADER + b"".join(lines)}
    members |= {f"{WAIVERS}{name}": path.read_bytes() for name, path in waivers.items()}
    checked = check(members, suite)
    members[STATEMENT] = encoded(checked.statement)
    return members | {SUMS: checksums(members)}, checked


def _id_in(line: bytes) -> bytes:
    """Return the id of a line of a journal, whose first field it is."""
    return line.partition(b'","')[0]


def _meta(members: Members) -> RunRecord:
    wrong: list[WrongField] = []
    try:
        meta = meta_of(parse(members[META]), wrong.append)
    except (NotJson, WrongField) as why:
        raise Refused(refusal(Check.RUN, META, why)) from why
    if wrong:
        raise Refused(refusal(Check.RUN, META, wrong[0].problem, wrong[0].field))
    return meta


def _suite(meta: RunRecord, suite: Suite) -> Iterator[Refusal]:
    version = meta.get("suite_version", "")
    if version.endswith(DIRTY) or suite.version.endswith(DIRTY):
        yield refusal(Check.DIRTY, version)
    if not is_same_version(version.removesuffix(DIRTY), suite.version.removesuffix(DIRTY)):
        yield refusal(Check.SUITE, version, suite.version)


_Right = Callable[[RunRecord, DeviceDescription], bool]

_RULES: Mapping[str, tuple[str, _Right]] = {
    "tier": ("a conformance run has --tier nightly", lambda meta, _: meta.get("tier") == Tier.NIGHTLY),
    "front_end": ("a conformance run has --front-end spirv", lambda meta, _: meta.get("front_end") == "spirv"),
    "finished": (
        "the run did not end, or ended before it began",
        lambda meta, _: _moment(meta, "finished") >= _moment(meta, "started") > "",
    ),
    "stopped": ("the run was stopped", lambda meta, _: not meta.get("stopped")),
    "not_judged": ("a time limit left out cases", lambda meta, _: not meta.get("not_judged")),
    "shard": ("it is one shard: join all of them with 'cts merge'", lambda meta, _: not meta.get("shard")),
    "merged": ("a shard has another device", lambda meta, _: all(_device(part) == _device(meta) for part in meta.get("merged", ()))),
    "units": ("the run has several devices", lambda meta, _: not meta.get("units")),
    "left_out_by": ("a list left out cases", lambda meta, _: not meta.get("left_out_by")),
    "repeat": ("a conformance run judges each case once", lambda meta, _: meta.get("repeat") == 1),
    "rounds": ("a conformance run has no --rounds", lambda meta, description: meta.get("rounds") == rounds_of(description)),
    "embedded_mapping": ("a conformance run has no --embedded-mapping", lambda meta, _: not meta.get("embedded_mapping")),
    "fallback": ("no device was found, and the embedded one replaced it", lambda meta, _: not meta.get("fallback")),
    "modelled": ("a model replaced the device", lambda meta, description: not (meta.get("modelled") or description.modelled)),
    "device": ("the device only compiles, is a validator, or is no embedded one of the suite", lambda _, one: _is_device(one)),
    "isolated": ("a Vulkan device must be held by a child process", lambda meta, one: one.kind != "vulkan" or bool(meta.get("isolated"))),
    "findings": ("the device failed outside of any case", lambda meta, _: all(finding_of(one).outside for one in meta.get("findings", ()))),
    "selection": (
        "the run did not select exactly the cases of the tier on this device",
        lambda meta, one: meta.get("selection") == selection_digest(Request(everything=True), "", None, device_rows(one)),
    ),
}
"""The rules for ``meta.json`` of a conformance run: field -> what is wrong otherwise, and the rule."""


def _is_device(description: DeviceDescription) -> bool:
    if description.kind == EMBEDDED:
        return digest(description) in {digest(load_profile(name).description) for name in list_profiles()}
    return description.kind == "vulkan" and not description.extra.get(COMPILES_ONLY)


def _moment(meta: Mapping[str, Any], name: str) -> str:
    """Return a time as a run writes it; empty if it is none."""
    text = str(meta.get(name, ""))
    try:
        return text if datetime.strptime(text, TIME).strftime(TIME) == text else ""
    except ValueError:
        return ""


def _device(record: Any) -> Any:
    return (record.get("device") or {}).get("digest")


def results_of(journal: bytes) -> tuple[dict[str, CaseResult], list[Refusal]]:
    """Return the results of a journal by id, and what is wrong with its form."""
    lines = BytesIO(journal)
    results: dict[str, CaseResult] = {}
    found = [] if next(lines, b"") == HEADER else [refusal(Check.MALFORMED, "line 1")]
    last = b""
    for number, line in enumerate(lines, 2):
        if len(found) >= MOST_FAULTS:
            break
        try:
            result = result_of(parse(line[: MOST_BYTES + 1], SEVERAL_LINES))
        except (WrongField, NotJson):
            found.append(refusal(Check.MALFORMED, f"line {number}"))
            continue
        if any(failure.unreadable for failure in result.failures):
            found.append(refusal(Check.MALFORMED, f"line {number}"))
        if result.id in results:
            found.append(refusal(Check.DOUBLED, result.id))
        results.setdefault(result.id, result)
        if _id_in(line) < last:
            found.append(refusal(Check.ORDER, result.id))
        last = _id_in(line)
    return results, found
