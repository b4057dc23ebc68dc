"""Runs a job: on the embedded device, which lists the mistakes of the module, and on the requested device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cts.devices.device import Device, DeviceFailure, UndefinedBehaviour
from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observation, Observations, Severity
from cts.embedded.profile import Profile
from cts.embedded.types.limits import Limits
from cts.run_module.comparing import Difference, compare
from cts.run_module.job import Expectation, Job
from cts.run_module.placing import lacking, place, taken_out
from cts.run_module.values import MOST_BYTES
from generators.errors import GeneratorError
from generators.spirv.enumerants import Capability, Op
from generators.spirv.reader import read_instructions

WRONG = frozenset({Severity.UNDEFINED, Severity.RULE})
"""Severities that count as mistakes of the module."""


@dataclass(frozen=True)
class Left:
    """The results of a device for a job.

    Attributes:
        device: its name.
        outputs: bytes of each written buffer; None if the run did not finish.
        stopped: why the run did not finish, or did not begin; empty if it finished.
        differences: buffers that differ from the job's expected contents.
        against: buffers that differ from the results of the embedded device.
        stray: writes to places that the module may not write to, in words.
        checked: how many elements were compared with the job's expected contents or with the embedded device.
    """

    device: str
    outputs: Mapping[str, np.ndarray] | None
    stopped: str = ""
    differences: tuple[Difference, ...] = ()
    against: tuple[Difference, ...] = ()
    stray: tuple[str, ...] = ()
    checked: int = 0

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong."""
        return bool(self.stopped or self.differences or self.against or self.stray)


@dataclass(frozen=True)
class Examined:
    """The findings of the embedded device.

    Attributes:
        observations: mistakes, worst first.
        left: the results of the run.
        others: the results with other subgroup sizes, of those where something else is wrong.
    """

    observations: tuple[Observation, ...]
    left: Left
    others: tuple[Left, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Whether the module makes a mistake."""
        return any(one.severity in WRONG for one in self.observations) or self.left.is_wrong or bool(self.others)


def examine(job: Job, profile: Profile, limits: Limits, tries_sizes: bool) -> Examined:
    """Run a job on the embedded device and collect the mistakes of the module.

    Args:
        job: the module and its data.
        profile: the embedded device's.
        limits: of each run.
        tries_sizes: whether to run it also with the other subgroup sizes of the profile.
    """
    observations, left = _run(job, profile, limits, "embedded")
    others: list[Left] = []
    for size in _other_sizes(job, profile) if tries_sizes and not left.stopped else ():
        found, other = _run(job, replace(profile, subgroup_size=size), limits, f"embedded, subgroups of {size}")
        if any(one.rule in _OF_SIZES for one in found):
            continue
        new = unknown(found, observations)
        observations += tuple(replace(one, text=f"{one.text} (with subgroups of {size})") for one in new)
        if other.is_wrong and other.differences != left.differences:
            others.append(other)
    return Examined(observations, left, tuple(others))


def limits_of(steps: int, seconds: float) -> Limits:
    """Return the limits of the embedded device for a module that may run ``steps`` instructions and take ``seconds`` of processor time."""
    return Limits(steps=steps, memory=MOST_BYTES, seconds=seconds)


def unknown(found: tuple[Observation, ...], known: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Return the observations that break a rule at an instruction where the known ones do not."""
    before = {(one.index, one.rule) for one in known}
    return tuple(one for one in found if (one.index, one.rule) not in before)


def _run(job: Job, profile: Profile, limits: Limits, name: str) -> tuple[tuple[Observation, ...], Left]:
    observations = Observations()
    device = EmbeddedDevice(profile, limits=limits, observations=observations)
    left = run_on(device, job, name, expect_stops=True)
    return observations.all(), left


_OF_SIZES = frozenset(
    {"VUID-VkPipelineShaderStageCreateInfo-module-08987", "VUID-VkPipelineShaderStageCreateInfo-module-10169", "VUID-RuntimeSpirv-x-06432"}
)
"""Rules that no pipeline of a device with another subgroup size breaks: its application gives other local sizes."""

_OF_SUBGROUPS = ("GroupNonUniform", "CooperativeMatrix", "Subgroup")
"""Parts of the names of capabilities of modules to which the subgroup size matters."""


def _other_sizes(job: Job, profile: Profile) -> tuple[int, ...]:
    """Return the other subgroup sizes that a profile allows; none if the job requires one, or its module has nothing of subgroups."""
    capabilities = (words[0] for op, words, _ in read_instructions(job.kernel.spirv) if op is Op.Capability)
    names = [Capability(number).name for number in capabilities if number in Capability]
    if job.kernel.required_subgroup_size is not None or not any(part in name for name in names for part in _OF_SUBGROUPS):
        return ()
    least, most = (profile.limits.get(f"{which}SubgroupSize", profile.subgroup_size) for which in ("min", "max"))
    sizes = (1 << bit for bit in range(least.bit_length() - 1, most.bit_length()))
    return tuple(size for size in sizes if size != profile.subgroup_size)


def run_on(device: Device, job: Job, name: str, expect_stops: bool = False) -> Left:
    """Run a job on a device, and compare the results with the expected contents. ``expect_stops``: an observation may have stopped it."""
    if not expect_stops and any(slot.image is not None for slot in job.kernel.buffers):
        return Left(name, None, "not supported: images; only the embedded device has them")
    try:
        reason = lacking(job, device.description) or (None if expect_stops else device.missing(job.kernel))
        if reason is not None:
            return Left(name, None, f"not supported: {reason.text}")
    except GeneratorError:
        # The device may support the capability, although this suite does not know its needs.
        pass
    try:
        placed = place(job, device)
        (outcome,) = device.run(placed.kernel, [placed.dispatch])
        outputs, beside = taken_out(job, placed, device, outcome.outputs)
    except UndefinedBehaviour as failure:
        return Left(name, None, str(failure))
    except DeviceFailure as failure:
        return Left(name, None, f"{failure.verdict}: {failure}")
    expected = {buffer: wanted for buffer, wanted in job.expected.items() if buffer in outputs}
    found = (compare(buffer, outputs[buffer], wanted) for buffer, wanted in expected.items())
    checked = sum(wanted.elements.size for wanted in expected.values())
    stray = () if expect_stops else tuple(f"{s.count} bytes written {s.where} '{s.buffer}', from byte {s.offset}" for s in outcome.stray)
    differences = tuple(one for one in found if one is not None)
    return Left(name, outputs, differences=differences, stray=(*beside, *stray), checked=checked)


def against(left: Left, reference: Left, job: Job) -> Left:
    """Return the results of a device with their differences from the results of the embedded device."""
    if left.outputs is None or reference.outputs is None:
        return left
    found, checked = [], left.checked
    for name, reference_bytes in reference.outputs.items():
        wanted, got = reference_bytes.copy(), left.outputs[name].copy()
        # Each device has its own addresses.
        for at in (at for slot in job.kernel.buffers if slot.name == name for at, _ in slot.addresses):
            wanted[at : at + 8] = got[at : at + 8] = 0
        component = job.components[name]
        dtype = component.dtype if component.is_float else component.bits_dtype
        whole = wanted[: wanted.size // component.bytes * component.bytes].view(dtype)
        checked += whole.size
        difference = compare(name, got, Expectation(component, whole, job.tolerances[name]))
        if difference is not None:
            found.append(difference)
    return replace(left, against=tuple(found), checked=checked)
