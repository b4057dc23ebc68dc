"""``--device executed:CHIP``."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from cts import judges
from cts.devices.compile_only.chips import load_chips
from cts.devices.executed.gpu import GENERATIONS
from cts.devices.listing import DeviceListing, VulkanDevices
from cts.devices.spec import DeviceSpec
from cts.engine.plan import OptionError, checked_settings
from cts.judges import choose

OPTIONS = dict.fromkeys(("tier", "device", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"))
VARIABLES = {"LD_PRELOAD": "/submissions.so /null.so"}


@pytest.fixture
def machine(describe, monkeypatch):
    """Make the machine offer the chip gfx1201 to a process with these variables."""

    def listed(seconds: float, environment=MappingProxyType({})) -> VulkanDevices:
        spec = DeviceSpec("vulkan", "aa", environment=tuple(environment.items()))
        found = describe(name="RADV GFX1201", limits={"queueFlags": 7}, features={"rayTracingPipeline": True}, extra={"type": "discrete"})
        return VulkanDevices((DeviceListing(spec, found, 0),) if environment == VARIABLES else ())

    monkeypatch.setattr(judges, "executing", lambda name: VARIABLES if name == "gfx1201" else {})
    monkeypatch.setattr(judges, "list_vulkan", listed)


def test_the_description_says_that_it_is_a_model_on_the_cpu(machine):
    choice = choose("executed:gfx1201")
    assert choice.description.name == "RADV GFX1201, executed by this suite's model of RDNA4"
    assert choice.description.extra["type"] == "cpu"
    assert choice.description.modelled == (
        f"RADV GFX1201, {choice.description.driver}, executed by this suite's model of RDNA4: says what the compiled code computes, "
        "nothing about the chip"
    )
    assert not choice.description.compiles_only
    assert not choice.description.features["rayTracingPipeline"]


def test_it_is_opened_by_its_chip(machine):
    spec = choose("executed:gfx1201").spec
    assert (spec.chip, spec.compiles_only, dict(spec.environment), spec.selector) == ("gfx1201", False, VARIABLES, "executed:gfx1201")


def test_its_queues_do_not_draw(machine):
    assert not choose("executed:gfx1201").description.limits["queueFlags"] & 1


def test_a_dispatch_runs_once_because_repeating_shows_nothing(machine):
    assert checked_settings({**OPTIONS, "device": "executed:gfx1201"}).rounds == 1


def test_it_needs_its_own_process(machine):
    with pytest.raises(OptionError, match="--isolation off"):
        checked_settings({**OPTIONS, "device": "executed:gfx1201", "isolation": "off"})


def test_every_chip_of_radv_has_a_generation():
    assert {chip.name for chip in load_chips().values() if chip.driver.name == "radv"} == set(GENERATIONS)
