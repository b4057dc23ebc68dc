"""Devices that compute differently: legal ones never fail, and illegal ones do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate, outcome, perform
from cts.reference.state import State, initial_state
from cts.verdict.compare import compare_quality, is_permitted
from cts.verdict.expected import Expected
from cts.verdict.poison import initial_contents
from cts.verdict.verdict import Verdict
from generators.casebook import Case, build, expand
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type
from tests.simulated_devices import ways
from tests.suite import casebook, plain

DEVICES = plain(Path(__file__).parent / "devices.yaml")


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

    def verdict(self, run: Run) -> Verdict:
        with np.errstate(all="ignore"):
            given = outcome_of(run.program, outcome(initial_state(run.program, run.subcase, self.perform)), run.before)
        if not is_permitted(run.program, run.expected, run.before, {**run.before, **given.outputs}):
            return Verdict.FAIL
        return Verdict.QUALITY_WARNING if compare_quality(run.expected, run.before, given) else Verdict.PASS


@dataclass(frozen=True)
class Run:
    """A subcase with its expected results, which all devices share."""

    program: Program
    subcase: Subcase

    @cached_property
    def expected(self) -> Expected:
        return evaluate(self.program, self.subcase)

    @cached_property
    def before(self) -> Mapping[str, np.ndarray]:
        return initial_contents(self.program, self.subcase, self.expected)


def runs(case: Case) -> list[Run]:
    built = build(case)
    return [Run(program, subcase) for program in built.program.all for subcase in built.subcases(program)]


SEVERITY = (Verdict.FAIL, Verdict.QUALITY_WARNING, Verdict.PASS)


def worst(way: ways.Way, subcases: Sequence[Run]) -> Verdict | None:
    """Return the worst verdict on the subcases of a case; None if the device deviates in none."""
    device, seen = Device(way), set()
    for run in subcases:
        seen.add(device.verdict(run))
        if device.own and Verdict.FAIL in seen:
            break
    return next(verdict for verdict in SEVERITY if verdict in seen) if device.own else None


def tier_of(device: Mapping[str, Any]) -> str:
    return str(device.get("tier", "smoke"))


def runs_case(device: Mapping[str, Any], id_: str) -> bool:
    """Return whether the device runs a case of its families."""
    return device.get("cases", "") in id_ and not any(other in id_ for other in device.get("without", ()))


def needs_one(device: Mapping[str, Any]) -> bool:
    """Return whether one case with the verdict ``some`` is all that is asked of the device."""
    return not {"never", "all"} & device.keys()


@cache
def verdicts() -> dict[str, dict[str, Verdict]]:
    """Return the verdicts on each case in which a device deviates. Each case is built once for all devices that run it."""
    found: dict[str, dict[str, Verdict]] = {device["name"]: {} for device in DEVICES}
    for family, tier in dict.fromkeys((family, tier_of(device)) for device in DEVICES for family in device["families"]):
        asked = [device for device in DEVICES if family in device["families"] and tier_of(device) == tier]
        for case in expand(casebook().family(family), tier):
            open_ = [one for one in asked if not (needs_one(one) and one["some"] in found[one["name"]].values())]
            running = [one for one in open_ if runs_case(one, case.id)]
            subcases = runs(case) if running else []
            for device in running:
                verdict = worst(getattr(ways, device["does"]), subcases)
                if verdict is not None:
                    found[device["name"]][case.id] = verdict
    return found


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device["name"])
def test_the_device_gets_its_verdicts(device):
    found = verdicts()[device["name"]]
    assert found
    if "never" in device:
        assert not [id_ for id_, verdict in found.items() if verdict == device["never"]]
    if "some" in device:
        assert device["some"] in found.values()
    if "all" in device:
        assert not {id_: verdict for id_, verdict in found.items() if verdict != device["all"]}


@cache
def rounding_sums() -> list[tuple[str, list[Run]]]:
    """Return the nightly cases with sums of bf16 that round, with their subcases."""
    nightly = expand(casebook().family("muladd"), "nightly")
    return [(case.id, runs(case)) for case in nightly if "data:envelope" in case.id and "bf16" in case.named["row"]]


@pytest.mark.parametrize("way", [ways.lost_term, ways.doubled_term, ways.wrong_sign])
def test_bf16_sums_that_round_show_a_wrong_term_in_each_subcase(way):
    """bf16 sums may keep fewer bits than those of any other type, so there must be few terms, all of them large (facts.md C1)."""
    unseen = []
    for id_, subcases in rounding_sums():
        for run in subcases:
            device = Device(way)
            verdict = device.verdict(run)
            # Loops without an iteration have no terms.
            if device.own and verdict is not Verdict.FAIL:
                unseen.append(f"{id_}: {run.subcase.name}")
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
    assert Device(way).verdict(Run(builder.build(), Subcase("one", inputs))) is verdict
