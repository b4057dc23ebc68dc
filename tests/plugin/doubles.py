"""A pytest plugin for the runs that tests start: a device that behaves as the environment variable DOUBLES says.

DOUBLES is JSON: id of a case -> behaviour (see ``Double.run``). A case that it does not name passes: the device hands back what is
expected of it. DOUBLES_LOG names a file that gets a line for each event.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import child_double

import generators.families
from cts.devices import choose as choosing
from cts.devices.device import (
    DeviceCrash,
    DeviceError,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    UndefinedBehaviour,
)
from cts.kinds import kernel as kernels
from cts.reproduction import after
from generators.kernel import Dispatch, Kernel, Outcome

generators.families.__path__.append(str(Path(__file__).parent / "families"))

# What a device lacks is decided by its description, also where a child process holds the device: this one lacks nothing.
DESCRIPTION = child_double.DESCRIPTION

current: dict[str, Any] = {}
lost: set[str] = set()


def log(event: str) -> None:
    if path := os.environ.get("DOUBLES_LOG"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {event}\n")


class Double:
    description = DESCRIPTION

    def __init__(self) -> None:
        log("open")
        if os.environ.get("DOUBLES_OPEN") == "refuse":
            raise DeviceError("the double cannot be opened: mend it")
        self.behaviours: dict[str, str] = json.loads(os.environ.get("DOUBLES", "{}"))
        self.last_steps = {"pipeline": 0.001}

    def behaviour(self) -> str:
        return self.behaviours.get(current["id"], self.behaviours.get("*", "pass"))

    def missing(self, kernel: Kernel) -> str:
        return "feature cooperativeMatrixDoubles" if self.behaviour() == "not_supported" else ""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        log(f"run {current['id']}")
        plan = current["plan"]
        right = [Outcome({"target": after(want, before)["target"]}) for want, before in zip(plan.expected, plan.before, strict=True)]
        behaviour = self.behaviour()
        match behaviour:
            case "fail":
                right[0].outputs["target"][9] ^= 0x40
            case "crash":
                raise DeviceCrash("the device's process died: SIGSEGV")
            case "timeout":
                raise DeviceTimeout("run took longer than 60 s")
            case "refused":
                raise DriverRefused("vkCreateComputePipelines: VK_ERROR_UNKNOWN")
            case "undefined":
                raise UndefinedBehaviour("OpLoad reads beyond the buffer")
            case "raise":
                raise ZeroDivisionError("a slip of ours")
            case "lost":
                raise DeviceLost("VK_ERROR_DEVICE_LOST")
            case "lost_once":
                if current["id"] not in lost:
                    lost.add(current["id"])
                    raise DeviceLost("VK_ERROR_DEVICE_LOST")
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "slow":
                time.sleep(0.2)
        return right

    def close(self) -> None:
        log("close")


def choose(selector: str | None) -> Any:
    if selector not in (None, "double"):
        raise DeviceError(f"no device '{selector}'; there is double")
    return choosing.Choice(choosing.DeviceSpec("factory", os.environ.get("DOUBLES_FACTORY", "doubles:Double")), DESCRIPTION, "the only one")


def build_program(case: Any) -> Any:
    current["id"] = case.id
    return real_build_program(case)


def arrange(case: Any, program: Any) -> Any:
    current["plan"] = real_arrange(case, program)
    return current["plan"]


real_build_program, real_arrange = kernels.build_program, kernels.arrange
kernels.build_program, kernels.arrange = build_program, arrange  # type: ignore[attr-defined]
choosing.choose = choose
choosing.open_device = lambda spec: Double()
