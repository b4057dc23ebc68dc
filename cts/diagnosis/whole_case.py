"""Explains the failing subcases of a case by one defect, or says what can be said of them without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cts.diagnosis.diagnose import Search
from cts.diagnosis.limit import Limit
from cts.diagnosis.ran import Ran
from cts.diagnosis.relations import hints
from cts.verdict.compare import wrong_elements
from cts.verdict.effort import Effort
from cts.verdict.elements import gather
from cts.verdict.failure import Fit, Match
from cts.verdict.pattern import numbers, pattern


def explained(ran: Sequence[Ran], failed: Sequence[int], shown: int, family: str, effort: Effort) -> list[tuple[Match, ...]]:
    """Return the explanations of the first failing subcases, the best first: the same ones for each if a defect explains all subcases.

    Args:
        ran: the subcases of the case.
        failed: indices of the failing ones.
        shown: how many of these to explain.
        family: the family of the case.
        effort: the budget; it learns which defects explain failures of the family.
    """
    limit = Limit(effort.budget.seconds_of_failure)
    earlier = effort.budget.explained.setdefault(family, Counter())
    tried = effort.budget.tried.setdefault(family, set())
    search = Search(ran[failed[0]], [one for index, one in enumerate(ran) if index != failed[0]], limit, effort.foreseen, earlier, tried)
    found = search.run()
    earlier.update({match.id for match in found})
    ended = f"the search for explanations ended after {limit.seconds:g} s of processor time" if limit.reached else ""
    wrong = [ran[index] for index in failed]
    if found:
        note = [Match("", f"{ended}: others may fit as well")] if ended and found[0].fit is not Fit.ENDED else []
        return [(*found, *note) for _ in wrong[:shown]]
    related = [hints(one) for one in wrong]
    related[0] = (*related[0], *search.partly)
    counted = [_counted(matches, related) for matches in _shared(related[:shown])]
    return [
        (*matches, Match("", f"{ended or 'no single edit explains it'}: {told(one)}")) for one, matches in zip(wrong, counted, strict=False)
    ]


def _shared(related: Sequence[tuple[Match, ...]]) -> list[tuple[Match, ...]]:
    """Return only the matches that all of the subcases have, if there are some."""
    shared = set.intersection(*({match.key for match in matches} for matches in related))
    return [tuple(match for match in matches if not shared or match.key in shared) for matches in related]


def _counted(matches: Sequence[Match], related: Sequence[Sequence[Match]]) -> tuple[Match, ...]:
    """Return matches with the number of failing elements that each explains in all subcases."""
    totals: Counter[tuple[str, str, Fit]] = Counter()
    for of_one in related:
        totals.update({match.key: match.explains for match in of_one})
    failing = sum(max((match.failing for match in of_one), default=0) for of_one in related)
    return tuple(replace(match, explains=totals[match.key], failing=failing) for match in matches)


def told(ran: Ran) -> str:
    """Say which elements of a subcase are wrong, from which byte on, and in which bits."""
    for placed in ran.expected.placed:
        bad = wrong_elements(placed, ran.before, ran.outputs)
        if bad.any():
            got = gather(ran.outputs[placed.array], placed.offsets, placed.component)
            differing = np.bitwise_or.reduce((got ^ placed.expected.bits)[bad])
            bits = [bit for bit in range(placed.component.bits) if int(differing) >> bit & 1]
            first = int(placed.offsets[bad].min())
            further = "; every element from there on" if bad[placed.offsets >= first].all() else ""
            which = f"only bit {bits[0]} differs" if len(bits) == 1 else f"bits {numbers(bits)} differ"
            return f"{placed.what}: {pattern(placed.in_matrix(bad))}; first at byte {first} of {placed.array}{further}; {which}"
    return "only bytes outside of matrices are wrong"
