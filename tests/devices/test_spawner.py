"""Children are forked from a process that has loaded what they need."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from cts.devices import spawner
from cts.devices.child import ChildProcess, DiedIdle
from cts.devices.device import DeviceFailure
from cts.devices.forking import _attend, _Forked
from cts.devices.spawner import NUMBER, OwnSpawner
from generators.errors import CtsError
from tests.devices.spawned import number_of, wait_for_end


@pytest.fixture
def own(monkeypatch) -> Iterator[OwnSpawner]:
    own = OwnSpawner()
    monkeypatch.setattr("cts.devices.child.own_spawner", lambda: own)
    yield own
    if own._spawner is not None:
        own._spawner.close()
    for process in own._begun:
        process.wait(60)


def parent_of(child: ChildProcess) -> int:
    return int(Path(f"/proc/{number_of(child._process)}/stat").read_text().rpartition(")")[2].split()[1])


def test_children_are_forks_of_one_process(own):
    with ChildProcess() as one, ChildProcess() as other:
        assert parent_of(one) == parent_of(other) == own._begun[0].pid
        assert number_of(one._process) != number_of(other._process)


def test_each_child_leads_its_own_session(own):
    with ChildProcess() as child:
        with suppress(CtsError, DeviceFailure):
            child.ask(("count_vulkan",), 60.0, "asking")
        number = number_of(child._process)
        assert os.getsid(number) == os.getpgid(number) == number


@pytest.mark.parametrize("changes", ["variable", "folder", "argument"])
def test_what_a_child_inherits_is_never_old(own, monkeypatch, tmp_path, changes):
    with ChildProcess() as before:
        if changes == "variable":
            monkeypatch.setenv("VK_DRIVER_FILES", "/one.json")
        if changes == "folder":
            monkeypatch.chdir(tmp_path)
        with ChildProcess({"VK_DRIVER_FILES": "/two.json"} if changes == "argument" else {}) as after:
            assert parent_of(before) != parent_of(after)
    assert (before.close(), after.close()) == ((), ())


def test_what_pytest_tells_its_processes_changes_nothing(own, monkeypatch):
    with ChildProcess() as before:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", "the next one")
        with ChildProcess() as after:
            assert parent_of(before) == parent_of(after)


def test_a_killed_spawner_is_replaced(own):
    with ChildProcess() as before:
        os.kill(parent_of(before), signal.SIGKILL)
        assert wait_for_end(before._process) is None
        with ChildProcess() as after:
            assert number_of(after._process)
        with pytest.raises(DiedIdle) as death:
            before.ask(("count_vulkan",), 60.0, "asking")
        assert death.value.finding.outside


def test_children_of_a_spawner_that_gets_no_more_requests_end_as_usual(own):
    child = ChildProcess()
    number_of(child._process)
    own._spawner.close()
    assert child.close() == ()
    assert own._begun[0].wait(60) == 0


def test_a_spawner_that_cannot_load_says_why(own, monkeypatch):
    monkeypatch.setattr(spawner, "MODULE", "cts.no_such_module")
    with pytest.raises(DiedIdle) as death:
        ChildProcess().ask(("count_vulkan",), 60.0, "asking")
    assert "no_such_module" in str(death.value)


def test_a_child_that_is_killed_before_it_has_begun_does_not_begin(own):
    child = ChildProcess()
    child.kill()
    own._spawner.close()
    assert own._begun[0].wait(60) == 0


def test_a_killed_child_is_gone_when_its_end_is_told():
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    ours, theirs = socket.socketpair()
    seen = []

    class Told:
        fileno = theirs.fileno
        close = theirs.close

        def send(self, data):
            seen.append((Path(f"/proc/{process.pid}").exists(), *NUMBER.unpack(data)))

    child = _Forked(process.pid, Told())
    with ours:
        _attend(child, {theirs.fileno()})
        while not child.has_ended:
            _attend(child, set())
    assert seen == [(False, -signal.SIGKILL)]
    process.wait()


def test_killing_a_child_twice_ends_nobody_else(own):
    child = ChildProcess()
    child.kill()
    with ChildProcess() as other:
        child.kill()
        assert other.close() == ()


def test_a_deleted_folder_is_no_obstacle(own, monkeypatch, tmp_path):
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with ChildProcess() as child:
        assert number_of(child._process)


def test_an_adopted_spawner_is_left_when_what_children_inherit_changes(own, monkeypatch):
    with ChildProcess() as first:
        spawner = own._spawner
        own._spawner = None
        own.adopt(spawner)
        with ChildProcess() as second:
            assert parent_of(first) == parent_of(second)
        monkeypatch.setenv("VK_DRIVER_FILES", "/one.json")
        with ChildProcess() as third:
            assert parent_of(first) != parent_of(third)


def test_a_process_with_many_files_can_end_a_child(own):
    with ExitStack() as files:
        for _ in range(1100):
            files.enter_context(open(os.devnull, "rb"))
        ChildProcess().kill()
