"""The protocols of judges (devices and validators) and of devices, their descriptions, and how they fail."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from cts.printable import printable_line
from cts.verdict.codes import Code, Reason
from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome


@dataclass(frozen=True)
class MatrixRow:
    """A supported combination: one entry of a property query (facts.md D.1).

    ``m``, ``n``, ``k`` are exact sizes, or granularities where ``flexible``. ``invocations`` is the workgroupInvocations of a
    flexible row at workgroup scope, else 0. Component types by the suite's names.

    ``subgroup_size`` is the subgroupSize for which vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists the row (0: one that
    varies), and ``invocations`` is then what it was asked with; None for a row of the other commands, which is for every size.
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
    subgroup_size: int | None = None


@dataclass(frozen=True)
class VectorRow:
    """A supported combination of a matrix-vector multiply: one entry of vkGetPhysicalDeviceCooperativeVectorPropertiesNV.

    Attributes:
        input: component type of Input. ``result``: of Result Type.
        input_interpretation, matrix_interpretation, bias_interpretation: names of generators.types.INTERPRETATIONS; only the first may be
            a packed one.
        transpose: whether matrices in an optimal layout may be transposed.
    """

    input: str
    input_interpretation: str
    matrix_interpretation: str
    bias_interpretation: str
    result: str
    transpose: bool

    @property
    def types(self) -> tuple[str, str, str, str, str]:
        """All types in the order of the attributes."""
        return self.input, self.input_interpretation, self.matrix_interpretation, self.bias_interpretation, self.result


@dataclass(frozen=True)
class DeviceDescription:
    """A device's description of itself.

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
        vector_rows: supported combinations of matrix-vector multiplies.
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
    vector_rows: tuple[VectorRow, ...] = ()

    def __post_init__(self) -> None:
        # Drivers name themselves as they like: from here on, no name can steer a terminal or break a file.
        for name in ("name", "driver", "api_version"):
            object.__setattr__(self, name, printable_line(getattr(self, name)))


class Judge(Protocol):
    """A device or a validator. It judges the kinds of case for which it has the methods: see cts.kinds.kind.Kind.judged_by."""

    @property
    def description(self) -> DeviceDescription: ...

    def close(self) -> tuple[Finding, ...]:
        """Close it; further calls do nothing. Return the problems that occurred while no case was judged, if the device knows them."""
        ...


@runtime_checkable
class Device(Judge, Protocol):
    """Runs kernels. Not thread-safe; one kernel at a time."""

    @property
    def last_steps(self) -> Mapping[str, float]:
        """Seconds by step of the last run; empty before the first one."""
        ...

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the device lacks for this kernel (a feature, a property row, a limit); None if it lacks nothing.

        It is derived from the module's own capabilities and types, after specialization."""
        ...

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run all dispatches on one pipeline, in order, each seeing only its own contents.

        Raises:
            DeviceFailure: one of its kinds below.
        """
        ...


class DeviceError(CtsError):
    """A device cannot be found or set up; reported to the user in one line."""


class NoVulkan(DeviceError):
    """This machine has no Vulkan loader, no driver, or no device. A driver that fails when it is asked is none of these."""


class NoSuchDevice(DeviceError):
    """This machine does not have the device that was named."""


class DeviceUnavailable(DeviceError):
    """A device that was there cannot be opened, even after further attempts: nothing can be judged until someone repairs it.

    Attributes:
        attempts: number of attempts.
        control: id of the case that no longer passes; empty where the device was not opened.
        verdict: of that case, by the name of a Verdict.
    """

    def __init__(self, message: str, *, attempts: int = 1, control: str = "", verdict: str = "") -> None:
        super().__init__(message)
        self.attempts = attempts
        self.control = control
        self.verdict = verdict


class Step(enum.StrEnum):
    """The step of a device for which the suite waits. Recorded with a failure, and what ``--step-timeout`` bounds, one by one."""

    OPEN = "open"
    PIPELINE = "pipeline"
    DISPATCH = "dispatch"
    QUERY = "query"
    CLOSE = "close"


@runtime_checkable
class AnnouncesSteps(Protocol):
    """A device that announces its next step, for a parent process that finds it hanging or dead.

    Attributes:
        announce: called with the step that begins, and with None when it is over.
    """

    announce: Callable[[Step | None], None]


@dataclass(frozen=True)
class Finding:
    """A problem of a device while no case was judged.

    Attributes:
        step: in which it went wrong; None between two steps.
        what: in words.
    """

    step: Step | None
    what: str


class DeviceFailure(Exception):
    """A kernel gave no outputs.

    Attributes:
        verdict: of the case, by the name of a Verdict.
        begins: how the code of the case begins.
        step: in which it failed; None where the device does not tell.
        spent: whether the device that raised it is unusable, so the next case needs a fresh one.
    """

    verdict = "error"
    begins = Code.ERROR_DEVICE
    spent = False

    def __init__(self, message: str = "", *, step: Step | None = None, spent: bool | None = None) -> None:
        super().__init__(message)
        self.step = step
        if spent is not None:
            self.spent = spent

    @property
    def code(self) -> str:
        """Return the code of the case."""
        return self.begins.of(self.step if self.begins in _IN_STEPS else None)


_IN_STEPS = frozenset({Code.FAIL_CALL, Code.CRASH, Code.TIMEOUT, Code.DEVICE_LOST, Code.RESOURCE_ERROR})
"""Codes that a step follows."""


class DeviceCrash(DeviceFailure):
    """The process that holds the device died; the message has its last words.

    Attributes:
        status: how it ended: its exit status, or the number of a signal, negative. None where that is not known.
    """

    verdict = "crash"
    begins = Code.CRASH
    spent = True

    def __init__(self, message: str = "", *, step: Step | None = None, spent: bool | None = None, status: int | None = None) -> None:
        super().__init__(message, step=step, spent=spent)
        self.status = status


class Garbled(DeviceCrash):
    """The process that holds the device sent garbage, or the answer to another request. Nothing it says can be trusted."""


class DeviceTimeout(DeviceFailure):
    """The device did not answer in time and was ended; the message has the step.

    Attributes:
        limit: seconds that it had. None where the device does not tell.
        granted: further seconds, for which its process had no CPU.
    """

    verdict = "timeout"
    begins = Code.TIMEOUT
    spent = True

    def __init__(
        self, message: str = "", *, step: Step | None = None, spent: bool | None = None, limit: float | None = None, granted: float = 0
    ) -> None:
        super().__init__(message, step=step, spent=spent)
        self.limit = limit
        self.granted = granted


class CallFailed(DeviceFailure):
    """A command failed.

    Attributes:
        call: name of the command. Empty where the device does not tell, or no command is to blame.
        result: VkResult that it returned. None for a command that returns none.
    """

    def __init__(
        self, message: str = "", *, step: Step | None = None, spent: bool | None = None, call: str = "", result: int | None = None
    ) -> None:
        super().__init__(message, step=step, spent=spent)
        self.call = call
        self.result = result


class DeviceLost(CallFailed):
    """VK_ERROR_DEVICE_LOST. The device must be created again."""

    verdict = "device_lost"
    begins = Code.DEVICE_LOST
    spent = True


class OutOfMemory(CallFailed):
    """VK_ERROR_OUT_OF_HOST_MEMORY or VK_ERROR_OUT_OF_DEVICE_MEMORY; the message names the call."""

    verdict = "resource_error"
    begins = Code.RESOURCE_ERROR
    spent = True


class DriverRefused(CallFailed):
    """The driver returned a VkResult that it must not return for a kernel that it says it supports; the message names call and result.

    ``spent`` where the call leaves the state of the device unknown: a submission, a wait, a reset.
    """

    verdict = "fail"
    begins = Code.FAIL_CALL


class FloatingPointChanged(DeviceFailure):
    """The driver changed the floating-point mode of the suite's own process."""


class UndefinedBehaviour(DeviceFailure):
    """The embedded device's strict mode stopped a kernel: the message has the instruction and the rule. This is a defect of the suite.

    Attributes:
        rule: id of the broken rule: a requirement, a VUID, an F-id, or a section of a specification. Empty where the device does not tell.
    """

    verdict = "error"
    begins = Code.ERROR_UNDEFINED

    def __init__(self, message: str = "", rule: str = "", *, step: Step | None = None, spent: bool | None = None) -> None:
        super().__init__(message, step=step, spent=spent)
        self.rule = rule


class ValidationMessage(DeviceFailure):
    """The validation layer reported something, which is a defect of the suite; the message is the layer's."""

    verdict = "error"
    begins = Code.ERROR_VALIDATION
