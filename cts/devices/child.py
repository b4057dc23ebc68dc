"""A child process for work that may crash or hang: this process sends it requests, waits for answers, and ends it."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Any

from cts.devices.child_output import Output
from cts.devices.device import DeviceCrash, DeviceError, DeviceFailure, DeviceTimeout, Finding, Garbled, Step
from cts.devices.driver_messages import DriverMessages
from cts.devices.failures import rebuilt
from cts.devices.messages import ANSWER, BEGIN, DOING, FAILURE, HEARD, Decoder, Disconnected, NotAMessage, TooLong, Unsendable, pieces
from cts.devices.patience import Late, Patience, waiting_for_cpu
from cts.devices.requests import NEWS, REQUESTS, Request
from cts.devices.shared_memory import NONE, share
from cts.devices.spawner import Spawned, own_spawner
from generators.errors import CtsError, GeneratorError, Rule

_END_SECONDS = 5.0
"""How long a child that has closed its channel may take to end."""

_LONGEST_WAIT = 3600.0
"""The longest single wait in seconds; poll takes milliseconds as a 32-bit integer."""

_CHUNK = 1 << 18
_REMAINS = 1 << 24
"""The most bytes to read from a dead child. Its own last bytes fit in a socket's buffer, but processes that it started may still write."""

_TOLD = 0.05
"""A message mentions extra time only if it is more than this fraction of the limit."""

_LAST_CHUNKS = 16
"""How many chunks of its output to read before quoting its last words: more than a pipe holds."""

_WORDS = MappingProxyType({Step.PIPELINE: " while the pipeline was made", Step.DISPATCH: " while the shader ran"})
"""How a message describes a step that the device has announced."""


class DiedIdle(DeviceCrash):
    """The child died, or sent an unexpected message, while it was idle. The next request finds this out but did not cause it.

    Attributes:
        how: what happened to the child, in words.
        cut_off: whether the process that had forked the child has ended, so nobody knows what happened.
    """

    def __init__(self, what: str, how: str, status: int | None = None, cut_off: bool = False) -> None:
        super().__init__(f"{what}: {how}", status=status)
        self.how = how
        self.cut_off = cut_off

    @property
    def finding(self) -> Finding:
        """Return the finding. A driver does not kill its own process with SIGKILL, but the system does if it has no memory."""
        return Finding(None, f"after its last answer: {self.how}", outside=self.cut_off or self.status == -signal.SIGKILL)


class ChildProcess:
    """A running child process in its own process group.

    The child, and every process that it started, ends when this object is closed or this process ends, however that happens.

    Args:
        environment: environment variables for the child, added to this process's own.
        waiting: takes a process id and starts to measure how long that process waits for a CPU; see cts.devices.patience.Measure.
        start: starts a process with these descriptors, as this process's spawner does by default; see cts.devices.spawner.

    Attributes:
        ended: whether the child is unusable.
        shaders_since: since when the child may have run shaders, in seconds since the epoch: since it began the request or the last step
            that dispatches. None if it runs none. When a step ends it may still run them, because a lost device also ends a step.

    Raises:
        DeviceError: it cannot be started.
    """

    def __init__(
        self,
        environment: Mapping[str, str] = MappingProxyType({}),
        waiting: Callable[[int], Callable[[], float]] = waiting_for_cpu,
        start: Callable[[Sequence[int]], Spawned] | None = None,
    ) -> None:
        if start is None:
            start = partial(own_spawner().start, environment=environment)
        self.shaders_since: float | None = None
        self._waiting = waiting
        self._number = 0
        shared = share()
        self._requests = shared.requests
        self._decoder = Decoder(shared.answers)
        self._heard = DriverMessages()
        self._hung_up = self.ended = False
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        self._channel, self._output = ours, Output(reading)
        try:
            self._process = start([writing, theirs.fileno(), *shared.descriptors])
        except OSError as error:
            ours.close()
            self._output.close()
            raise DeviceError(f"the process that holds the device cannot be started: {error}") from None
        finally:
            theirs.close()
            for descriptor in (writing, *shared.descriptors):
                os.close(descriptor)
        ours.setblocking(False)

    def ask(self, request: tuple[Any, ...], seconds: float, what: str) -> Any:
        """Send a request and return the child's answer.

        Any error that the child did not report itself ends the child.

        Args:
            request: its name, one of REQUESTS, then its arguments.
            seconds: limit of each step. Each step that the device announces gets the whole limit; so does the time before the first.
            what: describes the request; messages begin with it.

        Raises:
            DeviceTimeout: a step took too long.
            DeviceCrash: the child died; the message has its exit status, the announced step, and its last words.
            Garbled: it sent an invalid message, or an answer of another type.
            DiedIdle: it died or sent an invalid message before it read the request.
            DeviceFailure, CtsError: what the request raised in the child.
        """
        try:
            answer, failure = self._exchange(request, seconds, what)
        except BaseException as error:
            # After any exception the next answer may belong to this request.
            self.kill()
            self._attach_messages(error)
            raise
        if failure is not None:
            self._attach_messages(failure)
            raise failure
        return answer

    def _attach_messages(self, error: BaseException) -> None:
        """Give a failure the driver's messages of the step in which it was raised."""
        if isinstance(error, DeviceFailure):
            error.driver_messages = self._heard.texts

    def _exchange(self, request: tuple[Any, ...], seconds: float, what: str) -> tuple[Any, Exception | None]:
        """Return the answer, or the failure that the child reports instead."""
        if self.ended:
            raise DiedIdle(what, "the process that held the device has been ended: start another one")
        self._number += 1
        self._heard.clear()
        patience = self._patience(seconds)
        name, *arguments = request
        asked = REQUESTS[name]
        step = asked.step
        doing = ""
        begun = False
        try:
            try:
                self._send(pieces(self._number, (name, arguments), self._requests), patience)
            except TooLong as why:
                raise GeneratorError(Rule.MESSAGE_SIZE, f"{what}: the request is too large to send to a device: {why}") from None
            except Unsendable as why:
                raise DeviceError(f"{what}: the request cannot be sent to a device: {why}") from None
            begun = self._receive(patience, asked) == (BEGIN, None)
            if not begun:
                raise NotAMessage("it is not an answer to the request")
            self.shaders_since = time.time()
            patience.restart()
            while (received := self._receive(patience, asked))[0] in (DOING, HEARD):
                announced = received[1]
                if received[0] == HEARD:
                    self._heard.add(announced)
                    # A driver that says more and more gets no more time for it.
                    patience.remaining()
                    continue
                if announced is not None:
                    self.shaders_since = time.time() if announced is Step.DISPATCH else None
                    self._heard.clear()
                step = announced or asked.step
                doing = _WORDS.get(announced, "") if announced else ""
                patience.restart()
            kind, value = received
            if kind == FAILURE:
                return None, rebuilt(value)
            if kind != ANSWER:
                raise NotAMessage("it is not an answer to the request")
            self.shaders_since = None
            return value, None
        except Late:
            told = patience.granted > seconds * _TOLD
            granted = f" and {patience.granted:.3g} s more, because it had no CPU for that time" if told else ""
            text = f"{what}: no answer within {seconds:g} s{granted}{doing}; the process that held the device was ended"
            raise DeviceTimeout(text, step=step, limit=seconds, granted=patience.granted if told else 0) from None
        except Disconnected:
            how = f"the process that held the device {self._ending()}{doing}{self._quoted()}"
            status = self._process.returncode
            # Without its spawner nobody knows how the child ended, and a driver does not end a spawner.
            cut_off = self._process.has_ended and status is None
            if begun and not cut_off:
                raise DeviceCrash(f"{what}: {how}", step=step, status=status) from None
            raise DiedIdle(what, how, status, cut_off) from None
        except NotAMessage as why:
            how = f"the process that held the device sent an invalid message{doing}: {why}{self._quoted()}"
            raise (Garbled(f"{what}: {how}", step=step) if begun else DiedIdle(what, how)) from None

    def _patience(self, seconds: float) -> Patience:
        return Patience(seconds, lambda: self._waiting(self._process.pid))

    def _send(self, data: Sequence[bytes | memoryview], patience: Patience) -> None:
        for piece in data:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[self._channel.send(rest) :]
                except BlockingIOError:
                    self._attend(patience.remaining(), sending=True)
                except OSError:
                    raise Disconnected from None
                if rest and self._process.has_ended:
                    raise Disconnected

    def _receive(self, patience: Patience, asked: Request) -> tuple[str, Any]:
        """Return kind and contents of the next message that belongs to the request."""
        while (found := self._decoder.next()) is None:
            if self._process.has_ended or self._hung_up:
                raise Disconnected
            try:
                seconds = patience.remaining()
            except Late:
                # The message may have arrived while this process had no CPU.
                self._attend(0)
                if (found := self._decoder.next()) is None:
                    raise
                break
            self._attend(seconds)
        if found.number != self._number:
            raise NotAMessage(f"it belongs to request {found.number}, not to {self._number}")
        if found.kind != ANSWER and found.kind not in NEWS:
            raise NotAMessage(f"it is of the unknown kind {found.kind!r:.100}")
        return found.kind, self._decoder.read(found, asked.answer if found.kind == ANSWER else NEWS[found.kind])

    def _attend(self, seconds: float, sending: bool = False) -> None:
        """Wait until the child does something, at most ``seconds``. Read its messages and its output."""
        poll = select.poll()
        if not self._hung_up:
            poll.register(self._channel, select.POLLIN | (select.POLLOUT if sending else 0))
        if self._output.descriptor >= 0:
            poll.register(self._output.descriptor, select.POLLIN)
        poll.register(self._process.descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(math.ceil(min(seconds, _LONGEST_WAIT) * 1000))}
        # Check for the exit before reading: then everything that an ended child sent is read.
        self._process.read()
        if self._output.descriptor in ready:
            self._output.read()
        if not self._hung_up and self._channel.fileno() in ready:
            self._take()
        for _ in range(_REMAINS // _CHUNK):
            if not self._process.has_ended or not (self._output.read() or self._take()):
                break

    def _take(self) -> bool:
        """Read a chunk of the child's messages. Return whether there was one."""
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
        """Wait for the child to end until patience runs out. Return whether it ended."""
        with suppress(Late):
            while not self._process.has_ended:
                self._attend(patience.remaining())
        return self._process.has_ended

    def _ending(self) -> str:
        """Return how the child ended after it closed its channel."""
        if not self._await_exit(self._patience(_END_SECONDS)):
            return "closed its channel but did not end"
        return _in_words(self._process.returncode)

    def _quoted(self) -> str:
        """Return the child's last words, on lines of their own."""
        for _ in range(_LAST_CHUNKS):
            if not self._output.read():
                break
        words = self._output.last_words()
        return f"\n{words}" if words else ""

    def kill(self) -> None:
        """Kill the child and all processes that it started."""
        self.ended = True
        self._channel.close()
        self._hung_up = True
        self._output.close()
        # The traceback of a kept exception keeps this object, but not the memory.
        self._requests = NONE
        self._decoder.close()
        # A child that takes longer hangs in a kernel driver.
        self._process.kill(_END_SECONDS)

    def forget(self) -> None:
        """Leave the child to another process, which was forked from this one and has this object, too."""
        self.ended = True
        self._channel.close()
        self._output.close()
        self._process.forget()

    def close(self, seconds: float = _END_SECONDS) -> tuple[Finding, ...]:
        """Let the child close its device and end. Kill it if either takes longer than ``seconds``.

        Return the problems that occurred meanwhile. Never raise because of the child.
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
            return (death.finding,)
        except (DeviceFailure, CtsError) as failure:
            return (Finding(Step.CLOSE, str(failure)),)
        finally:
            self.kill()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _in_words(status: int | None) -> str:
    if status is None:
        return "could not be forked, or the process that had forked it has ended"
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"
