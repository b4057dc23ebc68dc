"""A device in its own child process. It copies, unless the environment variable CHILD says otherwise.

CHILD is JSON: value of the case's parameter ``number`` -> behaviour. CHILD_LOST names a file that marks that a device was lost; files with
this name and another suffix mark other events.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from cts.devices.device import DeviceLost, Step
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import Dispatch, Kernel, Outcome

DESCRIPTION = replace(EmbeddedDevice(load_profile("universal")).description, name="Double", driver="double 1.0", uuid="00ff")


class ChildDouble:
    description = DESCRIPTION
    last_steps: Mapping[str, float] = MappingProxyType({})

    def announce(self, step: Step | None) -> None:
        """Begin or end a step; the parent of a child replaces this method."""

    def missing(self, kernel: Kernel) -> None:
        return None

    damaged = False

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        if self.damaged:
            return [Outcome({"target": dispatch.contents[1]}) for dispatch in dispatches]
        number = (kernel.buffers[0].bytes - 64) // 16
        match json.loads(os.environ.get("CHILD", "{}")).get(f"n{number}", "pass"):
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "killed_idle":
                _after_answer(lambda: os.kill(os.getpid(), signal.SIGKILL))
            case "dies_idle":
                _after_answer(lambda: os.kill(os.getpid(), signal.SIGSEGV))
            case "hang":
                time.sleep(600)
            case "lost":
                raise DeviceLost("VK_ERROR_DEVICE_LOST")
            case "lost_once":
                marker = Path(os.environ["CHILD_LOST"])
                if not marker.exists():
                    marker.touch()
                    raise DeviceLost("VK_ERROR_DEVICE_LOST")
            case "killed_after_wrong":
                _marker("running").touch()
                _await("wrong")
                os.kill(os.getpid(), signal.SIGKILL)
            case "lost_after_wrong":
                self.announce(Step.DISPATCH)
                _marker("running").touch()
                _await("wrong")
                # The end of the step is told before the device has gone.
                self.announce(None)
                time.sleep(0.3)
                raise DeviceLost("VK_ERROR_DEVICE_LOST", step=Step.DISPATCH)
            case "wrong" | "wrong_once" as which if which == "wrong" or not _marker("wrong").exists():
                if "n1" in json.loads(os.environ["CHILD"]):
                    _await("running")
                _marker("wrong").touch()
                return [Outcome({"target": dispatch.contents[1]}) for dispatch in dispatches]
            case "permitted_and_damages":
                self.damaged = not _marker("damaged").exists()
                _marker("damaged").touch()
                return [Outcome({"target": _permitted(dispatch)}) for dispatch in dispatches]
            case "wrong_in_other_ways":
                again = _marker("wrong").exists()
                with _marker("runs").open("a") as file:
                    file.write(".")
                _marker("again" if again else "wrong").touch()
                return [Outcome({"target": _permitted(dispatch) if again else dispatch.contents[1]}) for dispatch in dispatches]
            case "wrong_then_permitted":
                wrong = not _marker("wrong").exists()
                _marker("wrong").touch()
                return [Outcome({"target": dispatch.contents[1] if wrong else _permitted(dispatch)}) for dispatch in dispatches]
        return [Outcome({"target": _right(dispatch)}) for dispatch in dispatches]

    def close(self) -> tuple[()]:
        return ()


def _after_answer(do: Callable[[], None]) -> None:
    """Make the child do something after it has answered the current request."""
    serving = sys.modules["cts.devices.isolation_child"]
    send = serving.send

    def sending(channel: object, number: int, message: tuple[str, object], memory: np.ndarray) -> None:
        send(channel, number, message, memory)
        if message[0] == "answer":
            do()

    serving.send = sending


def _right(dispatch: Dispatch) -> np.ndarray:
    source, target = dispatch.contents
    after: np.ndarray = target.copy()
    after[:64] = source[:64]
    return after


def _permitted(dispatch: Dispatch) -> np.ndarray:
    """Return the bits that ``doubles.lenient`` permits and does not expect."""
    after = _right(dispatch)
    after[9] ^= 0x40
    return after


def _marker(event: str) -> Path:
    return Path(os.environ["CHILD_LOST"]).with_suffix(f".{event}")


def _await(event: str) -> None:
    while not _marker(event).exists():
        time.sleep(0.005)
