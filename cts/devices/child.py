"""A child process that does for this one what may crash or hang: it is asked, waited for, and ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from types import TracebackType
from typing import Any

from cts.devices.device import (
    DeviceCrash,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    UndefinedBehaviour,
    ValidationMessage,
)
from cts.devices.messages import BEGIN, DOING, Deadline, Disconnected, Late, receive, send
from generators.errors import CtsError, GeneratorError

MODULE = "cts.devices.isolation_child"

_LAST_WORDS = 4000
"""Bytes of the child's standard error that a message quotes."""

_END_SECONDS = 5.0
"""How long a child that has closed its channel may take to end."""

FAILURES: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        DeviceFailure,
        DeviceCrash,
        DeviceTimeout,
        DeviceLost,
        DriverRefused,
        UndefinedBehaviour,
        ValidationMessage,
        DeviceError,
        GeneratorError,
        CtsError,
    )
}
"""The exceptions that cross from the child, by name."""


class DiedIdle(DeviceCrash):
    """The child died while it had nothing to do: no fault of the request that found out."""


class ChildProcess:
    """A running child. It ends when this object is closed, or when this process does, however that happens."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._channel = ours
        # A file, not a pipe: nobody has to empty it while the child runs.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path or os.getcwd() for path in sys.path), PYTHONUNBUFFERED="1")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                env=environment,
                pass_fds=[theirs.fileno()],
            )
        except OSError as error:
            ours.close()
            self._stderr.close()
            raise DeviceError(f"the process that is to hold the device cannot be started: {error}") from None
        finally:
            theirs.close()

    def ask(self, request: tuple[Any, ...], seconds: float, step: str) -> Any:
        """The child's answer to a request: its name, then its arguments.

        Raises:
            DeviceTimeout: it did not come within ``seconds``; the child is ended, and the message has what the device
                said that it does.
            DeviceCrash: the child died; the message has its exit status, what the device said that it does, and its last words.
            DiedIdle: it had died before it read the request.
            DeviceFailure, CtsError: what the request raised in the child.
        """
        deadline = Deadline(seconds)
        doing = ""
        try:
            begun = False
            send(self._channel, request, deadline)
            begun = receive(self._channel, deadline) == BEGIN
            kind, value = receive(self._channel, deadline)
            while kind == DOING:
                doing = f" {value}" if value else ""
                kind, value = receive(self._channel, deadline)
        except Late:
            self.kill()
            raise DeviceTimeout(f"{step}: no answer within {seconds:g} s{doing}; the process that held the device was ended") from None
        except Disconnected:
            raise (DeviceCrash if begun else DiedIdle)(self._obituary(step, doing)) from None
        if kind == "answer":
            return value
        name, text = value
        raise FAILURES.get(name, DeviceFailure)(text)

    def _obituary(self, step: str, doing: str) -> str:
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            how = "closed its channel and did not end"
        else:
            how = _ending(status)
        words = self._last_words()
        self.kill()
        return f"{step}: the process that held the device {how}{doing}" + (f"\n{words}" if words else "")

    def _last_words(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _LAST_WORDS))
        text = self._stderr.read().decode(errors="replace").strip()
        return text if size <= _LAST_WORDS else f"…{text}"

    def kill(self) -> None:
        """Ends the child at once, whatever it does."""
        if self._channel.fileno() >= 0:
            self._channel.close()
        if self._process.poll() is None:
            self._process.kill()
            # Where that takes longer it sits in the kernel, in a driver that does not let go; init will reap it.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        if not self._stderr.closed:
            self._stderr.close()

    def close(self, seconds: float = _END_SECONDS) -> None:
        """Lets the child close its device and end; ends it if it takes longer than ``seconds``. Never raises for what the child does."""
        if self._channel.fileno() >= 0 and self._process.poll() is None:
            with suppress(DeviceFailure, CtsError, subprocess.TimeoutExpired):
                self.ask(("close",), seconds, "close")
                self._process.wait(_END_SECONDS)
        self.kill()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _ending(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"
