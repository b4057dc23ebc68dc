"""Several devices in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cts import judges
from cts.devices.device import NoSuchDevice
from cts.devices.listing import DeviceListing, VulkanDevices
from cts.devices.spec import DeviceSpec
from cts.engine import groups
from cts.engine.groups import checked_groups, group_of
from cts.engine.plan import OptionError
from cts.opening import open_device
from tests.suite import REPOSITORY

PROFILES = REPOSITORY / "cts" / "embedded" / "profiles"


def options(*devices: str) -> dict[str, Any]:
    none = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"))
    return none | {"device": list(devices) or None}


@pytest.fixture
def second(tmp_path: Path) -> str:
    """Make a second device like the universal one."""
    path = tmp_path / "second.yaml"
    path.write_text(
        (PROFILES / "universal.yaml").read_text(encoding="utf-8").replace("name: embedded", "name: second", 1), encoding="utf-8"
    )
    return f"embedded:{path}"


def test_one_device_is_one_group_without_a_name() -> None:
    assert [group.unit for group in checked_groups(options("embedded"))] == [""]


def test_each_device_has_a_group_that_names_it(second: str) -> None:
    found = checked_groups(options("embedded", second, "embedded"))
    assert [group.unit for group in found] == ["0:embedded", f"1:{second}", "2:embedded"]
    assert [group.description.name for group in found] == ["embedded", "second", "embedded"]


def test_devices_that_are_not_alike_are_refused() -> None:
    with pytest.raises(OptionError):
        checked_groups(options("embedded", "embedded:llvmpipe"))


@pytest.mark.parametrize("count", [1, 2])
def test_all_means_every_vulkan_device_with_cooperative_matrices(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    plain = open_device(DeviceSpec("embedded", "universal")).description
    listings = [DeviceListing(DeviceSpec("embedded", "universal"), plain, number) for number in range(count)]
    monkeypatch.setattr(judges, "list_vulkan", lambda seconds: VulkanDevices(tuple(listings)))
    assert len(checked_groups(options(groups.ALL))) == count


def test_all_without_any_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "list_vulkan", lambda seconds: VulkanDevices(absent="no loader"))
    with pytest.raises(NoSuchDevice):
        checked_groups(options(groups.ALL))


def test_workers_are_dealt_out_in_turn() -> None:
    assert [group_of(f"gw{number}", 3) for number in range(7)] == [0, 1, 2, 0, 1, 2, 0]
    assert group_of("master", 3) == 0
