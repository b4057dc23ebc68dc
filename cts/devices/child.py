"""A child process for work that may crash or hang: this process sends it requests, waits for answers, and ends it."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType, TracebackType
from typing import Any

from cts.devices.child_output import Output
from cts.devices.device import DeviceCrash, DeviceError, DeviceFailure, DeviceTimeout, Finding, Garbled, Step
from cts.devices.failures import rebuilt, step_of
from cts.devices.messages import ANSWER, BEGIN, DOING, FAILURE, Decoder, Disconnected, NotAMessage, TooLong, frame
from cts.devices.patience import Late, Patience, waiting_for_cpu
from generators.errors import CtsError, GeneratorError, Rule

MODULE = "cts.devices.isolation_child"

_END_SECONDS = 5.0
"""How long a child that has closed its channel may take to end."""

_LOOK_SECONDS = 0.1
"""How often to check whether the child has ended, if the system has no descriptor to wait for."""

_LONGEST_WAIT = 3600.0
"""The longest single wait: no system waits for weeks."""

_CHUNK = 1 << 18
_REMAINS = 1 << 24
"""Bytes that are taken from a dead child at most. What it leaves fits in a socket's buffer; what it started may go on writing."""

_TOLD = 0.05
"""Part of a limit that a step must have received in addition before a message mentions it."""

_LAST_CHUNKS = 16
"""Chunks of its output that are read before its last words are quoted: more than a pipe holds."""

_STEPS = MappingProxyType(
    {
        "count_vulkan": Step.OPEN,
        "describe_vulkan": Step.OPEN,
        "open": Step.OPEN,
        "ask": Step.QUERY,
        "convert": Step.QUERY,
        "close": Step.CLOSE,
    }
)
"""The action of a device for a request that is one step."""

_WORDS = MappingProxyType({Step.PIPELINE: " while the pipeline was made", Step.DISPATCH: " while the shader ran"})
"""The text of a message about a step that the device has announced."""


class DiedIdle(DeviceCrash):
    """The child died, or sent something unasked, while it was idle. The request that found out did not cause it.

    Attributes:
        how: what happened to it, in words.
    """

    def __init__(self, what: str, how: str) -> None:
        super().__init__(f"{what}: {how}")
        self.how = how


class ChildProcess:
    """A running child, in a session of its own. It ends when this object is closed, or when this process does, however that happens;
    and with it all that it has started.

    Args:
        environment: variables that the child has besides those of this process.
        waiting: begins to measure for how long the process of that id waits for a CPU; see cts.devices.patience.Measure.

    Attributes:
        ended: whether the child is unusable.

    Raises:
        DeviceError: it cannot be started.
    """

    def __init__(
        self,
        environment: Mapping[str, str] = MappingProxyType({}),
        waiting: Callable[[int], Callable[[], float]] = waiting_for_cpu,
    ) -> None:
        self._waiting = waiting
        self._number = 0
        self._decoder = Decoder()
        self._exited = self._hung_up = self.ended = False
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        self._channel, self._output = ours, Output(reading)
        variables = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path), "PYTHONUNBUFFERED": "1", **environment}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=dict(os.environ, **variables),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._output.close()
            raise DeviceError(f"the process that is to hold the device cannot be started: {error}") from None
        finally:
            theirs.close()
            os.close(writing)
        ours.setblocking(False)
        self._watched = _descriptor_of(self._process.pid)

    def ask(self, request: tuple[Any, ...], seconds: float, what: str) -> Any:
        """Return the child's answer to a request: its name, then its arguments.

        The child is ended by whatever it did not itself report.

        Args:
            request: as above.
            seconds: limit of each step: of the request as a whole, until the device says what it does, and of each step that it tells.
            what: the child is asked for, in words; messages begin with it.

        Raises:
            DeviceTimeout: a step took too long.
            DeviceCrash: the child died; the message has its exit status, what the device said that it does, and its last words.
            Garbled: it sent what is no message.
            DiedIdle: either, before it read the request.
            DeviceFailure, CtsError: what the request raised in the child.
        """
        try:
            answer, failure = self._exchange(request, seconds, what)
        except BaseException:
            # After any exception the next answer may belong to this request.
            self.kill()
            raise
        if failure is not None:
            raise failure
        return answer

    def _exchange(self, request: tuple[Any, ...], seconds: float, what: str) -> tuple[Any, Exception | None]:
        """Return the answer, or the failure that the child reports instead."""
        if self.ended:
            raise DiedIdle(what, "the process that held the device has been ended: start another one")
        self._number += 1
        patience = self._patience(seconds)
        step = _STEPS.get(request[0])
        doing = ""
        begun = False
        try:
            try:
                self._send(frame(self._number, request), patience)
            except TooLong as why:
                raise GeneratorError(Rule.MESSAGE_SIZE, f"{what}: more than a device can be sent: {why}") from None
            begun = self._receive(patience) == (BEGIN, None)
            if not begun:
                raise NotAMessage("it is no answer to the request")
            patience.restart()
            while (received := self._receive(patience))[0] == DOING:
                announced = step_of(received[1])
                step = announced or _STEPS.get(request[0])
                doing = _WORDS.get(announced, "") if announced else ""
                patience.restart()
            kind, value = received
            if kind == FAILURE:
                return None, rebuilt(value)
            if kind != ANSWER:
                raise NotAMessage("it is no answer to the request")
            return value, None
        except Late:
            told = patience.granted > seconds * _TOLD
            granted = f" and {patience.granted:.3g} s more, for which it had no CPU" if told else ""
            text = f"{what}: no answer within {seconds:g} s{granted}{doing}; the process that held the device was ended"
            raise DeviceTimeout(text, step=step, limit=seconds, granted=patience.granted if told else 0) from None
        except Disconnected:
            how = f"the process that held the device {self._ending()}{doing}{self._quoted()}"
            raise (DeviceCrash(f"{what}: {how}", step=step, status=self._process.returncode) if begun else DiedIdle(what, how)) from None
        except NotAMessage as why:
            how = f"the process that held the device sent what is no message{doing}: {why}{self._quoted()}"
            raise (Garbled(f"{what}: {how}", step=step) if begun else DiedIdle(what, how)) from None

    def _patience(self, seconds: float) -> Patience:
        return Patience(seconds, lambda: self._waiting(self._process.pid))

    def _send(self, data: bytes, patience: Patience) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                self._attend(patience.remaining(), sending=True)
            except OSError:
                raise Disconnected from None
            if rest and self._exited:
                raise Disconnected

    def _receive(self, patience: Patience) -> tuple[str, Any]:
        """Return the next message that belongs to the request."""
        while (found := self._decoder.next()) is None:
            if self._exited or self._hung_up:
                raise Disconnected
            try:
                seconds = patience.remaining()
            except Late:
                # It may have come while this process had no CPU.
                self._attend(0)
                if (found := self._decoder.next()) is None:
                    raise
                break
            self._attend(seconds)
        number, message = found
        if number != self._number:
            raise NotAMessage(f"it belongs to request {number}, and this is {self._number}")
        if not isinstance(message, tuple) or len(message) != 2 or not isinstance(message[0], str):
            raise NotAMessage(f"it has a {type(message).__name__}")
        return message

    def _attend(self, seconds: float, sending: bool = False) -> None:
        """Wait until the child does something, but no longer than this; take its messages and its output."""
        poll = select.poll()
        if not self._hung_up:
            poll.register(self._channel, select.POLLIN | (select.POLLOUT if sending else 0))
        if self._output.descriptor >= 0:
            poll.register(self._output.descriptor, select.POLLIN)
        if self._watched >= 0:
            poll.register(self._watched, select.POLLIN)
        else:
            seconds = min(seconds, _LOOK_SECONDS)
        poll.poll(math.ceil(min(seconds, _LONGEST_WAIT) * 1000))
        # Looked at first: whatever the child did comes before its end.
        self._exited = self._exited or _has_exited(self._process.pid)
        self._output.read()
        self._take()
        for _ in range(_REMAINS // _CHUNK):
            if not self._exited or not (self._output.read() or self._take()):
                break

    def _take(self) -> bool:
        """Take a chunk of what the child sent. Returns whether there was one."""
        if self._hung_up:
            return False
        try:
            data = self._channel.recv(_CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._hung_up = not data
        self._decoder.feed(data)
        return bool(data)

    def _await_exit(self, patience: Patience) -> bool:
        """Whether the child ends while there is patience."""
        with suppress(Late):
            while not self._exited:
                self._attend(patience.remaining())
        return self._exited

    def _ending(self) -> str:
        """How the child ended, after its channel did."""
        if not self._await_exit(self._patience(_END_SECONDS)):
            return "closed its channel and did not end"
        self._kill_group()
        return _in_words(self._process.wait())

    def _quoted(self) -> str:
        """Return the child's last words, on lines of their own."""
        for _ in range(_LAST_CHUNKS):
            if not self._output.read():
                break
        words = self._output.last_words()
        return f"\n{words}" if words else ""

    def kill(self) -> None:
        """End the child and what it has started at once, whatever they do."""
        self.ended = True
        self._channel.close()
        self._hung_up = True
        self._output.close()
        self._kill_group()
        if self._process.returncode is None:
            # If this takes longer, the child hangs in a driver in the kernel; init will reap it.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        if self._watched >= 0:
            os.close(self._watched)
            self._watched = -1

    def _kill_group(self) -> None:
        # After its status has been taken, its number may already belong to another process.
        if self._process.returncode is not None:
            return
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self, seconds: float = _END_SECONDS) -> tuple[Finding, ...]:
        """Let the child close its device and end; end it if either takes longer than ``seconds``.

        Returns the problems meanwhile; never raises because of the child.
        """
        if self.ended:
            return ()
        try:
            self.ask(("close",), seconds, "close")
            exited = self._await_exit(self._patience(seconds))
            ending = self._ending() if exited else f"did not end within {seconds:g} s"
            if self._process.returncode == 0:
                return ()
            return (Finding(Step.CLOSE, f"exit: the process that held the device {ending}{self._quoted()}"),)
        except DiedIdle as death:
            return (Finding(None, f"after its last answer: {death.how}"),)
        except (DeviceFailure, CtsError) as failure:
            return (Finding(Step.CLOSE, str(failure)),)
        finally:
            self.kill()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _descriptor_of(pid: int) -> int:
    """Return a descriptor that is readable when the process has ended; -1 where the system has none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def _has_exited(pid: int) -> bool:
    """Whether a child of this process has ended; its status stays to be taken."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _in_words(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"
