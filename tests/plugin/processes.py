"""Runs pytest in processes that are forked from a process with all imports done; the imports take three times as long as a run itself.

A run has the directory, environment, arguments and ``sys.path`` of a process that was started for it. So has its fork server, which would
otherwise import everything again: each run with workers forks it before pytest changes anything, and it waits until pytest-xdist starts.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

from cts.run import forking
from tests.suite import REPOSITORY

LOADING = "tests.plugin.loading"
"""The module that imports for all runs."""

HANGS = 900.0
"""Seconds after which a run counts as hanging. A run needs less than one second, and a few on a busy machine."""


class Started:
    """A run of ``python -m pytest`` that goes on, with none of this process's environment. It has what tests need of subprocess.Popen.

    Args:
        joined: whether its errors are among its output.
    """

    def __init__(self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], joined: bool = True) -> None:
        forkserver.set_forkserver_preload([LOADING])
        # The server imports when it starts, in its environment. Later calls use the running server.
        paths = os.pathsep.join((str(REPOSITORY), environment.get("PYTHONPATH", "")))
        with patch.dict(os.environ, {**environment, "PYTHONPATH": paths}):
            forkserver.ensure_running()
        self._folder = tempfile.TemporaryDirectory()
        self._out = Path(self._folder.name, "out")
        self._err = self._out if joined else self._out.with_name("err")
        told = (tuple(arguments), str(directory), dict(environment), str(self._out), str(self._err))
        self._process = multiprocessing.get_context("forkserver").Process(target=_pytest, args=told)
        self._process.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        assert self.pid is not None, "it was started"
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()

    def communicate(self) -> tuple[str, str]:
        """Wait for its end, and return its output and its errors.

        Raises:
            TimeoutError: it hung, and was killed.
        """
        self._process.join(HANGS)
        hung = self.returncode is None
        if hung:
            self.kill()
            self.wait()
        with self._folder:
            texts = self._out.read_text(encoding="utf-8"), self._err.read_text(encoding="utf-8")
        if hung:
            raise TimeoutError(f"the run did not end within {HANGS:g} s: {texts}")
        return texts


def run(arguments: Sequence[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run ``python -m pytest`` with ``arguments`` in ``directory``, with none of this process's environment."""
    started = Started(arguments, directory, environment, joined=False)
    out, err = started.communicate()
    return subprocess.CompletedProcess(list(arguments), started.returncode, out, err)


def _pytest(arguments: tuple[str, ...], directory: str, environment: dict[str, str], out: str, err: str) -> None:
    for path, descriptor in ((out, 1), (err, 2)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, descriptor)
        os.close(opened)
    # The tests may run in the background of a shell, where interrupts are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(directory)
    # The run may have its own tests.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    if {"-n", "--tx"} & set(arguments):
        forking.subprocess = _ForksItsServer()  # type: ignore[assignment]
    _become("pytest", arguments, environment, [directory])


def _become(module: str, arguments: Sequence[str], environment: Mapping[str, str], paths: Sequence[str] = ()) -> None:
    """Do what ``python -m`` does with ``module``."""
    os.environ.clear()
    os.environ.update(environment)
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [*paths, *environment.get("PYTHONPATH", "").split(os.pathsep), *dict.fromkeys(installed)]
    sys.argv[:] = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        atexit._run_exitfuncs()


class _ForksItsServer:
    """Stands in for the module subprocess where a run starts its fork server: a process that was forked before becomes it."""

    PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = multiprocessing.get_context("fork").Process(target=self._wait_and_serve, args=(theirs,), daemon=True)
            self._process.start()

    def Popen(self, command: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int], **_: Any) -> _Server:  # noqa: N802
        """Start the server, with a pipe as its input and without output."""
        read, write = os.pipe()
        socket.send_fds(self._control, [b"begin"], [read, *pass_fds])
        self._control.sendall(json.dumps([command[-2:], dict(env)]).encode())
        self._control.close()
        os.close(read)
        return _Server(self._process, open(write, "wb"))

    def _wait_and_serve(self, control: socket.socket) -> None:
        self._control.close()
        with control:
            begun, received, _, _ = socket.recv_fds(control, len(b"begin"), 2)
            if not begun:
                return
            arguments, environment = json.load(control.makefile())
        read, listener = received
        null = os.open(os.devnull, os.O_WRONLY)
        for descriptor, stream in ((read, 0), (null, 1), (null, 2)):
            os.dup2(descriptor, stream)
        os.close(read)
        os.close(null)
        _become("cts.run.fork_server", [str(listener), *arguments], environment)


@dataclass(frozen=True)
class _Server:
    """The part of subprocess.Popen that a run needs of its fork server."""

    process: ForkProcess
    stdin: IO[bytes]

    @property
    def pid(self) -> int | None:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()

    def wait(self) -> None:
        self.process.join()
