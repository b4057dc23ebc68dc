"""Mutated modules: the device answers whatever the words are. ``tests.embedded.mutants`` tries thousands."""

from __future__ import annotations

import warnings

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observations
from cts.embedded.profile import load_profile
from cts.embedded.types.limits import Limits
from tests.embedded.mutants import answer, case_samples, glslang_samples, mutants

FAMILIES = ("tensor_view", "control_flow", "functions", "specialization", "reduce", "per_element", "memory")


@pytest.mark.parametrize("way", ["strict", "not strict", "collecting"])
def test_every_mutant_has_an_answer(way: str) -> None:
    samples = (*case_samples(1, FAMILIES), *glslang_samples())
    observations = Observations() if way == "collecting" else None
    limits = Limits(steps=20_000, memory=1 << 26)
    device = EmbeddedDevice(load_profile("universal"), strict=way != "not strict", limits=limits, observations=observations)
    answers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for mutant in mutants(samples, 250, seed=11):
            found = answer(device, mutant)
            assert found.foreseen, f"{mutant.name}: {found.text}"
            answers.append(found.kind)
    assert answers.count("ran") > 20
    assert answers.count("NotValidSpirv") > 100


def test_the_samples_themselves_are_valid() -> None:
    device = EmbeddedDevice(load_profile("universal"))
    kinds = {sample.name: answer(device, sample).kind for sample in (*case_samples(1, FAMILIES), *glslang_samples())}
    assert set(kinds.values()) <= {"ran", "UndefinedBehaviour"}
    assert all(kind == "ran" for name, kind in kinds.items() if not name.startswith("glslang")), kinds
