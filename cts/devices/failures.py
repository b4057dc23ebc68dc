"""Passes exceptions from the child that holds a device to its parent."""

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
    Disturbed,
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
            Disturbed,
            NoVulkan,
            GeneratorError,
            CtsError,
        )
    }
)

_FURTHER: Mapping[type[Exception], Mapping[str, Any]] = MappingProxyType(
    {CallFailed: {"call": str, "result": int | None}, UndefinedBehaviour: {"rule": str}, GeneratorError: {"rule": str}}
)
"""Class -> the attributes that cross besides the message, with their types."""

Report = tuple[str, str, str | None, bool, dict[str, str | int | None]]
"""Class name, message, step, whether the device is spent, and the further attributes of the class by name."""


def reported(error: Exception) -> Report:
    """Return the message that the child sends for an exception.

    A class that the parent does not know crosses as its nearest known base. An unexpected exception crosses with its traceback and makes
    the device unusable.
    """
    if not isinstance(error, DeviceFailure | CtsError):
        trace = _unicode("".join(traceback.format_exception(error)))
        return "DeviceFailure", f"{trace.strip().splitlines()[-1]}\n{trace}", None, True, {}
    name = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _KINDS)
    further = {attribute: getattr(error, attribute) for attribute in _further(_KINDS[name])}
    if isinstance(error, DeviceFailure):
        return name, _unicode(str(error)), error.step and error.step.value, error.spent, further
    return name, _unicode(str(error)), None, False, further


def _unicode(text: str) -> str:
    """Return text with escapes for the bytes of a path that are not Unicode: a message cannot hold them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _further(kind: type[Exception]) -> Mapping[str, Any]:
    return next((types for base, types in _FURTHER.items() if issubclass(kind, base)), {})


def rebuilt(report: object) -> Exception:
    """Return the exception that was reported.

    Raises:
        NotAMessage: it is not a report.
    """
    match report:
        case (str(name), str(text), str() | None as step, bool(spent), dict(further)):
            kind = _KINDS.get(name, DeviceFailure)
            types = _further(kind)
            if further.keys() == types.keys() and all(isinstance(further[attribute], types[attribute]) for attribute in types):
                if issubclass(kind, DeviceFailure):
                    return kind(text, step=step_of(step), spent=spent, **further)
                return kind(*further.values(), text)
    raise NotAMessage(f"it reports a failure as {report!r:.100}")


def step_of(name: Any) -> Step | None:
    """Return the step called ``name``; None for None.

    Raises:
        NotAMessage: no step has the name.
    """
    try:
        return None if name is None else Step(name)
    except ValueError:
        raise NotAMessage(f"it names an unknown step: {name!r:.100}") from None
