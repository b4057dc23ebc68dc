"""Devices that compute differently: legal ones never fail, and illegal ones do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate, outcome, perform
from cts.reference.state import State, initial_state
from cts.verdict.compare import compare, compare_quality
from cts.verdict.poison import initial_contents
from cts.verdict.verdict import Verdict
from generators.casebook import build, expand
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type
from tests.simulated_devices import ways
from tests.suite import casebook

DEVICES = yaml.safe_load((Path(__file__).parent / "devices.yaml").read_text(encoding="utf-8"))


@dataclass
class Device:
    """Performs operations in one of the ways, where it applies; ``own`` tells whether it ever did."""

    way: ways.Way
    own: bool = False

    def perform(self, state: State, operation: Operation) -> None:
        value = self.way(state, operation)
        if value is not None:
            state.matrices[operation.result.name] = value  # type: ignore[attr-defined]
            self.own = True
            return
        perform(state, operation)
        name = getattr(getattr(operation, "result", None), "name", "")
        made = state.matrices.get(name)
        if made is not None and made.permitted is not None:
            state.matrices[name] = replace(made, permitted=None)

    def verdict(self, program: Program, subcase: Subcase) -> Verdict:
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        with np.errstate(all="ignore"):
            given = outcome_of(program, outcome(initial_state(program, subcase, self.perform)), before)
        if compare(program, expected, before, given):
            return Verdict.FAIL
        return Verdict.QUALITY_WARNING if compare_quality(expected, before, given) else Verdict.PASS


SEVERITY = (Verdict.FAIL, Verdict.QUALITY_WARNING, Verdict.PASS)


def verdicts(family: str, part: str, without: list[str], way: ways.Way, tier: str = "smoke") -> dict[str, Verdict]:
    """Return the verdict on each case of the tier in which the device deviates."""
    found = {}
    for case in expand(casebook().family(family), tier):
        if part not in case.id or any(other in case.id for other in without):
            continue
        device = Device(way)
        built = build(case)
        seen = {device.verdict(program, subcase) for program in built.program.all for subcase in built.subcases(program)}
        if device.own:
            found[case.id] = next(verdict for verdict in SEVERITY if verdict in seen)
    return found


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device["name"])
def test_the_device_gets_its_verdicts(device):
    found: dict[str, Verdict] = {}
    for family in device["families"]:
        found |= verdicts(
            family, device.get("cases", ""), device.get("without", []), getattr(ways, device["does"]), device.get("tier", "smoke")
        )
    assert found
    if "never" in device:
        assert not [id_ for id_, verdict in found.items() if verdict == device["never"]]
    if "some" in device:
        assert device["some"] in found.values()
    if "all" in device:
        assert not {id_: verdict for id_, verdict in found.items() if verdict != device["all"]}


@pytest.mark.parametrize("way", [ways.lost_term, ways.doubled_term, ways.wrong_sign])
def test_bf16_sums_that_round_show_a_wrong_term_in_each_subcase(way):
    """bf16 sums may keep fewer bits than those of any other type, so there must be few terms, all of them large (facts.md C1)."""
    unseen = []
    for case in expand(casebook().family("muladd"), "nightly"):
        if "data:envelope" not in case.id or "bf16" not in case.named["row"]:
            continue
        built = build(case)
        for program in built.program.all:
            for subcase in built.subcases(program):
                device = Device(way)
                verdict = device.verdict(program, subcase)
                # Loops without an iteration have no terms.
                if device.own and verdict is not Verdict.FAIL:
                    unseen.append(f"{case.id}: {subcase.name}")
    assert not unseen


@pytest.mark.parametrize("operator", ["add", "subtract", "multiply"])
@pytest.mark.parametrize(("way", "verdict"), [(ways.bf16_rounded_up, Verdict.FAIL), (lambda *_: None, Verdict.PASS)])
def test_bf16_arithmetic_may_not_be_rounded_upward(operator, way, verdict):
    """No case of the suite computes with elements of bf16: devices support them only as factors."""
    type_, pointee = matrix_type("bf16", 8, 8), Pointee(COMPONENT_TYPES["bf16"])
    builder = ProgramBuilder(Scope.SUBGROUP)
    places = builder.literal(0), builder.literal(8), Layout.ROW_MAJOR
    left, right = (builder.load(name, type_, builder.array(f"{name}_in", pointee, 64, BUFFER, "input"), *places) for name in ("x", "y"))
    builder.store(builder.elementwise("combined", operator, left, right), builder.array("out", pointee, 64, BUFFER, "output"), *places)
    numbers = np.random.default_rng(3).integers(128, 256, (2, 8, 8)) * np.array([1.0, 2.0**-5])[:, None, None]
    inputs = {name: as_bytes(as_bits(part, COMPONENT_TYPES["bf16"])) for name, part in zip(("x_in", "y_in"), numbers, strict=True)}
    assert Device(way).verdict(builder.build(), Subcase("one", inputs)) is verdict
