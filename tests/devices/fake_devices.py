"""Devices that misbehave, each made by a function that a child process imports by name."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from cts.devices.device import DeviceDescription, DeviceError, DeviceLost, DriverRefused, ValidationMessage
from generators.kernel import Dispatch, Kernel, Outcome


class Obedient:
    """Does what the kernel's entry point is called."""

    def __init__(self) -> None:
        self.runs = 0
        self.last_steps: dict[str, float] = {}
        self.announce: Callable[[str], None] = lambda doing: None

    @property
    def description(self) -> DeviceDescription:
        return DeviceDescription("fake", "1", "", "vulkan", "1.3.0", 8, 8, 8, {"cooperativeMatrix": True})

    def missing(self, kernel: Kernel) -> str:
        return ""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        self.runs += 1
        self.last_steps = {"pipeline": 0.25, "dispatch": 0.5}
        getattr(self, f"do_{kernel.entry_point}", lambda: None)()
        # Which process, and how many runs it has seen.
        return [Outcome({"out": np.array([os.getpid(), self.runs]), "in": dispatch.contents[0]}) for dispatch in dispatches]

    def do_kill_itself(self) -> None:
        print("famous last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_exit(self) -> None:
        os._exit(3)

    def do_hang(self) -> None:
        time.sleep(60)

    def do_hang_in_step(self) -> None:
        self.announce("while the pipeline was made")
        self.announce("while the shader ran")
        time.sleep(60)

    def do_hang_after_step(self) -> None:
        self.announce("while the pipeline was made")
        self.announce("")
        time.sleep(60)

    def do_kill_itself_in_step(self) -> None:
        self.announce("while the pipeline was made")
        os.kill(os.getpid(), signal.SIGSEGV)

    def do_step(self) -> None:
        self.announce("while the pipeline was made")

    def do_lose(self) -> None:
        raise DeviceLost("vkQueueSubmit returned VK_ERROR_DEVICE_LOST")

    def do_refuse(self) -> None:
        raise DriverRefused("vkCreateComputePipelines returned VK_ERROR_UNKNOWN")

    def do_complain(self) -> None:
        raise ValidationMessage("VUID-1\nVUID-2")

    def do_raise(self) -> None:
        raise ZeroDivisionError("in the middle")

    def do_print(self) -> None:
        os.write(1, b"a driver's chatter " * 10000)

    def close(self) -> None:
        pass


class HangsOnClose(Obedient):
    def close(self) -> None:
        time.sleep(60)


def obedient() -> Obedient:
    return Obedient()


def hangs_on_close() -> Obedient:
    return HangsOnClose()


def cannot_open() -> Obedient:
    raise DeviceError("no such device: use another")


def dies_on_open() -> Obedient:
    os.kill(os.getpid(), signal.SIGABRT)
    return Obedient()
