"""Starts child processes by forks of a process that has loaded what they need: loading takes ten times as long as a fork.

Sockets are all that a child and this process share, so nothing depends on whose child the new process is.
"""

from __future__ import annotations

import math
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import MappingProxyType

MODULE = "cts.device_process"
"""The module that a spawner runs. It can open every kind of device, so it is above this package."""

NUMBER = struct.Struct("i")
"""A spawner sends two of these about each child: its process id, then its exit status as in subprocess.Popen."""

MOST_DESCRIPTORS = 8
"""At least as many as a child gets."""

PLAIN, EARLY = b"p", b"e"
"""The requests to a spawner: for a child, or for one that opens the only Vulkan device before it reads a request."""

_CHANGING = "PYTEST_"
"""The prefix of variables that pytest sets for its own processes."""


class Spawned:
    """A process that a spawner has forked, or is about to fork.

    Attributes:
        has_ended: whether the process has ended, or its spawner.
        returncode: its exit status once it is known, as in subprocess.Popen. None if its spawner has ended before.
    """

    def __init__(self, told: socket.socket, spawner: int) -> None:
        told.setblocking(False)
        self._told = told
        self._spawner = spawner
        self._pid: int | None = None
        self.has_ended = False
        self.returncode: int | None = None

    @property
    def descriptor(self) -> int:
        """A descriptor that becomes readable when there is something to read about the process."""
        return self._told.fileno()

    @property
    def pid(self) -> int:
        """The process's number; its spawner's while that is still loading."""
        return self._spawner if self._pid is None else self._pid

    def read(self) -> None:
        """Read what the spawner tells."""
        while not self.has_ended:
            try:
                data = self._told.recv(NUMBER.size)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if len(data) < NUMBER.size:
                self.has_ended = True
            elif self._pid is None:
                (self._pid,) = NUMBER.unpack(data)
            else:
                (self.returncode,) = NUMBER.unpack(data)
                self.has_ended = True

    def kill(self, seconds: float) -> None:
        """Have the process and all processes of its group killed, and wait for its end, at most ``seconds``."""
        with suppress(OSError):
            self._told.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + seconds
        self.read()
        while not self.has_ended and (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._told, select.POLLIN)
            poll.poll(math.ceil(left * 1000))
            self.read()
        self._told.close()

    def forget(self) -> None:
        """Leave the process to another process that has this object."""
        self._told.close()


class Spawner:
    """A process that forks children on request, and ends when nobody can make a request.

    Args:
        control: a socket to it.
        pid: its process id.
    """

    def __init__(self, control: socket.socket, pid: int) -> None:
        self._control = control
        self._pid = pid

    def start(self, descriptors: Sequence[int], early: bool = False) -> Spawned:
        """Start a process.

        Args:
            descriptors: what it gets, first its standard output; no more than MOST_DESCRIPTORS - 1.
            early: whether it opens the only Vulkan device before it reads a request.

        Raises:
            OSError: the spawner has ended.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [EARLY if early else PLAIN], [theirs.fileno(), *descriptors])
            except OSError:
                ours.close()
                raise
        return Spawned(ours, self._pid)

    def close(self) -> None:
        """Make no more requests."""
        self._control.close()


_Inherited = tuple[str, str, str, Mapping[str, str], str | None]
"""The module and the Python that a spawner runs, its folder, its environment variables, and the path of its modules; None for any."""


def _inherited(environment: Mapping[str, str]) -> _Inherited:
    """Return what a spawner would inherit from this process now.

    Args:
        environment: environment variables for it, added to this process's own.
    """
    try:
        folder = os.getcwd()
    except OSError:
        # It was deleted.
        folder = ""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_CHANGING) and name != "PYTHONPATH"}
    path = os.pathsep.join(one or folder for one in sys.path)
    return MODULE, sys.executable, folder, {**variables, "PYTHONUNBUFFERED": "1", **environment}, path


class OwnSpawner:
    """The spawner of this process: it is started when the first child is, and again when what children would inherit has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spawner: Spawner | None = None
        self._begun: list[subprocess.Popen[bytes]] = []
        self._inherited: _Inherited | None = None

    def adopt(self, spawner: Spawner) -> None:
        """Take a spawner that has what this process would hand on now, except the path of its modules."""
        self._spawner, self._inherited = spawner, (*_inherited(MappingProxyType({}))[:-1], None)

    def start(self, descriptors: Sequence[int], environment: Mapping[str, str]) -> Spawned:
        """Start a process; see Spawner.start.

        Args:
            environment: environment variables for the process, added to this process's own.

        Raises:
            OSError: it cannot be started.
        """
        inherited = _inherited(environment)
        with self._lock:
            if self._spawner is not None:
                own = self._inherited
                if own is not None and own[:-1] == inherited[:-1] and own[-1] in (None, inherited[-1]):
                    with suppress(OSError):
                        return self._spawner.start(descriptors)
                self._spawner.close()
            self._spawner, spawned = self._begin(inherited, descriptors)
            self._inherited = inherited
            return spawned

    def _begin(self, inherited: _Inherited, descriptors: Sequence[int]) -> tuple[Spawner, Spawned]:
        """Start a spawner, and a process by it."""
        *_, variables, path = inherited
        output = descriptors[0]
        self._begun = [process for process in self._begun if process.poll() is None]
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", MODULE, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**variables, "PYTHONPATH": path or ""},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
            self._begun.append(process)
            spawner = Spawner(ours, process.pid)
            # This process still has both ends, so the request can be made even if the spawner has ended.
            return spawner, spawner.start(descriptors)


@cache
def own_spawner() -> OwnSpawner:
    """Return the spawner of this process."""
    return OwnSpawner()
