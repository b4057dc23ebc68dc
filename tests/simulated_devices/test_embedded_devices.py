"""Legal devices that only whole modules show: other numbers of rows, and another place of each element."""

from __future__ import annotations

import pytest

from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.matrices.array_conversion import placed
from cts.embedded.machine.elements import MAPPINGS
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.verdict.effort import Budget, Effort
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from tests.suite import casebook

ROWS = "array_conversion[component:f16/lines:three_quarters/width:half]"


def verdict(id_: str, device: EmbeddedDevice) -> Verdict:
    return judge(find_case(casebook(), id_), DeviceHolder(lambda: device), "spirv", "nightly", effort=Effort(budget=Budget(0))).verdict


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(
    "id_",
    [
        "elements[row:8x8x8.f16.f16.f32.f32/action:in_place/condition:odd_lane/leading:1/operand:buffer]",
        "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]",
    ],
)
def test_a_device_may_give_any_invocation_an_element(id_, mapping):
    assert verdict(id_, EmbeddedDevice(load_profile("universal"), mapping=mapping)) is Verdict.PASS


def rows_of_a_power_of_two(place):
    """Leave out the rows beyond half of the subgroup."""

    def broken(type_, lines, arrays):
        arrays = arrays.copy()
        arrays[:, 32:48] = arrays[:, :16]
        return place(type_, lines, arrays)

    return broken


@pytest.mark.parametrize(
    ("faults", "expected"), [(NO_FAULTS, Verdict.PASS), (Faults(operations={placed: rows_of_a_power_of_two}), Verdict.FAIL)]
)
def test_an_accumulator_of_48_rows_is_legal(faults, expected):
    assert verdict(ROWS, EmbeddedDevice(load_profile("adreno"), faults=faults)) is expected
