"""Runs drawn programs on a device, compares the results with the reference model, and shrinks differing programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from cts.devices.device import Device, DeviceError, DeviceFailure
from cts.devices.holder import DeviceHolder
from cts.front_ends import FrontEnd
from cts.kinds.kernel import Arrangement, compile_module
from cts.minimise.search import Budget, Spent, smallest
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare, format_mismatch, is_permitted
from cts.verdict.expected import Expected, as_expected
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.errors import CtsError, GeneratorError, NotExpressible
from generators.fuzz import array_conversions, draws, maintenance1, shrinking, tensor_addressing
from generators.fuzz.tensor_addressing import Written, subcase
from generators.kernel import Dispatch, Kernel, Outcome
from generators.program.program import Program
from generators.suggestion import suggestion

MOST_STEPS = 3000
"""The most candidates that shrinking tries."""

MOST_FORMS = 1000
"""How many forms of draws are searched for a defect: many times the number needed to find all defects."""

Draw = Callable[[int, int], Any]
"""Draws a program as data, from a seed and the number of the draw."""


@dataclass(frozen=True)
class Subject:
    """How objects of one kind are drawn, written and shrunk. The ``form`` of an object decides its module.

    Attributes:
        draw: draws an object.
        write: writes the program of its form, with its operands.
        data: draws its inputs for the program, from a seed.
        simpler: yields simpler objects.
        size: its size, which shrinking reduces.
        describe: describes it in lines.
        draws_per_form: how many draws share a form.
    """

    draw: Draw
    write: Callable[[Any], Written]
    data: Callable[[Any, Program, int], Mapping[str, np.ndarray]]
    simpler: Callable[[Any], Iterable[Any]]
    size: Callable[[Any], tuple[int, ...]]
    describe: Callable[[Any], str]
    draws_per_form: int


def _tensor_data(addressing: tensor_addressing.Addressing, program: Program, seed: int) -> Mapping[str, np.ndarray]:
    return tensor_addressing.data(program, addressing.component, np.random.default_rng(seed))


TENSOR_ADDRESSING = Subject(
    draws.draw,
    tensor_addressing.write,
    _tensor_data,
    shrinking.simpler,
    shrinking.size,
    tensor_addressing.describe,
    draws.DRAWS_PER_FORM,
)
DECODE_VECTOR = replace(TENSOR_ADDRESSING, draw=draws.draw_groups)
ARRAY_CONVERSION = Subject(
    array_conversions.draw,
    array_conversions.write,
    array_conversions.data,
    array_conversions.simpler,
    array_conversions.size,
    array_conversions.describe,
    array_conversions.DRAWS_PER_FORM,
)
MAINTENANCE1 = Subject(
    maintenance1.draw,
    maintenance1.write,
    maintenance1.data,
    maintenance1.simpler,
    maintenance1.size,
    maintenance1.describe,
    maintenance1.DRAWS_PER_FORM,
)


@dataclass(frozen=True)
class Difference:
    """A draw whose results on the device differ from the reference model.

    Attributes:
        index: the number of the draw.
        verdict: ``fail`` if memory differs, else the device's failure (see DeviceFailure).
        message: what differs, in lines.
        addressing: the draw, or the simpler draw that shrinking found.
    """

    index: int
    verdict: str
    message: str
    addressing: Any


@dataclass
class DrawCounts:
    """The counts of a run.

    Attributes:
        judged: draws that were run.
        known: judged draws that differ exactly as a known defect would make them.
        left_out: draws that were not run because a known defect makes them undefined.
        unsupported: draws that were not run, by the feature that the device lacks.
        differences: draws that differ in other ways.
    """

    judged: int = 0
    known: int = 0
    left_out: int = 0
    unsupported: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)


@dataclass(frozen=True)
class _Prepared:
    index: int
    addressing: Any
    plan: Arrangement
    known: Sequence[Expected]

    @property
    def dispatch(self) -> Dispatch:
        return self.plan.dispatches[0]

    def is_known(self, outcome: Outcome) -> bool:
        """Tell whether the results are the ones that a known defect would leave."""
        program, before = self.plan.programs[0], self.plan.before[0]
        return any(is_permitted(program, as_expected(other), before, {**before, **outcome.outputs}) for other in self.known)


class Fuzzer:
    """Judges draws.

    Args:
        seed: the seed of the data. The data of a draw, and of all programs that it shrinks to, come from one generator.
        holder: the holder of the device.
        front_end: which reading of the programs the device gets.
        known: ids of defects (cts/defects/glossary.yaml). A draw that differs exactly as such a defect would make it is counted but not
            reported; a draw that the defect makes undefined is not run.
        subject: the subject of the draws.
    """

    def __init__(
        self, seed: int, holder: DeviceHolder, front_end: FrontEnd, known: Sequence[str] = (), subject: Subject = TENSOR_ADDRESSING
    ) -> None:
        self._subject = subject
        self._known = tuple(known)
        self._seed = seed
        self._holder = holder
        self._front_end = front_end

    def run(self, draw: Draw, first: int, count: int, most: int) -> Iterator[DrawCounts]:
        """Judge ``count`` draws from ``first`` on, until ``most`` of them differ. Yield one tally at the start and again after each module.

        Raises:
            GeneratorError: a draw is not defined, which is a defect of the suite.
        """
        tally = DrawCounts()
        # Give the caller the tally before anything can fail.
        yield tally
        drawn = ((index, draw(self._seed, index)) for index in range(first, first + count))
        for form, group in groupby(drawn, key=lambda pair: pair[1].form):
            numbered = list(group)
            self._judge(form, numbered, tally)
            yield tally
            if len(tally.differences) >= most:
                return

    @property
    def _device(self) -> Device:
        device = self._holder.device
        assert isinstance(device, Device), "a validator runs no draws"
        return device

    def arrange(self, index: int, addressing: Any, program: Program | None = None) -> Arrangement:
        """Return one draw's data, expected results and dispatch, for ``program`` if its form already has a program.

        Raises:
            GeneratorError: the specification leaves its outcome undefined.
        """
        written = self._subject.write(addressing)
        one = program or written.program
        case = subcase(str(index), written, self._subject.data(addressing, one, self._seed))
        want = evaluate(one, case)
        before = initial_contents(one, case, want)
        return Arrangement((case,), (want,), (before,), (dispatch(one, case, before),), (one,))

    def shrink(self, difference: Difference) -> Iterator[Difference]:
        """Yield ever simpler draws that fail in the same way; nothing if there are none."""
        budget = Budget(MOST_STEPS, math.inf)

        def alike(best: Difference) -> Iterator[Difference]:
            size = self._subject.size(best.addressing)
            for candidate in self._subject.simpler(best.addressing):
                if self._subject.size(candidate) < size:
                    budget.take()
                    found = self._differs(best.index, candidate)
                    if found is not None:
                        yield found

        with suppress(Spent):
            yield from smallest(difference, lambda _: (alike,), lambda found: found.verdict == difference.verdict)

    def _differs(self, index: int, addressing: Any) -> Difference | None:
        tally = DrawCounts()
        try:
            self._judge(addressing.form, [(index, addressing)], tally)
        except GeneratorError:
            # An undefined draw shows nothing.
            return None
        return tally.differences[0] if tally.differences else None

    def _judge(self, form: Any, numbered: Sequence[tuple[int, Any]], tally: DrawCounts) -> None:
        program = self._subject.write(form).program
        try:
            built = kernel(program, compile_module(program, self._front_end))
        except NotExpressible as why:
            _count(tally, f"GLSL cannot express it: {why}", len(numbered))
            return
        if missing := self._device.missing(built):
            _count(tally, missing.text, len(numbered))
            return
        defects = self._known_defects(program)
        prepared = []
        for index, addressing in numbered:
            plan = self.arrange(index, addressing, program)
            # A draw that a known defect makes undefined may hang the device, or lose it.
            if (known := _known_outcomes(defects, plan)) is not None:
                prepared.append(_Prepared(index, addressing, plan, known))
        tally.left_out += len(numbered) - len(prepared)
        if not prepared:
            return
        try:
            outcomes = self._device.run(built, [one.dispatch for one in prepared])
        except DeviceFailure as failure:
            self._holder.discard()
            tally.judged += len(prepared)
            first = prepared[0]
            together = f"{failure}\nin one submission with draws up to {prepared[-1].index}"
            try:
                alone = [found for one in prepared if (found := self._alone(built, one)) is not None]
            except (DeviceError, KeyboardInterrupt) as stop:
                together += f"; none was run alone: {str(stop) or 'interrupted'}"
                tally.differences.append(Difference(first.index, failure.verdict, together, first.addressing))
                raise
            # A failure that occurs only together with other draws is still a failure.
            tally.differences += alone or [Difference(first.index, failure.verdict, f"{together}, and in none alone", first.addressing)]
            return
        tally.judged += len(prepared)
        for one, outcome in zip(prepared, outcomes, strict=True):
            found = _difference(one, outcome)
            if found is not None and one.is_known(outcome):
                tally.known += 1
            elif found is not None:
                tally.differences.append(found)

    def _known_defects(self, program: Program) -> list[Defect]:
        """Return the defects that the run counts separately; the draws of a module share them."""
        if not self._known:
            return []
        return [defect for defect in known_defects(program) if defect.id in self._known]

    def _alone(self, built: Kernel, one: _Prepared) -> Difference | None:
        try:
            outcomes = self._device.run(built, [one.dispatch])
        except DeviceFailure as failure:
            self._holder.discard()
            return Difference(one.index, failure.verdict, str(failure), one.addressing)
        return _difference(one, outcomes[0])


def check_known(draw: Draw, seed: int, known: Sequence[str], subject: Subject = TENSOR_ADDRESSING) -> None:
    """Check that ids name defects that the draws can have: any other id would match nothing.

    Raises:
        CtsError: an id does not name such a defect.
    """
    found: set[str] = set()
    for id_ in known:
        forms = iter(range(0, MOST_FORMS * subject.draws_per_form, subject.draws_per_form))
        if id_ not in glossary():
            raise CtsError(f"--known '{id_}': no known defect has this id; {suggestion(id_, glossary().entries)}")
        while id_ not in found:
            first = next(forms, None)
            if first is None:
                raise CtsError(f"--known '{id_}': no program that this search draws can have this defect; {suggestion(id_, found)}")
            found |= {defect.id for defect in known_defects(subject.write(draw(seed, first)).program)}


def _difference(one: _Prepared, outcome: Outcome) -> Difference | None:
    mismatches = compare(one.plan.programs[0], one.plan.expected[0], one.plan.before[0], outcome)
    if not mismatches:
        return None
    return Difference(one.index, "fail", "\n".join(map(format_mismatch, mismatches)), one.addressing)


def _known_outcomes(defects: Sequence[Defect], plan: Arrangement) -> list[Expected] | None:
    """Return the results that the defects would leave, if these are known; None if one of them makes a defined draw undefined."""
    found = []
    for defect in defects:
        try:
            found.append(evaluate_defect(plan.programs[0], plan.subcases[0], defect.substitutes))
        except GeneratorError:
            return None
        except (LookupError, ValueError):
            continue
    return found


def _count(tally: DrawCounts, why: str, draws: int) -> None:
    tally.unsupported[why] = tally.unsupported.get(why, 0) + draws
