"""Devices that make pipelines and dispatch nothing."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from cts import judges
from cts.devices.compile_only.chips import find
from cts.devices.compile_only.missing import NotInstalled
from cts.devices.device import DeviceError, NoSuchDevice, compiling
from cts.devices.layout_conversion import missing_for
from cts.devices.listing import DeviceListing, VulkanDevices
from cts.devices.spec import DeviceSpec
from cts.engine import each_chip
from cts.engine.each_chip import OtherDevices, chips_of, run_each
from cts.engine.plan import OptionError, checked_settings
from cts.engine.runner import judge
from cts.judges import choose
from cts.verdict.verdict import Verdict
from generators.casebook import expand
from generators.kernel import Dispatch, Kernel, Outcome
from tests.runner.conftest import Scripted, holding
from tests.suite import casebook

OPTIONS = dict.fromkeys(("tier", "device", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"))
NO_OP = {"VK_DRIVER_FILES": "/radeon_icd.json", "AMDGPU_GPU_ID": "gfx1201", "LD_PRELOAD": "/libnoop.so"}


@pytest.fixture
def machine(describe, monkeypatch):
    """Make the machine offer one device to a process with the variables of the chip gfx1201, and none to others."""

    def listed(seconds: float, environment=MappingProxyType({})) -> VulkanDevices:
        if environment != NO_OP:
            return VulkanDevices(absent="no driver")
        spec = DeviceSpec("vulkan", "aa", environment=tuple(environment.items()))
        return VulkanDevices((DeviceListing(spec, describe(name="RADV GFX1201"), 0),))

    monkeypatch.setattr(judges, "find", lambda chip: NO_OP if chip.name == "gfx1201" else find(chip, {}))
    monkeypatch.setattr(judges, "list_vulkan", listed)


class Compiler(Scripted):
    """A device that compiles only, and counts its dispatches."""

    description = compiling(Scripted.description)

    def __init__(self) -> None:
        super().__init__(lambda _: [])
        self.dispatches = 0

    def run(self, kernel: Kernel, dispatches: tuple[Dispatch, ...]) -> list[Outcome]:
        self.dispatches += len(dispatches)
        return super().run(kernel, dispatches)


def test_a_case_whose_pipelines_were_made_is_compiled_and_nothing_is_dispatched():
    device = Compiler()
    result = judge(expand(casebook().family("load_store"), "smoke")[0], holding(device), "spirv", "smoke")
    assert (result.verdict, result.subcases, device.runs, device.dispatches) == (Verdict.COMPILED, 0, 1, 0)


def test_a_chip_is_judged_in_a_process_with_its_variables(machine):
    choice = choose("compile-only:gfx1201")
    assert choice.description.name == "RADV GFX1201 (compile-only:gfx1201)"
    assert choice.description.compiles_only
    assert (dict(choice.spec.environment), choice.spec.compiles_only, choice.spec.selector) == (NO_OP, True, "compile-only:gfx1201")


def test_a_chip_is_never_chosen_unless_it_is_named(machine):
    assert choose(None).description.kind == "embedded"


def test_a_chip_without_its_driver_names_the_package(machine, monkeypatch):
    monkeypatch.setattr("cts.devices.driver_files.find", lambda environment: [])
    with pytest.raises(NotInstalled) as raised:
        choose("compile-only:nvk-ampere")
    assert "mesa-vulkan-drivers" in {package for part in raised.value.missing for package in part.packages}


def test_an_unknown_chip_names_the_known_ones(machine):
    with pytest.raises(DeviceError) as raised:
        choose("compile-only:navi99")
    assert "navi31" in str(raised.value)


def test_a_chip_needs_its_own_process(machine):
    with pytest.raises(OptionError):
        checked_settings({**OPTIONS, "device": "compile-only:gfx1201", "isolation": "off"})


def test_only_a_vulkan_device_can_be_asked_to_compile_alone():
    with pytest.raises(NoSuchDevice):
        checked_settings({**OPTIONS, "device": "embedded", "compile_only": True})


def test_a_command_that_the_device_would_run_is_not_supported(describe):
    description = compiling(describe(features="cooperativeVector"))
    assert missing_for(description, (), ["host"]) is None
    assert missing_for(description, (), ["host", "device"]).code == "missing.judge.conversion"


@pytest.mark.parametrize(
    ("devices", "chips"),
    [
        ((), ()),
        (("embedded",), ()),
        (("compile-only:gfx1201",), ()),
        (("compile-only:gfx1201", "compile-only:bmg", "compile-only:gfx1201"), ("gfx1201", "bmg")),
    ],
)
def test_several_chips_are_judged_one_after_another(devices, chips):
    assert chips_of(devices) == chips


def test_no_other_device_is_judged_beside_several_chips():
    with pytest.raises(OtherDevices):
        chips_of(("compile-only:all", "embedded"))


def test_each_chip_has_a_run_with_the_same_arguments_and_its_own_reports(monkeypatch, tmp_path, capsys):
    commands = []

    ended = each_chip.subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(each_chip.subprocess, "run", lambda command, check: commands.append(command[3:]) or ended)
    arguments = ["cts", "--device", "compile-only:bmg", "-k", "muladd", "--device=compile-only:lnl", "--report-dir", "out"]
    assert run_each(("bmg", "lnl"), arguments, tmp_path) == 0
    assert commands == [
        ["cts", "-k", "muladd", f"--device=compile-only:{chip}", f"--report-dir={tmp_path / chip}"] for chip in ("bmg", "lnl")
    ]
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[-3:]] == [["chip", "rows"], ["bmg", "-"], ["lnl", "-"]]
