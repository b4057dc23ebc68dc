from __future__ import annotations

from dataclasses import replace

import pytest

from cts import judges as module
from cts.devices.device import DeviceError
from cts.devices.listing import BrokenDevice, DeviceListing, VulkanDevices
from cts.devices.spec import DeviceSpec
from cts.engine.plan import OptionError, checked_settings
from cts.judges import AmbiguousDevice, BrokenDriver, Choice, choose


@pytest.fixture
def offer(describe, monkeypatch):
    """Make the machine offer these Vulkan devices: (name, type, has cooperative matrices)."""

    def make(*devices: tuple[str, str, bool], reason: str = "", broken: tuple[BrokenDevice, ...] = ()) -> None:
        listings = tuple(
            DeviceListing(
                DeviceSpec("vulkan", f"{index:032x}", index),
                describe(name=name, uuid=f"{index:032x}", extra={"type": type_}, without="" if able else "cooperativeMatrix"),
                index,
            )
            for index, (name, type_, able) in enumerate(devices)
        )
        monkeypatch.setattr(module, "list_vulkan", lambda seconds: VulkanDevices(listings, broken, reason))
        monkeypatch.setattr(module, "list_profiles", lambda: ["universal", "small"])
        monkeypatch.setattr(
            module,
            "_embedded",
            lambda profile: DeviceListing(DeviceSpec("embedded", profile), replace(describe(name=f"embedded {profile}"), kind="embedded")),
        )

    return make


def _name(choice: Choice) -> str:
    return choice.description.name


def test_the_best_device_with_cooperative_matrices_is_taken(offer):
    offer(("llvmpipe", "cpu", True), ("laptop", "integrated", True), ("big", "discrete", False), ("card", "discrete", True))
    choice = choose(None)
    assert _name(choice) == "card"
    assert choice.why == "discrete, the best of 3 Vulkan devices with cooperative matrices"


@pytest.mark.parametrize(("step_timeout", "seconds"), [(None, 60), ("5", 60), ("300", 300)])
def test_a_submission_may_take_as_long_as_a_step(offer, step_timeout, seconds):
    offer(("card", "discrete", True))
    options = dict.fromkeys(("tier", "device", "front_end", "validation", "embedded_mapping", "isolation")) | {"step_timeout": step_timeout}
    assert checked_settings(options).spec.submission_seconds == seconds


def test_a_uuid_of_several_devices_must_be_replaced_by_a_number(offer, describe, monkeypatch):
    twins = tuple(DeviceListing(DeviceSpec("vulkan", "aa", number, number=number), describe(uuid="aa"), number) for number in range(2))
    monkeypatch.setattr(module, "list_vulkan", lambda seconds: VulkanDevices(twins))
    with pytest.raises(AmbiguousDevice) as raised:
        choose("aa")
    assert raised.value.numbers == (0, 1)
    assert choose("1").spec.index == 1


def test_without_a_loader_the_embedded_device_is_taken_and_says_so(offer):
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    choice = choose(None)
    assert choice.spec == DeviceSpec("embedded", "universal")
    assert choice.why == "no Vulkan device to judge: no Vulkan loader (libvulkan.so.1)"
    because = "no Vulkan loader (libvulkan.so.1)"
    assert choice.fallback == f"no Vulkan device was judged, only the embedded device, which needs no driver: {because}"


def test_nothing_replaces_a_device_that_was_named(offer):
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    assert choose("embedded").fallback == ""


def settings(**given):
    return checked_settings(
        dict.fromkeys(("tier", "device", "front_end", "validation", "embedded_mapping", "isolation", "step_timeout")) | given
    )


def test_the_fallback_device_takes_a_drivers_options(offer):
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    assert not settings(step_timeout="5").isolated
    with pytest.raises(OptionError, match="--step-timeout 5"):
        settings(step_timeout="5", device="embedded")


@pytest.mark.parametrize("device", [None, "embedded"])
def test_there_is_no_fallback_if_vulkan_is_required(offer, device):
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    with pytest.raises(OptionError, match="--require-vulkan: there is no Vulkan device to judge"):
        settings(require_vulkan=True, device=device)


@pytest.mark.parametrize("ci", ["true", "1"])
def test_in_continuous_integration_nothing_replaces_a_vulkan_device(offer, monkeypatch, ci):
    monkeypatch.setenv("CI", ci)
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    with pytest.raises(OptionError, match="--device embedded"):
        settings(require_vulkan=False)


@pytest.mark.parametrize(
    ("ci", "given"), [("true", {"device": "embedded", "require_vulkan": False}), ("false", {"require_vulkan": False}), ("true", {})]
)
def test_elsewhere_or_if_named_or_without_a_verdict_on_a_driver_the_embedded_device_is_judged(offer, monkeypatch, ci, given):
    monkeypatch.setenv("CI", ci)
    offer(reason="no Vulkan loader (libvulkan.so.1)")
    assert settings(**given).spec.kind == "embedded"


BROKEN = BrokenDevice(1, "", "ended by SIGSEGV")


def test_a_device_that_does_not_say_what_it_is_is_never_passed_over_in_silence(offer):
    offer(("llvmpipe", "cpu", True), broken=(BROKEN,))
    with pytest.raises(BrokenDriver) as error:
        choose(None)
    assert error.value.devices == (BROKEN,)


def test_a_device_that_does_not_say_what_it_is_hides_no_other_that_is_named(offer):
    offer(("llvmpipe", "cpu", True), broken=(BROKEN,))
    assert _name(choose("llvm")) == "llvmpipe"
    assert _name(choose("0")) == "llvmpipe"
    with pytest.raises(BrokenDriver) as error:
        choose("1")
    assert error.value.devices == (BROKEN,)


def test_a_device_without_cooperative_matrices_is_not_taken(offer):
    offer(("old", "discrete", False))
    assert choose(None).why == "no Vulkan device to judge: none of old has cooperative matrices"


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("1", "NVIDIA H200"),
        ("h200", "NVIDIA H200"),
        ("200", "NVIDIA H200"),
        (f"{0:032x}", "llvmpipe (LLVM 21)"),
        ("00000000-0000-0000-0000-000000000001", "NVIDIA H200"),
        ("LLVMPIPE", "llvmpipe (LLVM 21)"),
        ("embedded", "embedded universal"),
        ("embedded:small", "embedded small"),
    ],
)
def test_a_device_is_found_by_any_of_its_names(selector, name, offer):
    offer(("llvmpipe (LLVM 21)", "cpu", True), ("NVIDIA H200", "discrete", True))
    assert _name(choose(selector)) == name


def test_equal_devices_are_not_ambiguous_and_different_ones_are(offer):
    offer(("NVIDIA H200", "discrete", True), ("NVIDIA H200", "discrete", True))
    assert choose("nvidia").spec.index == 0
    offer(("NVIDIA H200", "discrete", True), ("NVIDIA T4", "discrete", True))
    with pytest.raises(AmbiguousDevice) as error:
        choose("nvidia")
    assert error.value.numbers == (0, 1)


def test_an_unknown_device_names_those_that_there_are(offer):
    offer(("llvmpipe", "cpu", True))
    with pytest.raises(DeviceError) as error:
        choose("radeon")
    known = "0 (llvmpipe), embedded, embedded:universal, embedded:small, spirv-val"
    assert str(error.value) == f"--device radeon: no such device; there are: {known}"
