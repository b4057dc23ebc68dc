"""Runs a job in several ways that a device may choose freely, and finds where the results depend on the choice."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.diagnostics import instruction_text
from cts.embedded.faults import Faults
from cts.embedded.free_choices import WAYS, Way
from cts.embedded.instructions.registry import handlers
from cts.embedded.module.source_lines import source_line
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.observations import Observation, Observations, SourceLine
from cts.embedded.profile import Profile
from cts.embedded.types.limits import Limits
from cts.embedded.types.values import Undefined, Value
from cts.run_module.comparing import Difference
from cts.run_module.job import Job
from cts.run_module.running import Examined, Left, against, run_on, unknown
from cts.run_module.values import Tolerance

_MOST_STEPS = 2_000_000
"""The most results of instructions that a comparison of two runs follows."""

_Place = tuple[tuple[int, int, int], int]
"""A workgroup, and how many instructions it has executed."""

_Halts = Callable[[_Place, int], bool]
"""Takes a place and the digest of the result there. Tells whether the run ends there."""

_USUAL = Way("", "")


@dataclass(frozen=True)
class Parting:
    """The first instruction whose result differs between two runs.

    Attributes:
        instruction, source: its disassembly and its source line.
        workgroup, invocation: who executed it; the invocation is None for a result that all share.
        usual, other: its results in the usual run, and in the other.
    """

    instruction: str
    source: SourceLine | None
    workgroup: tuple[int, int, int]
    invocation: int | None
    usual: str
    other: str


@dataclass(frozen=True)
class Dependence:
    """A free choice on which the results of a job depend.

    Attributes:
        way: how it was chosen otherwise.
        differences: how the buffers differ from those of the usual run.
        observations: mistakes that only this run shows.
        stopped: why only this run did not finish; empty if it did.
        parting: where the runs part; None if it was not found.
    """

    way: Way
    differences: tuple[Difference, ...]
    observations: tuple[Observation, ...] = ()
    stopped: str = ""
    parting: Parting | None = None


def dependences(job: Job, profile: Profile, limits: Limits, usual: Examined) -> Iterator[Dependence]:
    """Yield the free choices on which a job depends: for each kind, the first way that shows it.

    Args:
        job: the job.
        profile: the embedded device's.
        limits: its limits.
        usual: the findings of the usual run, which finished.
    """
    found: set[str] = set()
    follow = partial(_followed, job, profile, limits)
    # Many modules depend on nothing, and then no run is followed.
    digests = cache(lambda: follow(_USUAL, lambda _, __: False).digests)
    for way in WAYS:
        if way.freedom not in found and (one := _tried(job, profile, limits, way, usual)) is not None:
            found.add(way.freedom)
            yield replace(one, parting=_parting(job, way, digests(), follow))


def _tried(job: Job, profile: Profile, limits: Limits, way: Way, usual: Examined) -> Dependence | None:
    """Run a job in another way. Return what differs, without the place where the runs part; None if nothing does."""
    observations = Observations()
    device = EmbeddedDevice(profile, way.mapping, limits=limits, faults=way.faults(), observations=observations)
    tolerated = replace(job, tolerances=_tolerances(job, usual.left)) if way.rounds else job
    left = against(run_on(device, job, way.text, expect_stops=True), usual.left, tolerated)
    new = unknown(observations.all(), usual.observations)
    if not (left.stopped or new or left.against):
        return None
    return Dependence(way, left.against, new, left.stopped)


def _tolerances(job: Job, usual: Left) -> Mapping[str, Tolerance]:
    """Return the tolerances of a job; for floats without one, half of the digits of the numbers, and of the largest of them."""
    found = dict(job.tolerances)
    for name, contents in (usual.outputs or {}).items():
        component = job.components[name]
        if component.is_float and found[name] == Tolerance():
            share = 2.0 ** -((component.precision + 1) // 2)
            numbers = np.abs(contents[: contents.size // component.bytes * component.bytes].view(component.dtype).astype(np.float64))
            found[name] = Tolerance(share * float(numbers[np.isfinite(numbers)].max(initial=0)), share)
    return found


class _Parted(Exception):
    """The instruction was found at which two runs part."""


class _Follower:
    """Follows the results of instructions in a run, by workgroup.

    Attributes:
        digests: workgroup -> the digest of each result, in order.
        at: the place where ``halts`` was true first; None if nowhere.
        value, mask, index, translation: the result there, the invocations that executed the instruction, its number, and its module.
    """

    def __init__(self, halts: _Halts) -> None:
        self.digests: dict[tuple[int, int, int], list[int]] = {}
        self.at: _Place | None = None
        self.value: Value = None
        self.mask: np.ndarray = np.zeros(0, bool)
        self.index = 0
        self.translation: Translation | None = None
        self._halts = halts
        self._left = _MOST_STEPS

    def faults(self, base: Faults) -> Faults:
        """Return the faults of a device that is followed."""
        known = handlers()
        followed = {op: self._follow(base.instructions.get(op)) for op in known}
        return Faults(followed, base.operations)

    def _follow(self, other: Callable[[Handler], Handler] | None) -> Callable[[Handler], Handler]:
        def fault(handler: Handler) -> Handler:
            made = handler if other is None else other(handler)

            def prepare(translation: Translation, words: Words) -> Callable[[], Value]:
                run = made(translation, words)

                def noted() -> Value:
                    value = run()
                    self._note(translation, value)
                    return value

                return noted

            return prepare

        return fault

    def _note(self, translation: Translation, value: Value) -> None:
        machine = translation.machine
        if value is None or not machine.is_running or machine.callback or self._left <= 0:
            return
        self._left -= 1
        mine = self.digests.setdefault(machine.workgroup, [])
        place, digest = (machine.workgroup, len(mine)), _digest(value, machine.mask)
        mine.append(digest)
        if self._halts(place, digest):
            self.at, self.value, self.mask, self.index, self.translation = place, value, machine.mask, machine.index, translation
            raise _Parted


def _digest(value: Value, mask: np.ndarray) -> int:
    if isinstance(value, np.ndarray):
        active = value[mask] if value.shape == mask.shape else value
        return zlib.crc32(np.ascontiguousarray(active).tobytes())
    if isinstance(value, tuple):
        return hash(tuple(_digest(part, mask) for part in value))
    if isinstance(value, float | np.generic):
        return zlib.crc32(np.asarray(value).tobytes())
    return value if isinstance(value, int) else 0


def _parting(
    job: Job, way: Way, digests: Mapping[tuple[int, int, int], Sequence[int]], follow: Callable[[Way, _Halts], _Follower]
) -> Parting | None:
    """Find the first instruction whose result differs in another way.

    Args:
        job: the job.
        way: the other way.
        digests: of the usual run, as in _Follower.
        follow: runs the job in a way until ``halts`` is true.
    """

    def differs(place: _Place, digest: int) -> bool:
        workgroup, number = place
        usual = digests.get(workgroup, ())
        return number < len(usual) and usual[number] != digest

    other = follow(way, differs)
    if other.at is None or other.translation is None:
        return None
    usual = follow(_USUAL, lambda place, _: place == other.at)
    lane, one, two = _unequal(usual.value, other.value, usual.mask)
    source = source_line(other.translation, other.index)
    return Parting(instruction_text(job.kernel.spirv, other.index), source, other.at[0], lane, one, two)


def _followed(job: Job, profile: Profile, limits: Limits, way: Way, halts: _Halts) -> _Follower:
    follower = _Follower(halts)
    faults = follower.faults(way.faults())
    device = EmbeddedDevice(profile, way.mapping, limits=limits, faults=faults, observations=Observations())
    with suppress(_Parted):
        run_on(device, job, way.text, expect_stops=True)
    return follower


def _unequal(one: Value, other: Value, mask: np.ndarray) -> tuple[int | None, str, str]:
    """Return the first invocation in which two results differ, None if they are not one each, and the results in words."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        pairs = [(a, b) for a, b in zip(one, other, strict=False) if _digest(a, mask) != _digest(b, mask)]
        return _unequal(*pairs[0], mask) if pairs else (None, "another", "one")
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return None, str(one), str(other)
    a, b = np.broadcast_arrays(np.asarray(one), np.asarray(other))
    different = (a != b) & ~(np.not_equal(a, a) & np.not_equal(b, b))
    if a.shape == mask.shape:
        different = different & mask
    if not different.any():
        return None, str(one), str(other)
    place = tuple(int(i) for i in np.argwhere(different)[0])
    return (place[0] if a.shape == mask.shape else None), _shown(a[place]), _shown(b[place])


def _shown(number: Any) -> str:
    return f"{float(number):.9g}" if np.asarray(number).dtype.kind not in "iub" else str(number)
