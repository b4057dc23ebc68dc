from __future__ import annotations

import threading

import pytest

from cts.devices import driver_files, listing
from cts.devices.device import DeviceCrash, DeviceError, NoVulkan
from cts.devices.listing import VulkanDevices, begin_listing, list_vulkan

FOUND = "querying a Vulkan device"


class Machine:
    """Starts children like a machine with these drivers.

    Args:
        drivers: driver manifest -> the descriptions of its devices, or the exceptions that requests for them raise. A driver that cannot
            list its devices has an exception instead of a list.
    """

    def __init__(self, drivers: dict[str, list | Exception]) -> None:
        self.drivers = drivers
        self.started = 0
        self.closed = 0

    def start(self, environment):
        self.started += 1
        machine, chosen = self, environment.get(driver_files.VARIABLE)

        class Child:
            def ask(self, request, seconds, step):
                name, *arguments = request
                parts = [part for manifest, part in machine.drivers.items() if chosen in (None, manifest)]
                for part in parts:
                    if isinstance(part, Exception):
                        raise part
                devices = [device for part in parts for device in part]
                if name == "count_vulkan":
                    if not devices:
                        raise NoVulkan("the Vulkan loader knows no device")
                    return len(devices)
                answer = devices[arguments[0]]
                if isinstance(answer, Exception):
                    raise answer
                return answer

            def close(self):
                machine.closed += 1

        return Child()


@pytest.fixture
def ask(monkeypatch):
    def ask_machine(drivers, loader: bool = True) -> tuple[VulkanDevices, Machine]:
        machine = Machine(drivers)

        def check() -> None:
            if not loader:
                raise NoVulkan("no Vulkan loader (libvulkan.so.1)")

        monkeypatch.setattr(listing, "_check_loader", check)
        monkeypatch.setattr(driver_files, "find", lambda environment: list(drivers))
        found = list_vulkan(1.0, machine.start)
        for thread in threading.enumerate():
            if thread.name == listing.ENDS:
                thread.join()
        return found, machine

    return ask_machine


def named(found: VulkanDevices) -> list[tuple[int, str, int]]:
    return [(one.number, one.description.name, one.spec.index) for one in found.devices]


def test_devices_are_numbered_in_the_loaders_order_by_one_child(ask, describe):
    found, machine = ask({"a": [describe(name="one"), describe(name="two")]})
    assert named(found) == [(0, "one", 0), (1, "two", 1)]
    assert (machine.started, machine.closed) == (1, 1)


def test_only_devices_that_share_a_uuid_are_told_apart_by_their_numbers(ask, describe):
    found, _ = ask({"a": [describe(uuid="aa"), describe(uuid="bb"), describe(uuid="aa")]})
    assert [one.spec.number for one in found.devices] == [0, -1, 2]
    assert [one.spec.selector for one in found.devices] == ["0", "bb", "2"]


def test_a_device_that_crashes_when_asked_hides_no_other(ask, describe):
    found, machine = ask({"a": [describe(name="one"), DeviceCrash("ended by SIGSEGV\nlast words"), describe(name="three")]})
    assert named(found) == [(0, "one", 0), (2, "three", 2)]
    assert [(one.number, one.why) for one in found.broken] == [(1, "ended by SIGSEGV")]
    assert machine.started == 2


def test_a_device_that_refuses_in_order_costs_no_further_child(ask, describe):
    found, machine = ask({"a": [DeviceError("lists 4,294,967,295 rows"), describe(name="two")]})
    assert named(found) == [(1, "two", 1)]
    assert machine.started == 1


def test_drivers_that_fail_together_are_asked_one_by_one(ask, describe):
    found, _ = ask({"bad": DeviceCrash("ended by SIGSEGV"), "good": [describe(name="one")]})
    assert named(found) == [(0, "one", 0)]
    assert found.devices[0].spec.environment == ((driver_files.VARIABLE, "good"),)
    assert [(one.number, one.driver) for one in found.broken] == [(-1, "bad")]
    assert str(found.broken[0]) == "a Vulkan driver of bad: ended by SIGSEGV"


def test_a_single_driver_that_fails_is_not_asked_twice(ask):
    found, machine = ask({"bad": DeviceCrash("ended by SIGSEGV")})
    assert found.devices == ()
    assert str(found.broken[0]) == "the Vulkan drivers: ended by SIGSEGV"
    assert machine.started == 1


def test_without_a_loader_or_a_device_there_is_nothing_and_nothing_is_broken(ask):
    assert ask({"a": []}, loader=False)[0] == VulkanDevices(absent="no Vulkan loader (libvulkan.so.1)")
    assert ask({"a": []})[0] == VulkanDevices(absent="the Vulkan loader knows no device")


@pytest.fixture
def manifests(tmp_path):
    for name in ("etc/xdg", "share", "home/.local/share", "named"):
        folder = tmp_path / name / "vulkan" / "icd.d"
        folder.mkdir(parents=True)
        (folder / f"{name.replace('/', '_')}.json").touch()
        (folder / "notes.txt").touch()
    return tmp_path


def found_by(environment) -> list[str]:
    return [path.stem for path in driver_files.find(environment) if not str(path).startswith("/etc/vulkan")]


def test_manifests_are_found_where_the_loader_looks(manifests):
    places = {"HOME": f"{manifests}/home", "XDG_CONFIG_DIRS": f"{manifests}/etc/xdg", "XDG_DATA_DIRS": f"{manifests}/share"}
    assert found_by(places) == ["etc_xdg", "home_.local_share", "share"]


def test_named_manifests_are_the_only_ones(manifests):
    named_one = manifests / "named" / "vulkan" / "icd.d"
    places = {"XDG_DATA_DIRS": f"{manifests}/share", driver_files.VARIABLE: f"{named_one}:{named_one / 'named.json'}:/nonexistent.json"}
    assert found_by(places) == ["named"]


def test_a_list_that_was_begun_is_made_while_its_process_does_something_else():
    let = threading.Event()
    listed = begin_listing(lambda: VulkanDevices(absent="asked" if let.wait(60) else "not let"))
    let.set()
    assert listed().absent == "asked"


def test_who_asks_for_a_list_that_was_begun_gets_its_errors():
    error = DeviceError("no process can be started")

    def find() -> VulkanDevices:
        raise error

    with pytest.raises(DeviceError) as raised:
        begin_listing(find)()
    assert raised.value is error
