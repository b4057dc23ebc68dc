"""Choosing the cases of the smoke and nightly tiers, for ``cts golden --update``, and checking that the pinned cases meet the tiers'
strengths.

Only choosing computes covering arrays. The check needs none: it looks for combinations of labels that no pinned case has, and asks whether
the constraints allow them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from generators.casebook.cases import Case, check_covers, product_choices, violated, within
from generators.casebook.constraints import UNASSIGNED, Completion, Row
from generators.casebook.covering import covering_rows
from generators.casebook.family import Family, Product
from generators.casebook.tiers import PinnedCase, PinnedTiers, Tier, labels_of, outline
from generators.errors import CasebookError


def choose_tiers(family: Family, digests: Mapping[str, tuple[str, ...]] | None = None, pinned: PinnedTiers | None = None) -> PinnedTiers:
    """Choose the cases of the family's tiers: for each product, enough cases to contain every combination of as many labels as its strength
    asks for.

    Pinned cases stay, so a change to a family adds cases and removes only the cases that it no longer has.

    Args:
        family: the family.
        digests: id -> the digests that are already known.
        pinned: the current tiers; None chooses all cases from scratch.

    Raises:
        CasebookError: the constraints leave a product empty, or a cover without a case.
    """
    check_covers(family)
    smoke, nightly = _kept(family, pinned or PinnedTiers())
    for part in family.products:
        first, all_ = product_rows(family, part, smoke, nightly)
        for strength, chosen in ((part.smoke, first), (part.nightly, all_)):
            if strength and not chosen and part.unit is None:
                raise CasebookError(f"{part.place}: the constraints leave no case of the product '{part.name}'")
        smoke.update(first)
        nightly.update(all_)
    known = digests or {}
    cases = []
    for row in sorted(nightly):
        id_ = _case(family, row).id
        cases.append(PinnedCase(Tier.SMOKE if row in smoke else Tier.NIGHTLY, id_, known.get(id_, ())))
    return PinnedTiers(outline(family), tuple(cases))


def _kept(family: Family, pinned: PinnedTiers) -> tuple[set[Row], set[Row]]:
    """Return the rows of pinned cases that the full tier still has: the smoke rows, and all rows. A smoke case must be in a product that
    asks for smoke cases."""
    smoke, nightly = set(), set()
    for case in pinned.cases:
        row = _row(family, case.id)
        if row is None:
            continue
        nightly.add(row)
        if case.tier is Tier.SMOKE and any(part.smoke and within(family, part, row) for part in family.products):
            smoke.add(row)
    return smoke, nightly


def product_rows(family: Family, part: Product, smoke: Collection[Row] = (), nightly: Collection[Row] = ()) -> tuple[list[Row], list[Row]]:
    """Compute the rows of a product in the smoke tier and in the nightly tier, each in lexicographic order.

    Args:
        family, part: the family, and its product.
        smoke, nightly: rows that the tiers already have. Smoke takes rows of nightly before any others.
    """
    there = sorted(row for row in nightly if within(family, part, row))
    first = [row for row in there if row in smoke]
    for missing in uncovered(family, part, part.smoke, first):
        # A row that was taken for another combination may contain this one already.
        if not any(_has(family, row, missing) for row in first):
            first += [row for row in there if _has(family, row, missing)][:1]
    first = _completed(family, part, part.smoke, first)
    return first, _completed(family, part, part.nightly, [*there, *first])


def _has(family: Family, row: Row, labels: Mapping[str, str]) -> bool:
    labelled = ((parameter.name, parameter.labels[number]) for parameter, number in zip(family.parameters, row, strict=True))
    return all(labels.get(name, label) == label for name, label in labelled)


def _completed(family: Family, part: Product, strength: int, given: Sequence[Row]) -> list[Row]:
    """Return ``given`` and the rows that a covering array adds to it."""
    if given and next(uncovered(family, part, strength, given), None) is None:
        return sorted(set(given))
    open_ = (UNASSIGNED,) * len(family.subcase_parameters)
    rows = covering_rows(family.rules_of(part), product_choices(family, part), strength, [(*row, *open_) for row in given])
    return [row[: len(family.parameters)] for row in rows]


def _case(family: Family, row: Row) -> Case:
    return Case(family, tuple(parameter.labels[number] for parameter, number in zip(family.parameters, row, strict=False)))


@dataclass(frozen=True, slots=True)
class TierFaults:
    """The faults of a family's pinned tiers.

    Attributes:
        lost: ids that the full tier does not have.
        notes: all other faults, one line each.
    """

    lost: tuple[str, ...]
    notes: tuple[str, ...]


def tier_faults(family: Family, tiers: PinnedTiers) -> TierFaults:
    """Find the faults of the pinned tiers of ``family``.

    There are none if the tiers were chosen for the family's current outline, each case occurs once and in the order of the full tier, and
    each product has every combination of labels that its strength asks for and the constraints allow.
    """
    rows = {pinned.id: _row(family, pinned.id) for pinned in tiers.cases}
    nightly = [row for pinned in tiers.cases if (row := rows[pinned.id]) is not None]
    smoke = [row for pinned in tiers.cases if (row := rows[pinned.id]) is not None and pinned.tier is Tier.SMOKE]
    notes = []
    if not tiers.outline:
        notes.append("no cases are pinned")
    elif tiers.outline != outline(family):
        notes.append("parameters, constraints or products have changed since the cases were pinned")
    if nightly != sorted(set(nightly)):
        notes.append("the cases are not in the order of the full tier, each once")
    for part in family.products:
        for tier, strength, chosen in ((Tier.SMOKE, part.smoke, smoke), (Tier.NIGHTLY, part.nightly, nightly)):
            inside = [row for row in chosen if within(family, part, row)]
            missing = next(uncovered(family, part, strength, inside), None)
            if missing is not None:
                labels = ", ".join(f"{name}: {label}" for name, label in missing.items())
                notes.append(f"no {tier} case of the product '{part.name}' has {labels or 'its labels'}")
    return TierFaults(tuple(id_ for id_, row in rows.items() if row is None), tuple(notes))


def _row(family: Family, id_: str) -> Row | None:
    """Return the case by label number; None if the full tier does not have it."""
    labels = labels_of(family, id_)
    if labels is None or violated(Case(family, labels)):
        return None
    row = tuple(parameter.numbers[label] for parameter, label in zip(family.parameters, labels, strict=True))
    return row if any(within(family, part, row) for part in family.products) else None


def uncovered(family: Family, part: Product, strength: int, rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    """Find the combinations of ``strength`` labels of a product that the constraints allow and that no row in ``rows`` has.

    Args:
        family: the family.
        part: one of its products.
        strength: 0 asks for nothing; the number of free parameters, or more, asks for every allowed row.
        rows: the rows of the product.

    Yields:
        Name -> label of the free parameters.
    """
    if strength == 0:
        return
    choices = product_choices(family, part)
    completion = Completion(family.rules_of(part), choices)
    start = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in choices]
    free = [number for number, labels in enumerate(choices) if len(labels) > 1]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(family.parameters))
    for numbers in combinations(free, min(strength, len(free))):
        sizes = [len(family.parameters[number].values) for number in numbers]
        weights = [prod(sizes[place + 1 :]) for place in range(len(numbers))]
        present = set((table[:, list(numbers)] @ np.array(weights, dtype=np.int64)).tolist())
        for labels in product(*(choices[number] for number in numbers)):
            if sum(weight * label for weight, label in zip(weights, labels, strict=True)) in present:
                continue
            assignment = list(start)
            for number, label in zip(numbers, labels, strict=True):
                assignment[number] = label
            if completion.possible(assignment):
                yield {
                    family.parameters[number].name: family.parameters[number].labels[label]
                    for number, label in zip(numbers, labels, strict=True)
                }
