"""How an exception crosses from the child that holds a device."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cts.devices.device import (
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

Report = tuple[str, str, str | None, str, bool]
"""Name of the class, message, step, broken rule (empty where there is none), and whether the device is spent."""


def reported(error: Exception) -> Report:
    """Return what the child sends of an exception.

    A class that the other side does not know crosses as its nearest base that it knows. Whatever nobody foresaw crosses with its
    traceback, and leaves a device of no more use.
    """
    if not isinstance(error, DeviceFailure | CtsError):
        trace = "".join(traceback.format_exception(error))
        return "DeviceFailure", f"{trace.strip().splitlines()[-1]}\n{trace}", None, "", True
    name = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _KINDS)
    if isinstance(error, DeviceFailure):
        rule = error.rule if isinstance(error, UndefinedBehaviour) else ""
        return name, str(error), error.step and error.step.value, rule, error.spent
    return name, str(error), None, "", False


def rebuilt(report: object) -> Exception:
    """Return the exception that was reported.

    Raises:
        NotAMessage: it is not a report.
    """
    match report:
        case (str(name), str(text), str() | None as step, str(rule), bool(spent)):
            kind = _KINDS.get(name, DeviceFailure)
            if issubclass(kind, UndefinedBehaviour):
                return kind(text, rule, step=step_of(step), spent=spent)
            if issubclass(kind, DeviceFailure):
                return kind(text, step=step_of(step), spent=spent)
            return kind(text)
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
