"""A pytest plugin for the runs that tests start: a device whose behaviour the environment variable DOUBLES decides.

DOUBLES is JSON: id of a case -> behaviour (see ``Double.run``). A case that it does not name passes, because the device returns the
expected outputs; a case that it holds does not end before the run is interrupted. DOUBLES_LOG names a file that gets a line for each event.
DOUBLES_OPEN is "refuse", or the number of times that the device can be opened; DOUBLES_GONE is the number of runs after which the device
is lost for good. DOUBLES_CHANGED is the number of times that the device can be opened before
it lacks a feature. DOUBLES_FALLBACK is the text of the choice of the device. DOUBLES_MODELLED is the model that stands in for the device.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import child_double

import generators.families.khr_cooperative_matrix as khr
from cts import judges as choosing
from cts.devices.device import (
    MODELLED,
    DeviceCrash,
    DeviceError,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    OutOfMemory,
    Step,
    UndefinedBehaviour,
)
from cts.devices.spec import DeviceSpec
from cts.engine import groups
from cts.engine import plan as plans
from cts.engine import session as sessions
from cts.kinds import foretelling
from cts.kinds import kernel as kernels
from cts.kinds.kernel_reproduction import after
from cts.verdict.codes import Code, Reason
from cts.verdict.expected import Authority, Exact, Expectation, Expected, OneOf, Placed
from generators.kernel import Dispatch, Kernel, Outcome

khr.__path__.append(str(Path(__file__).parent / "families"))

# The description decides what a device lacks, even if a child process holds the device. This one lacks nothing.
MODEL = os.environ.get("DOUBLES_MODELLED", "")
DESCRIPTION = replace(child_double.DESCRIPTION, extra={**child_double.DESCRIPTION.extra, **({MODELLED: MODEL} if MODEL else {})})

current: dict[str, Any] = {}


def log(event: str) -> None:
    if path := os.environ.get("DOUBLES_LOG"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {event}\n")


def logged(event: str) -> int:
    """Return how often an event has happened, in all processes."""
    path = os.environ.get("DOUBLES_LOG")
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path and Path(path).exists() else []
    return sum(line.partition(" ")[2].startswith(event) for line in lines)


def interruption() -> Path:
    """Return the file that exists once the run has been interrupted."""
    return Path(os.environ["DOUBLES_LOG"]).with_name("interrupted")


def pytest_keyboard_interrupt() -> None:
    interruption().touch()


class Double:
    description = DESCRIPTION

    def __init__(self) -> None:
        log("open")
        if logged("open") > int(os.environ.get("DOUBLES_CHANGED", "1000")):
            self.description = replace(DESCRIPTION, features={**DESCRIPTION.features, "cooperativeMatrix": False})
        limit = os.environ.get("DOUBLES_OPEN", "")
        if limit == "refuse" or (limit and logged("open") > int(limit)):
            raise DeviceError("the double cannot be opened: fix it")
        self.last_steps = {"pipeline": 0.001}

    @staticmethod
    def behaviour_of(id_: str) -> str:
        behaviours: dict[str, str] = json.loads(os.environ.get("DOUBLES", "{}"))
        return behaviours.get(id_, behaviours.get("*", "pass"))

    def behaviour(self) -> str:
        return self.behaviour_of(current["id"])

    def missing(self, kernel: Kernel) -> Reason | None:
        if self.behaviour() != "not_supported":
            return None
        return Reason(Code.MISSING_FEATURE.of("cooperativeMatrixDoubles"), "feature cooperativeMatrixDoubles")

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        log(f"run {current['id']}")
        times = logged(f"run {current['id']}")
        if logged("run ") > int(os.environ.get("DOUBLES_GONE", "1000")):
            raise DeviceLost("gone for good")
        plan = current["plan"]
        right = [Outcome({"target": after(want, before)["target"]}) for want, before in zip(plan.expected, plan.before, strict=True)]
        behaviour = self.behaviour()
        match behaviour:
            case "fail" | "quality":
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
                raise DeviceLost("VK_ERROR_DEVICE_LOST", step=Step.DISPATCH)
            case "lost_once":
                if times == 1:
                    raise DeviceLost("VK_ERROR_DEVICE_LOST", step=Step.DISPATCH)
            case "lost_at_times":
                if times != 2:
                    raise DeviceLost("VK_ERROR_DEVICE_LOST", step=Step.DISPATCH)
            case "out_of_memory":
                raise OutOfMemory("vkAllocateMemory returned VK_ERROR_OUT_OF_DEVICE_MEMORY", step=Step.DISPATCH)
            case "slow_to_compile":
                raise DeviceTimeout("pipeline: no answer within 60 s", step=Step.PIPELINE)
            case "slow_to_run":
                raise DeviceTimeout("dispatch: no answer within 60 s", step=Step.DISPATCH)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "lost_then_kill":
                if times == 1:
                    raise DeviceLost("VK_ERROR_DEVICE_LOST", step=Step.DISPATCH)
                if times == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
            case "hold":
                log(f"hold {current['id']}")
                while not interruption().exists():
                    time.sleep(0.01)
                raise KeyboardInterrupt
        return right

    def close(self) -> tuple[()]:
        log("close")
        return ()


def choose(selector: str | None, seconds: float = 60.0, _listed: object = None) -> Any:
    if selector not in (None, "double"):
        raise DeviceError(f"no device '{selector}'; there is double")
    spec = DeviceSpec("factory", os.environ.get("DOUBLES_FACTORY", "doubles:Double"))
    return choosing.Choice(spec, DESCRIPTION, "the only one", os.environ.get("DOUBLES_FALLBACK", ""))


def build(case: Any) -> Any:
    current["id"] = case.id
    return real_build(case)


def pinned_missing(case: Any, asked: Any) -> Reason | None:
    return Reason(Code.MISSING_FEATURE.of("anything"), "feature anything") if Double.behaviour_of(case.id) == "foretold" else None


def arrange(case: Any, on_gpu: bool = False) -> Any:
    plan = current["plan"] = real_arrange(case, on_gpu=on_gpu)
    if Double.behaviour_of(current["id"]) == "quality":
        plan = current["plan"] = replace(plan, expected=tuple(map(lenient, plan.expected)))
    return plan


def lenient(expected: Expected) -> Expected:
    """Permit the wrong output of the double, and still expect the right one."""

    def also_flipped(one: Placed) -> Placed:
        right = one.expected
        assert isinstance(right, Exact)
        flip = right.component.bits_dtype.type(0x40 << 8 * (9 % right.component.bytes))
        permitted = OneOf(right.component, (right.bits, right.bits ^ flip))
        return replace(one, expectation=Expectation(permitted, right, Authority("KHR-LOAD-03", quality="F-KHR-25")))

    return replace(expected, placed=tuple(map(also_flipped, expected.placed)))


real_build, real_arrange = kernels.build, kernels.arrange
kernels.build, kernels.arrange = build, arrange  # type: ignore[attr-defined]
kernels.pinned_missing = foretelling.pinned_missing = pinned_missing  # type: ignore[attr-defined]
kernels.is_pinned = lambda _case, _module: False  # type: ignore[attr-defined]
plans.choose = choose  # type: ignore[attr-defined]
groups.choose = lambda selector, seconds: replace(choose(None, seconds), why=selector)  # type: ignore[attr-defined]
sessions.open_judge = lambda spec: Double()  # type: ignore[attr-defined]
