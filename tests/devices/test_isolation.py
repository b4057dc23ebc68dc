from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cts.devices import child
from cts.devices.child import ChildProcess, DiedIdle
from cts.devices.device import (
    DeviceCrash,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    Garbled,
    MatrixRow,
    NoSuchDevice,
    NoVulkan,
    OutOfMemory,
    Step,
    ValidationMessage,
)
from cts.devices.identity import DeviceChanged
from cts.devices.isolation import CannotOpen, DoesNotStayOpen, IsolatedDevice
from cts.devices.isolation_child import CUT_OFF, _Requests
from cts.devices.messages import Decoder
from cts.devices.patience import Patience
from cts.devices.spec import DeviceSpec
from cts.verdict.codes import Reason
from cts.verdict.machine import ElementPlace, MachineWalk
from generators.kernel import Dispatch, Kernel
from tests.devices.spawned import number_of, wait_for_end


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
    """Return the process and the number of the run."""
    (outcome,) = device.run(_kernel(order), DISPATCHES)
    process, number = outcome.outputs["out"].view(np.int64)
    return int(process), int(number)


def test_it_answers_as_the_device_does(device):
    assert device.description.name == "fake"
    (outcome,) = device.run(_kernel("work"), DISPATCHES)
    np.testing.assert_array_equal(outcome.outputs["in"], CONTENTS)
    assert outcome.outputs["out"].view(np.int64)[0] != os.getpid()
    assert device.last_steps["pipeline"] == 0.25
    assert device.last_steps["dispatch"] == 0.5


def test_statistics_and_listings_of_code_cross_the_boundary(device):
    device.run(_kernel("work"), DISPATCHES)
    assert device.last_statistics == {"compute": {"Instructions": 21, "Occupancy": 0.5, "Spills": False}}
    assert device.last_statistics["compute"]["Spills"] is False
    assert device.listings(_kernel("work")) == {"compute": {"Assembly": "call work"}}
    with pytest.raises(DriverRefused):
        device.run(_kernel("refuse"), DISPATCHES)
    assert device.last_statistics == {}


def test_opening_is_distinguished_from_the_run_that_needed_it(device):
    _who(device)
    assert device.last_steps.pop("open") > 0
    _who(device)
    assert "open" not in device.last_steps


def test_a_device_that_was_opened_before_the_run_costs_the_run_nothing(device):
    device.open()
    _who(device)
    assert "open" not in device.last_steps


def test_missing_needs_are_known_without_a_child(muladd, describe):
    device = IsolatedDevice(_spec("nonexistent"), 20.0, describe(MatrixRow(8, 4, 16, "f16", "f16", "f32", "f32", False, 3)))
    assert device.missing(muladd(8, 4, 16)) is None
    assert device.missing(muladd(16, 4, 16)) == Reason("missing.row.type", "no property row for A f16 16x16 at subgroup scope")


def test_one_child_serves_many_runs(device):
    first, second = _who(device), _who(device)
    assert second == (first[0], first[1] + 1)


def test_a_child_that_dies_is_a_crash_of_that_run_only(device):
    before = _who(device)
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("kill_itself"), DISPATCHES)
    assert "famous last words" in str(crash.value)
    assert crash.value.status == -signal.SIGSEGV
    assert crash.value.verdict == "crash"
    after = _who(device)
    assert after[0] != before[0]
    assert after[1] == 1


def test_a_crash_tells_the_exit_status(device):
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("exit"), DISPATCHES)
    assert crash.value.status == 3


def test_a_child_that_dies_between_runs_is_not_a_crash_of_the_next_run(device):
    before = _who(device)
    os.kill(before[0], signal.SIGKILL)
    after = _who(device)
    assert after[0] != before[0]
    (finding,) = device.close()
    assert finding.step is None
    assert "SIGKILL" in finding.what
    assert device.close() == ()


def test_a_child_that_hangs_is_ended():
    device = IsolatedDevice(_spec(), 0.5)
    before = _who(device)
    begin = time.monotonic()
    with pytest.raises(DeviceTimeout) as timeout:
        device.run(_kernel("hang"), DISPATCHES)
    assert timeout.value.limit == 0.5
    assert time.monotonic() - begin < 5
    with pytest.raises(ProcessLookupError):
        os.kill(before[0], 0)
    assert _who(device)[0] != before[0]
    device.close()


def test_a_shorter_limit_holds_only_within_its_block():
    device = IsolatedDevice(_spec(), 20.0)
    with device.limited(0.5), pytest.raises(DeviceTimeout) as timeout:
        device.run(_kernel("hang"), DISPATCHES)
    assert timeout.value.limit == 0.5
    with device.limited(None):
        device.run(_kernel("work"), DISPATCHES)
    device.close()


def test_the_way_back_crosses_the_boundary(device):
    walk = device.walk(_kernel("work"), DISPATCHES[0], ElementPlace("out", 0, 4), 3)
    assert walk == MachineWalk("out after 3")


@pytest.mark.parametrize(("order", "step"), [("hang_in_step", Step.DISPATCH), ("hang_after_step", None), ("hang", None)])
def test_a_timeout_names_the_step_that_did_not_end(order, step):
    device = IsolatedDevice(_spec(), 0.5)
    _who(device)
    with pytest.raises(DeviceTimeout) as timeout:
        device.run(_kernel(order), DISPATCHES)
    assert (timeout.value.step, timeout.value.limit) == (step, 0.5)
    device.close()


def test_a_crash_names_the_step_in_which_it_happened(device):
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("kill_itself_in_step"), DISPATCHES)
    assert (crash.value.status, crash.value.step) == (-signal.SIGSEGV, Step.PIPELINE)
    assert _who(device, "step") != _who(device)


def test_a_lost_device_is_opened_again(device):
    before = _who(device)
    with pytest.raises(DeviceLost):
        device.run(_kernel("lose"), DISPATCHES)
    assert _who(device)[0] != before[0]


@pytest.mark.parametrize(
    ("order", "kind", "said"),
    [
        ("speak_and_refuse", DriverRefused, ("out of registers",)),
        ("speak_and_die", DeviceCrash, ("Invalid access chain type\\x1b[31m",)),
        ("refuse", DriverRefused, ()),
    ],
)
def test_a_failure_has_what_the_driver_said_in_the_step_that_failed(order, kind, said, device):
    with pytest.raises(kind) as failure:
        device.run(_kernel(order), DISPATCHES)
    assert failure.value.driver_messages == said


@pytest.mark.parametrize("order", ["speak_and_hang", "speak_for_ever"])
def test_a_driver_that_speaks_gets_no_more_time(order):
    with pytest.raises(DeviceTimeout) as timeout:
        _short().run(_kernel(order), DISPATCHES)
    assert len(timeout.value.driver_messages) == 1


def test_messages_between_requests_are_dropped(device):
    before = _who(device, "speak_later")
    assert _who(device) == (before[0], 2)
    with pytest.raises(DriverRefused) as refusal:
        device.run(_kernel("refuse"), DISPATCHES)
    assert refusal.value.driver_messages == ()


@pytest.mark.parametrize(("order", "kind"), [("refuse", DriverRefused), ("complain", ValidationMessage)])
def test_a_refusal_leaves_the_device_open(order, kind, device):
    before = _who(device)
    with pytest.raises(kind):
        device.run(_kernel(order), DISPATCHES)
    assert _who(device)[0] == before[0]


def test_an_exception_of_the_device_comes_back_with_its_traceback(device):
    before = _who(device)
    with pytest.raises(DeviceFailure) as failure:
        device.run(_kernel("raise"), DISPATCHES)
    assert re.search(r"ZeroDivisionError: in the middle\nTraceback(.|\n)*do_raise", str(failure.value))
    assert failure.value.verdict == "error"
    assert _who(device)[0] != before[0]


def test_output_of_a_driver_disturbs_nothing(device, capfd):
    _who(device, "print")
    _who(device)
    assert capfd.readouterr() == ("", "")


def test_a_device_that_cannot_be_opened_is_an_error_of_one_line():
    with pytest.raises(DeviceError) as error:
        _ = IsolatedDevice(_spec("cannot_open"), 20.0).description
    assert str(error.value) == "no such device: use another"


def test_a_device_that_crashes_when_opened_cannot_be_opened():
    device = IsolatedDevice(_spec("dies_on_open"), 20.0)
    for use in (lambda: device.description, lambda: device.run(_kernel("work"), DISPATCHES)):
        with pytest.raises(CannotOpen) as error:
            use()
        assert isinstance(error.value.failure, DeviceCrash)
        assert error.value.failure.status == -signal.SIGABRT
    assert device.close() == ()


def test_a_device_that_does_not_close_is_ended():
    device = IsolatedDevice(_spec("hangs_on_close"), 0.5)
    pid, _ = _who(device)
    begin = time.monotonic()
    device.close()
    assert time.monotonic() - begin < 5
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _short(factory: str = "obedient", seconds: float = 0.5) -> IsolatedDevice:
    return IsolatedDevice(_spec(factory), seconds)


def test_bytes_that_a_driver_writes_to_the_channel_are_a_crash_of_that_run_only(device):
    before = _who(device)
    with pytest.raises(Garbled):
        device.run(_kernel("write_on_every_descriptor"), DISPATCHES)
    assert _who(device)[0] != before[0]
    assert device.close() == ()


@pytest.mark.parametrize("what", ["pickle", "text"])
def test_an_answer_of_another_type_is_garbled_and_runs_no_code(device, what, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FOLDER", str(tmp_path / "made"))
    with pytest.raises(Garbled):
        device.run(_kernel(f"answer_with_a_{what}"), DISPATCHES)
    assert not (tmp_path / "made").exists()
    _who(device)


def test_a_device_that_describes_itself_differently_than_before_is_not_used(device):
    described = device.description
    changed = IsolatedDevice(_spec("lacks_a_feature"), 20.0, described)
    with pytest.raises(DeviceChanged) as raised:
        changed.run(_kernel("work"), DISPATCHES)
    assert [one.name for one in raised.value.differences] == ["features.cooperativeMatrix"]
    assert changed.description == described


def test_bytes_that_a_driver_writes_between_runs_are_a_finding_and_not_a_crash(device):
    before = _who(device, "write_later")
    assert _who(device)[0] != before[0]
    (finding,) = device.close()
    assert finding.step is None
    assert "invalid message" in finding.what


def test_an_answer_that_a_child_sent_before_it_died_is_taken(device):
    before = _who(device, "die_after_answering")
    assert _who(device)[0] != before[0]
    assert [finding.step for finding in device.close()] == [None]


def test_a_second_answer_is_never_taken_for_the_next_one(device):
    before = _who(device, "answer_twice")
    after = _who(device)
    assert after[1] == 1
    assert after[0] != before[0]


def test_a_driver_that_closes_the_channel_crashes_that_run(device):
    _who(device)
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("close_every_descriptor"), DISPATCHES)
    assert crash.value.status == CUT_OFF
    _who(device)


def test_a_driver_that_forks_and_dies_is_a_crash_at_once_and_its_fork_is_ended(device):
    pid, _ = _who(device)
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("fork_and_kill_itself"), DISPATCHES)
    assert crash.value.status == -signal.SIGSEGV
    assert not _group_is_alive(pid)


def test_processes_that_a_driver_started_end_with_its_process():
    device = _short(seconds=20.0)
    pid, fork = _who(device, "fork")
    assert _alive(fork)
    assert device.close() == ()
    assert not _group_is_alive(pid)


def test_a_child_that_exits_with_success_is_also_a_crash(device):
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("exit_with_success"), DISPATCHES)
    assert crash.value.status == 0


def test_the_end_of_a_flood_of_output_is_kept(device):
    with pytest.raises(DeviceCrash) as crash:
        device.run(_kernel("flood"), DISPATCHES)
    assert "the last line" in str(crash.value)
    assert len(str(crash.value)) < 10_000
    assert "27,0" in str(crash.value), "how much there was"


def test_a_flood_of_output_stops_no_clock():
    device = _short()
    _who(device)
    with pytest.raises(DeviceTimeout):
        device.run(_kernel("flood_for_ever"), DISPATCHES)


def test_output_between_runs_blocks_nothing(device):
    before = _who(device, "flood_later")
    assert _who(device) == (before[0], 2)
    assert device.close() == ()


def test_signals_that_end_a_job_are_the_parents_to_handle(device):
    assert _who(device, "raise_terminate") == (*_who(device)[:1], 1)


def test_a_failure_that_spends_the_device_opens_it_again(device):
    before = _who(device)
    with pytest.raises(DriverRefused) as refusal:
        device.run(_kernel("spend"), DISPATCHES)
    assert (refusal.value.step, refusal.value.spent) == (Step.DISPATCH, True)
    assert _who(device)[0] != before[0]


def test_a_device_that_is_out_of_memory_is_opened_again(device):
    before = _who(device)
    with pytest.raises(OutOfMemory) as failure:
        device.run(_kernel("run_out_of_memory"), DISPATCHES)
    assert failure.value.verdict == "resource_error"
    assert _who(device)[0] != before[0]


def test_the_child_is_ended_by_whatever_it_did_not_report(device, monkeypatch):
    before = _who(device)

    def full(self):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(Decoder, "next", full)
        with pytest.raises(MemoryError):
            device.run(_kernel("work"), DISPATCHES)
    assert _who(device)[0] != before[0]


def test_every_step_has_the_whole_limit():
    """Each step is timed separately. The test counts the restarts of the limit instead of using a clock."""
    restarted = []

    class Counted(Patience):
        def restart(self) -> None:
            restarted.append(self)
            super().restart()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(child, "Patience", Counted)
        device = _short(seconds=20.0)
        device.open()
        restarted.clear()
        device.run(_kernel("step"), DISPATCHES)
        device.close()
    run = restarted[0]
    # One restart each for the request, for the part after BEGIN, and for the step.
    assert restarted.count(run) == 3


def test_a_child_that_gets_no_cpu_has_more_time():
    """The fake hangs; the injected measure reports waiting at first, and then none."""
    told = []

    def waiting(pid: int):
        told.append(pid)
        return lambda: 0.4

    with ChildProcess(waiting=waiting) as process:
        process.ask(("open", _spec()), 20.0, "open")
        told.clear()
        with pytest.raises(DeviceTimeout) as timeout:
            process.ask(("run", _kernel("hang"), DISPATCHES), 0.5, "run")
    assert timeout.value.limit == 0.5
    assert 0.4 <= timeout.value.granted < 0.5
    assert told == [process._process.pid]


def test_a_child_that_was_ended_says_so():
    process = ChildProcess()
    process.kill()
    with pytest.raises(DiedIdle):
        process.ask(("count_vulkan",), 20.0, "asking")
    assert process.close() == ()


def test_a_limit_of_weeks_is_not_an_error():
    device = _short(seconds=1e6)
    _who(device)
    assert device.close() == ()


def test_opening_is_one_attempt_and_is_not_repeated_while_the_device_is_open(device):
    device.open()
    before = _who(device)
    device.open()
    assert _who(device) == (before[0], 2)


@pytest.mark.parametrize(
    ("factory", "text"), [("cannot_open", "use another"), ("dies_on_open", "SIGABRT"), ("hangs_on_open", "no answer within 0.5 s")]
)
def test_an_error_while_the_device_is_opened_is_not_a_failure_of_a_kernel(factory, text):
    device = IsolatedDevice(_spec(factory), 0.5, open_timeout=0.5)
    for use in (device.open, lambda: device.run(_kernel("work"), DISPATCHES)):
        with pytest.raises(DeviceError) as error:
            use()
        assert text in str(error.value)
    assert device.close() == ()


def test_a_device_that_dies_whenever_it_is_opened_does_not_stay_open():
    device = _short("dies_when_opened", 20.0)
    with pytest.raises(DoesNotStayOpen):
        device.run(_kernel("work"), DISPATCHES)
    assert [finding.step for finding in device.close()] == [None]


@pytest.mark.parametrize(
    ("factory", "order", "text"),
    [
        ("obedient", "die_at_exit", "SIGSEGV"),
        ("obedient", "fail_at_exit", "exited with status 5"),
        ("obedient", "hang_at_exit", "did not end within"),
        ("dies_on_close", "work", "SIGSEGV"),
        ("hangs_on_close", "work", "no answer within"),
        ("fails_on_close", "work", "VK_ERROR_DEVICE_LOST"),
    ],
)
def test_an_error_when_a_device_closes_is_a_finding(factory, order, text):
    device = _short(factory, 0.5 if "hang" in factory + order else 20.0)
    _who(device, order)
    (finding,) = device.close()
    assert finding.step is Step.CLOSE
    assert text in finding.what
    assert device.close() == ()


def test_the_variables_of_a_device_reach_its_process():
    device = IsolatedDevice(replace(_spec("says_its_driver_files"), environment=(("VK_DRIVER_FILES", "/one.json"),)), 20.0)
    with pytest.raises(DeviceError) as error:
        device.open()
    assert "VK_DRIVER_FILES=/one.json" in str(error.value)


def _group_is_alive(group: int) -> bool:
    """Return whether a process of the group still runs. The kernel takes a moment to end killed processes."""
    for _ in range(100):
        running = [stat for stat in map(_stat, Path("/proc").glob("[0-9]*")) if stat[2:3] == [str(group)] and stat[0] != "Z"]
        if not running:
            return False
        time.sleep(0.05)
    return True


def _stat(process: Path) -> list[str]:
    """Return the state, parent, group and further fields of a process."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def test_the_child_does_not_outlive_a_killed_parent():
    source = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from cts.devices.spec import DeviceSpec
from cts.devices.isolation import IsolatedDevice
from generators.kernel import Kernel, Dispatch
import threading, numpy
device = IsolatedDevice(DeviceSpec("factory", "fake_devices:obedient"), 30.0)
dispatches = [Dispatch(b"", (numpy.zeros(1, numpy.uint8),))]
print(device.run(Kernel(b"", (), entry_point="work"), dispatches)[0].outputs["out"].view("int64")[0], flush=True)
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
    """Return whether the process runs; an orphan may stay a zombie if no process reaps it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("order", "ran"), [("hang_in_step", True), ("hang_in_pipeline", False)])
def test_a_lost_device_says_since_when_its_shaders_may_have_run(order: str, ran: bool):
    losses: list[tuple[float, float]] = []
    device = IsolatedDevice(_spec(), 0.5, lost=lambda since: losses.append((since, time.time())))
    with pytest.raises(DeviceTimeout):
        device.run(_kernel(order), DISPATCHES)
    ((since, lost),) = losses
    assert (lost - since > 0.4) is ran


def test_a_child_takes_no_module_from_the_current_directory(tmp_path, monkeypatch):
    (tmp_path / "socket.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ChildProcess().close() == ()


def _begin_early(monkeypatch) -> ChildProcess:
    """Start an early child in place of the fork server, which forgets it in the end."""
    child = ChildProcess()
    waiting = [child]
    monkeypatch.setattr("cts.devices.isolation.early_child", lambda _: waiting.pop() if waiting else None)
    return child


def test_the_first_device_is_opened_in_the_child_that_was_started_early(monkeypatch):
    child = _begin_early(monkeypatch)
    with pytest.raises(DeviceError):
        IsolatedDevice(replace(_spec(), kind="vulkan", name="0" * 32), 20.0).open()
    assert child.ended


def test_a_child_that_died_before_it_was_asked_costs_nothing(monkeypatch):
    child = _begin_early(monkeypatch)
    os.kill(number_of(child._process), signal.SIGKILL)
    wait_for_end(child._process)
    with pytest.raises((NoVulkan, NoSuchDevice)):
        IsolatedDevice(replace(_spec(), kind="vulkan", name="0" * 32), 20.0).open()
    assert child.ended


class Guessing(_Requests):
    """Requests on a machine with some Vulkan devices, which notes what is opened and closed."""

    def __init__(self, devices: int) -> None:
        self.opened: list[SimpleNamespace] = []
        self.closed: list[SimpleNamespace] = []
        super().__init__(self._note, announce=lambda step: None, forward=lambda text: None)
        self._instance = SimpleNamespace(physical_devices=lambda: range(devices), close=lambda: None)

    def _note(self, spec: DeviceSpec, *, watched: bool) -> SimpleNamespace:
        device = SimpleNamespace(description=SimpleNamespace(uuid="12"), spec=spec, close=lambda: self.closed.append(device))
        self.opened.append(device)
        return device


@pytest.mark.parametrize(
    ("devices", "spec", "opened", "closed"),
    [
        (1, DeviceSpec("vulkan", "12", submission_seconds=7.0), 1, 0),
        (1, DeviceSpec("vulkan", "21"), 2, 1),
        (1, DeviceSpec("vulkan", "12", validation=True), 2, 1),
        (1, DeviceSpec("vulkan", "12", statistics=True), 2, 1),
        (1, DeviceSpec("embedded", "12"), 2, 1),
        (2, DeviceSpec("vulkan", "12"), 1, 0),
    ],
)
def test_the_only_device_is_opened_once_if_it_is_the_one_that_is_asked_for(devices, spec, opened, closed):
    requests = Guessing(devices)
    requests.guess()
    requests.on_open(spec)
    assert (len(requests.opened), len(requests.closed)) == (opened, closed)
    requests.on_close()
    assert len(requests.closed) == opened


def test_a_device_that_nobody_asked_for_is_closed():
    requests = Guessing(1)
    requests.guess()
    requests.on_close()
    assert requests.closed == requests.opened
