from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import pytest

from cts.devices.device import (
    MODULE_CALLS,
    DeviceCrash,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    DeviceUnavailable,
    DriverRefused,
    OutOfMemory,
    Step,
    UndefinedBehaviour,
    ValidationMessage,
)
from cts.devices.holder import DeviceHolder
from cts.engine.runner import OURS, judge
from cts.engine.set_aside import SetAside, tried
from cts.engine.tally import Digest
from cts.kinds import kernel as kernels
from cts.kinds.kernel import arrange
from cts.kinds.kernel_reproduction import after
from cts.kinds.kind import Stopwatch
from cts.verdict.codes import Reason
from cts.verdict.effort import Budget, Effort
from cts.verdict.verdict import Verdict
from generators.casebook import build, expand, find_case
from generators.errors import GeneratorError, Lack, NotExpressible, Rule
from generators.kernel import Dispatch, Kernel, Outcome
from tests.broken_devices.null_device import NullDevice
from tests.suite import casebook

from .conftest import Scripted, holding


@pytest.fixture
def right(case) -> Callable[[Sequence[Dispatch]], list[Outcome]]:
    """Return the outcome of a correct device."""
    built = build(case)
    program = built.program
    plan = arrange(built)
    written = [array.name for array in program.arrays if array.role in ("output", "inout")]

    def run(dispatches: Sequence[Dispatch]) -> list[Outcome]:
        results = [after(want, before) for want, before in zip(plan.expected, plan.before, strict=True)]
        return [Outcome({name: contents[name].copy() for name in written if name in contents}) for contents in results]

    return run


def raising(error: Exception) -> Callable[[Sequence[Dispatch]], list[Outcome]]:
    def run(dispatches: Sequence[Dispatch]) -> list[Outcome]:
        raise error

    return run


@pytest.mark.parametrize(
    ("id_", "rounds"),
    [
        ("load_store[component:f16/use:a/shape:16x16/load:row]", 1),
        ("load_store[component:f16/use:a/shape:16x16/load:row/subgroups:2]", 3),
        ("load_store[component:f16/use:a/shape:16x16/load:row/store_storage:workgroup]", 3),
    ],
)
def test_dispatches_run_several_times_only_if_their_invocations_could_race(id_, rounds):
    asked = []

    class Recording(NullDevice):
        def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
            asked.append(kernel.rounds)
            return super().run(kernel, dispatches)

    judge(find_case(casebook(), id_), DeviceHolder(Recording), "spirv", "smoke", effort=Effort(budget=Budget(0), rounds=3))
    assert asked == [rounds]


def test_a_right_device_passes_and_its_record_is_whole(case, right):
    result = judge(case, holding(Scripted(right)), "spirv", "smoke")
    assert (result.verdict, result.reason, result.message, result.failures) == (Verdict.PASS, "", "", ())
    assert (result.id, result.family, result.tier, result.front_end) == (case.id, "load_store", "smoke", "spirv")
    assert (result.device, result.driver) == ("Scripted", "1.0")
    assert result.parameters == case.named
    assert result.requirements == case.requirements
    assert 0 < len(result.requirements) <= len(case.definition.covers)
    assert result.subcases == len(case.subcases)
    assert result.steps["pipeline"] == 0.25
    assert result.seconds >= result.steps["emit"] + result.steps["expect"] + result.steps["compare"]


def test_a_flipped_bit_fails_with_place_and_record(case, right):
    def wrong(dispatches):
        outcomes = right(dispatches)
        next(iter(outcomes[-1].outputs.values()))[0] ^= 1
        return outcomes

    result = judge(case, holding(Scripted(wrong)), "spirv", "smoke")
    assert (result.verdict, result.code) == (Verdict.FAIL, "fail.value")
    assert "\n" not in result.reason
    assert case.subcases[-1][0] in result.message
    assert result.failures[0].subcase == case.subcases[-1][0]
    assert result.failures[0].mismatch.count == 1


def test_a_later_run_of_a_dispatch_that_is_wrong_fails_and_says_which_it_was(case, right):
    def sometimes_wrong(dispatches):
        outcomes = right(dispatches)
        (bad,) = right(dispatches)[:1]
        next(iter(bad.outputs.values()))[0] ^= 1
        return [replace(outcomes[0], repeats=((3, bad),)), *outcomes[1:]]

    result = judge(case, holding(Scripted(sometimes_wrong)), "spirv", "smoke")
    assert result.verdict is Verdict.FAIL
    assert "not in the first run of the same dispatch" in result.reason
    assert "run 3 of the same dispatch (the earlier ones were right):" in result.message


def test_not_supported_names_what_is_missing_before_anything_is_computed(case, monkeypatch):
    monkeypatch.setattr(kernels, "arrange", lambda *_: pytest.fail("inputs were computed"))
    monkeypatch.setattr(kernels, "evaluate", lambda *_: pytest.fail("expected results were computed"))
    device = Scripted(raising(AssertionError()), missing=Reason("missing.feature.cooperativeMatrix", "feature cooperativeMatrix"))
    result = judge(case, holding(device), "spirv", "smoke")
    assert (result.verdict, result.code, result.subcases) == (Verdict.NOT_SUPPORTED, "missing.feature.cooperativeMatrix", 0)
    assert result.reason == "feature cooperativeMatrix"
    assert device.runs == 0


def test_cases_that_glsl_cannot_express_are_not_supported(case, monkeypatch):
    def refuse(program):
        raise NotExpressible(Lack.INDEX_TYPE, "a stride of 64 bits")

    monkeypatch.setitem(kernels._FRONT_ENDS, "glsl", refuse)
    result = judge(case, holding(Scripted(raising(AssertionError()))), "glsl", "smoke")
    assert (result.verdict, result.code) == (Verdict.NOT_SUPPORTED, "missing.glsl")
    assert "a stride of 64 bits" in result.reason


@pytest.mark.parametrize(
    ("failure", "verdict", "code"),
    [
        (DeviceCrash("died: SIGSEGV\nlast words", step=Step.PIPELINE), Verdict.CRASH, "crash.pipeline"),
        (DeviceCrash("died"), Verdict.CRASH, "crash"),
        (DeviceTimeout("run took longer than 60 s", step=Step.DISPATCH), Verdict.TIMEOUT, "timeout.dispatch"),
        (DriverRefused("vkCreateComputePipelines: VK_ERROR_UNKNOWN", step=Step.PIPELINE), Verdict.FAIL, "fail.call.pipeline"),
        (OutOfMemory("vkAllocateMemory", step=Step.DISPATCH), Verdict.RESOURCE_ERROR, "resource_error.dispatch"),
        (UndefinedBehaviour("OpLoad: out of bounds", step=Step.DISPATCH), Verdict.ERROR, "error.undefined_behaviour"),
        (ValidationMessage("VUID-1"), Verdict.ERROR, "error.validation"),
        (DeviceFailure(""), Verdict.ERROR, "error.device"),
    ],
)
def test_each_failure_of_a_device_has_its_verdict_and_code(case, failure, verdict, code):
    device = Scripted(raising(failure))
    result = judge(case, holding(device), "spirv", "smoke")
    assert (result.verdict, result.code) == (verdict, code)
    assert str(failure) in result.message
    assert result.reason
    assert "\n" not in result.reason
    assert result.reason.startswith(OURS) == (verdict is Verdict.ERROR)
    assert device.runs == 1


def test_what_the_driver_said_when_it_failed_is_recorded_and_told(case):
    crash = DeviceCrash("died: SIGSEGV\nlast words", step=Step.PIPELINE)
    crash.driver_messages = ("SPIR-V parsing FAILED:\n    Invalid access chain type", "out of ideas")
    result = judge(case, holding(Scripted(raising(crash))), "spirv", "smoke")
    assert result.driver_messages == crash.driver_messages
    assert result.reason == "died: SIGSEGV"
    said = "the driver said:\n    SPIR-V parsing FAILED:\n        Invalid access chain type\n    out of ideas"
    assert result.message == f"died: SIGSEGV\n{said}\nlast words"


class Telling(Scripted):
    """A device that tells of the code of each pipeline."""

    last_statistics: Mapping[str, Mapping[str, int]] = {}

    def run(self, kernel, dispatches):
        outcomes = super().run(kernel, dispatches)
        self.last_statistics = {"compute": {"Instructions": self.runs}}
        return outcomes

    def listings(self, kernel):
        return {}


def test_statistics_of_each_pipeline_are_recorded(case, right):
    result = judge(case, holding(Telling(right)), "spirv", "smoke")
    assert result.statistics == {"compute": {"Instructions": 1}}


def test_statistics_of_several_pipelines_are_told_apart(case, right):
    device, watch = Telling(right), Stopwatch()
    for label in ("", "K = 32"):
        device.run(None, arrange(build(case)).dispatches)
        watch.add(device, label)
    assert watch.statistics == {"compute": {"Instructions": 1}, "compute (K = 32)": {"Instructions": 2}}
    assert watch.steps == {"pipeline": 0.5}


@pytest.fixture
def disputed():
    return next(case for case in expand(casebook().family("load_store"), "smoke") if case.disputed)


@pytest.mark.parametrize("call", sorted(MODULE_CALLS))
def test_a_refusal_of_a_module_that_the_text_may_forbid_is_a_quality_warning(disputed, call):
    refused = DriverRefused(f"{call} returned VK_ERROR_UNKNOWN", step=Step.PIPELINE, call=call, result=-13)
    result = judge(disputed, holding(Scripted(raising(refused))), "spirv", "smoke")
    assert (result.verdict, result.code, result.step) == (Verdict.QUALITY_WARNING, "quality_warning.F-KHR-30", "pipeline")
    assert "F-KHR-30, a position of this suite" in result.message
    assert str(refused) in result.message


@pytest.mark.parametrize(
    ("step", "call", "result"),
    [
        (Step.DISPATCH, "vkQueueSubmit", -13),
        (Step.PIPELINE, "vkCreatePipelineLayout", -13),
        (Step.PIPELINE, "vkCreateComputePipelines", 0),
        (Step.PIPELINE, "vkCreateComputePipelines", 5),
        (Step.PIPELINE, "", None),
    ],
    ids=["after the module", "before the module", "a null handle", "not an error", "an unknown call"],
)
def test_a_failed_call_that_does_not_refuse_a_disputed_module_is_a_failure(disputed, step, call, result):
    failed = DriverRefused("it failed", step=step, call=call, result=result)
    judged = judge(disputed, holding(Scripted(raising(failed))), "spirv", "smoke")
    assert (judged.verdict, judged.code) == (Verdict.FAIL, f"fail.call.{step}")


@pytest.mark.parametrize("family", ["load_store", "elements", "elementwise"])
def test_wrong_values_of_an_accepted_module_that_the_text_may_forbid_are_a_failure(family):
    disputed = next(case for case in expand(casebook().family(family), "smoke") if case.disputed)
    result = judge(disputed, DeviceHolder(NullDevice), "spirv", "smoke")
    assert (result.verdict, result.code) == (Verdict.FAIL, "fail.unwritten")


def test_a_crash_of_a_case_whose_module_the_text_may_forbid_stays_a_crash(disputed):
    result = judge(disputed, holding(Scripted(raising(DeviceCrash("died", step=Step.PIPELINE)))), "spirv", "smoke")
    assert result.verdict is Verdict.CRASH


def test_where_a_device_failed_can_be_sent_to_another_process(case):
    result = judge(case, holding(Scripted(raising(DeviceLost("lost", step=Step.DISPATCH)))), "spirv", "smoke")
    # execnet cannot send subclasses of str.
    sent = msgspec.to_builtins(SetAside("path::id", 1, tried(result, alone=False)))
    assert [type(value) for value in sent["first"].values()] == [bool, str, str, str, float, str, bool]
    assert {type(value) for value in msgspec.to_builtins(Digest.of(result)).values()} == {str, float, int, tuple}


def test_the_case_after_a_lost_device_has_a_fresh_one(case, right):
    devices = Scripted(raising(DeviceLost("lost"))), Scripted(right)
    holder = holding(*devices)
    assert judge(case, holder, "spirv", "smoke").verdict is Verdict.DEVICE_LOST
    assert devices[0].closed
    assert judge(case, holder, "spirv", "smoke").verdict is Verdict.PASS
    assert [device.runs for device in devices] == [1, 1]


def test_the_case_after_a_refused_submission_has_a_fresh_device(case, right):
    refused = DriverRefused("vkQueueSubmit returned VK_ERROR_UNKNOWN", step=Step.DISPATCH, spent=True)
    devices = Scripted(raising(refused)), Scripted(right)
    holder = holding(*devices)
    result = judge(case, holder, "spirv", "smoke")
    assert (result.verdict, result.step) == (Verdict.FAIL, "dispatch")
    assert judge(case, holder, "spirv", "smoke").verdict is Verdict.PASS


def test_a_device_that_went_away_before_it_took_the_case_is_opened_again(case, right):
    devices = Scripted(raising(DeviceError("gone"))), Scripted(right)
    assert judge(case, holding(*devices), "spirv", "smoke").verdict is Verdict.PASS


def test_a_device_that_cannot_be_opened_again_gives_the_case_no_verdict(case):
    gone = Scripted(raising(DeviceError("gone")))
    with pytest.raises(DeviceUnavailable):
        judge(case, holding(gone, Scripted(raising(DeviceError("gone")))), "spirv", "smoke")


def test_an_exception_of_ours_is_an_error_with_its_traceback(case, right, monkeypatch):
    def broken(program, subcase):
        raise GeneratorError(Rule.OVERFLOW, "A*B overflows")

    monkeypatch.setattr(kernels, "evaluate", broken)
    result = judge(case, holding(Scripted(right)), "spirv", "smoke")
    assert (result.verdict, result.code) == (Verdict.ERROR, "error.reference")
    assert "in broken" in result.message


def test_a_device_that_hands_back_too_few_outcomes_is_an_error(case, right):
    result = judge(case, holding(Scripted(lambda dispatches: right(dispatches)[:-1])), "spirv", "smoke")
    assert (result.verdict, result.code) == (Verdict.ERROR, "error.comparison")
