"""Random loads with vector decode functions: the draws, and the detection of wrong devices."""

from __future__ import annotations

import numpy as np
import pytest

from cts.commands.fuzzing import DrawCounts, Fuzzer
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.tensors.decode import chosen_groups, places_in_groups
from cts.embedded.profile import load_profile
from generators.fuzz.draws import DRAWS_PER_FORM, draw_groups
from generators.fuzz.tensor_addressing import describe

SOME = range(0, 60 * DRAWS_PER_FORM, DRAWS_PER_FORM)


def judged(count: int, faults: Faults = NO_FAULTS, choices: int = 0) -> DrawCounts:
    device = DeviceHolder(lambda: EmbeddedDevice(load_profile("universal"), faults=faults, choices=choices))
    *_, tally = Fuzzer(3, device, "spirv").run(draw_groups, 0, count, 1)
    return tally


def test_draws_reach_every_kind_of_group() -> None:
    draws = [draw_groups(1, index) for index in SOME]
    assert draws == [draw_groups(1, index) for index in SOME]
    groups = [one.groups for one in draws if one.groups is not None]
    assert len(groups) == len(draws)
    assert {group.lanes for group in groups} == {2, 4, 8}
    assert {group.differ for group in groups} == {True, False}
    assert {one.rank for one in draws} == {1, 2, 3, 4, 5}
    assert all("decode functions of 1 and" in describe(one) for one in draws)


@pytest.mark.parametrize("choices", range(3))
def test_reference_and_device_agree(choices: int) -> None:
    tally = judged(120, choices=choices)
    assert tally.judged == 120
    assert not tally.differences


def reversed_components(places):
    def performed(inside: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        group, component = places(inside, width)
        return group, width - 1 - component

    return performed


def test_components_in_reverse_order_are_found() -> None:
    always = {chosen_groups: lambda _: lambda seed, site, instance, count: np.ones(count, bool)}
    assert judged(120, Faults(operations={**always, places_in_groups: reversed_components})).differences
