"""The child's side of isolation: answers requests on a socket until the socket is closed."""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from cts.devices.device import AnnouncesSteps, Device, DeviceDescription, ForwardsMessages, NoVulkan, Step, TellsOfCode, WalksBack
from cts.devices.failures import reported
from cts.devices.layout_conversion import ConvertsLayouts
from cts.devices.messages import (
    ANSWER,
    BEGIN,
    DOING,
    FAILURE,
    HEARD,
    Decoder,
    Disconnected,
    NotAMessage,
    Unsendable,
    receive,
    send,
)
from cts.devices.property_commands import AnswersQueries
from cts.devices.requests import REQUESTS
from cts.devices.shared_memory import accept
from cts.devices.spec import DeviceSpec

CUT_OFF = 70
"""Exit status of a child that lost its channel although its parent is alive; EX_SOFTWARE."""


_ONLY = DeviceSpec("vulkan", "")
"""The only Vulkan device, whose UUID is not known yet."""


class OpensDevices(Protocol):
    """Opens a device in this process: see ``cts.opening.open_device``."""

    def __call__(self, spec: DeviceSpec, *, watched: bool) -> Device:
        """Open the device."""
        ...


class _Requests:
    """The state of this process, with a method for each request.

    Args:
        open_device: opens the device.
        announce: tells the parent which step the device begins.
        forward: tells the parent what the driver said.
    """

    def __init__(self, open_device: OpensDevices, announce: Callable[[Step | None], None], forward: Callable[[str], None]) -> None:
        self._open_device = open_device
        self._announce = announce
        self._forward = forward
        self._device: Device | None = None
        self._guessed: Device | None = None
        self._instance: Any = None

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to a request."""
        return getattr(self, f"on_{name}")(*arguments)

    @property
    def device(self) -> Device:
        assert self._device is not None, "open comes first"
        return self._device

    @property
    def instance(self) -> Any:
        """The one VkInstance that lists devices in this process."""
        from cts.devices.vulkan.instance import Instance

        if self._instance is None:
            self._instance = Instance()
        return self._instance

    def guess(self) -> None:
        """Open the Vulkan device before anybody asks for it, if there is only one. If that fails, ``open`` fails too, and reports it."""
        with suppress(Exception):
            if len(self.instance.physical_devices()) == 1:
                self._guessed = self._open_device(_ONLY, watched=True)

    def on_count_vulkan(self) -> int:
        count = len(self.instance.physical_devices())
        if not count:
            raise NoVulkan("the Vulkan loader knows no device")
        return count

    def on_describe_vulkan(self, index: int) -> DeviceDescription:
        from cts.devices.vulkan.query import describe

        return describe(self.instance, index)

    def on_open(self, spec: DeviceSpec) -> DeviceDescription:
        self._device = self._taken(spec) or self._open_device(spec, watched=True)
        # The device has its own instance. The other one has kept the drivers loaded until now.
        self._close_instance()
        if isinstance(self._device, AnnouncesSteps):
            self._device.announce = self._announce
        if isinstance(self._device, ForwardsMessages):
            self._device.forward = self._forward
        return self._device.description

    def _taken(self, spec: DeviceSpec) -> Device | None:
        """Return the device that was opened already, if it is the one that is asked for. Close another one."""
        guessed, self._guessed = self._guessed, None
        if guessed is None:
            return None
        # A parent process limits each submission to this device.
        only = replace(_ONLY, name=guessed.description.uuid, submission_seconds=spec.submission_seconds)
        if spec == only:
            return guessed
        guessed.close()
        return None

    def on_run(self, kernel: Any, dispatches: Any) -> Any:
        outcomes = self.device.run(kernel, dispatches)
        statistics = self.device.last_statistics if isinstance(self.device, TellsOfCode) else {}
        return outcomes, dict(self.device.last_steps), statistics

    def on_listings(self, kernel: Any) -> Any:
        return self.device.listings(kernel) if isinstance(self.device, TellsOfCode) else {}

    def on_walk(self, kernel: Any, dispatch: Any, place: Any, number: int) -> Any:
        return self.device.walk(kernel, dispatch, place, number) if isinstance(self.device, WalksBack) else None

    def on_ask(self, call: Any) -> Any:
        assert isinstance(self.device, AnswersQueries), f"{type(self.device).__name__} has no property commands"
        return self.device.ask(call)

    def on_convert(self, call: Any) -> Any:
        assert isinstance(self.device, ConvertsLayouts), f"{type(self.device).__name__} converts no layouts"
        return self.device.convert(call)

    def on_close(self) -> None:
        for device in (self._device, self._guessed):
            if device is not None:
                device.close()
        self._device = self._guessed = None
        self._close_instance()

    def _close_instance(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.close()


def _reply(requests: _Requests, name: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return ANSWER, requests.answer(name, arguments)
    except Exception as error:
        return FAILURE, reported(error)


def _end_with_parent(channel: socket.socket) -> None:
    """End this process, and all processes that a driver started, as soon as the parent is gone, even during a call that never returns.

    A separate thread does this. A driver cannot block it because cffi releases the interpreter's lock during calls."""

    def watch() -> None:
        poll = select.poll()
        poll.register(channel.fileno(), 0)
        poll.poll()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Server:
    """Answers requests on a socket.

    Args:
        channel: the socket.
        open_device: opens the device.
        shared: the descriptors of memory that the parent shares, if there is any.
        early: whether to open the only Vulkan device before the first request.
    """

    def __init__(self, channel: socket.socket, open_device: OpensDevices, shared: Sequence[int] = (), early: bool = False) -> None:
        self._early = early
        self._channel = channel
        self._open_device = open_device
        self._asked, self._answers = accept(shared)
        self._number = 0
        self._answering = False
        self._sending = threading.Lock()

    def serve(self) -> None:
        """Answer requests until the parent asks to close.

        Raises:
            Disconnected: the channel is closed.
            NotAMessage: the received bytes are not a message.
        """
        decoder = Decoder(self._asked)
        requests = _Requests(self._open_device, lambda step: self._send((DOING, step)), self._forward)
        if self._early:
            requests.guess()
        while True:
            received = receive(self._channel, decoder)
            self._number, name = received.number, received.kind
            if name not in REQUESTS:
                raise NotAMessage(f"it is the unknown request {name!r:.100}")
            arguments = decoder.read(received, REQUESTS[name].arguments)
            self._send((BEGIN, None))
            self._answering = True
            reply = _reply(requests, name, arguments)
            try:
                self._send(reply)
            except Unsendable as why:
                self._send((FAILURE, reported(ValueError(f"the answer cannot be sent: {why}"))))
            if name == "close":
                return

    def _forward(self, text: str) -> None:
        """Send a message of the driver. Any thread of the driver may call this, also after the answer: then the message is dropped."""
        with self._sending:
            if self._answering:
                send(self._channel, self._number, (HEARD, text))

    def _send(self, message: tuple[str, Any]) -> None:
        with self._sending:
            if message[0] in (ANSWER, FAILURE):
                self._answering = False
            send(self._channel, self._number, message, self._answers)


def answer_requests(open_device: OpensDevices, descriptors: Sequence[int], early: bool) -> None:
    """Answer requests on a socket until it is closed.

    Args:
        open_device: opens the device.
        descriptors: the socket, then the memory that the parent shares, if there is any.
        early: whether to open the only Vulkan device before the first request.
    """
    faulthandler.enable()
    descriptor, *shared = descriptors
    channel = socket.socket(fileno=descriptor)
    channel.set_inheritable(False)
    _end_with_parent(channel)
    try:
        _Server(channel, open_device, shared, early).serve()
    except (Disconnected, NotAMessage) as error:
        # The parent is alive, or this process would have been ended. So code in this process closed the descriptor or read from it.
        print(f"the channel to the suite was closed or read by a driver ({type(error).__name__}: {error})", file=sys.stderr, flush=True)
        sys.exit(CUT_OFF)
