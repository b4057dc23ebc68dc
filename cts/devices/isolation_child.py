"""The child's side of isolation: ``python -m cts.devices.isolation_child FD`` answers requests on a socket until it is closed."""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from cts.devices.device import AnnouncesSteps, Device, DeviceFailure
from cts.devices.messages import BEGIN, DOING, Deadline, Disconnected, receive, send
from cts.devices.property_commands import AnswersQueries
from generators.errors import CtsError

_FOREVER = Deadline(None)


class _Requests:
    """The device that this process holds, and a method for each request that it can be sent.

    Args:
        announce: tells the other side what the device does.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._device: Device | None = None

    def answer(self, request: tuple[Any, ...]) -> Any:
        """The answer to a request."""
        name, *arguments = request
        return getattr(self, f"on_{name}")(*arguments)

    @property
    def device(self) -> Device:
        assert self._device is not None, "open comes first"
        return self._device

    def on_list_vulkan(self) -> Any:
        from cts.devices.vulkan.query import describe_all

        return describe_all()

    def on_open(self, spec: Any) -> Any:
        from cts.devices.choose import open_device

        self._device = open_device(spec)
        if isinstance(self._device, AnnouncesSteps):
            self._device.announce = self._announce
        return self._device.description

    def on_run(self, kernel: Any, dispatches: Any) -> Any:
        outcomes = self.device.run(kernel, dispatches)
        return outcomes, dict(getattr(self.device, "last_steps", {}))

    def on_ask(self, call: Any) -> Any:
        assert isinstance(self.device, AnswersQueries), f"{type(self.device).__name__} has no property commands"
        return self.device.ask(call)

    def on_close(self) -> Any:
        device, self._device = self._device, None
        if device is not None:
            device.close()


def _reply(requests: _Requests, request: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "answer", requests.answer(request)
    except (DeviceFailure, CtsError) as error:
        return "failure", (_known_name(type(error)), str(error))
    except Exception:
        trace = traceback.format_exc()
        return "failure", ("DeviceFailure", f"{trace.strip().splitlines()[-1]}\n{trace}")


def _known_name(kind: type[Exception]) -> str:
    """The name of the nearest class that the other side knows."""
    from cts.devices.child import FAILURES

    return next(base.__name__ for base in kind.__mro__ if base.__name__ in FAILURES)


def _end_with_parent(channel: socket.socket) -> None:
    """Ends this process as soon as the other side is gone, also in the middle of a call that never returns: by a thread of its own,
    which a driver cannot stop since cffi releases the interpreter's lock."""

    def watch() -> None:
        poll = select.poll()
        poll.register(channel.fileno(), 0)
        poll.poll()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve(channel: socket.socket) -> None:
    """Answers requests until the other side is gone or asks to close."""
    requests = _Requests(lambda doing: send(channel, (DOING, doing), _FOREVER))
    while True:
        try:
            request = receive(channel, _FOREVER)
            send(channel, BEGIN, _FOREVER)
            send(channel, _reply(requests, request), _FOREVER)
        except Disconnected:
            return
        if request[0] == "close":
            return


def main() -> None:
    """Serves the socket whose descriptor is the first argument."""
    faulthandler.enable()
    # An interrupt is the parent's to handle: it reaches the whole foreground process group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    _end_with_parent(channel)
    serve(channel)


if __name__ == "__main__":
    main()
