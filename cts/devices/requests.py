"""The requests to a process that holds a device: the types of their arguments and of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from cts.devices.device import DeviceDescription, Listings, Step
from cts.devices.failures import Report
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.messages import BEGIN, DOING, FAILURE, HEARD, decoder_of
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.spec import DeviceSpec
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.sizes import Statistics
from generators.kernel import Dispatch, Kernel, Outcome


class Request(NamedTuple):
    """Decoders of a request.

    Attributes:
        arguments: decodes its arguments.
        answer: decodes its answer.
        step: its step, if it has only one.
    """

    arguments: msgspec.msgpack.Decoder[Any]
    answer: msgspec.msgpack.Decoder[Any]
    step: Step | None


def _request(arguments: Any, answer: Any, step: Step | None) -> Request:
    return Request(decoder_of(arguments), decoder_of(answer), step)


REQUESTS: Mapping[str, Request] = MappingProxyType(
    {
        "count_vulkan": _request(tuple[()], int, Step.OPEN),
        "describe_vulkan": _request(tuple[int], DeviceDescription, Step.OPEN),
        "open": _request(tuple[DeviceSpec], DeviceDescription, Step.OPEN),
        "run": _request(tuple[Kernel, tuple[Dispatch, ...]], tuple[list[Outcome], dict[str, float], Statistics], None),
        "listings": _request(tuple[Kernel], Listings, Step.PIPELINE),
        "walk": _request(tuple[Kernel, Dispatch, ElementPlace], MachineWalk | None, None),
        "ask": _request(tuple[PropertyCall], PropertyAnswer, Step.QUERY),
        "convert": _request(tuple[ConversionCall], list[ConversionAnswer], Step.QUERY),
        "close": _request(tuple[()], None, Step.CLOSE),
    }
)
"""Name of each request -> its decoders and its step."""

NEWS: Mapping[str, msgspec.msgpack.Decoder[Any]] = MappingProxyType(
    {BEGIN: decoder_of(None), DOING: decoder_of(Step | None), HEARD: decoder_of(str), FAILURE: decoder_of(Report)}
)
"""Kind of each message of the child, except answers -> the decoder of its contents."""
