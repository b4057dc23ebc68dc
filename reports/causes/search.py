"""Finds the boxes that decide which cases fail.

The cost of a box is the number of bits that describe its conditions, the passing cases inside and the failing cases outside, as if a
message had to tell which cases fail (minimum description length). So an additional condition must pay for itself by excluding passes from
the box, and a box with few failures is not worth its description.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reports.causes.boxes import Box, Condition, OneOf
from reports.causes.table import Atoms, Table, atoms, bits_of_values, log2_binomial, most_values, several

BOXES = 5
"""Maximum number of boxes for one cause in one family."""

CONDITIONS = 5
"""Maximum number of conditions in one box."""

ROWS = 1_000
"""Number of cases of each class that a search looks at, evenly spread; its results are counted over all cases."""

TELLING = 3
"""Fewer cases than this may share a box by chance."""

FEW = 2
"""Maximum number of values in a condition of a box that may be accidental."""

WIDTH = 6
"""Number of boxes that a search keeps each time it adds a condition."""

_ROUNDS = 6
_OTHER_BITS = 0.5
_PASS_BITS = 3.0
"""Additional cost of a pass in a box: a sentence with exceptions is worth less to its reader than one without."""

_ALMOST_ALL = 0.1


@dataclass(frozen=True)
class Found:
    """A box, and whether it could also arise by chance."""

    box: Box
    tentative: bool


@dataclass(frozen=True)
class _Classes:
    """The chosen cases: three rows of truth values, for cases to find, cases that passed, and others."""

    masks: np.ndarray

    @property
    def target(self) -> np.ndarray:
        first: np.ndarray = self.masks[0]
        return first

    @property
    def totals(self) -> np.ndarray:
        return self.within(np.ones(self.masks.shape[1], bool))

    def within(self, inside: np.ndarray) -> np.ndarray:
        """Return the number of cases of each class inside."""
        counts: np.ndarray = (self.masks & inside).sum(axis=1)
        return counts


@dataclass(frozen=True)
class _State:
    """Conditions, the axes that they use, the cases that meet them, and the bits that they cost alone and with the data."""

    conditions: tuple[Condition, ...]
    axes: frozenset[int]
    inside: np.ndarray
    bits: float
    total: float


def boxes(table: Table, target: np.ndarray, passing: np.ndarray, other: np.ndarray) -> list[Found]:
    """Return the boxes that decide which cases are ``target``, the one with the most of them first.

    Args:
        table: the cases of a family.
        target, passing, other: for each case whether it is one to be found, passed, or did neither. Other cases in a box cost little: their
            outcome without their own failure is unknown.
    """
    found: list[Found] = []
    left = target.copy()
    while left.any() and len(found) < BOXES:
        one = _best(table, left, passing, other | (target & ~left), first=not found)
        if one is None or (found and one.tentative and (not found[0].tentative or left.sum() < TELLING)):
            break
        found.append(one)
        left &= ~table.inside(one.box)
    return _without_needless(table, found, target)


def _without_needless(table: Table, found: Sequence[Found], target: np.ndarray) -> list[Found]:
    """Leave out boxes whose cases are all in others."""
    kept = list(found)
    for one in reversed(found):
        rest = [table.inside(other.box) for other in kept if other is not one]
        if rest and not (target & table.inside(one.box) & ~np.logical_or.reduce(rest)).any():
            kept.remove(one)
    return kept


def _best(table: Table, target: np.ndarray, passing: np.ndarray, other: np.ndarray, first: bool) -> Found | None:
    rows = np.concatenate([_spread(np.flatnonzero(mask)) for mask in (target, passing, other)])
    classes = _Classes(np.stack([mask[rows] for mask in (target, passing, other)]))
    targets, passes, _ = classes.totals
    choices = atoms(table, rows, classes.target)
    search = _Search(table, rows, choices, classes, most_values(int(classes.totals[0])))
    mostly = passes <= _ALMOST_ALL * targets
    if mostly or targets >= TELLING:
        cost = _Description(classes.totals)
        start, best = search.start(cost), search.best(cost)
        if mostly and start.total <= best.total:
            return Found((), bool(targets < TELLING)) if first else None
        if best.conditions and (best.total < cost.nothing or mostly):
            return Found(_ordered(best.conditions), bool(target.sum() < TELLING))
    # No box is worth its description. Still separate few failures from passes, and mark the box as possibly accidental.
    best = replace(search, choices=choices.of_few_values(FEW), most=FEW).best(_Separation(classes.totals))
    failed, passed, _ = classes.within(best.inside)
    return Found(_ordered(best.conditions), True) if best.conditions and failed > passed and 2 * failed >= targets else None


def _spread(places: np.ndarray) -> np.ndarray:
    if len(places) <= ROWS:
        return places
    chosen: np.ndarray = places[np.linspace(0, len(places) - 1, ROWS).astype(int)]
    return chosen


def _ordered(conditions: Sequence[Condition]) -> Box:
    return tuple(sorted(conditions, key=lambda one: one.axis))


class _Description:
    """Number of bits that describe the cases to find, given a box."""

    per_condition = 1.0

    def __init__(self, totals: np.ndarray) -> None:
        self._targets, self._passes, _ = totals
        self.nothing = float(_bits_of_exceptions(self._targets + self._passes, self._targets))

    def promise(self, counts: np.ndarray) -> np.ndarray:
        """Return the bits for boxes with these counts of the three classes inside, on the last axis, before further conditions. A pass
        inside costs no more than a failure outside; otherwise the search would look only at small boxes without passes."""
        targets, passes, others = np.moveaxis(counts, -1, 0)
        inside = _bits_of_exceptions(targets + passes, passes)
        outside = _bits_of_exceptions(self._targets + self._passes - targets - passes, self._targets - targets)
        bits: np.ndarray = inside + outside + _OTHER_BITS * others
        return bits

    def total(self, counts: np.ndarray) -> np.ndarray:
        """Return the bits for boxes with these counts of the three classes inside, on the last axis."""
        return self.promise(counts) + _PASS_BITS * counts[..., 1]


class _Separation:
    """The cost for few failures: each failure outside and each pass inside costs as much as half a condition."""

    per_condition = 0.5

    def __init__(self, totals: np.ndarray) -> None:
        self._targets = totals[0]

    def total(self, counts: np.ndarray) -> np.ndarray:
        """Return the cost of boxes with these counts of the three classes inside, on the last axis."""
        return self.promise(counts)

    def promise(self, counts: np.ndarray) -> np.ndarray:
        """Return the same cost for boxes before further conditions."""
        targets, passes, others = np.moveaxis(counts, -1, 0)
        bits: np.ndarray = 8.0 * (self._targets - targets) + 6.0 * passes + _OTHER_BITS * others
        return bits


_Cost = _Description | _Separation


def _bits_of_exceptions(many: np.ndarray, exceptions: np.ndarray) -> np.ndarray:
    """Return the number of bits that state how many exceptions there are, and which."""
    bits: np.ndarray = log2_binomial(many, exceptions) + np.log2(many + 1)
    return bits


@dataclass(frozen=True)
class _Search:
    """A search among chosen cases of a table, from these conditions. ``most``: the maximum number of values in a condition."""

    table: Table
    rows: np.ndarray
    choices: Atoms
    classes: _Classes
    most: int

    def start(self, cost: _Cost) -> _State:
        """Return the box without conditions."""
        return _State((), frozenset(), np.ones(len(self.rows), bool), 0.0, float(cost.total(self.classes.totals)))

    def best(self, cost: _Cost) -> _State:
        """Return the cheapest box from a beam search that adds conditions one by one and then changes one condition at a time."""
        best, idle = self.start(cost), 0
        beam = [best]
        for _ in range(CONDITIONS):
            beam = self._longer(cost, beam, WIDTH, cost.promise)
            if not beam:
                break
            longest = min(beam, key=lambda state: state.total)
            idle = 0 if longest.total < best.total else idle + 1
            best = min(best, longest, key=lambda state: state.total)
            if idle == 2:
                break
        return self._refined(cost, best)

    def _longer(self, cost: _Cost, beam: Sequence[_State], width: int, rank: Callable[[np.ndarray], np.ndarray]) -> list[_State]:
        """Return the boxes with one more condition that ``rank`` rates cheapest by their counts, each with different cases."""
        choices = self.choices
        if not len(choices.conditions):
            return []
        masks = np.stack([self.classes.masks & state.inside for state in beam])
        counts = choices.counts(masks.reshape(-1, len(self.rows))).reshape(len(beam), 3, -1)
        bits = np.array([state.bits for state in beam])[:, None] + cost.per_condition * choices.bits
        counts = np.moveaxis(counts, 1, -1)
        ranks = np.round(bits + rank(counts), 6)
        used = np.array([[place in state.axes for place in range(len(self.table.columns))] for state in beam])
        ranks[(counts[..., 0] == 0) | used[:, choices.axes]] = np.inf
        found: dict[bytes, _State] = {}
        for at in np.argsort(ranks, axis=None, kind="stable"):
            place, i = divmod(int(at), ranks.shape[1])
            if ranks[place, i] == np.inf or len(found) == width:
                break
            inside = beam[place].inside & choices.matrix[i]
            key = np.packbits(inside).tobytes()
            if key not in found:
                found[key] = _State(
                    (*beam[place].conditions, choices.conditions[i]),
                    beam[place].axes | {int(choices.axes[i])},
                    inside,
                    float(bits[place, i]),
                    float(bits[place, i] + cost.total(counts[place, i])),
                )
        return list(found.values())

    def _refined(self, cost: _Cost, state: _State) -> _State:
        """Return the box after conditions were dropped, added, or exchanged one by one, as long as it gets cheaper."""
        bits = {condition: float(value) for condition, value in zip(self.choices.conditions, self.choices.bits, strict=True)}
        for _ in range(_ROUNDS):
            options = [state, *self._longer(cost, [state], 1, cost.total)]
            for condition in state.conditions:
                without = self._made(cost, tuple(one for one in state.conditions if one != condition), bits)
                options += [without, *self._longer(cost, [without], 1, cost.total)]
                wider = self._wider(cost, without, self.table.places[condition.axis], bits)
                options += [self._made(cost, (*without.conditions, wider), bits)] if wider is not None else []
            best = min(options, key=lambda one: round(one.total, 6))
            if round(best.total, 6) >= round(state.total, 6):
                return state
            state = best
        return state

    def _made(self, cost: _Cost, conditions: tuple[Condition, ...], bits: Mapping[Condition, float]) -> _State:
        inside = self.table.inside(conditions)[self.rows]
        spent = cost.per_condition * sum(bits[one] for one in conditions)
        axes = frozenset(self.table.places[one.axis] for one in conditions)
        return _State(conditions, axes, inside, spent, spent + float(cost.total(self.classes.within(inside))))

    def _wider(self, cost: _Cost, without: _State, place: int, bits: dict[Condition, float]) -> OneOf | None:
        """Return the values of an axis that are worth including in a box, those with the fewest passes per failure first."""
        column = self.table.columns[place]
        many = len(column.values)
        if many < 3:
            return None
        codes = column.codes[self.rows]
        counts = np.stack([np.bincount(codes[without.inside & mask], minlength=many + 1)[:many] for mask in self.classes.masks], 1)
        had = [int(i) for i in np.flatnonzero(counts[:, 0])]
        order = sorted(had, key=lambda i: ((counts[i, 1] + 0.1 * counts[i, 2]) / counts[i, 0], -counts[i, 0], i))
        if len(order) < 2:
            return None
        sizes = range(2, min(len(order), many - 1, self.most) + 1)
        costs = np.array([bits_of_values(self.table, column, size) for size in sizes])
        totals = cost.total(np.cumsum(counts[order], axis=0)[1 : 1 + len(sizes)]) + cost.per_condition * costs
        best = int(np.argmin(totals))
        condition = several(column, order[: sizes[best]])
        bits[condition] = float(costs[best])
        return condition
