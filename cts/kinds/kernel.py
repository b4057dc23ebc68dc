"""Kernel cases: a shader runs, and what it leaves in memory is compared with what the reference model allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cts.compare import Mismatch, compare, format_mismatch
from cts.devices.device import DeviceLost
from cts.diagnose import diagnose
from cts.expected import Expected
from cts.kinds.kind import Judgement, Stopwatch, one_line
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from cts.session import DeviceHolder, FrontEnd
from cts.verdict import Verdict
from generators.casebook import Case, build_program, build_subcases
from generators.dispatch import dispatch, kernel
from generators.errors import NotExpressible
from generators.kernel import Dispatch, Kernel, Outcome
from generators.program.program import Program, Subcase

SHOWN_SUBCASES = 3
"""Failing subcases that a message explains in full."""


def judge(case: Case, holder: DeviceHolder, front_end: FrontEnd, watch: Stopwatch) -> Judgement:
    """Whether the device supports the case is asked before any input data or expected results are computed. After VK_ERROR_DEVICE_LOST the
    case runs once more, alone, on a fresh device: the fault may have been another process's."""
    with watch.step("emit"):
        program = build_program(case)
        try:
            module = compile_module(program, front_end)
        except NotExpressible as why:
            text = f"GLSL cannot say: {why}"
            return Judgement(Verdict.NOT_SUPPORTED, one_line(text), text)
        built = kernel(program, module)
    with watch.step("missing"):
        missing = holder.device.missing(built)
    if missing:
        return Judgement(Verdict.NOT_SUPPORTED, one_line(missing), missing)

    with watch.step("expect"):
        plan = arrange(case, program)
    with watch.step("device"):
        outcomes, note = _run(holder, built, plan.dispatches)
    for name, seconds in getattr(holder.device, "last_steps", {}).items():
        watch.steps[name] = watch.steps.get(name, 0.0) + seconds
    with watch.step("compare"):
        wrong = []
        for index, (want, before, outcome) in enumerate(zip(plan.expected, plan.before, outcomes, strict=True)):
            mismatches = compare(program, want, before, outcome)
            if mismatches:
                wrong.append(WrongSubcase(index, outcome, mismatches))
    policy = _policy(program, plan.expected)
    if not wrong:
        return Judgement(Verdict.PASS, message=note, subcases=len(outcomes), policy=policy)
    with watch.step("diagnose"):
        return _failed(program, plan, wrong, policy, note)


@dataclass(frozen=True)
class Arrangement:
    """What a case's subcases feed to the device and may get back; all in the same order."""

    subcases: tuple[Subcase, ...]
    expected: tuple[Expected, ...]
    before: tuple[dict[str, np.ndarray], ...]
    dispatches: tuple[Dispatch, ...]


def arrange(case: Case, program: Program) -> Arrangement:
    """The inputs, expected results and dispatches of every subcase.

    Raises:
        GeneratorError: the case is not what its family promises.
    """
    subcases = tuple(build_subcases(case, program))
    expected = tuple(evaluate(program, subcase) for subcase in subcases)
    before = tuple(initial_contents(program, subcase, want) for subcase, want in zip(subcases, expected, strict=True))
    dispatches = tuple(dispatch(program, subcase, contents) for subcase, contents in zip(subcases, before, strict=True))
    return Arrangement(subcases, expected, before, dispatches)


@dataclass(frozen=True)
class WrongSubcase:
    """A subcase whose outcome is not allowed; ``index`` counts the case's subcases."""

    index: int
    outcome: Outcome
    mismatches: tuple[Mismatch, ...]


def compile_module(program: Program, front_end: FrontEnd) -> bytes:
    """The SPIR-V of ``program`` by one of the front ends.

    Raises:
        NotExpressible: GLSL has no way to say it.
    """
    return _FRONT_ENDS[front_end](program)


def _assembled(program: Program) -> bytes:
    from generators.spirv.emit import emit

    return emit(program)


def _compiled(program: Program) -> bytes:
    from generators.glsl.compile import compile_glsl
    from generators.glsl.emit import emit

    return compile_glsl(emit(program))


_FRONT_ENDS: dict[FrontEnd, Callable[[Program], bytes]] = {"spirv": _assembled, "glsl": _compiled}


def _run(holder: DeviceHolder, built: Kernel, dispatches: Sequence[Dispatch]) -> tuple[list[Outcome], str]:
    """The outcomes, and what is worth a note even if they are right."""
    try:
        return holder.device.run(built, dispatches), ""
    except DeviceLost as first:
        note = f"the device was lost ({first}), but not when the case ran again, alone on a fresh device"
        holder.discard()
    try:
        return holder.device.run(built, dispatches), note
    except DeviceLost as again:
        holder.discard()
        raise DeviceLost(f"{again} (and again, alone on a fresh device)") from again


def _policy(program: Program, expected: Sequence[Expected]) -> str:
    if program.policy:
        return program.policy
    notes = dict.fromkeys(note for want in expected for note in want.notes)
    return "; ".join(notes)


def _diagnoses(program: Program, plan: Arrangement, wrong: Sequence[WrongSubcase]) -> list[tuple[str, ...]]:
    """What fits each of the first failing subcases; what fits them all, where something does, since one defect explains them all."""
    found = []
    for entry in wrong[:SHOWN_SUBCASES]:
        try:
            found.append(diagnose(program, plan.subcases[entry.index], plan.expected[entry.index], plan.before[entry.index], entry.outcome))
        except Exception as error:
            # A diagnosis is a courtesy: its own fault must not hide what the device did.
            found.append((f"nothing known, and the diagnosis itself failed: {type(error).__name__}: {error}",))
    common = tuple(words for words in found[0] if all(words in others for others in found))
    return [common or matches for matches in found]


def _failed(program: Program, plan: Arrangement, wrong: Sequence[WrongSubcase], policy: str, note: str) -> Judgement:
    # A diagnosis evaluates many mutants of the program: the first failing subcases tell what there is to tell.
    diagnoses = _diagnoses(program, plan, wrong)
    blocks, failures = [], []
    for place, entry in enumerate(wrong):
        name = plan.subcases[entry.index].name
        matches = diagnoses[place] if place < len(diagnoses) else ()
        if place < len(diagnoses):
            blocks.append(f"subcase {name}:")
            # What explains a matrix does not explain a stray byte.
            blocks.extend(format_mismatch(mismatch, matches if mismatch.picture else ()) for mismatch in entry.mismatches)
        failures += [{**mismatch.record(), "subcase": name, "matches": list(matches)} for mismatch in entry.mismatches]
    reason = f"{len(wrong)} of {len(plan.subcases)} subcases wrong: {wrong[0].mismatches[0].summary}"
    reason += f"; matches: {diagnoses[0][0]}" if diagnoses[0] else ""
    if len(wrong) > SHOWN_SUBCASES:
        rest = ", ".join(plan.subcases[entry.index].name for entry in wrong[SHOWN_SUBCASES:])
        blocks.append(f"and {len(wrong) - SHOWN_SUBCASES} more failing subcases: {rest}")
    if note:
        blocks.append(note)
    if policy:
        blocks.append(f"This verdict rests on a policy of the suite: {policy}")
    return Judgement(Verdict.FAIL, one_line(reason), "\n".join(blocks), len(plan.subcases), policy, tuple(failures))
