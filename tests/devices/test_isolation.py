from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cts.devices.choose import DeviceSpec
from cts.devices.device import (
    DeviceCrash,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    MatrixRow,
    ValidationMessage,
)
from cts.devices.isolation import IsolatedDevice
from generators.kernel import Dispatch, Kernel


def _spec(factory: str = "obedient") -> DeviceSpec:
    return DeviceSpec("factory", f"fake_devices:{factory}")


def _kernel(order: str) -> Kernel:
    return Kernel(b"", (), entry_point=order)


CONTENTS = np.arange(1000, dtype=np.uint8)
DISPATCHES = [Dispatch(b"", (CONTENTS,))]


@pytest.fixture
def device() -> Iterator[IsolatedDevice]:
    device = IsolatedDevice(_spec(), 20.0)
    yield device
    device.close()


def _who(device: IsolatedDevice, order: str = "work") -> tuple[int, int]:
    """Process and number of the run."""
    (outcome,) = device.run(_kernel(order), DISPATCHES)
    return int(outcome.outputs["out"][0]), int(outcome.outputs["out"][1])


def test_it_answers_as_the_device_does(device):
    assert device.description.name == "fake"
    (outcome,) = device.run(_kernel("work"), DISPATCHES)
    np.testing.assert_array_equal(outcome.outputs["in"], CONTENTS)
    assert outcome.outputs["out"][0] != os.getpid()
    assert device.last_steps["pipeline"] == 0.25
    assert device.last_steps["dispatch"] == 0.5


def test_opening_is_told_apart_from_the_run_that_needed_it(device):
    _who(device)
    assert device.last_steps.pop("open") > 0
    _who(device)
    assert "open" not in device.last_steps


def test_what_is_missing_is_known_without_a_child(muladd, describe):
    device = IsolatedDevice(_spec("nonexistent"), 20.0, describe(MatrixRow(8, 4, 16, "f16", "f16", "f32", "f32", False, 3)))
    assert device.missing(muladd(8, 4, 16)) == ""
    assert device.missing(muladd(16, 4, 16)) == "no property row for A f16 16x16 at subgroup scope"


def test_one_child_serves_many_runs(device):
    first, second = _who(device), _who(device)
    assert second == (first[0], first[1] + 1)


def test_a_child_that_dies_is_a_crash_of_that_run_alone(device):
    before = _who(device)
    with pytest.raises(DeviceCrash, match=r"run: the process that held the device ended by SIGSEGV\n(.|\n)*famous last words") as crash:
        device.run(_kernel("kill_itself"), DISPATCHES)
    assert crash.value.verdict == "crash"
    after = _who(device)
    assert after[0] != before[0]
    assert after[1] == 1


def test_a_crash_tells_the_exit_status(device):
    with pytest.raises(DeviceCrash, match="exited with status 3"):
        device.run(_kernel("exit"), DISPATCHES)


def test_a_child_that_dies_between_runs_is_no_crash_of_the_next(device):
    before = _who(device)
    os.kill(before[0], signal.SIGKILL)
    with pytest.warns(RuntimeWarning, match="after its last answer: the process that held the device ended by SIGKILL"):
        after = _who(device)
    assert after[0] != before[0]


def test_a_child_that_hangs_is_ended():
    device = IsolatedDevice(_spec(), 0.5)
    before = _who(device)
    begin = time.monotonic()
    with pytest.raises(DeviceTimeout, match=r"run: no answer within 0\.5 s"):
        device.run(_kernel("hang"), DISPATCHES)
    assert time.monotonic() - begin < 5
    with pytest.raises(ProcessLookupError):
        os.kill(before[0], 0)
    assert _who(device)[0] != before[0]
    device.close()


@pytest.mark.parametrize(("order", "where"), [("hang_in_step", " while the shader ran"), ("hang_after_step", ""), ("hang", "")])
def test_a_timeout_names_the_step_that_did_not_end(order, where):
    device = IsolatedDevice(_spec(), 0.5)
    _who(device)
    with pytest.raises(DeviceTimeout, match=rf"^run: no answer within 0\.5 s{where}; the process"):
        device.run(_kernel(order), DISPATCHES)
    device.close()


def test_a_crash_names_the_step_in_which_it_happened(device):
    with pytest.raises(DeviceCrash, match=r"^run: the process that held the device ended by SIGSEGV while the pipeline was made(\n|$)"):
        device.run(_kernel("kill_itself_in_step"), DISPATCHES)
    assert _who(device, "step") != _who(device)


def test_a_lost_device_is_opened_anew(device):
    before = _who(device)
    with pytest.raises(DeviceLost, match="VK_ERROR_DEVICE_LOST"):
        device.run(_kernel("lose"), DISPATCHES)
    assert _who(device)[0] != before[0]


@pytest.mark.parametrize(
    ("order", "kind", "text"), [("refuse", DriverRefused, "VK_ERROR_UNKNOWN"), ("complain", ValidationMessage, "VUID-1\nVUID-2")]
)
def test_a_refusal_leaves_the_device_open(order, kind, text, device):
    before = _who(device)
    with pytest.raises(kind, match=text):
        device.run(_kernel(order), DISPATCHES)
    assert _who(device)[0] == before[0]


def test_what_the_device_raises_comes_back_with_its_traceback(device):
    before = _who(device)
    with pytest.raises(DeviceFailure, match=r"ZeroDivisionError: in the middle\nTraceback(.|\n)*do_raise") as failure:
        device.run(_kernel("raise"), DISPATCHES)
    assert failure.value.verdict == "error"
    assert _who(device)[0] != before[0]


def test_what_a_driver_prints_disturbs_nothing(device, capfd):
    _who(device, "print")
    _who(device)
    assert capfd.readouterr() == ("", "")


def test_a_device_that_cannot_be_opened_is_an_error_of_one_line():
    with pytest.raises(DeviceError, match="no such device: use another"):
        _ = IsolatedDevice(_spec("cannot_open"), 20.0).description


def test_a_device_that_crashes_when_opened_cannot_be_opened():
    device = IsolatedDevice(_spec("dies_on_open"), 20.0)
    with pytest.raises(DeviceError, match=r"the device cannot be opened: open: .* SIGABRT"):
        _ = device.description
    with pytest.raises(DeviceCrash):
        device.run(_kernel("work"), DISPATCHES)


def test_a_device_that_does_not_close_is_ended():
    device = IsolatedDevice(_spec("hangs_on_close"), 0.5)
    pid, _ = _who(device)
    begin = time.monotonic()
    device.close()
    assert time.monotonic() - begin < 5
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_child_does_not_outlive_a_killed_parent():
    source = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from cts.devices.choose import DeviceSpec
from cts.devices.isolation import IsolatedDevice
from generators.kernel import Kernel, Dispatch
import threading, numpy
device = IsolatedDevice(DeviceSpec("factory", "fake_devices:obedient"), 30.0)
dispatches = [Dispatch(b"", (numpy.zeros(1, numpy.uint8),))]
print(device.run(Kernel(b"", (), entry_point="work"), dispatches)[0].outputs["out"][0], flush=True)
device.run(Kernel(b"", (), entry_point="hang"), dispatches)
"""
    parent = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while _alive(child):
        assert time.monotonic() < deadline, "the child is still there"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    """Whether the process runs; an orphan may stay a zombie where nobody reaps it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
