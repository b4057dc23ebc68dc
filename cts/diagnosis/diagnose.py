"""Finds defects that explain the results of a device, and relations between the results and the expected values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import UNKNOWN, Substitute, evaluate_defect
from cts.defects.known import known_defects
from cts.defects.single_edits.changes import may_change
from cts.defects.single_edits.of_program import by_likelihood, single_edits
from cts.diagnosis.alike import instructions, is_edit, says, told_together
from cts.diagnosis.effects import BEYOND, Effects
from cts.diagnosis.limit import Limit, SearchEnded
from cts.diagnosis.ran import ContradictedError, Ran
from cts.diagnosis.reach import Reach
from cts.diagnosis.relations import LISTED, hints, ranked
from cts.verdict.compare import wrong_elements
from cts.verdict.elements import gather
from cts.verdict.expected import Expected, Placed
from cts.verdict.failure import Fit, Match
from generators.errors import GeneratorError
from generators.kernel import Outcome
from generators.program.operation import Operation
from generators.program.program import Program, Subcase

ALTERNATIVES = 6
"""The most single edits of the same instructions that a message lists."""

FEW = 2
"""With so many wrong elements or fewer in a whole case, a single edit may fit by chance."""

TELLING = 4
"""A defect that explains only the wrong elements is mentioned if there are at least this many."""

_ASKING = 0.08
"""The share of the time for finding out what the wrong elements depend on, once before known defects and once before single edits."""

_KNOWN = 0.3
"""The share of the time after which no more known defects are tried, so single edits are."""


def _explains_wrong_ones(ran: Ran, other: Expected) -> bool:
    """Tell whether ``other`` allows all elements that are wrong. Both must place the same elements."""
    wrong = 0
    for placed, mutant in zip(ran.expected.placed, other.placed, strict=False):
        if placed.array != mutant.array or not np.array_equal(placed.offsets, mutant.offsets):
            return False
        got = gather(ran.outputs[placed.array], placed.offsets, placed.component)
        bad = wrong_elements(placed, ran.before, ran.outputs)
        if not mutant.expected.contains(got)[bad].all():
            return False
        wrong += int(np.count_nonzero(bad))
    return len(ran.expected.placed) == len(other.placed) and wrong >= TELLING


def _apart_from_beyond(ran: Ran, one: Expected, other: Expected) -> tuple[int, int] | None:
    """Return how many elements do not depend on the bytes beyond an array, and how many failing ones of these are explained; None if one of
    them has another value.

    Args:
        ran: the results.
        one, other: the results of a defect with different bytes beyond the arrays: an element that is the same in both does not depend on
            them.
    """
    total = explained = 0
    for placed, first, second in zip(ran.expected.placed, one.placed, other.placed, strict=False):
        if not np.array_equal(placed.offsets, first.offsets):
            return None
        got = gather(ran.outputs[placed.array], placed.offsets, placed.component)
        known = first.expected.bits == second.expected.bits
        if not first.expected.contains(got)[known].all():
            return None
        total += known.size
        explained += int(np.count_nonzero(known & wrong_elements(placed, ran.before, ran.outputs)))
    return total, explained


def diagnose(
    program: Program,
    subcase: Subcase,
    expected: Expected,
    before: Mapping[str, np.ndarray],
    outcome: Outcome,
    foreseen: Collection[str] = (),
    limit: Limit | None = None,
) -> tuple[Match, ...]:
    """Return the defects that explain the results of one subcase; if there are none, relations between expected and received elements, and
    foreseen defects that explain the wrong elements only.

    Args:
        program, subcase: the program and subcase that ran.
        expected, before: as for cts.verdict.compare.compare.
        outcome: the results.
        foreseen, limit: as for ``Search``; no limit if None.
    """
    search = Search(Ran(program, subcase, expected, before, outcome), limit=limit or Limit(), foreseen=foreseen)
    return search.run() or (*hints(search.ran), *search.partly)[:LISTED]


@dataclass
class Search:
    """A search for the defects that explain a failing subcase and break nothing in the other ones: known mistakes, and single edits.

    This costs many evaluations, so it is only for failures.

    Attributes:
        ran: the failing subcase.
        others: the other subcases of the case, whether they failed or passed.
        limit: the limit of the search; it tells afterwards whether the search has ended early.
        foreseen: ids of defects that known failures name; if they explain ``ran``, no others are tried, and no other subcase.
        earlier: ids of defects that explained other failures; if they explain all subcases, no others are tried.
        tried: ids and parameters of defects that earlier searches of the family have tried; this one adds its own.
        found: the defects, with how much and how many elements they explain.
        partly: foreseen ones that explain the wrong elements of ``ran``, but not the other ones.
    """

    ran: Ran
    others: Sequence[Ran] = ()
    limit: Limit = field(default_factory=Limit)
    foreseen: Collection[str] = ()
    earlier: Collection[str] = ()
    tried: set[tuple[str, str]] = field(default_factory=set)
    found: list[tuple[Defect, Fit, int]] = field(default_factory=list)
    partly: dict[Match, None] = field(default_factory=dict)
    _fruitless: set[Hashable] = field(default_factory=set)
    _later: list[Defect] = field(default_factory=list)
    _put_off: set[int] = field(default_factory=set)
    _beyond: list[Defect] = field(default_factory=list)

    def run(self) -> tuple[Match, ...]:
        """Return the defects that explain everything, the best first."""
        if not all(one.is_whole for one in (self.ran, *self.others)):
            return ()
        with suppress(SearchEnded):
            self._run()
        failing = sum(one.failing for one in (self.ran, *self.others))
        best = Fit.ALL if any(fit is Fit.ALL for _, fit, _ in self.found) else Fit.BEYOND_ARRAY
        grouped = self._grouped([one for one in self.found if one[1] is best])
        matches = [Match(alike[0].id, told_together(alike), best, explains, failing, where=alike[0].where) for alike, explains in grouped]
        found = tuple(_perhaps_by_chance(one) if failing <= FEW else one for one in ranked(matches))
        if self.limit.reached and [one.fit for one in found] == [Fit.ALL]:
            return (replace(found[0], fit=Fit.ENDED, equal=True),)
        return found

    @staticmethod
    def _grouped(found: Iterable[tuple[Defect, Fit, int]]) -> list[tuple[list[Defect], int]]:
        """Return the defects, each with how many elements it explains; single edits of the same instructions are one."""
        groups: dict[object, tuple[list[Defect], int]] = {}
        for defect, _, explains in found:
            groups.setdefault((instructions(defect), explains), ([], explains))[0].append(defect)
        return list(groups.values())

    def _run(self) -> None:
        self.limit.check()
        known = list(known_defects(self.ran.program))
        for ids, trusted in ((self.foreseen, True), (self.earlier, False)):
            edits = self._edits if any(is_edit(one) for one in ids) else ()
            self._try([defect for defect in (*known, *edits) if defect.id in ids], trusted=trusted)
            if self.found:
                return
        # What an earlier search of the family has not reached comes first.
        possible = iter(self._fresh_first(self._may_explain(known)))
        with suppress(SearchEnded):
            self._try(possible, share=_KNOWN)
        self._try(self._fresh_first(self._may_explain(by_likelihood(self._edits))), more=LISTED)
        self._try(possible)
        later, self._later = self._later, []
        self._try(later, more=LISTED)
        if not self.found:
            self._try_beyond()

    def _may_explain(self, defects: Sequence[Defect]) -> list[Defect]:
        """Return the defects that change what wrong elements depend on: in turn one on which few others depend, and the next one."""
        operations = [operation for defect in defects for operation in defect.substitutes]
        self._reach.learn(operations, self.ran.trace, self.limit.of_part(_ASKING))
        possible = list(filter(self._reach.may_explain, defects))
        in_turn = zip(sorted(possible, key=self._reach.distance), possible, strict=True)
        return list({id(defect): defect for defect in chain.from_iterable(in_turn)}.values())

    def _fresh_first(self, defects: Iterable[Defect]) -> list[Defect]:
        return sorted(defects, key=lambda defect: (defect.id, defect.where) in self.tried)

    @cached_property
    def _edits(self) -> list[Defect]:
        return list(single_edits(self.ran.program, self._reach.chosen))

    @cached_property
    def _effects(self) -> Effects:
        return Effects(self.ran.trace)

    @cached_property
    def _reach(self) -> Reach:
        ran = self.ran
        wrong = [wrong_elements(placed, ran.before, ran.outputs) for placed in ran.expected.placed]
        return Reach(ran.expected, wrong, self._of_probe)

    def _of_probe(self, steps: Mapping[Operation, Substitute]) -> Expected | None:
        try:
            with np.errstate(all="ignore"):
                return self._evaluated(steps, self.ran, 0)
        except UNKNOWN:
            return None

    def _try(self, defects: Iterable[Defect], more: int = 0, trusted: bool = False, share: float = 1) -> None:
        """Add the defects that explain everything, until there are ``LISTED``, and ``more``.

        A defect is left out if another one that explains everything makes it needless.

        Args:
            trusted: whether the defects need not fit the other subcases.
            share: how much of the limit may be gone before the last of them.

        Raises:
            SearchEnded: at the limit.
        """
        for defect in defects:
            is_full = len(self._grouped(self.found)) >= LISTED + more
            if is_full and not more:
                return
            if is_full and not any(instructions(one) == instructions(defect) for one, _, _ in self.found):
                continue
            self.tried.add((defect.id, defect.where))
            if may_change(defect, self.ran.trace) and not self._is_needless(defect):
                self._try_one(defect, trusted)
            self.limit.check(share)

    def _is_needless(self, defect: Defect) -> bool:
        """Tell whether another defect that explains everything says enough."""
        alike = sum(instructions(one) == instructions(defect) for one, _, _ in self.found)
        return alike >= ALTERNATIVES or any(says(one, defect) for one, _, _ in self.found)

    def _try_one(self, defect: Defect, trusted: bool) -> None:
        """Add a defect if it explains everything. Leave it for later if it is unlikely: one with the same effect explains nothing, or it
        reads beyond an array.
        """
        effect = self._effects.of(defect)
        if effect is not None and (effect.explains_nothing or (effect.is_certain and effect.key in self._fruitless)):
            return
        is_new = id(defect) not in self._put_off
        self._put_off.add(id(defect))
        if effect is not None and effect.key in self._fruitless and is_new:
            self._later.append(defect)
            return
        try:
            fits = self._fits(defect, self.ran, self.ran.contradicts if is_new else None)
        except ContradictedError:
            self._later.append(defect)
            return
        except UNKNOWN as error:
            if _may_read_beyond(error):
                self._beyond.append(defect)
            return
        if fits:
            self._add(defect, _Fitting(Fit.ALL, self.ran.failing, self.ran.failing), trusted)
        elif effect is not None:
            self._fruitless.add(effect.key)

    def _add(self, defect: Defect, fitting: _Fitting, trusted: bool) -> None:
        """Add a defect that explains the failing subcase, if it explains the other ones."""
        rest = self._elsewhere(defect)
        if rest is not None or trusted:
            self.found.append((defect, fitting.fit, fitting.explained + (rest or 0)))

    def _try_beyond(self) -> None:
        """Add the defects that read beyond an array and explain the elements that do not depend on it."""
        for defect in self._beyond:
            if len(self.found) >= LISTED:
                return
            fitting = self._fit_beyond(defect, self.ran)
            if fitting is not None and fitting.is_telling:
                self._add(defect, fitting, trusted=False)
            self.limit.check()

    def _elsewhere(self, defect: Defect) -> int | None:
        """Return how many failing elements of the other subcases a defect explains; None if it does not fit one of them."""
        explained = 0
        for other in self.others:
            own: Defect | None = defect
            if other.program is not self.ran.program:
                own = self._of_others.get((id(other.program), defect.id, defect.where))
            fitting = self._fit(own, other) if own is not None else None
            if fitting is None and (own is not None or other.failing):
                return None
            explained += fitting.explained if fitting is not None else 0
        return explained

    @cached_property
    def _of_others(self) -> dict[tuple[int, str, str], Defect]:
        """The defects of the other programs of the module, by their identity."""
        programs = {id(one.program): one.program for one in self.others if one.program is not self.ran.program}
        found = [(key, one) for key, program in programs.items() for one in chain(known_defects(program), single_edits(program))]
        return {(key, one.id, one.where): one for key, one in found}

    def _fit(self, defect: Defect, ran: Ran) -> _Fitting | None:
        """Return how well a defect explains a subcase; None if it does not."""
        try:
            fits = self._fits(defect, ran)
        except UNKNOWN as error:
            return self._fit_beyond(defect, ran) if _may_read_beyond(error) else _Fitting(Fit.BEYOND_ARRAY, 0, 0)
        return _Fitting(Fit.ALL, ran.failing, ran.failing) if fits else None

    def _fits(self, defect: Defect, ran: Ran, watch: Callable[[Placed], None] | None = None) -> bool:
        """Tell whether a defect explains everything in a subcase.

        Raises:
            ContradictedError: ``watch`` says that it probably does not.
            UNKNOWN: it reads beyond an array, or the model cannot say what such a device does.
        """
        # A defect may overflow although the right program does not.
        with np.errstate(all="ignore"):
            other = self._evaluated(defect.substitutes, ran, watch=watch)
            is_same = ran.given_by(other)
            if is_same and (ran is not self.ran or defect.also is None or defect.also(ran.expected, other, ran.before, ran.outputs)):
                return True
            if ran is self.ran and defect.id in self.foreseen and _explains_wrong_ones(ran, other):
                self.partly[Match(defect.id, defect.text, Fit.WRONG_ELEMENTS, ran.failing, ran.failing, where=defect.where)] = None
            return False

    def _fit_beyond(self, defect: Defect, ran: Ran) -> _Fitting | None:
        """Return how well a defect that reads beyond an array explains a subcase; None if it does not.

        It is evaluated with two different bytes there, and explains the elements that do not depend on them.
        """
        try:
            with np.errstate(all="ignore"):
                found = _apart_from_beyond(ran, *(self._evaluated(defect.substitutes, ran, beyond) for beyond in (0x00, 0x2A)))
        except UNKNOWN:
            # The model cannot say what such a device does.
            return _Fitting(Fit.BEYOND_ARRAY, 0, 0)
        return _Fitting(Fit.BEYOND_ARRAY, *found) if found is not None else None

    def _evaluated(
        self,
        steps: Mapping[Operation, Substitute],
        ran: Ran,
        beyond: int | None = None,
        watch: Callable[[Placed], None] | None = None,
    ) -> Expected:
        trace = ran.trace
        before_step = self.limit.of_evaluation(2 * trace.steps + 64)
        return evaluate_defect(ran.program, ran.subcase, steps, beyond, before_step, ran.remembered, trace.starts, watch)


@dataclass(frozen=True)
class _Fitting:
    """How well a defect fits a subcase.

    Attributes:
        total: the elements that do not depend on bytes beyond an array.
        explained: the failing ones of them.
    """

    fit: Fit
    total: int
    explained: int

    @property
    def is_telling(self) -> bool:
        return self.fit is Fit.ALL or self.explained >= max(TELLING, self.total // 8)


def _may_read_beyond(error: BaseException) -> bool:
    return not isinstance(error, GeneratorError) or error.rule in BEYOND


def _perhaps_by_chance(match: Match) -> Match:
    """Return a match of a failure with few wrong elements: one of thousands of single edits may fit by chance."""
    return replace(match, fit=Fit.FEW, equal=True) if is_edit(match.id) and match.fit is Fit.ALL else match
