"""The cases of a family as numbers, so conditions on their parameters can be counted all at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from reports.causes.axes import Axis, values
from reports.causes.boxes import Between, Box, Condition, Divisible, OneOf

DIVISORS = (2, 4, 8, 16)

CHOICES = 24
"""Maximum number of values of one axis that conditions mention."""

_KINDS = {"label": 0.0, "range": 0.5, "part": 0.5, "anywhere": 1.0, "divisible": 1.0}
"""Bits that a condition costs besides the bits that select it among its kind: people prefer plain labels."""


@dataclass(frozen=True)
class Column:
    """An axis of the cases.

    Attributes:
        axis: the axis.
        values: the values that occur, sorted; numbers by size.
        codes: for each case the index of its value; ``len(values)`` if it has none.
        numeric: whether all values are numbers.
    """

    axis: Axis
    values: tuple[str, ...]
    codes: np.ndarray
    numeric: bool

    def meets(self, condition: Condition) -> np.ndarray:
        """Return for each case whether it meets a condition on this axis; a case without a value meets none."""
        met: np.ndarray = np.array([*map(condition.takes, self.values), False])[self.codes]
        return met


class Table:
    """The cases of a family.

    Args:
        parameters: the parameters of each case, name -> label.
    """

    def __init__(self, parameters: Sequence[Mapping[str, str]]) -> None:
        self.size = len(parameters)
        self._columns: list[Column] = []
        seen: set[bytes] = set()
        for name in sorted({name for one in parameters for name in one}):
            for column in _columns(name, [one.get(name) for one in parameters]):
                first = np.unique(column.codes, return_index=True)
                # Two axes that divide the cases in the same way count as one: the first, which is a whole label if possible.
                order = np.argsort(np.argsort(first[1]))[np.searchsorted(first[0], column.codes)]
                if len(first[0]) > 1 and (key := order.astype(np.int32).tobytes()) not in seen:
                    seen.add(key)
                    self._columns.append(column)

    @property
    def columns(self) -> Sequence[Column]:
        """Return the axes on which cases differ, without axes that repeat another."""
        return self._columns

    @cached_property
    def places(self) -> Mapping[Axis, int]:
        """Return the index of each axis among the columns."""
        return {column.axis: place for place, column in enumerate(self._columns)}

    @cached_property
    def fixed_atoms(self) -> Atoms:
        """Return the conditions that every search chooses from."""
        found = [
            (bits, place, condition, column.meets(condition))
            for place, column in enumerate(self._columns)
            for bits, condition in _fixed(self, column)
        ]
        return _joined(found, self.size)

    def inside(self, box: Box) -> np.ndarray:
        """Return for each case whether it is in a box of this table's axes."""
        found = np.ones(self.size, bool)
        for condition in box:
            found &= self._columns[self.places[condition.axis]].meets(condition)
        return found


def _columns(name: str, labels: Sequence[str | None]) -> list[Column]:
    distinct = sorted({label for label in labels if label is not None})
    places = {label: i for i, label in enumerate(distinct)}
    absent = len(distinct)
    of_labels = np.array([absent if label is None else places[label] for label in labels])
    found = []
    for axis, by_label in values(name, distinct).items():
        numeric = all(value.isdecimal() for value in by_label.values())
        named = tuple(sorted(set(by_label.values()), key=lambda value: (int(value), value) if numeric else (0, value)))
        value_places = {value: i for i, value in enumerate(named)}
        lookup = np.array([value_places[by_label[label]] if label in by_label else len(named) for label in distinct] + [len(named)])
        found.append(Column(axis, named, lookup[of_labels], numeric))
    return found


@dataclass(frozen=True)
class Atoms:
    """Conditions that a search chooses from.

    Attributes:
        conditions: each of them.
        axes: the index of its axis among the table's columns. ``bits``: the cost of naming it.
        matrix: for each condition and each of the chosen cases whether the case meets it.
    """

    conditions: tuple[Condition, ...]
    axes: np.ndarray
    bits: np.ndarray
    matrix: np.ndarray

    @cached_property
    def _packed(self) -> np.ndarray:
        return packed(self.matrix)

    def of_few_values(self, most: int) -> Atoms:
        """Return the conditions that list no more than the given number of values."""
        kept = [i for i, one in enumerate(self.conditions) if not isinstance(one, OneOf) or len(one.values) <= most]
        return Atoms(tuple(self.conditions[i] for i in kept), self.axes[kept], self.bits[kept], self.matrix[kept])

    def counts(self, masks: np.ndarray) -> np.ndarray:
        """Return for each mask and each condition the number of the mask's cases that meet it. ¶ Bits are counted in words: a matrix
        product would start threads, which cost more processor time than they save."""
        counted: np.ndarray = np.bitwise_count(packed(masks)[:, None, :] & self._packed).sum(axis=2, dtype=np.int64)
        return counted


def packed(masks: np.ndarray) -> np.ndarray:
    """Return rows of truth values as rows of words of 64 bits."""
    rows, columns = masks.shape
    padded = np.zeros((rows, -(-columns // 64) * 64), bool)
    padded[:, :columns] = masks
    return np.packbits(padded, axis=1).view(np.uint64)


def atoms(table: Table, rows: np.ndarray, target: np.ndarray) -> Atoms:
    """Return the conditions on a table's axes that a search for some cases chooses from.

    Args:
        table: the cases of a family.
        rows: indices of the cases to look at.
        target: for each of them whether it is to be found; the values of those cases make conditions of several values.
    """
    fixed = table.fixed_atoms
    of_target = _joined(
        [
            (bits, place, condition, column.meets(condition))
            for place, column in enumerate(table.columns)
            for bits, condition in _of_target(table, column, column.codes[rows][target])
        ],
        table.size,
    )
    return Atoms(
        (*fixed.conditions, *of_target.conditions),
        np.concatenate([fixed.axes, of_target.axes]),
        np.concatenate([fixed.bits, of_target.bits]),
        np.concatenate([fixed.matrix[:, rows], of_target.matrix[:, rows]]),
    )


def _joined(found: Sequence[tuple[float, int, Condition, np.ndarray]], size: int) -> Atoms:
    """Return the cheapest of the conditions that choose the same cases; each is given with bits, axis and the cases that meet it."""
    best: dict[bytes, tuple[float, int, Condition, np.ndarray]] = {}
    for one in sorted(found, key=lambda one: one[0]):
        if one[3].any() and not one[3].all():
            best.setdefault(np.packbits(one[3]).tobytes(), one)
    kept = list(best.values())
    return Atoms(
        tuple(one[2] for one in kept),
        np.array([one[1] for one in kept], int),
        np.array([one[0] for one in kept], float),
        np.array([one[3] for one in kept], bool).reshape(len(kept), size),
    )


def bits_of_values(table: Table, column: Column, count: int) -> float:
    """Return the cost of naming a condition with some of a column's values."""
    many = len(column.values)
    return _axis_bits(table, column) + math.log2(many) + float(log2_binomial(np.array(many), np.array(count)))


def several(column: Column, places: Sequence[int]) -> OneOf:
    """Return the condition for these values of a column; if only one value is missing and that is shorter, state the missing value."""
    rest = [value for place, value in enumerate(column.values) if place not in places]
    if len(rest) == 1 and len(places) > 2:
        return OneOf(column.axis, tuple(rest), outside=True)
    return OneOf(column.axis, tuple(column.values[place] for place in sorted(places)))


def most_values(cases: int) -> int:
    """Return the maximum number of values in a condition for a number of cases to find: one value for each case explains nothing."""
    return max(2, cases // 2)


def log2_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return the logarithm of the number of ways to choose k of n, both whole numbers."""
    factorials = _log2_factorials(int(np.max(n, initial=1)).bit_length())
    ways: np.ndarray = factorials[n] - factorials[k] - factorials[n - k]
    return ways


@cache
def _log2_factorials(bits: int) -> np.ndarray:
    """Return the logarithms of the factorials of all numbers with the given number of bits."""
    return np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, 1 << bits)))])


def _axis_bits(table: Table, column: Column) -> float:
    kind = "anywhere" if column.axis.word else "part" if column.axis.part else "label"
    return math.log2(len(table.columns)) + _KINDS[kind]


def _fixed(table: Table, column: Column) -> list[tuple[float, Condition]]:
    """Return the conditions on an axis that do not depend on the target, with the cost of naming each. If the axis has many values, these
    are the conditions of every search."""
    many, axis = len(column.values), column.axis
    base, one = _axis_bits(table, column), bits_of_values(table, column, 1)
    found: list[tuple[float, Condition]] = []
    if many <= CHOICES:
        found += [(one, OneOf(axis, (value,))) for value in column.values]
        if many > 2:
            found += [(one, several(column, [place for place in range(many) if place != left_out])) for left_out in range(many)]
    if column.numeric and many > 2:
        if many <= CHOICES:
            found += _ranges(table, column, range(many))
        choice = base + math.log2(2 * len(DIVISORS)) + _KINDS["divisible"]
        found += [(choice, Divisible(axis, by, outside)) for by in DIVISORS for outside in (False, True)]
    return found


def _of_target(table: Table, column: Column, codes: np.ndarray) -> list[tuple[float, Condition]]:
    """Return conditions on an axis that mention the values of the cases to find; if there are many values, the most frequent ones."""
    many, axis = len(column.values), column.axis
    had, counts = np.unique(codes[codes < many], return_counts=True)
    found: list[tuple[float, Condition]] = []
    if many > CHOICES:
        one = bits_of_values(table, column, 1)
        frequent = sorted(had[np.argsort(-counts, kind="stable")][:CHOICES].tolist())
        found += [(one, OneOf(axis, (column.values[place],))) for place in frequent]
        if column.numeric and len(had):
            found += _ranges(table, column, sorted({int(had[i]) for i in np.linspace(0, len(had) - 1, CHOICES).astype(int)}))
    if 1 < len(had) < many and len(had) <= min(CHOICES, most_values(len(codes))):
        found.append((bits_of_values(table, column, len(had)), several(column, had.tolist())))
    if column.numeric and len(had) and 0 < had[0] < had[-1] < many - 1:
        bits = _axis_bits(table, column) + 2 * math.log2(many) + _KINDS["range"]
        found.append((bits, Between(axis, int(column.values[had[0]]), int(column.values[had[-1]]))))
    return found


def _ranges(table: Table, column: Column, places: Iterable[int]) -> list[tuple[float, Condition]]:
    """Return ranges with one end, at these indices of a column's values."""
    many = len(column.values)
    bits = _axis_bits(table, column) + math.log2(2 * many) + _KINDS["range"]
    numbers = {place: int(column.values[place]) for place in places}
    above = [(bits, Between(column.axis, number, None)) for place, number in numbers.items() if place > 0]
    below = [(bits, Between(column.axis, None, number)) for place, number in numbers.items() if place < many - 1]
    return [*above, *below]
