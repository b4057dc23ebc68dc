"""The greedy construction of a covering array.

Sets of combinations are the bits of one integer, so that a question about all of them costs a few operations on machine words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, product
from operator import or_

Labels = dict[int, int]
"""Axis -> the place of its label; an axis that is left out is open."""

Completed = Callable[[Labels], Labels | None]
"""What of a row that contains some labels is settled, with them; None if no allowed row contains them."""

_Combination = tuple[tuple[int, int], ...]


def _hash(text: str) -> int:
    """32-bit FNV-1a: an order that is the same everywhere, and in which neighbours have little in common."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def _possible(sizes: Sequence[int], strength: int, completed: Completed) -> list[_Combination]:
    """The combinations of ``strength`` labels that an allowed row contains, in an order without a pattern."""
    seen: set[_Combination] = set()
    found: list[_Combination] = []
    for axes in combinations(range(len(sizes)), strength):
        for places in product(*(range(sizes[axis]) for axis in axes)):
            combination = tuple(zip(axes, places, strict=True))
            if combination not in seen:
                row = completed(dict(combination))
                if row is None:
                    continue
                # One search answers for every combination of the row that it finds; what it left open differs from row to row
                whole = [(axis, row.get(axis, len(found) % size)) for axis, size in enumerate(sizes)]
                seen.update(combinations(whole, strength))
            found.append(combination)
    firsts = [sum(sizes[:axis]) for axis in range(len(sizes))]
    return sorted(found, key=lambda one: _hash(",".join(str(firsts[axis] + place) for axis, place in one) + " "))


def _bits(set_: int) -> Iterator[int]:
    """Numbers of the members, ascending."""
    while set_:
        lowest = set_ & -set_
        yield lowest.bit_length() - 1
        set_ ^= lowest


class _Index:
    """The combinations by what they contain, as sets."""

    def __init__(self, sizes: Sequence[int], members: Sequence[_Combination]) -> None:
        by_label: dict[tuple[int, int], int] = {(axis, place): 0 for axis, size in enumerate(sizes) for place in range(size)}
        for number, combination in enumerate(members):
            for label in combination:
                by_label[label] |= 1 << number
        self.by_axis = [reduce(or_, (by_label[axis, place] for place in range(size)), 0) for axis, size in enumerate(sizes)]
        self._against = {(axis, place): self.by_axis[axis] & ~set_ for (axis, place), set_ in by_label.items()}

    def fitting(self, set_: int, labels: Mapping[int, int]) -> int:
        """Members of ``set_`` that have no other label on the axes of ``labels``."""
        for label in labels.items():
            set_ &= ~self._against[label]
        return set_

    def touching(self, axes: Sequence[int]) -> int:
        """Combinations that have a label on one of the axes."""
        return reduce(or_, (self.by_axis[axis] for axis in axes), 0)


def covering_array(sizes: Sequence[int], strength: int, completed: Completed, given: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Rows that together with the given ones contain every possible combination of ``strength`` labels.

    Each row begins with the first combination that is not covered. Labels are added as long as they cover another one: the first
    addition that covers all that it could, or else the one that covers most. The axes that then are open get the first possible label.

    Args:
        sizes: how many labels each axis has.
        strength: fewer than there are axes.
        completed: of a row without labels it finds one.
        given: places of the labels of allowed rows.
    """
    members = _possible(sizes, strength, completed)
    index = _Index(sizes, members)
    uncovered = (1 << len(members)) - 1
    for places in given:
        uncovered &= ~index.fitting(uncovered, dict(enumerate(places)))
    found = []
    while uncovered:
        row = dict(members[next(_bits(uncovered))])
        while (addition := _addition(index, members, uncovered, row, completed)) is not None:
            row |= addition
        for axis, size in enumerate(sizes):
            if axis not in row:
                row[axis] = next(place for place in range(size) if completed(row | {axis: place}) is not None)
        uncovered &= ~index.fitting(uncovered, row)
        found.append(tuple(row[axis] for axis in range(len(sizes))))
    return found


def _addition(index: _Index, members: Sequence[_Combination], uncovered: int, row: Labels, completed: Completed) -> Labels | None:
    """The labels to be added to ``row``; None if no addition is possible that covers a combination."""
    open_ = [axis for axis in range(len(index.by_axis)) if axis not in row]
    fitting = index.fitting(uncovered, row)
    fitting &= index.touching(open_)
    gains: dict[_Combination, int] = {}
    elsewhere: dict[tuple[int, ...], int] = {}
    others = []
    for number in _bits(fitting):
        labels = tuple(label for label in members[number] if label[0] not in row)
        if labels in gains:
            continue
        addition = dict(labels)
        axes = tuple(addition)
        if axes not in elsewhere:
            elsewhere[axes] = index.touching([axis for axis in open_ if axis not in addition])
        gain = gains[labels] = (index.fitting(fitting, addition) & ~elsewhere[axes]).bit_count()
        if gain <= len(row) * len(addition):
            others.append((-gain, number, addition))
        elif completed(row | addition) is not None:
            return addition
    return next((addition for _, _, addition in sorted(others, key=lambda one: one[:2]) if completed(row | addition) is not None), None)
