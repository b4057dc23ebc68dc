"""Covering arrays: few rows in which every allowed combination of ``strength`` labels occurs.

Every partial row on the way can still be completed, so that none runs into a dead end, and a combination that is dropped is one that
no allowed row contains.
"""

from __future__ import annotations

from collections.abc import Sequence

from generators.casebook.constraints import ALLOWED, UNASSIGNED, Choices, Completion, Constraint, Row, rows
from generators.casebook.covering_array import Labels, covering_array


def covering_rows(constraints: Sequence[Constraint], choices: Choices, strength: int, given: Sequence[Row] = ()) -> list[Row]:
    """Rows that cover every allowed combination of ``strength`` axes, in lexicographic order.

    Args:
        constraints: on the rows.
        choices: for each axis the labels; axes with one label are fixed, axes with none stay unassigned.
        strength: 0 asks for nothing; as many as there are free axes or more asks for every allowed row.
        given: rows that are part of the result whatever they cover.
    """
    if strength == 0:
        return sorted(set(given))
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in choices]
    constraints = [constraint for constraint in constraints if constraint.decide(start) != ALLOWED]
    completion = Completion(constraints, choices)
    if not completion.possible(start):
        return []

    def reachable(axis: int, label: int) -> bool:
        return completion.possible([label if a == axis else assigned for a, assigned in enumerate(start)])

    narrowed = [labels if len(labels) < 2 else [label for label in labels if reachable(axis, label)] for axis, labels in enumerate(choices)]
    free = [axis for axis, labels in enumerate(narrowed) if len(labels) > 1]
    if strength >= len(free):
        return rows(constraints, narrowed)
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in narrowed]
    completion = Completion(constraints, narrowed)

    def completed(labels: Labels) -> Labels | None:
        assignment = list(start)
        for place, label in labels.items():
            assignment[free[place]] = narrowed[free[place]][label]
        row = completion.completed(assignment)
        if row is None:
            return None
        return {place: numbers[place][row[axis]] for place, axis in enumerate(free) if row[axis] != UNASSIGNED}

    numbers = [{label: number for number, label in enumerate(narrowed[axis])} for axis in free]
    presets = [[numbers[place][row[axis]] for place, axis in enumerate(free)] for row in given]
    found = set(given)
    for labels in covering_array([len(narrowed[axis]) for axis in free], strength, completed, presets):
        row = list(start)
        for place, label in enumerate(labels):
            row[free[place]] = narrowed[free[place]][label]
        found.add(tuple(row))
    return sorted(found)
