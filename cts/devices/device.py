"""Protocols for judges (devices and validators) and devices, their descriptions, and their failures."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from cts.printable import printable_line
from cts.verdict.codes import Code, Reason
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.sizes import Statistics
from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome

MODELLED = "modelled"
"""The name in a description's ``extra`` of the sentence that says which model runs what the driver compiles."""

COMPILES_ONLY = "compilesOnly"
"""The name in a description's ``extra`` that says whether the device dispatches nothing."""


@dataclass(frozen=True)
class MatrixRow:
    """A supported combination: one entry of a property query (facts.md D.1).

    ``m``, ``n``, ``k`` are exact sizes, or granularities where ``flexible``. ``invocations`` is the workgroupInvocations of a
    flexible row at workgroup scope, else 0. Component types have the suite's names.

    ``subgroup_size`` is the subgroupSize for which vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists the row (0: a varying
    one); ``invocations`` is then the workgroup size in that query. ``subgroup_size`` is None for rows of the other commands, which apply to
    every size.
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
        input: component type of Input.
        result: component type of Result Type.
        input_interpretation, matrix_interpretation, bias_interpretation: names in generators.types.INTERPRETATIONS; only the input may be
            packed.
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
        """The five type names in the order of the attributes."""
        return self.input, self.input_interpretation, self.matrix_interpretation, self.bias_interpretation, self.result


@dataclass(frozen=True)
class DeviceDescription:
    """A device's description of itself.

    Attributes:
        name, driver: as in reports; ``driver`` includes the version.
        uuid: hexadecimal, stable between runs; empty for the embedded device.
        kind: ``"vulkan"``, ``"embedded"`` or ``"spirv-val"``.
        api_version: for example ``"1.4.354"``.
        subgroup_size: the subgroup size with which kernels run.
        max_workgroup_invocations: maxComputeWorkGroupInvocations.
        max_shared_memory: bytes of workgroup memory per workgroup.
        features: name of a feature (the VkBool32's own name, for example ``"cooperativeMatrixWorkgroupScope"``) -> supported.
        limits: further limits, by their Vulkan names.
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

    @property
    def compiles_only(self) -> bool:
        """Whether the device makes pipelines and dispatches nothing."""
        return bool(self.extra.get(COMPILES_ONLY))

    @property
    def modelled(self) -> str:
        """Which model runs what the driver compiles, and what its results do not say, as a sentence; empty if the device itself runs it."""
        return str(self.extra.get(MODELLED, ""))

    def __post_init__(self) -> None:
        # A driver may use any characters in these names: no name may control a terminal or break a file.
        for name in ("name", "driver", "api_version"):
            object.__setattr__(self, name, printable_line(getattr(self, name)))


def compiling(description: DeviceDescription, selector: str = "") -> DeviceDescription:
    """Return the description of the same device if it makes pipelines and dispatches nothing.

    Args:
        selector: the ``--device`` of a chip that is not there, since a driver may give all its chips one name; else empty.
    """
    name = f"{description.name.strip()} ({selector})" if selector else description.name
    return replace(description, name=name, extra={**description.extra, COMPILES_ONLY: True})


class Judge(Protocol):
    """A device or a validator. Its methods determine which kinds of case it can judge: see cts.kinds.kind.Kind.judged_by."""

    @property
    def description(self) -> DeviceDescription: ...

    def close(self) -> tuple[Finding, ...]:
        """Close it; further calls do nothing. Return the known problems that occurred while no case was judged."""
        ...


@runtime_checkable
class Device(Judge, Protocol):
    """Runs kernels. Not thread-safe; one kernel at a time."""

    @property
    def last_steps(self) -> Mapping[str, float]:
        """Seconds that each step of the last run took; empty before the first run."""
        ...

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the device lacks for this kernel (a feature, a property row, a limit); None if it lacks nothing.

        The answer is derived from the module's own capabilities and types, after specialization."""
        ...

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run all dispatches in order, each on its pipeline of the kernel. Each sees only its own buffer contents.

        Raises:
            DeviceFailure: one of its subclasses below.
        """
        ...


class DeviceError(CtsError):
    """A device cannot be found or set up; reported to the user in one line."""


class NoVulkan(DeviceError):
    """This machine has no Vulkan loader, no driver, or no device. It does not mean that a driver failed."""


class NoSuchDevice(DeviceError):
    """This machine does not have the device that was named."""


class Disturbed(DeviceError):
    """Earlier work still writes to the memory of a device, so the next case needs a fresh one. The case is not the cause."""


class DeviceUnavailable(DeviceError):
    """A device that existed cannot be opened, even after further attempts. Nothing can be judged until someone repairs it.

    Attributes:
        attempts: number of attempts.
        control: id of the case that no longer passes; empty if the device was not opened.
        verdict: name of that case's Verdict.
    """

    def __init__(self, message: str, *, attempts: int = 1, control: str = "", verdict: str = "") -> None:
        super().__init__(message)
        self.attempts = attempts
        self.control = control
        self.verdict = verdict


class Step(enum.StrEnum):
    """A step of a device that the suite waits for. ``--step-timeout`` limits each step, and a failure records its step."""

    OPEN = "open"
    PIPELINE = "pipeline"
    DISPATCH = "dispatch"
    QUERY = "query"
    CLOSE = "close"


@runtime_checkable
class AnnouncesSteps(Protocol):
    """A device that announces its next step, for a parent process that finds it hanging or dead.

    Attributes:
        announce: called with a step when it begins, and with None when it is over.
    """

    announce: Callable[[Step | None], None]


@runtime_checkable
class ForwardsMessages(Protocol):
    """A device whose driver sends messages, for a parent process that outlives a crash.

    Attributes:
        forward: called with each message of the driver, while a step lasts.
    """

    forward: Callable[[str], None]


Listings = Mapping[str, Mapping[str, str]]
"""Texts of compiled code: executable -> kind of text -> text. All names are the driver's."""


@runtime_checkable
class TellsOfCode(Protocol):
    """A device that tells of the code to which its driver compiles pipelines."""

    @property
    def last_statistics(self) -> Statistics:
        """Statistics of the pipeline of the last run; empty if the device was opened without them, or the kernel has no pipeline."""
        ...

    def listings(self, kernel: Kernel) -> Listings:
        """Compile a kernel, and return the texts of its code; none if the device was opened without statistics.

        Raises:
            DeviceFailure: one of its subclasses below.
        """
        ...


@runtime_checkable
class WalksBack(Protocol):
    """A device that tells how machine code made an element. Only devices with a description that is ``modelled`` do."""

    def walk(self, kernel: Kernel, dispatch: Dispatch, place: ElementPlace, number: int = 0) -> MachineWalk | None:
        """Run a dispatch once more, and return the way back from an element; None if the device cannot tell.

        Args:
            number: how many dispatches the run had before it; a device whose orders of waves derive from it uses the same order.

        Raises:
            DeviceFailure: one of its subclasses below.
        """
        ...


@dataclass(frozen=True)
class Finding:
    """A problem of a device while no case was judged.

    Attributes:
        step: the step during which the problem occurred; None between two steps.
        what: describes the problem.
        outside: whether something else than the driver caused it: an idle process was killed with SIGKILL.
    """

    step: Step | None
    what: str
    outside: bool = False


class DeviceFailure(Exception):
    """A kernel gave no outputs.

    Attributes:
        verdict: name of the case's Verdict.
        begins: the Code that the code of the case begins with.
        step: the step during which the device failed; None if unknown.
        spent: whether the device that raised it is unusable, so the next case needs a fresh one.
        driver_messages: what the driver said in the step that failed.
    """

    verdict = "error"
    begins = Code.ERROR_DEVICE
    spent = False
    driver_messages: tuple[str, ...] = ()

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
"""The codes that are followed by the name of a step."""


class DeviceCrash(DeviceFailure):
    """The process that holds the device died; the message has its last words.

    Attributes:
        status: its exit status, or the negative number of the signal that ended it; None if unknown.
    """

    verdict = "crash"
    begins = Code.CRASH
    spent = True

    def __init__(self, message: str = "", *, step: Step | None = None, spent: bool | None = None, status: int | None = None) -> None:
        super().__init__(message, step=step, spent=spent)
        self.status = status


class Garbled(DeviceCrash):
    """The process that holds the device sent garbage, or the answer to another request. No message from it can be trusted."""


class DeviceTimeout(DeviceFailure):
    """The device did not answer in time, so its process was ended. The message names the step.

    Attributes:
        limit: seconds that the step had; None if unknown.
        granted: extra seconds that it got because its process had no CPU for some time.
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
    """A Vulkan command failed.

    Attributes:
        call: name of the command; empty if it is unknown or no command is to blame.
        result: its VkResult; None for a command that does not return one.
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


MODULE_CALLS = frozenset({"vkCreateShaderModule", "vkCreateShadersEXT", "vkCreateComputePipelines", "vkCreateGraphicsPipelines"})
"""The calls that take a shader module, and may refuse it."""


class DriverRefused(CallFailed):
    """The driver returned a VkResult that is not allowed for a kernel that it claims to support. The message names the call and its result.

    ``spent`` is set if the call leaves the device in an unknown state: a submission, a wait, a reset.
    """

    verdict = "fail"
    begins = Code.FAIL_CALL

    @property
    def of_module(self) -> bool:
        """Return whether the driver refused a module: a call that takes one returned an error."""
        return self.call in MODULE_CALLS and self.result is not None and self.result < 0


class FloatingPointChanged(DeviceFailure):
    """The driver changed the floating-point mode of the suite's own process."""


class UndefinedBehaviour(DeviceFailure):
    """The embedded device stopped a kernel that has undefined behaviour: a defect of the suite. The message names instruction and rule.

    Attributes:
        rule: id of the broken rule: a requirement, a VUID, an F-id, or a section of a specification; empty if unknown.
    """

    verdict = "error"
    begins = Code.ERROR_UNDEFINED

    def __init__(self, message: str = "", rule: str = "", *, step: Step | None = None, spent: bool | None = None) -> None:
        super().__init__(message, step=step, spent=spent)
        self.rule = rule


class ValidationMessage(DeviceFailure):
    """The validation layer reported a problem: a defect of the suite. The message is the layer's."""

    verdict = "error"
    begins = Code.ERROR_VALIDATION
