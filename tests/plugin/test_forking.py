"""Workers of pytest-xdist are forked from one process that has loaded the suite."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cts.run import fork_client, plugin
from cts.run.forking import Forking
from tests.plugin.conftest import SMOKE
from tests.suite import REPOSITORY

BOOTSTRAP = "import sys;exec(eval(sys.stdin.readline()))"
SAYS = "import os, sys; print(os.getppid(), 'cts.run.judging' in sys.modules, sys.argv, flush=True); sys.stdin.readline()"


class Spec:
    """What pytest-xdist says about a worker."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update({"popen": True, "python": None, "chdir": None, "via": None, "env": {}, **attributes})


FAMILIES = (
    "import sys; from pathlib import Path; from cts.engine.setup import casebook_of as of; "
    f"print(*vars(of(Path({str(REPOSITORY)!r})).families)['_loaded'], flush=True); sys.stdin.readline()"
)
"""Prints which families the worker has."""

TELLS = "import sys; from cts.devices.early_child import early_child as e; print(int(e({}) is not None), flush=True); sys.stdin.readline()"


def client(name: str, says: str = SAYS) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-S", fork_client.__file__, name, "-u", "-c", BOOTSTRAP]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(f"{says!r}\n")
    process.stdin.flush()
    return process


@pytest.fixture
def server():
    server = Forking(REPOSITORY)
    yield server
    server.pytest_unconfigure()


@pytest.fixture
def early_server():
    server = Forking(REPOSITORY, early=1)
    yield server
    server.pytest_unconfigure()


def name_of(server: Forking) -> str:
    spec = Spec()
    server.pytest_xdist_setupnodes([spec])
    return spec.python.split()[-1]


def test_a_worker_is_a_fork_that_has_loaded_the_suite(server):
    with client(name_of(server)) as one, client(name_of(server)) as other:
        first, second = one.stdout.readline().split(), other.stdout.readline().split()
        assert first == second == [str(server.pid), "True", "['-c']"]
        one.communicate("\n")
        other.communicate("\n")
    assert (one.returncode, other.returncode) == (0, 0)


def test_a_server_loads_only_the_families_of_a_case_list(tmp_path):
    listed = tmp_path / "cases.txt"
    listed.write_text("reduce[x]\ncases/khr_cooperative_matrix/muladd.yaml::muladd[y]\nreduce[z]\n", encoding="utf-8")
    server = Forking(REPOSITORY, listed=listed)
    with client(name_of(server), FAMILIES) as worker:
        assert worker.communicate("\n")[0].split() == ["reduce", "muladd"]
    server.pytest_unconfigure()


def test_a_list_in_a_pipe_is_left_to_the_run(tmp_path):
    os.mkfifo(tmp_path / "cases.txt")
    server = Forking(REPOSITORY, listed=tmp_path / "cases.txt")
    with client(name_of(server)) as worker:
        assert worker.communicate("\n")[0]
    server.pytest_unconfigure()


def test_a_worker_that_waited_has_the_process_of_its_device_and_the_next_one_has_none(early_server):
    with client(name_of(early_server), TELLS) as one, client(name_of(early_server), TELLS) as other:
        assert sorted(process.communicate("\n")[0].split()[0] for process in (one, other)) == ["0", "1"]


def test_a_worker_that_waits_ends_with_its_server():
    server = Forking(REPOSITORY, early=2)
    with client(name_of(server)) as one:
        one.communicate("\n")
    # It has made one worker from one that waited, so the other one waits.
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    waiting = [descriptor for pid in children if (descriptor := _opened(int(pid))) is not None]
    assert waiting
    server.pytest_unconfigure()
    for descriptor in waiting:
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)


@pytest.mark.parametrize(
    ("given", "workers", "early"),
    [
        ({"require_vulkan": True}, ["popen", "popen"], 2),
        ({"require_vulkan": True}, ["popen"], 0),
        ({"require_vulkan": True}, ["popen", "ssh=there"], 0),
        ({}, ["popen", "popen"], 0),
        *(
            ({"require_vulkan": True, name: "given"}, ["popen", "popen"], 0)
            for name in ("validation", "compile_only", "isolation", "device")
        ),
    ],
)
def test_devices_start_early_only_if_each_worker_will_open_one(given, workers, early):
    options = dict.fromkeys(("require_vulkan", "validation", "compile_only", "isolation", "device")) | given
    config = SimpleNamespace(getvalue=lambda _: workers)
    assert plugin._early(config, options) == early


def test_without_a_server_a_worker_starts_by_itself():
    with client("nobody") as worker:
        assert worker.stdout.readline().split() == [str(os.getpid()), "False", "['-c']"]
        worker.communicate("\n")


def test_who_kills_the_program_kills_the_worker(server):
    with client(name_of(server)) as worker:
        worker.stdout.readline()
        worker.kill()
        assert worker.stdout.read() == ""


def test_ctrl_c_does_not_end_the_program_before_the_worker(server):
    with client(name_of(server)) as worker:
        worker.stdout.readline()
        worker.send_signal(signal.SIGINT)
        worker.communicate("\n")
    assert worker.returncode == 0


def test_only_plain_processes_of_this_python_are_forked(server):
    others = [Spec(popen=None), Spec(python="python3.12"), Spec(chdir="elsewhere"), Spec(via="proxy"), Spec(env={"A": "b"})]
    before = [spec.python for spec in others]
    server.pytest_xdist_setupnodes(others)
    assert [spec.python for spec in others] == before


def test_a_server_ends_with_the_process_that_started_it():
    code = f"from pathlib import Path; from cts.run.forking import Forking; print(Forking(Path({str(REPOSITORY)!r})).pid, flush=True)"
    pid = int(subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout)
    descriptor = _opened(pid)
    if descriptor is not None:
        assert select.select([descriptor], [], [], 60)[0]
        os.close(descriptor)


def _opened(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def test_another_user_gets_nothing(monkeypatch):
    ours, theirs = socket.socketpair()
    assert fork_client.is_own(ours)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert not fork_client.is_own(theirs)


def test_a_run_has_no_other_workers(checkout):
    checkout.add_plugin(
        "parents",
        "import os, pathlib\nimport doubles\ndoubles.log('loaded below ' + pathlib.Path(f'/proc/{os.getppid()}/cmdline').read_text())\n",
    )
    # A server that is not forked shows its name.
    printed = checkout.start("cts", "-n", "2", "--report-dir", "out").communicate()[0]
    parents = [line for line in checkout.log() if "loaded below" in line]
    assert (len(parents), len([line for line in parents if "cts.run.fork_server" in line])) == (3, 2)
    assert set(checkout.results()) == SMOKE
    assert "warning" not in printed
