"""Reduces the dispatches and the data of a failing kernel case: one subcase that fails alone, with zeros for irrelevant data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cts.devices.device import Device, DeviceFailure
from cts.devices.holder import DeviceHolder
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.limit import Limit
from cts.front_ends import FrontEnd
from cts.kinds.kernel import Arrangement, arrange, compile_module
from cts.minimise.ending import Ending, named
from cts.minimise.search import Budget, Spent, Step, one_round
from cts.reference.evaluate import evaluate
from cts.verdict.compare import CODES, compare, compare_quality
from cts.verdict.effort import SECONDS_OF_FAILURE
from cts.verdict.expected import as_expected
from cts.verdict.poison import initial_contents
from cts.verdict.verdict import Verdict
from generators.casebook import Case, build
from generators.dispatch import dispatch, kernel
from generators.errors import CtsError
from generators.program.program import Program, Subcase

Show = Callable[[str, Ending], None]


@dataclass(frozen=True)
class Fewest:
    """A dispatch that fails alone, with zeros for irrelevant data.

    Attributes:
        program, subcase: the program and its data.
        elements: array -> how many of its elements are not zero, and how many it has, for each array that the search set to zero.
        complete: whether there were enough runs.
    """

    program: Program
    subcase: Subcase
    elements: dict[str, tuple[int, int]]
    complete: bool

    @property
    def arrangement(self) -> Arrangement:
        """Return the dispatch with its expected results."""
        return _arranged(self.program, self.subcase)


def fewest(case: Case, ending: Ending, holder: DeviceHolder, front_end: FrontEnd, budget: Budget, show: Show) -> Fewest | None:
    """Return one dispatch of a case that ends in the same way, with as many zeros in its data as possible; None if no dispatch ends in this
    way alone.

    Args:
        case: the case.
        ending: how it ends.
        holder: the holder of the device.
        front_end: which module runs.
        budget: the budget of runs.
        show: is called after each run.

    Raises:
        DeviceUnavailable: the device can no longer be opened.
    """
    search = _Search(ending, holder, front_end, budget, show)
    plan = arrange(build(case))
    chosen: tuple[Program, Subcase] | None = None
    complete = True
    try:
        for program, subcase in zip(plan.programs, plan.subcases, strict=True):
            if search.ends_alike(program, subcase, f"subcase {subcase.name} alone"):
                chosen = program, subcase
                break
        if chosen is None:
            return None
        for array in chosen[0].arrays:
            if array.name in chosen[1].inputs:
                for subcase in search.with_zeros(*chosen, array.name, array.pointee.component.bytes):
                    chosen = chosen[0], subcase
    except Spent:
        complete = False
    if chosen is None:
        return None
    return Fewest(*chosen, _counted(*chosen), complete)


class _Search:
    def __init__(self, ending: Ending, holder: DeviceHolder, front_end: FrontEnd, budget: Budget, show: Show) -> None:
        self._ending, self._holder, self._front_end, self._budget, self._show = ending, holder, front_end, budget, show

    def ends_alike(self, program: Program, subcase: Subcase, what: str) -> bool:
        """Run one dispatch, if the reference model has expected results for it, and tell whether it ends in the same way."""
        try:
            plan = _arranged(program, subcase)
        except CtsError:
            # These data have no expected result, for example a quotient of zeros.
            return False
        self._budget.take()
        ended = _run(plan, self._holder, self._front_end, self._ending.defects)
        self._show(what, ended)
        return self._ending.is_like(ended)

    def with_zeros(self, program: Program, subcase: Subcase, array: str, size: int) -> Iterator[Subcase]:
        """Yield the subcase with more and more zeros in an array, whose elements have ``size`` bytes, as long as it ends in the same way.

        All elements are tried first, then halves, quarters, and so on down to single elements.
        """
        count = len(subcase.inputs[array]) // size
        tried = ""

        def zeroed(start: int, length: int) -> Step[Subcase]:
            def step(best: Subcase) -> Iterator[Subcase]:
                nonlocal tried
                piece = slice(start * size, (start + length) * size)
                if best.inputs[array][piece].any():
                    data = best.inputs[array].copy()
                    data[piece] = 0
                    tried = f"zeros in elements {start} to {min(start + length, count) - 1} of {array}"
                    yield replace(best, inputs={**best.inputs, array: data})

            return step

        lengths = [count >> halvings for halvings in range(count.bit_length())]
        steps = (zeroed(start, length) for length in lengths for start in range(0, count, length))
        return one_round(subcase, steps, lambda other: self.ends_alike(program, other, tried))


def _arranged(program: Program, subcase: Subcase) -> Arrangement:
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    return Arrangement((subcase,), (expected,), (before,), (dispatch(program, subcase, before),), (program,))


def _run(plan: Arrangement, holder: DeviceHolder, front_end: FrontEnd, foreseen: Collection[str]) -> Ending:
    """Run a dispatch and return how it ended; ``foreseen`` are ids of the defects that may explain it."""
    program, subcase, expected, before = plan.programs[0], plan.subcases[0], plan.expected[0], plan.before[0]
    device = holder.device
    assert isinstance(device, Device), "it runs kernels"
    try:
        outcome = device.run(kernel(program, compile_module(program, front_end)), plan.dispatches)[0]
    except DeviceFailure as failure:
        if failure.spent:
            holder.discard()
        return Ending(Verdict(failure.verdict), failure.code)
    wrong = compare(program, expected, before, outcome)
    limit = Limit(SECONDS_OF_FAILURE)
    if wrong:
        kinds = {mismatch.kind for mismatch in wrong}
        code = next(code.of() for kind, code in CODES.items() if kind in kinds)
        return Ending(Verdict.FAIL, code, named(diagnose(program, subcase, expected, before, outcome, foreseen, limit)))
    warned = compare_quality(expected, before, outcome)
    if warned:
        matches = diagnose(program, subcase, as_expected(expected), before, outcome, foreseen, limit)
        return Ending(Verdict.QUALITY_WARNING, CODES[warned[0].kind].of(warned[0].position), named(matches))
    return Ending(Verdict.PASS, Verdict.PASS.value)


def _counted(program: Program, subcase: Subcase) -> dict[str, tuple[int, int]]:
    found = {}
    for array in program.arrays:
        if array.name in subcase.inputs:
            data: np.ndarray = subcase.inputs[array.name]
            size = array.pointee.component.bytes
            whole = data[: len(data) // size * size].reshape(-1, size)
            found[array.name] = int(whole.any(axis=1).sum()), len(whole)
    return found
