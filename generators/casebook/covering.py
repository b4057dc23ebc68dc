"""Covering arrays: few rows in which every allowed combination of ``strength`` labels occurs.

The package covertable computes the array. It gets one constraint: every partial row must have a completion. So it never reaches a dead end,
and drops only combinations that no allowed row contains. Its order depends on its own hash, not on Python's, so it is the same on every
machine.

A run never computes an array: only ``cts golden --update`` does, and it needs covertable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from generators.casebook.constraints import UNASSIGNED, Choices, Completion, Constraint, Row, rows
from generators.errors import CasebookError


def covering_rows(constraints: Sequence[Constraint], choices: Choices, strength: int, given: Sequence[Row] = ()) -> list[Row]:
    """Return rows that cover every allowed combination of ``strength`` parameters, in lexicographic order.

    Args:
        constraints: on the rows.
        choices: the labels of each parameter; a parameter with one label is fixed, and one without labels stays unassigned.
        strength: 0 asks for nothing; the number of free parameters, or more, asks for every allowed row.
        given: rows that are always part of the result.
    """
    if strength == 0:
        return sorted(set(given))
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in choices]
    completion = Completion(constraints, choices)
    if not completion.possible(start):
        return []

    def reachable(parameter: int, label: int) -> bool:
        return completion.possible([label if a == parameter else assigned for a, assigned in enumerate(start)])

    narrowed = [
        labels if len(labels) < 2 else [label for label in labels if reachable(parameter, label)]
        for parameter, labels in enumerate(choices)
    ]
    free = [parameter for parameter, labels in enumerate(narrowed) if len(labels) > 1]
    if strength >= len(free):
        return rows(constraints, narrowed)
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in narrowed]
    completion = Completion(constraints, narrowed)

    def impossible(partial: Mapping[int, int]) -> bool | None:
        assignment = list(start)
        for place, label in partial.items():
            assignment[free[place]] = label
        # None means undecided; covertable would not ask again after True
        return None if completion.possible(assignment) else False

    condition: dict[str, Any] = {"operator": "fn", "requires": [], "evaluate": impossible}
    try:
        import covertable
    except ImportError:
        raise CasebookError(
            "choosing the cases of a tier needs covertable: install the suite's development tools with pip install -e '.[dev]'"
        ) from None
    chosen = covertable.make(
        [list(narrowed[parameter]) for parameter in free],
        strength=strength,
        presets=[[row[parameter] for parameter in free] for row in given],
        constraints=[condition] if constraints else None,
    )
    found = set(given)
    for labels in chosen:
        row = list(start)
        for parameter, label in zip(free, labels, strict=True):
            row[parameter] = label
        found.add(tuple(row))
    return sorted(found)
