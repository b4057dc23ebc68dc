"""Mistakes planted in the suite or in a device: the conclusion names whose they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest

from cts.blame import gathering
from cts.blame.evidence import Found, Step
from cts.blame.gathering import Bench, Investigation, investigate
from cts.blame.rules import conclude
from cts.devices.device import DeviceCrash, DeviceLost, DeviceTimeout, OutOfMemory
from cts.devices.device import Step as DeviceStep
from cts.devices.holder import DeviceHolder
from cts.devices.listing import DeviceListing
from cts.devices.spec import DeviceSpec
from cts.embedded.device import EmbeddedDevice
from cts.engine.plan import checked_settings
from cts.kinds import kernel
from cts.reference.state import evaluates
from cts.verdict.expected import Exact
from cts.verdict.fault import Confidence, Party
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from generators.errors import GeneratorError, Rule
from generators.program.muladd import MatrixMulAdd
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from tests.broken_devices.doubles import Broken
from tests.broken_devices.test_broken_devices import changing, with_load_layouts_swapped
from tests.suite import casebook

CASE = "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]"
FAR = "load_store[component:u8/use:b/shape:16x32/store:column/source:push_constant/first:minimal]"


def bench(*devices: Callable[[], object], front_end="spirv", others=()) -> Bench:
    """Return a bench whose driver is each of ``devices`` in turn, and from then on the last one."""
    options = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"))
    settings = replace(checked_settings({**options, "device": "embedded"}), front_end=front_end)
    left = list(devices or [Broken])

    def opened(of):
        if of is not settings:
            return DeviceHolder(of.spec)
        return DeviceHolder(left.pop(0) if len(left) > 1 else left[0])

    described = [
        replace(settings, spec=device, description=replace(settings.description, name=name, driver=name)) for name, device in others
    ]
    return Bench(settings, casebook(), opened, lambda _: described)


def found(bench: Bench, case_id: str = CASE) -> tuple[Investigation, str, Party]:
    investigation = investigate(find_case(casebook(), case_id), bench)
    concluded = conclude(investigation.facts)
    return investigation, concluded.rule, concluded.party


class Dying(Broken):
    """A driver that dies while it makes the pipeline of a multiply-add."""

    def run(self, kernel, dispatches):
        if any(op is Op.CooperativeMatrixMulAddKHR for op, *_ in read_instructions(kernel.spirv)):
            raise DeviceCrash("SIGSEGV", step=DeviceStep.PIPELINE)
        return super().run(kernel, dispatches)


class Dead(Broken):
    """A device that is lost for all shaders."""

    def run(self, kernel, dispatches):
        raise DeviceLost("VK_ERROR_DEVICE_LOST", step=DeviceStep.DISPATCH)


class Limited(EmbeddedDevice):
    """An embedded device that stops at a limit."""

    def __init__(self, profile, limit):
        super().__init__(profile)
        self._limit = limit

    def run(self, kernel, dispatches):
        raise self._limit


class Silent(Broken):
    """A driver that lists no combination."""

    def ask(self, call):
        answer = self._device.ask(call)
        return replace(answer, count=0)


def wrong():
    return Broken(module=with_load_layouts_swapped)


def test_a_driver_with_wrong_values_is_at_fault():
    investigation, rule, party = found(bench(wrong))
    assert (rule, party) == ("wrong_values", Party.DRIVER)
    assert investigation.facts.of(Step.EXPLANATION) is Found.SAME
    assert conclude(investigation.facts).confidence is Confidence.LIKELY


def test_a_driver_that_dies_is_at_fault_and_so_is_its_compiler():
    assert found(bench(Dying))[1:] == ("compiler_breaks", Party.COMPILER)


def test_a_case_that_passes_twice_needs_no_further_evidence():
    investigation, rule, _ = found(bench())
    assert rule == "passes"
    assert [one.step for one in investigation.facts.evidence] == [Step.FIRST, Step.SECOND]


def test_a_device_on_which_plain_shaders_die_tells_nothing_about_a_case():
    assert found(bench(Dead))[1:] == ("device_state", Party.UNKNOWN)


def test_a_failure_that_no_fresh_process_repeats_is_not_blamed_on_anyone():
    assert found(bench(wrong, Broken))[1:] == ("flaky", Party.UNKNOWN)


def test_a_driver_that_fails_in_two_of_three_runs_is_at_fault():
    investigation, _, party = found(bench(wrong, Broken, wrong))
    assert party is Party.DRIVER
    assert "unsteady" in {doubt.code for doubt in conclude(investigation.facts).doubts}


def test_another_module_that_passes_only_sometimes_is_no_evidence_against_the_compiler(glslang):
    runs = map(DeviceHolder, chain([wrong, wrong, Broken, Broken], repeat(wrong)))
    investigation, rule, _ = found(bench(lambda: next(runs).device))
    assert investigation.facts.of(Step.OTHER_FRONT_END) is Found.SAME
    assert rule == "wrong_values"


@pytest.mark.parametrize("limit", [DeviceTimeout("too many steps", step=DeviceStep.DISPATCH), OutOfMemory("too many values")])
def test_a_limit_of_the_embedded_device_is_no_second_reading(limit, monkeypatch):
    monkeypatch.setattr(gathering, "EmbeddedDevice", lambda profile: Limited(profile, limit))
    investigation, rule, _ = found(bench(wrong))
    assert investigation.facts.of(Step.EMBEDDED) is Found.NOT_RUN
    assert rule == "no_second_reading"


def test_the_embedded_device_does_not_answer_property_queries_for_a_driver():
    investigation, rule, party = found(bench(Silent), "property_queries[rule:count]")
    assert investigation.facts.of(Step.EMBEDDED) is Found.NOT_RUN
    assert (rule, party) == ("no_second_reading", Party.UNKNOWN)


def test_other_wrong_bits_are_another_failure():
    investigation, *_ = found(bench(wrong, lambda: Broken(outcome=changing("d", 0))))
    assert investigation.facts.runs == [Found.SAME, Found.DIFFERS]


def test_an_independent_driver_with_the_same_bits_makes_the_fault_unknown():
    assert found(bench(wrong, others=[("NVIDIA", wrong)]))[1:] == ("independent_drivers", Party.UNKNOWN)


def test_a_device_that_has_only_vectors_is_another_device(monkeypatch):
    settings = bench().settings
    described = replace(settings.description, name="v", uuid="1", features={"cooperativeVector": True})
    listing = DeviceListing(DeviceSpec("vulkan", "v", 0), described, 0)
    monkeypatch.setattr(gathering, "list_vulkan", lambda: SimpleNamespace(devices=[listing]))
    assert [one.description.name for one in gathering.other_devices(settings)] == ["v"]


def test_another_driver_that_passes_is_a_witness():
    investigation, *_ = found(bench(wrong, others=[("NVIDIA", Broken)]))
    assert [one.device for one in investigation.facts.devices(Found.PASSES)] == ["NVIDIA"]


def test_a_wrong_expectation_is_ours(monkeypatch):
    def expect(program, subcase):
        want = evaluate(program, subcase)
        first, *rest = want.placed
        assert isinstance(first.expected, Exact)
        bits = first.expected.bits.copy()
        bits[0, 0, 0] ^= 1 << 20
        changed = replace(first.expectation, expected=replace(first.expected, bits=bits), permitted=replace(first.expected, bits=bits))
        return replace(want, placed=(replace(first, expectation=changed), *rest))

    evaluate = kernel.evaluate
    monkeypatch.setattr(kernel, "evaluate", expect)
    assert found(bench())[1:] == ("wrong_reference", Party.SUITE)


def leave_out_last_k(monkeypatch):
    """Make the reference model multiply without the last column of A."""

    def without_last_k(state, operation):
        state.matrices[operation.a.name].bits[..., -1] = 0
        right(state, operation)

    right = evaluates._functions[MatrixMulAdd]
    monkeypatch.setitem(evaluates._functions, MatrixMulAdd, without_last_k)


def test_a_wrong_reference_model_is_ours(monkeypatch):
    leave_out_last_k(monkeypatch)
    assert found(bench())[1:] == ("wrong_reference", Party.SUITE)


def test_a_wrong_reading_is_ours_even_if_the_driver_is_wrong_too(monkeypatch):
    leave_out_last_k(monkeypatch)
    assert found(bench(wrong))[1:] == ("readings_differ", Party.SUITE)


@pytest.fixture
def glslang(monkeypatch):
    """Two front ends without glslang: the assembler's modules in place of the compiler's."""
    monkeypatch.setattr(gathering, "find_glslang", lambda: "glslang")
    monkeypatch.setitem(kernel._FRONT_ENDS, "glsl", kernel._assembled)


@pytest.mark.parametrize("front_end", ["spirv", "glsl"])
def test_a_wrong_emitter_is_ours(front_end, glslang, monkeypatch):
    monkeypatch.setitem(kernel._FRONT_ENDS, front_end, lambda program: with_load_layouts_swapped(kernel._assembled(program)))
    assert found(bench(front_end=front_end))[1:] == ("wrong_emitter", Party.SUITE)


@pytest.mark.parametrize(
    ("rule", "party"), [(Rule.GLSLANG_REJECTS, Party.SUITE), (Rule.GLSLANG_FAILED, Party.FRONT_END), (Rule.MODULES_DIFFER, Party.SUITE)]
)
def test_glsl_without_a_module_tells_the_suite_from_the_compiler(rule, party, glslang, monkeypatch):
    def fails(program):
        raise GeneratorError(rule, "no module")

    monkeypatch.setitem(kernel._FRONT_ENDS, "glsl", fails)
    assert found(bench(front_end="glsl"))[2] is party


def test_undefined_behaviour_in_a_case_is_ours(monkeypatch):
    def beyond(*given):
        one = dispatch(*given)
        return replace(one, push_constants=np.full(len(one.push_constants) // 4, 1 << 20, "<u4").tobytes())

    dispatch = kernel.dispatch
    monkeypatch.setattr(kernel, "dispatch", beyond)
    assert found(bench(), FAR)[1:] == ("undefined_case", Party.SUITE)


def test_an_exception_of_the_suite_is_ours(monkeypatch):
    def fails(program, subcase):
        raise ZeroDivisionError

    monkeypatch.setattr(kernel, "evaluate", fails)
    investigation, rule, party = found(bench())
    assert investigation.result.verdict is Verdict.ERROR
    assert (rule, party) == ("suite_error", Party.SUITE)


def test_a_tool_that_is_absent_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    facts = found(bench(wrong))[0].facts
    for step in (Step.SPIRV_VAL, Step.OTHER_FRONT_END, Step.OPTIMISED, Step.VALIDATION, Step.OTHER_DEVICES):
        assert facts.of(step) is Found.NOT_RUN
        assert facts.told(step)
