"""Commands on a device that makes pipelines and dispatches nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts import judges
from cts.cli import main
from cts.commands import fuzz, minimise, repro, run_module
from cts.devices.device import compiling
from cts.devices.spec import DeviceSpec
from cts.engine.plan import checked_settings
from cts.judges import Choice
from tests.run_module.test_jobs import JOBS
from tests.runner.conftest import Scripted, holding
from tests.twins.test_judging import ROTATED, Lister, _code, _gfx1201

DEVICE = ["--device", "compile-only:gfx1201"]
CHOICE = Choice(DeviceSpec("vulkan", "aa", chip="gfx1201", compiles_only=True), compiling(Scripted.description), "named")


@pytest.fixture(autouse=True)
def missing_load(monkeypatch):
    """Make the code of one case lack a load, and the code of all its neighbours load enough."""

    def settings(options):
        return replace(checked_settings({**options, "device": "embedded"}), spec=CHOICE.spec, description=CHOICE.description)

    def opened(_):
        return holding(Lister(ROTATED, lambda own: _gfx1201(_code(7 if own else 8))))

    for command in (repro, minimise):
        monkeypatch.setattr(command, "open_holder", opened)
    for command in (repro, minimise, fuzz):
        monkeypatch.setattr(command, "checked_settings", settings)
    for module in (judges, run_module):
        monkeypatch.setattr(module, "choose", lambda device: CHOICE)


def test_a_reproduction_says_which_load_is_missing(tmp_path, capsys):
    assert main(["repro", ROTATED, str(tmp_path / "repro"), *DEVICE]) == 1
    assert "fail.missing_load" in capsys.readouterr().out


def test_a_case_with_a_missing_load_is_minimised(capsys):
    assert main(["minimise", ROTATED, *DEVICE]) == 0
    assert "fail.missing_load on" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [("fuzz", "maintenance1", "--count", "1"), ("run-module", str(JOBS[0].with_suffix(".spv")), str(JOBS[0]), "--no-examine")]
)
def test_a_command_that_compares_results_needs_a_device_that_runs_shaders(command, capsys):
    assert main([*command, *DEVICE]) == 2
    assert "another" in capsys.readouterr().err
