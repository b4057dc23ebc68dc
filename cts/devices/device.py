"""The protocol of a device, what it says of itself, and how it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome


@dataclass(frozen=True)
class MatrixRow:
    """A supported combination: one entry of a property query (facts.md D.1).

    ``m``, ``n``, ``k`` are exact sizes, or granularities where ``flexible``. ``invocations`` is the workgroupInvocations of a
    flexible row at workgroup scope, else 0. Component types by the suite's names.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    result: str
    saturating: bool
    scope: int
    flexible: bool = False
    invocations: int = 0


@dataclass(frozen=True)
class DeviceDescription:
    """What a device says of itself.

    Attributes:
        name, driver: as in reports. ``driver`` has the driver's version.
        uuid: hexadecimal, stable between runs; empty for the embedded device.
        kind: ``"vulkan"``, ``"embedded"`` or ``"spirv-val"``.
        api_version: for example ``"1.4.354"``.
        subgroup_size: the size that kernels run with.
        max_workgroup_invocations: limit.
        max_shared_memory: bytes of workgroup memory per workgroup.
        features: name of a feature (the VkBool32's own name, for example ``"cooperativeMatrixWorkgroupScope"``) -> supported.
        limits: further limits by Vulkan's name.
        rows: supported matrix combinations, exact and flexible.
    """

    name: str
    driver: str
    uuid: str
    kind: str
    api_version: str
    subgroup_size: int
    max_workgroup_invocations: int
    max_shared_memory: int
    features: Mapping[str, bool]
    limits: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[MatrixRow, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class Device(Protocol):
    """Runs kernels. Not thread-safe; one kernel at a time."""

    @property
    def description(self) -> DeviceDescription: ...

    def missing(self, kernel: Kernel) -> str:
        """What the device lacks for this kernel, in words that name it (a feature, a property row, a limit); empty if nothing.

        Derived from the module's own capabilities and types, after specialization."""
        ...

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Runs all dispatches on one pipeline, in order, each seeing only its own contents.

        Raises:
            DeviceFailure: one of its kinds below.
        """
        ...

    def close(self) -> None: ...


class DeviceError(CtsError):
    """A device cannot be found or set up; reported to the user in one line."""


@runtime_checkable
class AnnouncesSteps(Protocol):
    """A device that says what it is about to do, for whoever finds that it never came back.

    Attributes:
        announce: called with words that end a sentence ("while the shader ran"), and with "" when that is over.
    """

    announce: Callable[[str], None]


class DeviceFailure(Exception):
    """A kernel did not come back with outputs. ``verdict`` is the verdict of the case."""

    verdict = "error"


class DeviceCrash(DeviceFailure):
    """The process that holds the device died; the message has its exit status and last words."""

    verdict = "crash"


class DeviceTimeout(DeviceFailure):
    """The device did not answer in time and was ended; the message has the step and the limit in seconds."""

    verdict = "timeout"


class DeviceLost(DeviceFailure):
    """VK_ERROR_DEVICE_LOST. The device must be made anew."""

    verdict = "device_lost"


class DriverRefused(DeviceFailure):
    """The driver returned an error (VkResult) for a kernel that it says it supports; the message names call and result."""

    verdict = "fail"


class UndefinedBehaviour(DeviceFailure):
    """The embedded device's strict mode stopped a kernel: the message has the instruction and the rule. Our defect."""

    verdict = "error"


class ValidationMessage(DeviceFailure):
    """The validation layer said something. Our defect; the message is the layer's."""

    verdict = "error"
