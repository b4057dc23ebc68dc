"""Chooses the faults of the sweep: every call of a clean run, every result that the specification allows it, at three of its counts."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cts.devices.vulkan.registry import Registry
from tests.hostile_driver.sweep.marks import MARK

REGISTRY = Path("/usr/share/vulkan/registry/vk.xml")
"""Khronos' registry, of libvulkan-dev."""

LATE = "late"
LATE_WRITES = "late writes"
NOTHING = "does nothing"

_ACTIONS = {"crash": "crash", "hang": "hang", NOTHING: "nothing", LATE: "sleep:100"}
"""Faults of every call, and what the layer then does."""

_OF_ONE_CALL = {"vkQueueSubmit": {LATE_WRITES: "late_writes:300"}}

_SUCCESS = "VK_SUCCESS"


@dataclass(frozen=True)
class Call:
    """A line of a trace.

    Attributes:
        name: the Vulkan command.
        request: the request to the device's process that it served, as marks.py describes it; empty if it served none.
        struck: whether the fault struck it.
    """

    name: str
    request: str
    struck: bool


def read_trace(text: str) -> tuple[Call, ...]:
    """Return the calls of a trace."""
    request = ""
    calls = []
    for line in text.splitlines():
        if line.startswith(MARK):
            request = line.removeprefix(MARK)
        else:
            name, struck, _ = line.partition(" !")
            calls.append(Call(name, request, bool(struck)))
    return tuple(calls)


@dataclass(frozen=True)
class Fault:
    """A fault of the sweep.

    Attributes:
        call: the Vulkan command that it strikes.
        what: a result, or one of the other faults, in words.
        action: what the layer does.
        nth: the count of the first call that it strikes, from 1.
        once: whether it strikes no later call.
    """

    call: str
    what: str
    action: str
    nth: int
    once: bool

    @property
    def when(self) -> str:
        """When it strikes, in words."""
        return f"at call {self.nth}" if self.once else f"from call {self.nth} on"

    @property
    def name(self) -> str:
        """A unique name."""
        return f"{self.call}: {self.what} {self.when}"

    @property
    def text(self) -> str:
        """The fault as the layer reads it."""
        return f"call={self.call} do={self.action} skip={self.nth - 1}{' times=1' if self.once else ''}"


def faults(clean: Sequence[Call]) -> tuple[Fault, ...]:
    """Return every fault for the calls of a clean run."""
    registry = Registry(ET.parse(REGISTRY).getroot())
    counts = Counter(call.name for call in clean)
    return tuple(fault for name in sorted(counts) for fault in _of_call(name, counts[name], registry))


def _of_call(name: str, count: int, registry: Registry) -> Iterator[Fault]:
    actions = {result: f"result:{registry.value(result)}" for result in registry.results(name) if result != _SUCCESS}
    for what, action in (actions | _ACTIONS | _OF_ONE_CALL.get(name, {})).items():
        for nth in sorted({1, min(2, count), count}):
            for once in (True, False):
                yield Fault(name, what, action, nth, once)


def sampled(all_: Sequence[Fault], count: int, seed: int, wanted: Callable[[Fault], bool] = lambda _: True) -> tuple[Fault, ...]:
    """Return ``count`` faults, chosen by ``seed``; as many of each call and of each kind as possible."""
    generator = random.Random(seed)
    left = [fault for fault in all_ if wanted(fault)]
    generator.shuffle(left)
    chosen: list[Fault] = []
    seen: Counter[tuple[str, str]] = Counter()
    while left and len(chosen) < count:
        fault = min(left, key=lambda one: seen["call", one.call] + seen["what", one.what])
        left.remove(fault)
        seen["call", fault.call] += 1
        seen["what", fault.what] += 1
        chosen.append(fault)
    return tuple(chosen)
