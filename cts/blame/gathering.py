"""Gathers evidence: judges the same case again with other modules and on other devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cts.blame.evidence import COMMANDS, OPTIMISATIONS, RUNS, Evidence, Facts, Found, Step
from cts.blame.spirv_opt import optimised
from cts.devices.device import Device, DeviceError, DeviceFailure, Finding
from cts.devices.holder import DeviceHolder
from cts.devices.listing import list_vulkan
from cts.devices.spec import DEFAULT_PROFILE, DeviceSpec
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.control import plain_case
from cts.engine.runner import OURS, judge
from cts.engine.session import Settings, open_holder
from cts.front_ends import FRONT_ENDS, FrontEnd
from cts.kinds.kernel import compile_module
from cts.kinds.kind import one_line
from cts.validators.spirv_val import SpirvVal, is_unknown
from cts.verdict.codes import Code, Reason, beginning
from cts.verdict.effort import Budget, Effort
from cts.verdict.failure import WHOLE, Failure, explanations
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict
from generators.casebook import Case, Casebook, CaseKind, build, find_case
from generators.errors import CtsError, NotExpressible, Rule
from generators.glsl.compile import UnknownExtension, find_glslang
from generators.kernel import Dispatch, Kernel, Outcome

_RELATION = "outcome."
"""Prefix of the ids of relations between results. These are no defects."""

Open = Callable[[Settings], DeviceHolder]
"""Returns a holder that opens a device in a fresh process."""


def other_devices(settings: Settings) -> list[Settings]:
    """Return the settings of each other Vulkan device."""
    found = (one for one in list_vulkan().devices if one.spec.name != settings.spec.selector and one.spec != settings.spec)
    others = (one for one in found if one.description.uuid != settings.description.uuid)
    return [replace(settings, spec=one.spec, description=one.description, isolated=True, rounds=1) for one in others]


@dataclass(frozen=True)
class Bench:
    """The devices of an investigation.

    Attributes:
        settings: of the driver under investigation.
        casebook: has the case, and the family of the control.
        open: opens the driver, or another device, in a fresh process.
        others: returns the settings of the other devices.
        show: is called with each piece of evidence when it is found.
    """

    settings: Settings
    casebook: Casebook
    open: Open = open_holder
    others: Callable[[Settings], Sequence[Settings]] = other_devices
    show: Callable[[Evidence], None] = lambda _: None


@dataclass(frozen=True)
class Investigation:
    """What is known of a failure.

    Attributes:
        result: the failure; a pass if the case never failed.
    """

    result: CaseResult
    facts: Facts


class _Rewriting:
    """A device that gets another module of the same program."""

    def __init__(self, device: Device, module: bytes) -> None:
        self._device, self._module = device, module
        self.description = device.description

    def missing(self, kernel: Kernel) -> Reason | None:
        return self._device.missing(replace(kernel, spirv=self._module))

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        return self._device.run(replace(kernel, spirv=self._module), dispatches)

    @property
    def last_steps(self) -> Mapping[str, float]:
        return self._device.last_steps

    def close(self) -> tuple[Finding, ...]:
        return self._device.close()


def origin(driver: str) -> str:
    """Return whose driver it is: Mesa's drivers share their SPIR-V parser and their compiler's front half."""
    return "Mesa" if "Mesa" in driver else driver.partition(" ")[0]


def facts_of(result: CaseResult, evidence: Sequence[Evidence], modelled: bool = False) -> Facts:
    """Return the facts of a failure, or of a pass if the case never failed. ``modelled``: see Facts."""
    position = next((one.mismatch.position for one in result.failures), "")
    front_end = next(one for one in FRONT_ENDS if one == result.front_end)
    relations = frozenset(match.id for failure in result.failures for match in failure.matches if match.id.startswith(_RELATION))
    return Facts(
        result.verdict, result.code, front_end, origin(result.driver), tuple(evidence), bool(result.policy), position, relations, modelled
    )


def explanation(result: CaseResult) -> Evidence:
    """Return whether known defects give exactly the results of a failure."""
    found = next((failure.matches for failure in result.failures if failure.matches), ())
    whole = [match for match in found if match.fit in WHOLE and match.id and not match.id.startswith(_RELATION)]
    told = "; ".join(explanations(whole or found)) or "none"
    return Evidence(Step.EXPLANATION, Found.SAME if whole else Found.DIFFERS if result.failures else Found.NOT_RUN, told)


def signature(result: CaseResult) -> tuple[object, ...]:
    """Return how a case ended, with all wrong bits, whatever explains them."""
    return result.verdict, result.code, tuple(map(_wrong_bits, result.failures))


def _wrong_bits(failure: Failure) -> tuple[object, ...]:
    mismatch = failure.mismatch
    elements = tuple((one.instance, one.row, one.column, one.got_bits) for one in mismatch.elements)
    return failure.subcase, mismatch.kind, mismatch.array, mismatch.what, mismatch.count, elements


def investigate(case: Case, bench: Bench) -> Investigation:
    """Return all evidence about a case. If it passes twice on the driver, or is not supported there, no further step runs."""
    return _Search(case, bench).all()


class _Search:
    """The steps of one investigation."""

    def __init__(self, case: Case, bench: Bench) -> None:
        self._case, self._bench, self._settings = case, bench, bench.settings
        self._evidence: list[Evidence] = []
        self._failure: CaseResult | None = None

    def all(self) -> Investigation:
        module = self._compiled()
        runs = self._runs()
        result = self._failure or runs[0]
        if self._failure is not None and result.verdict is not Verdict.NOT_SUPPORTED:
            for found in self._further(module):
                self._add(found)
            self._add(explanation(result))
        return Investigation(result, facts_of(result, self._evidence, bool(self._settings.description.modelled)))

    def _add(self, found: Evidence) -> None:
        self._evidence.append(found)
        self._bench.show(found)

    def _compiled(self) -> bytes | None:
        """Return the module of the case; None if it has none."""
        if self._case.definition.kind is not CaseKind.KERNEL:
            return None
        try:
            return compile_module(build(self._case).program, self._settings.front_end)
        except NotExpressible as why:
            raise CtsError(f"GLSL cannot express {self._case.id}: {why}") from None
        except UnknownExtension:
            raise
        except Exception as error:
            found = _OF_GLSLANG.get(getattr(error, "rule", ""), Found.BROKEN)
            self._add(Evidence(Step.COMPILE, found, one_line(f"{type(error).__name__}: {error}")))
        return None

    def _runs(self) -> list[CaseResult]:
        """Run the case in fresh processes: twice, and a third time if one run passes and the other does not."""
        results: list[CaseResult] = []
        for step in RUNS:
            if step is Step.THIRD and len({one.verdict in ENDED_WELL for one in results}) == 1:
                break
            explained = any(one.verdict not in ENDED_WELL for one in results)
            results.append(self._judged(self._bench.open(self._settings), self._effort(explained)))
        self._failure = next((one for one in results if one.verdict not in ENDED_WELL), None)
        for step, result in zip(RUNS, results, strict=False):
            self._add(self._found(step, result))
        return results

    def _judged(self, holder: DeviceHolder, effort: Effort, front_end: FrontEnd | None = None, case: Case | None = None) -> CaseResult:
        """Judge the case, or another one, on a device, and close it.

        Raises:
            DeviceError: the device cannot be opened.
        """
        try:
            return judge(case or self._case, holder, front_end or self._settings.front_end, self._settings.tier, effort=effort)
        finally:
            holder.discard()

    def _found(self, step: Step, result: CaseResult) -> Evidence:
        told = f"{result.code}: {result.reason.removeprefix(OURS)}" if result.code else ""
        return Evidence(step, self._kind(result), told, result.code)

    def _kind(self, result: CaseResult) -> Found:
        """Return what a result says, compared with the failure."""
        failure = self._failure
        code = beginning(result.code)
        warned = result.verdict is Verdict.QUALITY_WARNING and not (failure and failure.verdict is Verdict.QUALITY_WARNING)
        if result.verdict in ENDED_WELL or warned:
            return Found.PASSES
        if result.verdict is Verdict.NOT_SUPPORTED or code is Code.ERROR_INTERPRETER:
            return Found.NOT_RUN
        if code is Code.ERROR_UNDEFINED:
            return Found.UNDEFINED
        if code in (Code.ERROR_SPIRV, Code.ERROR_VALIDATION):
            return Found.REJECTED
        if failure is not None and signature(result) == signature(failure):
            return Found.SAME
        return Found.BROKEN if result.verdict is Verdict.ERROR else Found.DIFFERS

    def _further(self, module: bytes | None) -> Iterator[Evidence]:
        """Yield the evidence of each step after the driver's runs."""
        other: FrontEnd = "glsl" if self._settings.front_end == "spirv" else "spirv"
        yield self._control()
        yield self._validated()
        yield self._embedded(Step.EMBEDDED, self._settings.front_end)
        if module is not None:
            yield self._spirv_val(module)
            if other == "glsl" and find_glslang() is None:
                absent = "glslang is not installed"
                yield from (Evidence(step, Found.NOT_RUN, absent) for step in (Step.OTHER_FRONT_END, Step.EMBEDDED_OTHER_FRONT_END))
            else:
                yield self._form(Step.OTHER_FRONT_END, self._bench.open(self._settings), other)
                yield self._embedded(Step.EMBEDDED_OTHER_FRONT_END, other)
            yield from (self._optimised(step, module) for step in OPTIMISATIONS)
        if self._case.definition.kind is CaseKind.CONVERSION:
            yield from self._other_commands()
        yield from self._on_others()

    def _on(self, step: Step, holder: DeviceHolder, front_end: FrontEnd | None = None, case: Case | None = None) -> Evidence:
        """Judge the case, or another one, on a device; a device that does not open is no evidence."""
        try:
            return self._found(step, self._judged(holder, self._effort(explained=True), front_end, case))
        except DeviceError as error:
            return Evidence(step, Found.NOT_RUN, one_line(str(error)))

    def _effort(self, explained: bool) -> Effort:
        """Return the effort for a run; a failure that was explained is not explained again."""
        return Effort(budget=Budget(0.0) if explained else Budget(), rounds=self._settings.rounds)

    def _control(self) -> Evidence:
        plain = plain_case(self._bench.casebook, self._case.id)
        if plain is None:
            return Evidence(Step.CONTROL, Found.NOT_RUN, "the case has no control")
        return self._on(Step.CONTROL, self._bench.open(self._settings), case=find_case(self._bench.casebook, plain.id))

    def _validated(self) -> Evidence:
        spec = self._settings.spec
        if not isinstance(spec, DeviceSpec) or spec.kind != "vulkan":
            return Evidence(Step.VALIDATION, Found.NOT_RUN, "only Vulkan devices have a validation layer")
        found = self._on(Step.VALIDATION, self._bench.open(replace(self._settings, spec=replace(spec, validation=True))))
        # The layer has a SPIRV-Tools of its own.
        return replace(found, found=Found.NOT_KNOWN) if found.found is Found.REJECTED and is_unknown(found.told) else found

    def _embedded(self, step: Step, front_end: FrontEnd) -> Evidence:
        if self._case.definition.kind is CaseKind.QUERY:
            return Evidence(step, Found.NOT_RUN, "it would answer for itself, and not for the driver")
        profile = load_profile(DEFAULT_PROFILE)
        if size := self._settings.description.subgroup_size:
            profile = replace(profile, subgroup_size=size)
        found = self._on(step, DeviceHolder(lambda: EmbeddedDevice(profile)), front_end)
        # It stops at a limit of its own, which tells nothing about the case.
        return replace(found, found=Found.NOT_RUN) if beginning(found.code) in (Code.TIMEOUT, Code.RESOURCE_ERROR) else found

    def _spirv_val(self, module: bytes) -> Evidence:
        try:
            answer = SpirvVal().validate(module)
        except (DeviceError, DeviceFailure) as error:
            return Evidence(Step.SPIRV_VAL, Found.NOT_RUN, one_line(str(error)))
        found = Found.PASSES if answer.accepted else Found.REJECTED if answer.knows else Found.NOT_KNOWN
        return Evidence(Step.SPIRV_VAL, found, one_line(answer.message))

    def _optimised(self, step: Step, module: bytes) -> Evidence:
        try:
            changed = optimised(module, OPTIMISATIONS[step])
        except CtsError as error:
            return Evidence(step, Found.NOT_RUN, one_line(str(error)))

        def rewriting() -> Device:
            device = self._bench.open(self._settings).device
            assert isinstance(device, Device), "it runs shaders"
            return _Rewriting(device, changed)

        return self._form(step, DeviceHolder(rewriting))

    def _other_commands(self) -> Iterator[Evidence]:
        """Judge the same conversions by each command alone, if this is another case."""
        family, _, labels = self._case.id.removesuffix("]").partition("[")
        rest = [label for label in labels.split("/") if label and not label.startswith("commands:")]
        for step, label in COMMANDS.items():
            case = find_case(self._bench.casebook, f"{family}[{'/'.join([*rest, f'commands:{label}'])}]")
            if case.id != self._case.id:
                yield self._form(step, self._bench.open(self._settings), case=case)

    def _form(self, step: Step, holder: DeviceHolder, front_end: FrontEnd | None = None, case: Case | None = None) -> Evidence:
        """Judge another module of the program, or another case, on the driver.

        It passes only if it passes twice, since the failure may be rare.
        """
        first = self._on(step, holder, front_end, case)
        return self._on(step, holder, front_end, case) if first.found is Found.PASSES else first

    def _on_others(self) -> Iterator[Evidence]:
        others = self._bench.others(self._settings)
        for settings in others:
            found = self._on(Step.OTHER_DEVICES, self._bench.open(settings))
            yield replace(found, device=settings.description.name, origin=origin(settings.description.driver))
        if not others:
            yield Evidence(Step.OTHER_DEVICES, Found.NOT_RUN, "this machine has no other Vulkan device")


_OF_GLSLANG: dict[str, Found] = {
    Rule.GLSLANG_REJECTS: Found.REJECTED,
    Rule.GLSLANG_FAILED: Found.DIFFERS,
    Rule.GLSLANG_TIMEOUT: Found.DIFFERS,
}
"""What the step COMPILE found, by the rule of the exception."""
