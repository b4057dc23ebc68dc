"""Devices that make pipelines and dispatch nothing."""

from __future__ import annotations

import subprocess
import sys
from types import MappingProxyType

import pytest

from cts import judges
from cts.devices.compile_only.chips import chip_named, find
from cts.devices.compile_only.missing import NotInstalled
from cts.devices.device import DeviceError, NoSuchDevice, compiling
from cts.devices.layout_conversion import missing_for
from cts.devices.listing import DeviceListing, VulkanDevices
from cts.devices.spec import DeviceSpec
from cts.engine import each_chip
from cts.engine.each_chip import OtherDevices, check_named, chips_of, run_each
from cts.engine.plan import OptionError, checked_settings
from cts.engine.runner import judge
from cts.judges import choose
from cts.signals import Ended, ending
from cts.verdict.verdict import Verdict
from generators.casebook import expand
from generators.kernel import Dispatch, Kernel, Outcome
from tests.runner.conftest import Scripted, holding
from tests.suite import REPOSITORY, casebook

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


def test_a_variable_that_names_no_driver_is_named_instead_of_a_package(tmp_path):
    with pytest.raises(DeviceError) as raised:
        find(chip_named("gfx1201"), {"VK_DRIVER_FILES": str(tmp_path / "none.json")})
    assert "VK_DRIVER_FILES" in str(raised.value)
    assert not isinstance(raised.value, NotInstalled)


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

    monkeypatch.setattr(each_chip, "_run", lambda command: commands.append(command[3:]) or 0)
    arguments = ["cts", "--device", "compile-only:bmg", "-k", "muladd", "--device=compile-only:lnl", "--report-dir", "out"]
    arguments.append("--junitxml=out/junit.xml")
    assert run_each(("bmg", "lnl"), arguments, tmp_path, "cache") == 0
    assert commands == [
        [
            *("cts", "-k", "muladd", f"--junitxml=out/junit.{chip}.xml", f"--device=compile-only:{chip}"),
            *(f"--override-ini=cache_dir=cache/{chip}", f"--report-dir={tmp_path / chip}"),
        ]
        for chip in ("bmg", "lnl")
    ]
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[-3:]] == [["chip", "rows"], ["bmg", "-"], ["lnl", "-"]]


@pytest.mark.parametrize(
    ("codes", "worst"),
    [((0, 0), 0), ((5, 0), 5), ((1, 5), 1), ((0, -9), 2), ((2, 1), 2), ((4, 5), 4)],
)
def test_the_exit_code_of_several_chips_is_the_worst_one(codes, worst, monkeypatch):
    left = iter(codes)
    monkeypatch.setattr(each_chip, "_run", lambda command: next(left))
    assert run_each(("bmg", "lnl"), [], None, "cache") == worst


def test_the_first_chip_with_a_failure_can_be_the_last(monkeypatch):
    commands = []
    monkeypatch.setattr(each_chip, "_run", lambda command: commands.append(command) or 1)
    assert (run_each(("bmg", "lnl"), [], None, "cache", stops=True), len(commands)) == (1, 1)


def test_chips_that_the_run_of_each_chip_would_read_again_are_refused():
    check_named(("compile-only:bmg", "compile-only:lnl"), ["cts", "--device", "compile-only:bmg", "--device=compile-only:lnl"])
    with pytest.raises(OtherDevices):
        check_named(("compile-only:bmg", "compile-only:lnl"), ["cts", "@devices"])


def test_a_signal_reaches_the_run_of_a_chip_once_and_the_run_ends_in_its_own_way(tmp_path):
    """The run ends with its report; it would die without one by a second signal, or by SIGKILL."""
    program = """if True:
        import os, pathlib, signal, sys, threading
        def end(number, frame):
            signal.signal(number, signal.SIG_DFL)
            threading.Event().wait(0.5)
            pathlib.Path(sys.argv[1]).touch()
            sys.exit(2)
        signal.signal(signal.SIGTERM, end)
        os.kill(os.getppid(), signal.SIGTERM)
        threading.Event().wait(60)
    """
    with ending(), pytest.raises(Ended):
        each_chip._run([sys.executable, "-c", program, str(tmp_path / "report")])
    assert (tmp_path / "report").exists()


def test_a_run_without_a_cache_gives_its_chips_none(monkeypatch):
    commands = []
    monkeypatch.setattr(each_chip, "_run", lambda command: commands.append(command) or 0)
    run_each(("bmg",), [], None, "")
    assert not any(argument.startswith("--override-ini") for argument in commands[0])


@pytest.mark.parametrize("options", [(), ("-p", "no:cacheprovider")])
def test_the_command_line_takes_several_chips(options):
    """Without a driver, the run of each chip says what to install. With one, it has no case to judge."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "cts",
        "-k",
        "no_such_case",
        "--device=compile-only:bmg",
        "--device=compile-only:lnl",
        *options,
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode in (2, 5), done.stdout + done.stderr
    assert "chips were judged one after another: bmg, lnl" in done.stdout + done.stderr
