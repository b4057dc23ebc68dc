"""The costs of cases: pinned estimates, which balance shards, and the costs of past runs on a device.

``golden/costs.tsv`` has a line for each family with the mean cost of its cases, and one for each case that costs far more. Shards have to
be the same on every machine, so they depend only on this file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from statistics import median

from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook.ids import family_of
from generators.errors import CtsError

FILE = Path("golden", "costs.tsv")
"""In a checkout."""

USUAL = 20_000
"""Cost in microseconds of a case without an estimate."""

UNTYPICAL = 20
"""A case has a line of its own if it costs at least this many times the median of its family"""

LONG = 1_000_000
"""and at least this many microseconds."""

Order = tuple[Sequence[int], Callable[[], Sequence[int]]]
"""The numbers of the cases that come first, in their order, and what finds the numbers of the others."""

NOT_RUN = frozenset({Verdict.NOT_SUPPORTED, Verdict.RESOURCE_ERROR})
"""Verdicts of cases that cost almost nothing."""


class CostsError(CtsError):
    """The pinned costs cannot be read."""


@dataclass(frozen=True)
class Costs:
    """Estimated costs in microseconds.

    Attributes:
        families: the mean cost of a family's cases, without the cases in ``cases``.
        cases: the costs of single cases, by id.
        usual: the cost of a case in any other family.
    """

    families: Mapping[str, int] = field(default_factory=dict)
    cases: Mapping[str, int] = field(default_factory=dict)
    usual: int = USUAL

    def of(self, family: str, id_: str = "") -> int:
        """Return the cost of a case, at least 1; without an id, the cost of any case of the family."""
        return self.cases.get(id_) or self.families.get(family) or self.usual


def measured(results: Iterable[CaseResult], without: Collection[Verdict] = NOT_RUN, apart: bool = True) -> Costs:
    """Return the costs of the cases of past runs. The time to open a device belongs to no case.

    Args:
        results: the results of the runs.
        without: verdicts of results that do not count.
        apart: whether cases that cost far more than others get estimates of their own, and do not count in the mean.
    """
    seen: dict[str, list[tuple[str, int]]] = {}
    for result in results:
        if result.verdict not in without:
            seconds = result.seconds - result.steps.get("open", 0.0)
            seen.setdefault(result.family, []).append((result.id, max(1, round(seconds * 1e6))))
    families: dict[str, int] = {}
    cases: dict[str, int] = {}
    for family, costs in seen.items():
        limit = max(LONG, UNTYPICAL * median(cost for _, cost in costs)) if apart else inf
        # Without typical cases, all of them count.
        usual = [cost for _, cost in costs if cost < limit] or [cost for _, cost in costs]
        cases |= {id_: cost for id_, cost in costs if cost >= limit}
        families[family] = sum(usual) // len(usual)
    return Costs(families, cases, round(median(families.values())) if families else USUAL)


def joined(runs: Sequence[Costs]) -> Costs:
    """Return the costs of several runs: each family's costs come from the first run that has any."""
    families: dict[str, int] = {}
    cases: dict[str, int] = {}
    for costs in runs:
        cases |= {id_: cost for id_, cost in costs.cases.items() if family_of(id_) not in families}
        families = {**costs.families, **families}
    return Costs(families, cases, round(median(families.values())) if families else USUAL)


def read_costs(root: Path) -> Costs:
    """Return the costs that are pinned in a checkout; no estimates if none are pinned.

    Raises:
        CostsError: a line is malformed.
    """
    path = root / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return Costs()
    families: dict[str, int] = {}
    cases: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        name, tab, cost = line.partition("\t")
        if not tab or not cost.isdecimal() or not int(cost):
            raise CostsError(f"{path}:{number}: expected a family or a case and its microseconds: write the file with 'cts golden --costs'")
        (cases if "[" in name else families)[name] = int(cost)
    return Costs(families, cases, round(median(families.values())) if families else USUAL)


def write_costs(root: Path, costs: Costs) -> None:
    """Pin costs in a checkout."""
    lines = ["# family or case\tmicroseconds"]
    lines += [f"{name}\t{cost}" for part in (costs.families, costs.cases) for name, cost in sorted(part.items())]
    (root / FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def order_of(root: Path, ids: Sequence[str], without: Callable[[str], Collection[str]], processes: int) -> Order:
    """Return the order of cases by the costs that are pinned in a checkout; see ``longest_first``.

    Each process begins with a quick case, from the family that most of the long cases have. It is soon there to be seen, and to be the
    control of the long case after it: another long case of the family would be a slow control.

    Args:
        without: returns the ids of a family's cases to leave out.
    """
    pinned = read_costs(root).cases
    first, others = longest_first([pinned.get(id_) for id_ in ids])
    left = partial(_left, ids, without)
    long = list(left(first))
    families = Counter(family_of(ids[number]) for number in long)
    of_most = max(families, key=families.__getitem__, default=None)
    quick = list(islice(left(number for number in others if family_of(ids[number]) == of_most), processes))
    return [*quick, *long], lambda: list(left(number for number in others if number not in quick))


def _left(ids: Sequence[str], without: Callable[[str], Collection[str]], numbers: Iterable[int]) -> Iterator[int]:
    return (number for number in numbers if ids[number] not in without(family_of(ids[number])))


def longest_first(costs: Sequence[int | None]) -> tuple[list[int], list[int]]:
    """Return the numbers of the cases that take long, the longest first, and the numbers of the others.

    Args:
        costs: the cost of each case; None for a case that does not take long.
    """
    long = [(-cost, number) for number, cost in enumerate(costs) if cost is not None]
    return [number for _, number in sorted(long)], [number for number, cost in enumerate(costs) if cost is None]
