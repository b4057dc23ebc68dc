"""How an exception crosses from the child that holds a device."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cts.devices.device import (
    CallFailed,
    DeviceCrash,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    NoVulkan,
    OutOfMemory,
    Step,
    UndefinedBehaviour,
    ValidationMessage,
)
from cts.devices.messages import NotAMessage
from generators.errors import CtsError, GeneratorError

_KINDS: Mapping[str, type[Exception]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            DeviceFailure,
            DeviceCrash,
            DeviceTimeout,
            DeviceLost,
            DriverRefused,
            OutOfMemory,
            UndefinedBehaviour,
            ValidationMessage,
            DeviceError,
            NoVulkan,
            GeneratorError,
            CtsError,
        )
    }
)

Report = tuple[str, str, str | None, bool, dict[str, Any]]
"""Name of the class, message, step, whether the device is spent, and the further attributes of the class by name."""


def reported(error: Exception) -> Report:
    """Return the message that the child sends for an exception.

    A class that the other side does not know crosses as its nearest base that it knows. An unexpected exception crosses with its traceback,
    and makes the device unusable.
    """
    if not isinstance(error, DeviceFailure | CtsError):
        trace = "".join(traceback.format_exception(error))
        return "DeviceFailure", f"{trace.strip().splitlines()[-1]}\n{trace}", None, True, {}
    name = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _KINDS)
    if isinstance(error, DeviceFailure):
        return name, str(error), error.step and error.step.value, error.spent, _further(error)
    return name, str(error), None, False, _further(error)


def _further(error: DeviceFailure | CtsError) -> dict[str, Any]:
    if isinstance(error, UndefinedBehaviour | GeneratorError):
        return {"rule": str(error.rule)}
    return {"call": error.call, "result": error.result} if isinstance(error, CallFailed) else {}


def rebuilt(report: object) -> Exception:
    """Return the exception that was reported.

    Raises:
        NotAMessage: it is not a report.
    """
    match report:
        case (str(name), str(text), str() | None as step, bool(spent), dict(further)):
            kind = _KINDS.get(name, DeviceFailure)
            if issubclass(kind, GeneratorError) and isinstance(further.get("rule"), str):
                return kind(further["rule"], text)
            if not issubclass(kind, DeviceFailure | GeneratorError):
                return kind(text)
            if issubclass(kind, UndefinedBehaviour) and isinstance(further.get("rule"), str):
                return kind(text, further["rule"], step=step_of(step), spent=spent)
            if issubclass(kind, CallFailed):
                match further:
                    case {"call": str(call), "result": int() | None as result}:
                        return kind(text, step=step_of(step), spent=spent, call=call, result=result)
            elif not further and issubclass(kind, DeviceFailure):
                return kind(text, step=step_of(step), spent=spent)
    raise NotAMessage(f"it reports a failure by {report!r:.100}")


def step_of(name: Any) -> Step | None:
    """Return the step of that name; None for None.

    Raises:
        NotAMessage: there is none.
    """
    try:
        return None if name is None else Step(name)
    except ValueError:
        raise NotAMessage(f"it names a step that there is not: {name!r:.100}") from None
