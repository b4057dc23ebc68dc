"""Kernel cases: a shader runs, and its results in memory are compared with the values that the reference model allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from cts.devices.device import Device, WalksBack
from cts.devices.kernel_needs import KernelNeeds
from cts.devices.requirements import missing_for
from cts.diagnosis.quoted_requirement import requirement
from cts.front_ends import FrontEnd
from cts.kinds.authorities import binding
from cts.kinds.kind import Stopwatch, not_supported, one_line
from cts.kinds.pinned_needs import is_pinned, pinned_needs
from cts.pictures.tracing import tensor_maps
from cts.reference.evaluate import evaluate
from cts.verdict.choices import decode_choices
from cts.verdict.codes import Code, Reason
from cts.verdict.compare import CODES, compare, compare_quality, format_mismatch
from cts.verdict.effort import Effort
from cts.verdict.expected import Expected, as_expected
from cts.verdict.failure import Failure, Match, Mismatch, explanations
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.outputs import WITHOUT, outputs_digest
from cts.verdict.poison import initial_contents
from cts.verdict.tensor_map import TensorMap
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import BuiltCase, Case, build
from generators.casebook.cases import Identified
from generators.digests import digest
from generators.dispatch import dispatch, kernel
from generators.errors import GeneratorError, NotExpressible, Rule
from generators.kernel import Dispatch, Kernel, Outcome
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.walking import flattened
from generators.types import COMPONENT_TYPES

SHOWN_SUBCASES = 3
"""How many failing subcases a message explains in full."""

TOLD_INSTRUCTIONS = 12
"""How many instructions on the way back from a wrong element a message has; a report has all."""

MAPPED_ELEMENTS = 1024
"""A record has the tensor addresses of a matrix with at most this many elements; more would make the journal large."""


def judge(case: Case, device: Device, front_end: FrontEnd, watch: Stopwatch, effort: Effort) -> Judgement:
    """Run the case's pipelines and compare the results; on a device that compiles only, make the pipelines.

    First ask whether the device supports them: before inputs and expected results are computed and, if the case's needs are pinned and the
    answer is not known yet, before anything is built.
    """
    with watch.step("missing"):
        is_asked = front_end == "spirv" and not effort.foretold
        missing = pinned_missing(case, lambda needs: missing_for(needs, device.description)) if is_asked else None
    if missing:
        return not_supported(missing)
    with watch.step("emit"):
        built = build(case)
        program = built.program
        try:
            kernels = make_kernels(built, front_end)
        except NotExpressible as why:
            return not_supported(Reason(Code.MISSING_GLSL.of(), f"GLSL cannot express: {why}"))
    module = digest([kernels[0].spirv])
    with watch.step("missing"):
        # What is known of the pinned needs holds for the pinned module. Any other module is read for its own needs.
        if not effort.foretold or pinned_needs(case) is None or not is_pinned(case, module):
            # Run every pipeline or none: otherwise a missing pipeline would count as tested.
            missing = next(filter(None, (_missing(device, one, of) for one, of in zip(program.all, kernels, strict=True))), None)
    if missing:
        return not_supported(missing)

    if device.description.compiles_only:
        for one, of in zip(program.all, kernels, strict=True):
            _run(device, of, (), watch, one.label)
        from cts.kinds.compiled import judge_code

        return judge_code(built, kernels, front_end, device, make_kernels, watch)
    with watch.step("expect"):
        plan = arrange(built, on_gpu=effort.rounds > 1)
    running = [replace(of, rounds=effort.rounds) if one.may_race else of for one, of in zip(program.all, kernels, strict=True)]
    outcomes: list[Outcome] = []
    if program.in_turn:
        outcomes = _run_in_turn(device, running, [plan.dispatches_of(one) for one in program.all], watch)
    else:
        for one, of in zip(program.all, running, strict=True):
            outcomes += _run(device, of, plan.dispatches_of(one), watch, one.label)
    back = partial(_way_back, device, dict(zip(map(id, program.all), kernels, strict=True)), plan)
    judgement = judge_outcomes(case, plan, outcomes, watch, effort, back)
    return replace(judgement, module=module)


def _run(device: Device, kernel: Kernel, dispatches: Sequence[Dispatch], watch: Stopwatch, label: str) -> list[Outcome]:
    """Run the dispatches of one pipeline, and add what the device tells of it to the watch."""
    with watch.step("device"):
        outcomes = device.run(kernel, dispatches)
    watch.add(device, label)
    return outcomes


def _run_in_turn(device: Device, kernels: Sequence[Kernel], given: Sequence[Sequence[Dispatch]], watch: Stopwatch) -> list[Outcome]:
    """Run the dispatches of several pipelines in one submission: the first one of each, then the second one of each, and so on.

    Args:
        kernels: the pipelines, which have the same buffers.
        given: the dispatches of each.

    Returns:
        the outcomes of the first pipeline's dispatches, then of the next one's.
    """
    places = [(pipeline, number) for pipeline, own in enumerate(given) for number in range(len(own))]
    order = sorted(places, key=lambda place: (place[1], place[0]))
    kernel = replace(kernels[0], others=tuple(kernels[1:]))
    dispatches = [replace(given[pipeline][number], pipeline=pipeline) for pipeline, number in order]
    found = dict(zip(order, _run(device, kernel, dispatches, watch, ""), strict=True))
    return [found[place] for place in places]


def _choices(plan: Arrangement, outcomes: Sequence[Outcome]) -> str:
    """Return the device's choice in each subcase, if the specification leaves a choice and the results show it; else empty."""
    lines: list[str] = []
    for subcase, want, outcome in zip(plan.subcases, plan.expected, outcomes, strict=True):
        if told := decode_choices(want, outcome.outputs):
            lines += [f"subcase {subcase.name}:", *told]
    return "\n".join(lines)


@dataclass(frozen=True)
class Arrangement:
    """The inputs and permitted results of a case's subcases; all in the same order."""

    subcases: tuple[Subcase, ...]
    expected: tuple[Expected, ...]
    before: tuple[dict[str, np.ndarray], ...]
    dispatches: tuple[Dispatch, ...]
    programs: tuple[Program, ...]
    """The program of each subcase: the case's program, or another one of its module."""

    def dispatches_of(self, program: Program) -> tuple[Dispatch, ...]:
        """Return the dispatches of one program."""
        return tuple(self.dispatches[index] for index in self.indices_of(program))

    def indices_of(self, program: Program) -> list[int]:
        """Return which of the case's subcases run one program."""
        return [index for index, of in enumerate(self.programs) if of is program]


def arrange(case: BuiltCase, on_gpu: bool = False) -> Arrangement:
    """Return the inputs, expected results and dispatches of every subcase. ``on_gpu``: whether dispatches have the operands for a GPU.

    Raises:
        GeneratorError: the case contradicts its family.
    """
    built = [(one, subcase) for one in case.program.all for subcase in case.subcases(one)]
    programs, subcases = tuple(one for one, _ in built), tuple(subcase for _, subcase in built)
    expected = tuple(evaluate(one, subcase) for one, subcase in built)
    before = tuple(initial_contents(one, subcase, want) for (one, subcase), want in zip(built, expected, strict=True))
    given = (replace(of, operands={**of.operands, **of.on_gpu}) if on_gpu else of for of in subcases)
    dispatches = tuple(dispatch(one, subcase, contents) for one, subcase, contents in zip(programs, given, before, strict=True))
    return Arrangement(subcases, expected, before, dispatches, programs)


@dataclass(frozen=True)
class WrongSubcase:
    """A subcase whose outcome is not allowed; ``index`` counts the case's subcases, ``round`` the runs of its dispatch."""

    index: int
    outcome: Outcome
    mismatches: tuple[Mismatch, ...]
    round: int = 1


def compile_module(program: Program, front_end: FrontEnd) -> bytes:
    """Return the SPIR-V of ``program`` by one of the front ends.

    Raises:
        NotExpressible: GLSL cannot express it.
    """
    return _FRONT_ENDS[front_end](program)


def make_kernels(built: BuiltCase, front_end: FrontEnd) -> list[Kernel]:
    """Return the kernel of each program of a case.

    Raises:
        NotExpressible: GLSL cannot express it.
    """
    module = compile_module(built.program, front_end)
    return [kernel(one, module) for one in built.program.all]


Text = TypeVar("Text", str, bytes)


def _shared(program: Program, emit: Callable[[Program], Text]) -> Text:
    """Return the result of ``emit``, which all programs of a module share.

    Raises:
        GeneratorError: the results differ.
    """
    text = emit(program)
    for other in program.others:
        if emit(other) != text:
            raise GeneratorError(
                Rule.MODULES_DIFFER,
                f"the program '{other.label}' gives another module than '{program.label}', but they should share one: "
                "let them differ only in the values of specialization constants, not in literals or defaults",
            )
    return text


def _assembled(program: Program) -> bytes:
    from generators.spirv.emit import emit

    return _shared(program, emit)


def glsl_source(program: Program) -> str:
    """Return the GLSL that the front end ``glsl`` compiles.

    Raises:
        NotExpressible: GLSL cannot express it.
    """
    from generators.glsl.emit import emit

    return _shared(program, emit)


def _compiled(program: Program) -> bytes:
    from generators.glsl.compile import compile_glsl

    return compile_glsl(glsl_source(program), program.shape.version, program.shape.stage)


_FRONT_ENDS: dict[FrontEnd, Callable[[Program], bytes]] = {"spirv": _assembled, "glsl": _compiled}


def _missing(device: Device, program: Program, built: Kernel) -> Reason | None:
    """Return the first thing that any pipeline of a case needs and the device lacks."""
    return _labelled(device.missing(built), program.label)


def pinned_missing(case: Case | Identified, asked: Callable[[KernelNeeds], Reason | None]) -> Reason | None:
    """Return the first pinned need of a case that a device lacks; None if it lacks none, or nothing is pinned.

    Pinned needs are the needs of the module of the front end ``spirv``.

    Args:
        asked: returns what the device lacks for a kernel with some needs.
    """
    return next(filter(None, (_labelled(asked(one), label) for label, one in pinned_needs(case) or ())), None)


def _labelled(missing: Reason | None, label: str) -> Reason | None:
    return replace(missing, text=f"{missing.text} (with {label})") if missing and label else missing


def policy_of(plan: Arrangement) -> str:
    """Return the policy of the suite on which the verdict of a case depends; empty if it depends on the specification alone."""
    if policy := plan.programs[0].policy:
        return policy
    notes = dict.fromkeys(note for want in plan.expected for note in want.notes)
    return "; ".join(notes)


def _diagnoses(
    plan: Arrangement, wrong: Sequence[WrongSubcase], passed: Mapping[int, Outcome], family: str, effort: Effort
) -> list[tuple[Match, ...]]:
    """Return the explanations of the first failing subcases. ``passed`` has the results of other subcases."""
    # Import it only here: most runs need no diagnosis, and it imports all defects.
    from cts.diagnosis.ran import Ran
    from cts.diagnosis.whole_case import explained

    left = {**passed, **{entry.index: entry.outcome for entry in wrong}}
    ran = [
        Ran(plan.programs[index], plan.subcases[index], plan.expected[index], plan.before[index], outcome)
        for index, outcome in left.items()
    ]
    places = {index: place for place, index in enumerate(left)}
    try:
        return explained(ran, [places[entry.index] for entry in wrong], SHOWN_SUBCASES, family, effort)
    except Exception as error:
        # Best effort: a bug of the diagnosis must not hide the device's failure.
        why = Match("", f"unknown, because the diagnosis itself failed: {type(error).__name__}: {error}")
        return [(why,) for _ in wrong[:SHOWN_SUBCASES]]


WayBack = Callable[[WrongSubcase, Mismatch], MachineWalk | None]
"""Returns how machine code made the first wrong element of a mismatch; None if that is unknown."""


def _unknown(_entry: WrongSubcase, _mismatch: Mismatch) -> MachineWalk | None:
    """See WayBack: there is no machine code to walk through."""
    return None


def _way_back(
    device: Device, kernels: Mapping[int, Kernel], plan: Arrangement, entry: WrongSubcase, mismatch: Mismatch
) -> MachineWalk | None:
    """See WayBack; ``kernels`` has the kernel of each program by the program's identity."""
    if not (device.description.modelled and isinstance(device, WalksBack) and mismatch.kind == "wrong value" and mismatch.elements):
        return None
    element = mismatch.elements[0]
    place = ElementPlace(mismatch.array, element.offset, COMPONENT_TYPES[element.component].bytes)
    try:
        program = plan.programs[entry.index]
        # Each round runs all dispatches of the program.
        own = plan.indices_of(program)
        number = len(own) * (entry.round - 1) + own.index(entry.index)
        found = device.walk(kernels[id(program)], plan.dispatches[entry.index], place, number)
        what = f"({element.row}, {element.column}) at byte {element.offset} of {mismatch.array}"
        return None if found is None else replace(found, what=f"{what}: {found.what}")
    except Exception as error:
        # Best effort: the case has failed before this run.
        return MachineWalk(f"unknown, because the way back itself failed: {type(error).__name__}: {error}")


def _map(plan: Arrangement, entry: WrongSubcase, mismatch: Mismatch) -> TensorMap | None:
    """Return the map between the matrix of a mismatch and its tensor, for the first wrong instance."""
    program, subcase = plan.programs[entry.index], plan.subcases[entry.index]
    if mismatch.matrix is None or math.prod(mismatch.matrix.shape) > MAPPED_ELEMENTS:
        return None
    if not any(isinstance(operation, TensorLoad | TensorStore) for operation in flattened(program.operations)):
        return None
    maps = [found for found in tensor_maps(program, subcase, mismatch.instance) if found.matrix == mismatch.what]
    return maps[-1] if maps else None


def _warned(
    case: Case, plan: Arrangement, warned: Sequence[WrongSubcase], policy: str, effort: Effort, passed: Mapping[int, Outcome]
) -> Judgement:
    first = warned[0].mismatches[0]
    code = Code.QUALITY_WARNING.of(first.position)
    stricter = replace(plan, expected=tuple(map(as_expected, plan.expected)))
    blocks, failures, diagnoses = _told(case, stricter, warned, "more subcases", code, effort, passed)
    blocks.append("The specification permits these values: nothing has failed.")
    reason = f"{len(warned)} of {len(plan.subcases)} subcases: {first.summary}" + _first_match(diagnoses)
    return Judgement(Verdict.QUALITY_WARNING, code, one_line(reason), "\n".join(blocks), len(plan.subcases), policy, failures)


def judge_outcomes(
    case: Case, plan: Arrangement, outcomes: Sequence[Outcome], watch: Stopwatch, effort: Effort, back: WayBack = _unknown
) -> Judgement:
    """Compare the results of all subcases, in their order.

    Args:
        back: returns how machine code made the first wrong element.
    """
    with watch.step("compare"):
        wrong: list[WrongSubcase] = []
        warned: list[WrongSubcase] = []
        for index, (one, want, before, outcome) in enumerate(zip(plan.programs, plan.expected, plan.before, outcomes, strict=True)):
            rounds = ((1, outcome), *outcome.repeats)
            found = (WrongSubcase(index, left, compare(one, want, before, left), number) for number, left in rounds)
            if bad := next((entry for entry in found if entry.mismatches), None):
                wrong.append(bad)
                continue
            found = (WrongSubcase(index, left, compare_quality(want, before, left), number) for number, left in rounds)
            if doubtful := next((entry for entry in found if entry.mismatches), None):
                warned.append(doubtful)
        bad_ones = {entry.index for entry in wrong}
        written = (
            WITHOUT if index in bad_ones else outputs_digest(want, outcome.outputs)
            for index, (want, outcome) in enumerate(zip(plan.expected, outcomes, strict=True))
        )
        outputs = "".join(written)
    policy = policy_of(plan)
    passed = {index: outcome for index, outcome in enumerate(outcomes) if all(index != entry.index for entry in (*wrong, *warned))}
    if wrong:
        with watch.step("diagnose"):
            return replace(_failed(case, plan, wrong, policy, effort, back, passed), outputs=outputs)
    if warned:
        with watch.step("diagnose"):
            return replace(_warned(case, plan, warned, policy, effort, passed), outputs=outputs)
    return Judgement(Verdict.PASS, message=_choices(plan, outcomes), subcases=len(outcomes), policy=policy, outputs=outputs)


def _failed(
    case: Case,
    plan: Arrangement,
    wrong: Sequence[WrongSubcase],
    policy: str,
    effort: Effort,
    back: WayBack = _unknown,
    passed: Mapping[int, Outcome] = MappingProxyType({}),
) -> Judgement:
    """Return the judgement of a case with wrong results; ``passed`` has the results of other subcases by their index."""
    kinds = {mismatch.kind for entry in wrong for mismatch in entry.mismatches}
    code = next(code.of() for kind, code in CODES.items() if kind in kinds)
    blocks, failures, diagnoses = _told(case, plan, wrong, "more failing subcases", code, effort, passed, back)
    reason = f"{len(wrong)} of {len(plan.subcases)} subcases wrong: {wrong[0].mismatches[0].summary}" + _first_match(diagnoses)
    if all(entry.round > 1 for entry in wrong):
        reason += "; not in the first run of the same dispatch"
    if policy:
        blocks.append(f"This verdict rests on a policy of the suite: {policy}")
    return Judgement(Verdict.FAIL, code, one_line(reason), "\n".join(blocks), len(plan.subcases), policy, failures)


def _first_match(diagnoses: Sequence[Sequence[Match]]) -> str:
    return f"; matches: {explanations(diagnoses[0])[0]}" if diagnoses[0] and diagnoses[0][0].id else ""


def _told(
    case: Case,
    plan: Arrangement,
    wrong: Sequence[WrongSubcase],
    more: str,
    code: str,
    effort: Effort,
    passed: Mapping[int, Outcome],
    back: WayBack = _unknown,
) -> tuple[list[str], tuple[Failure, ...], list[tuple[Match, ...]]]:
    """Return paragraphs about subcases with wrong results, their journal entries, and the explanations of the first ones.

    Args:
        plan: the subcases with their expected results.
        more: the words for subcases that are not explained.
        code: the code of the verdict.
        passed: the results of subcases that are right, by their index.
        back: returns how machine code made the first wrong element.
    """
    # A diagnosis evaluates many mutants of the program, so only the first failing subcases are explained.
    if spared := effort.spared(code):
        diagnoses: list[tuple[Match, ...]] = [() for _ in wrong[:SHOWN_SUBCASES]]
    else:
        with effort.budget.spending():
            diagnoses = _diagnoses(plan, wrong, passed, case.family, effort)
    blocks: list[str] = []
    failures: list[Failure] = []
    for place, entry in enumerate(wrong):
        name = plan.subcases[entry.index].name
        matches = diagnoses[place] if place < len(diagnoses) else ()
        mismatches = [
            replace(one, requirement=requirement(one, matches, plan.programs[entry.index], case.requirements)) for one in entry.mismatches
        ]
        if place < len(diagnoses):
            again = "" if entry.round == 1 else f", run {entry.round} of the same dispatch (the earlier ones were right)"
            blocks.append(f"subcase {name}{again}:")
            # An explanation of wrong elements does not explain a stray byte, so it is shown with bytes only if no element is wrong.
            elements = any(mismatch.matrix for mismatch in mismatches)
            blocks.extend(
                format_mismatch(
                    mismatch,
                    explanations(matches) if mismatch.matrix or not elements else (),
                    binding(mismatch, case),
                )
                for mismatch in mismatches
            )
        machine = back(entry, mismatches[0]) if place == 0 and not spared else None
        if machine is not None:
            blocks.append("\n".join(("how the machine code made the first wrong element:", *machine.told(TOLD_INSTRUCTIONS))))
        failures += [
            Failure(
                name,
                mismatch,
                matches,
                _map(plan, entry, mismatch) if place < len(diagnoses) else None,
                machine if mismatch is mismatches[0] else None,
            )
            for mismatch in mismatches
        ]
    if len(wrong) > SHOWN_SUBCASES:
        rest = ", ".join(plan.subcases[entry.index].name for entry in wrong[SHOWN_SUBCASES:])
        blocks.append(f"and {len(wrong) - SHOWN_SUBCASES} {more}: {rest}")
    if spared:
        blocks.append(spared)
    return blocks, tuple(failures), diagnoses
