"""The requests to a process that holds a device: the types of their arguments and of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cts.devices.device import DeviceDescription, Listings, Step
from cts.devices.failures import Report
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.messages import BEGIN, DOING, FAILURE, HEARD
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.spec import DeviceSpec
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.sizes import Statistics
from generators.kernel import Dispatch, Kernel, Outcome


class Request(NamedTuple):
    """The types of a request.

    Attributes:
        arguments: the type of its arguments.
        answer: the type of its answer.
        step: its step, if it has only one.
    """

    arguments: Any
    answer: Any
    step: Step | None


REQUESTS: Mapping[str, Request] = MappingProxyType(
    {
        "count_vulkan": Request(tuple[()], int, Step.OPEN),
        "describe_vulkan": Request(tuple[int], DeviceDescription, Step.OPEN),
        "open": Request(tuple[DeviceSpec], DeviceDescription, Step.OPEN),
        "run": Request(tuple[Kernel, tuple[Dispatch, ...]], tuple[list[Outcome], dict[str, float], Statistics], None),
        "listings": Request(tuple[Kernel], Listings, Step.PIPELINE),
        "walk": Request(tuple[Kernel, Dispatch, ElementPlace, int], MachineWalk | None, None),
        "ask": Request(tuple[PropertyCall], PropertyAnswer, Step.QUERY),
        "convert": Request(tuple[ConversionCall], list[ConversionAnswer], Step.QUERY),
        "close": Request(tuple[()], None, Step.CLOSE),
    }
)
"""Name of each request -> its types and its step."""

NEWS: Mapping[str, Any] = MappingProxyType({BEGIN: type(None), DOING: Step | None, HEARD: str, FAILURE: Report})
"""Kind of each message of the child, except answers -> the type of its contents."""
