"""The embedded device: runs kernels on the SPIR-V interpreter."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, Finding, Step
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.registry import handlers_with
from cts.embedded.layout_conversion import MatrixConverter
from cts.embedded.machine.elements import MAPPINGS
from cts.embedded.memory.matrix_layouts import MatrixLayouts, seed_of
from cts.embedded.observations import Observations
from cts.embedded.pipeline import Pipeline
from cts.embedded.profile import Profile
from cts.embedded.property_commands import ask
from cts.embedded.settings import DEFAULT_MAPPING, Settings
from cts.embedded.types.limits import LIMITS, Limits
from cts.verdict.codes import Reason
from generators.kernel import Dispatch, Kernel, Outcome

TOLERABLE = frozenset({"F-CM2-6", "F-CM2-10"})
"""Positions of this suite where the specification is silent and applications differ. The device can warn of them and go on."""


class NotTolerable(DeviceError):
    """The embedded device cannot tolerate violations of some of the given rules.

    Attributes:
        rules: ids of these rules.
    """

    def __init__(self, rules: Collection[str]) -> None:
        listed = ", ".join(sorted(rules))
        super().__init__(f"the embedded device tolerates {', '.join(sorted(TOLERABLE))}, not {listed}")
        self.rules = frozenset(rules)


class UnknownMapping(DeviceError):
    """The embedded device has no mapping with the requested name."""


class EmbeddedDevice:
    """A software device that stops at undefined behaviour.

    Args:
        profile: the supported features, types and limits.
        mapping: how elements of a matrix are spread over invocations, a name in ``elements.MAPPINGS``.
        strict: whether undefined behaviour raises. If not, undefined reads give zero and writes out of bounds are dropped.
        limits: the most steps and memory of a kernel.
        faults: deliberate mistakes of the device; none by default.
        tolerated: positions that it only warns about, some of TOLERABLE.
        observations: collects the mistakes of kernels, so a run goes on after each; None to stop at the first.
        choices: seed of the device's free choices: which decode function decodes which elements.
        weak: whether a read that races with a write may get an older value, one of the free choices. Otherwise a race is reported.

    Attributes:
        last_steps: seconds that each step of the last run took.
        warnings: the last run's violations of tolerated positions, once each.

    Raises:
        DeviceError: the mapping does not exist.
        ValueError: a fault is for an instruction that the interpreter lacks.
    """

    def __init__(
        self,
        profile: Profile,
        mapping: str = DEFAULT_MAPPING,
        strict: bool = True,
        limits: Limits = LIMITS,
        faults: Faults = NO_FAULTS,
        tolerated: Collection[str] = (),
        choices: int = 0,
        weak: bool = False,
        observations: Observations | None = None,
    ) -> None:
        if tolerated and (unknown := set(tolerated) - TOLERABLE):
            raise NotTolerable(unknown)
        if mapping not in MAPPINGS:
            raise UnknownMapping(f"the embedded device has no mapping '{mapping}'; one of {', '.join(MAPPINGS)}")
        self._description = profile.description
        layouts = MatrixLayouts(seed_of(self._description.name))
        self._settings = Settings(mapping, strict, limits, faults, frozenset(tolerated), observations, choices, weak, layouts)
        self._handlers = handlers_with(faults)
        self._pipelines: tuple[Pipeline, ...] = ()
        self._converter = MatrixConverter(self._description, layouts, strict, faults)
        self.warnings: tuple[str, ...] = ()
        self.last_steps: dict[str, float] = {}

    @property
    def description(self) -> DeviceDescription:
        """The description in the profile."""
        return self._description

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the profile lacks for ``kernel``; None if it lacks nothing."""
        from cts.devices.requirements import missing

        return missing(kernel, self._description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run all dispatches.

        Raises:
            NotValidSpirv: the kernel's module is not valid.
            NotSupported: the module uses something that the interpreter lacks.
            UndefinedBehaviour: the kernel does something that the specification forbids.
            DeviceTimeout: the kernel does not end within the limit of steps.
            OutOfMemory: the kernel's values would take more memory than the limit.
        """
        pipelines, self._pipelines = self._pipelines, ()
        self.last_steps, self.warnings = {}, ()
        with self._step(Step.PIPELINE):
            if not pipelines or pipelines[0].kernel is not kernel:
                for last in pipelines:
                    last.take_apart()
                pipelines = tuple(map(self._made, kernel.all))
        with self._step(Step.DISPATCH):
            outcomes = [pipelines[dispatch.pipeline].run(dispatch) for dispatch in dispatches]
        self.warnings = tuple(dict.fromkeys(warning for pipeline in pipelines for warning in pipeline.warnings))
        # Do not keep a pipeline that stopped halfway.
        self._pipelines = pipelines
        return outcomes

    def _made(self, kernel: Kernel) -> Pipeline:
        return Pipeline(kernel, kernel.required_subgroup_size or self._description.subgroup_size, self._settings, self._handlers)

    @contextmanager
    def _step(self, step: Step) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        except DeviceFailure as failure:
            failure.step = step
            raise
        finally:
            self.last_steps[step.value] = time.perf_counter() - begin

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Answer a property command like a driver with this profile."""
        return ask(self._description, call)

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert matrices of cooperative vectors.

        Raises:
            UndefinedBehaviour: the call breaks a valid usage rule.
        """
        return self._converter.convert(call)

    def close(self) -> tuple[Finding, ...]:
        """Forget the last pipelines. The device holds nothing else."""
        self._pipelines = ()
        return ()
