"""Forged packages. Each is refused for the reason that its test names, although statement and checksums fit the forged members."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from cts.conformance.checking import HEADER, MOST_FAULTS, check, check_package, results_of
from cts.conformance.package import STATEMENT, SUMS, checksums
from cts.conformance.refusal import Check
from cts.journal.journal import META, RESULTS
from cts.journal.record import MOST_BYTES
from tests.conformance.forging import WAIVED, Forgery, Json, failed, in_family, lacking, now_passed, passed

Forge = Callable[[Forgery], object]


def edited(chosen: Callable[[Json], bool], **fields: object) -> Forge:
    """Return a forgery that changes fields of the first result that is chosen; a function gets the result."""

    def forge(f: Forgery) -> None:
        f.change(chosen, lambda one: one.update({name: value(one) if callable(value) else value for name, value in fields.items()}))

    return forge


def ended(verdict: str, code: str) -> Forge:
    """Return a forgery that lets a failure end in another way, without outputs."""
    return lambda f: f.change(failed, lambda one: now_passed(one, verdict=verdict, code=code, outputs="", module=""))


def waiver(before: str, after: str) -> Forge:
    """Return a forgery that changes the text of the waiver."""
    return lambda f: f.change_waiver(before, after)


def element_of(result: Json) -> Json:
    found: Json = result["failures"][0]["elements"][0]
    return found


def every_element_as_expected(result: Json) -> None:
    for failure in result["failures"]:
        for element in failure["elements"]:
            element["got_bits"] = element["expected_bits"]


def another_wrong_value(result: Json) -> None:
    for failure in result["failures"]:
        for element in failure["elements"]:
            element["got_bits"] = "0x0badf00d"


def fewer_wrong(result: Json) -> None:
    result["failures"][0]["count"] -= 1


def hidden_elements(result: Json) -> None:
    failures = [failure | {"elements": []} for failure in result["failures"]]
    now_passed(result, failures=failures, outputs="0badf00d" * result["subcases"])


def moved_element(result: Json) -> None:
    element_of(result)["row"] += 1


def flipped(name: str) -> Callable[[Json], str]:
    """Return a function that changes the first digit of a digest."""
    return lambda one: ("1" if one[name][0] == "0" else "0") + one[name][1:]


FAILURES: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "edited into a pass": ("result.outputs", lambda f: f.change(failed, now_passed)),
        "edited into a pass with invented digests": (
            "result.outputs",
            lambda f: f.change(failed, lambda one: now_passed(one, outputs="0badf00d" * one["subcases"])),
        ),
        "edited into a pass whose wrong elements are left out": ("result.failures", lambda f: f.change(failed, hidden_elements)),
        "got what was expected": ("result.verdict", lambda f: f.change(failed, every_element_as_expected)),
        "got another wrong value, which the waiver is not for": ("result.verdict", lambda f: f.change(failed, another_wrong_value)),
        "has fewer wrong elements": ("result.failures", lambda f: f.change(failed, fewer_wrong)),
        "has a wrong element elsewhere": ("result.failures", lambda f: f.change(failed, moved_element)),
        "is not supported": (
            "case.supported",
            ended("not_supported", "missing.row.muladd"),
        ),
        "is a warning": ("result.verdict", edited(failed, verdict="quality_warning", known="")),
        "is a warning about a module that may be refused": (
            "result.verdict",
            ended("quality_warning", "quality_warning.F-KHR-31"),
        ),
        "is out of memory": (
            "owed",
            ended("resource_error", "resource_error.pipeline"),
        ),
        "is an error of the suite": (
            "owed",
            ended("error", "error.suite"),
        ),
        "has lost its waiver": ("owed", edited(failed, verdict="fail", known="")),
        "names another entry": ("result.known", edited(failed, known="another")),
        "compiled": ("result.verdict", lambda f: f.change(failed, lambda one: now_passed(one, verdict="compiled"))),
    }
)

CASES: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "removed": ("case.missing", lambda f: f.write_results([one for one in f.results if not failed(one)])),
        "of one family removed": ("case.missing", lambda f: f.write_results(list(filter(in_family("muladd"), f.results)))),
        "that no smoke tier has removed": (
            "case.missing",
            lambda f: f.write_results([one for one in f.results if "capacity" in one["id"] or one["family"] != "vector_layout_conversion"]),
        ),
        "doubled": ("case.doubled", lambda f: f.write_results([copy for one in f.results for copy in (one, one)])),
        "judged again until it passed": (
            "case.doubled",
            lambda f: f.write_results(
                [copy for one in f.results for copy in ((one, one | {"verdict": "pass"}) if failed(one) else (one,))]
            ),
        ),
        "added": ("case.unknown", edited(passed, id="muladd[row:16x16x16.f16.f16.f16.f16/data:exact]")),
        "of a name that no suite has": ("case.unknown", edited(passed, id="muladd[other:1]")),
        "reordered": ("journal.order", lambda f: f.write_results(f.results[::-1])),
        "cut short": ("journal.malformed", lambda f: f.members.update({RESULTS: f.members[RESULTS][:-40]})),
        "without a header": ("journal.malformed", lambda f: f.write_results(f.results, header=b"")),
    }
)

RESULTS_OF_CASES: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "digest of outputs": ("result.outputs", edited(passed, outputs=flipped("outputs"))),
        "digest of a conversion": (
            "result.outputs",
            edited(in_family("vector_layout_conversion"), outputs=flipped("outputs")),
        ),
        "fewer digests": ("result.outputs", edited(passed, outputs=lambda one: one["outputs"][8:])),
        "digest of the module": ("result.module", edited(passed, module=flipped("module"))),
        "no digests, as in journals of older suites": ("result.module", lambda f: f.change(passed, lambda one: one.pop("module"))),
        "fewer subcases": ("result.subcases", edited(passed, subcases=lambda one: one["subcases"] - 1)),
        "requirements": ("result.requirements", edited(passed, requirements=[])),
        "positions": ("result.positions", edited(passed, positions=["F-KHR-1"])),
        "parameters": ("result.parameters", lambda f: f.change(passed, lambda one: one["parameters"].update(form="loop"))),
        "family": ("result.family", edited(passed, family="load_store")),
        "policy": ("result.policy", edited(lambda one: one["policy"], policy="")),
        "tier": ("result.tier", edited(passed, tier="smoke")),
        "front end": ("result.front_end", edited(passed, front_end="glsl")),
        "attempt": ("result.attempt", edited(passed, attempt=2)),
        "unit": ("result.unit", edited(passed, unit="1:other")),
        "driver": ("result.driver", edited(passed, driver="embedded 2")),
        "reason why it is not supported": ("result.code", edited(lacking, code="missing.row.type")),
        "support": ("case.unsupported", edited(lacking, verdict="pass", code="")),
    }
)


def another_device(f: Forgery) -> None:
    f.change_device(lambda device: device.update(name="another", uuid="00ff"))


def newer_driver(f: Forgery) -> None:
    f.change_device(lambda device: device.update(driver="embedded 2"))
    f.change_all(lambda one: one.update(driver="embedded 2"))


def without_s8(device: Json) -> None:
    device["rows"] = [row for row in device["rows"] if " s8 " not in row]


def with_row(row: str, **fields: object) -> Forge:
    """Return a forgery that adds a row to a Vulkan device."""
    return lambda f: f.change_device(lambda d: (d["rows"].append(row), d.update(kind="vulkan", **fields)))


DEVICES: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "rows hidden": ("device.description", lambda f: f.change_device(without_s8, is_sealed=False)),
        "rows hidden, with a new digest": ("case.unsupported", lambda f: f.change_device(without_s8)),
        "a stage hidden": ("result.verdict", lambda f: f.change_device(lambda d: d["limits"].update(cooperativeMatrixSupportedStages=0))),
        "a row that is none": ("device.description", lambda f: f.change_device(lambda d: d["rows"].append("16x16"), is_sealed=False)),
        "a row of a size with thousands of digits": ("device.description", with_row(f"{'9' * 5000}x16x16 f16 f16 f32 f32 scope 3")),
        "a row without elements": ("device.description", with_row("0x16x16 f16 f16 f32 f32 scope 3")),
        "subgroups without invocations": ("device.description", with_row("16x16x16 f16 f16 f32 f32 scope 2 flexible", subgroup_size=0)),
        "a feature hidden": ("case.unsupported", lambda f: f.change_device(lambda d: d["features"].update(cooperativeMatrix=False))),
        "a limit below the least": ("result.verdict", lambda f: f.change_device(lambda d: d["limits"].update(maxPushConstantsSize=64))),
        "features that are a list": ("device.description", lambda f: f.change_device(lambda d: d.update(features=[]), is_sealed=False)),
        "extensions that are a number": ("result.unreadable", lambda f: f.change_device(lambda d: d["extra"].update(extensions=5))),
        "a field removed": ("device.description", lambda f: f.change_device(lambda d: d.pop("limits"), is_sealed=False)),
        "results of another device": ("result.device", another_device),
        "results of another driver": ("waiver.driver", newer_driver),
        "the kind of the embedded device, of which no rows beyond the listed ones are owed": (
            "run.device",
            lambda f: f.change_device(lambda d: d["rows"].append("48x48x48 f16 f16 f32 f32 scope 3")),
        ),
        "a validator": ("run.device", lambda f: f.change_device(lambda d: d.update(kind="spirv-val"))),
    }
)

WAIVER: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "expired": ("waiver.expired", waiver("2999-12-31", "2020-01-01")),
        "without a last day": ("waiver.expired", waiver("    expires: 2999-12-31\n", "")),
        "without a reference": ("waiver.reference", waiver("    link: https://example.org/issues/1\n", "")),
        "with a reference that is not public": ("waiver.reference", waiver("https://", "file:///home/")),
        "with a reference to no host": ("waiver.reference", waiver("https://example.org/issues/1", "https://")),
        "with a reference to a host of one network": ("waiver.reference", waiver("https://example.org", "https://bugs")),
        "for later versions of the driver": (
            "waiver.driver",
            waiver("since: 1\n    until: 1", "since: 2\n    until: 3"),
        ),
        "for all versions of the driver": ("waiver.driver", waiver("    since: 1\n    until: 1\n", "")),
        "for another driver": ("waiver.files", waiver("driver: embedded", "driver: NVIDIA")),
        "for another mistake": ("result.verdict", waiver("multiply_add.c_overwritten", "load_store.stride_ignored")),
        "for other cases": ("result.verdict", waiver("form: reuse}", "form: loop}")),
        "with another id": ("waiver.unknown", waiver("id: overwrites-c", "id: overwrites")),
        "that is not YAML": ("waiver.files", lambda f: f.members.update({WAIVED: b"\xff: ["})),
        "removed": ("waiver.files", lambda f: f.members.pop(WAIVED)),
        "added": ("waiver.files", lambda f: f.members.update({"waivers/more.yaml": f.members[WAIVED]})),
    }
)

RUN: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "run.tier": {"tier": "smoke"},
        "run.front_end": {"front_end": "glsl"},
        "run.finished": {"finished": ...},
        "run.stopped": {"stopped": "STOPPED after 3 of 4 cases"},
        "run.not_judged": {"not_judged": {"muladd": 3}},
        "run.shard": {"shard": "1/2"},
        "run.merged": {"merged": [{"device": {"digest": "0badf00d"}}]},
        "run.units": {"units": ["0:a", "1:b"]},
        "run.left_out_by": {"left_out_by": "skips.txt"},
        "run.repeat": {"repeat": 2},
        "run.rounds": {"rounds": 2},
        "run.embedded_mapping": {"embedded_mapping": "scattered:1"},
        "run.fallback": {"fallback": "there is no Vulkan device"},
        "run.modelled": {"modelled": "a model"},
        "run.findings": {"findings": [{"step": "close", "what": "the process died"}]},
        "run.selection": {"selection": "0badf00d00"},
        "suite.dirty": {"suite_version": "0.1.0+1a2b3c4d-dirty"},
        "suite.version": {"suite_version": "0.1.0+ffffffff"},
        "waiver.files": {"known_failures": "overwrites.yaml, gpu-fails.txt"},
        "run": {"merged": "of a wrong type"},
    }
)


def statement_with(f: Forgery, edit: Callable[[Json], object]) -> None:
    claimed = json.loads(f.members[STATEMENT])
    edit(claimed)
    f.members[STATEMENT] = json.dumps(claimed).encode()
    f.members[SUMS] = checksums(f.members)


def edit_folders(f: Forgery, **digests: str) -> None:
    statement_with(f, lambda claim: claim["suite"]["folders"].update(digests))


UNSEALED: Mapping[str, tuple[str, Forge]] = MappingProxyType(
    {
        "a result edited": ("package.checksum", edited(passed, seconds=0.0)),
        "checksums removed": ("package.checksum", lambda f: f.members.update({SUMS: b""})),
        "a claim edited": ("package.statement", lambda f: statement_with(f, lambda claim: claim["device"].update(name="best"))),
        "a casebook edited": (
            "suite.sources.cases",
            lambda f: edit_folders(f, cases="0"),
        ),
        "generators edited": (
            "suite.sources.generators",
            lambda f: edit_folders(f, generators="0"),
        ),
        "no statement": ("package.statement", lambda f: f.members.update({STATEMENT: b"[]"})),
        "no run": ("run", lambda f: f.members.update({META: b"[]"})),
    }
)


def refused(package: Forgery, forge: Forge, *, is_sealed: bool = True) -> set[str]:
    forged = package.copy()
    forge(forged)
    assert forged.members != package.members
    # A forger would write statement and checksums again, so they fit.
    return forged.refused(check if is_sealed else check_package)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that(package: Forgery, name: str) -> None:
    expected, forge = FAILURES[name]
    assert expected in refused(package, forge)


@pytest.mark.parametrize("name", CASES)
def test_cases(package: Forgery, name: str) -> None:
    expected, forge = CASES[name]
    assert expected in refused(package, forge)


@pytest.mark.parametrize("name", RESULTS_OF_CASES)
def test_a_result_with_another(package: Forgery, name: str) -> None:
    expected, forge = RESULTS_OF_CASES[name]
    assert expected in refused(package, forge)


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_with(package: Forgery, name: str) -> None:
    expected, forge = DEVICES[name]
    assert expected in refused(package, forge)


@pytest.mark.parametrize("name", WAIVER)
def test_a_waiver(package: Forgery, name: str) -> None:
    expected, forge = WAIVER[name]
    assert expected in refused(package, forge)


@pytest.mark.parametrize("name", RUN)
def test_a_run_that_was_not_whole_or_had_other_options(package: Forgery, name: str) -> None:
    found = refused(package, lambda f: f.change_meta(**RUN[name]))
    assert name in {one.partition(".")[0] if name == "run" else one for one in found}


@pytest.mark.parametrize("moment", ["", "0", "9999", "2026-02-31T00:00:00Z", "2999-1-1T00:00:00Z", "2999-01-01T00:00:00Z or so"])
@pytest.mark.parametrize("name", ["started", "finished"])
def test_a_run_that_began_or_ended_at_no_time(package: Forgery, name: str, moment: str) -> None:
    assert "run.finished" in refused(package, lambda f: f.change_meta(**{name: moment}))


def test_a_journal_of_empty_lines_does_not_fill_memory() -> None:
    _, faults = results_of(b"\n" * 100_000)
    assert len(faults) == MOST_FAULTS


def test_a_line_that_would_fill_memory_is_not_read(package: Forgery) -> None:
    line = package.members[RESULTS].splitlines()[1]
    assert len(results_of(HEADER + line)[0]) == 1
    found, faults = results_of(HEADER + line[:-1] + b',"more":"' + b"z" * MOST_BYTES + b'"}')
    assert not found
    assert [one.id for one in faults] == ["journal.malformed"]


@pytest.mark.parametrize("name", UNSEALED)
def test_a_package_that_was_changed_afterwards(package: Forgery, name: str) -> None:
    expected, forge = UNSEALED[name]
    assert expected in refused(package, forge, is_sealed=False)


def test_every_reason_for_a_refusal_has_a_forgery(package: Forgery) -> None:
    tables = (FAILURES, CASES, RESULTS_OF_CASES, DEVICES, WAIVER, UNSEALED)
    tried = {*RUN, *(expected for table in tables for expected, _ in table.values())}
    of_archives = {Check.ARCHIVE, Check.MEMBERS, Check.SIZE}
    assert [
        check for check in Check if check not in of_archives and not any(one == check or one.startswith(f"{check}.") for one in tried)
    ] == []


def test_what_only_the_device_could_disprove_is_not_refused(package: Forgery) -> None:
    """docs/conformance.md lists these forgeries."""
    forged = package.copy()
    forged.change(failed, lambda one: now_passed(one, outputs=derived(package, one["id"])))
    assert forged.sealed().refused() == set()


def derived(package: Forgery, id_: str) -> str:
    """Return the digests of the outputs that a case must have, as anyone can compute them."""
    from cts.kinds.kernel import arrange
    from cts.verdict.elements import scatter
    from cts.verdict.outputs import outputs_digest
    from generators.casebook import build, find_case

    plan = arrange(build(find_case(package.suite.casebook, id_)))
    found = ""
    for expected, before in zip(plan.expected, plan.before, strict=True):
        outputs = {name: contents.copy() for name, contents in before.items()}
        for placed in expected.placed:
            scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
        found += outputs_digest(expected, outputs)
    return found
