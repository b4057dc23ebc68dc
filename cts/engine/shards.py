"""Shards: a selection of cases in N parts of about equal cost, the same parts on every machine.

The pinned cases of a tier are dealt out first, in one order, by pinned costs alone. Cases that only one device has are dealt out after
them, and do not move them. Earlier results, and the cases that ``-k`` leaves out, change no shard.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heapreplace

from cts.engine.costs import Costs
from generators.casebook import Casebook, Family, Tier, expand
from generators.casebook.blocks import Block, pinned_blocks
from generators.casebook.cases import added_rows, cases_on_row
from generators.errors import CtsError

MOST_SHARDS = 100_000
_MOST_DIGITS = 6

Unit = tuple[str, str | Block]
"""Cases that are dealt out together: a family, and the id of a case or a block."""


class ShardError(CtsError):
    """``--shard`` has an invalid value."""


@dataclass(frozen=True)
class Shard:
    """One of several parts.

    Attributes:
        number: from 1 to ``count``.
        count: how many parts there are.
    """

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Return the shard ``K/N``.

    Raises:
        ShardError: the text is not a shard.
    """
    first, _, second = text.partition("/")
    numbers = [int(part) if part.isdecimal() and len(part) <= _MOST_DIGITS else 0 for part in (first, second)]
    if not 1 <= numbers[0] <= numbers[1] <= MOST_SHARDS:
        raise ShardError(f"--shard {text[:40]}: expected K/N with K from 1 to N, and N at most {MOST_SHARDS:,}, for example 2/8")
    return Shard(*numbers)


def dealt(batches: Iterable[Sequence[int]], count: int) -> Iterator[list[int]]:
    """Deal out units by cost: in each batch the most expensive first, each to the part with the lowest cost so far.

    Args:
        batches: costs of units; each batch is dealt out after the one before it.
        count: how many parts there are.

    Yields:
        For each batch, the part of each of its units, from 1 to ``count``. The costs of two parts differ at most by the cost of one unit.
    """
    loads = [(0, part) for part in range(1, count + 1)]
    heapify(loads)
    for costs in batches:
        parts = [0] * len(costs)
        for place in sorted(range(len(costs)), key=lambda place: (-costs[place], place)):
            load, part = loads[0]
            parts[place] = part
            heapreplace(loads, (load + costs[place], part))
        yield parts


@dataclass(frozen=True)
class Part:
    """The cases of a shard.

    Attributes:
        ids: ids of cases, by family.
        blocks: blocks of the full tier, by family, in its order. Their cases are not in ``ids``.
    """

    ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    blocks: Mapping[str, tuple[Block, ...]] = field(default_factory=dict)


def part_of_ids(named: Mapping[str, Iterable[str]], costs: Costs, shard: Shard) -> Part:
    """Return the part of a shard among named cases.

    Args:
        named: ids of cases, by family.
        costs: the pinned costs.
        shard: the shard.
    """
    return _part([[(family, id_) for family, ids in named.items() for id_ in ids]], costs, shard)


def part_of_tier(
    casebook: Casebook, tier: Tier, extra: Sequence[str], named: Mapping[str, Sequence[str]], costs: Costs, shard: Shard
) -> Part:
    """Return the part of a shard in a tier.

    Args:
        casebook: all families.
        tier: the tier.
        extra: property rows of the device, in the form that ``expand`` takes.
        named: ids by family; only these cases of such a family are selected.
        costs: the pinned costs.
        shard: the shard.

    Raises:
        CasebookError: see ``expand`` and ``pinned_blocks``.
    """
    pinned: list[Unit] = []
    added: list[Unit] = []
    for family in casebook:
        if family.name in named:
            pinned += [(family.name, id_) for id_ in named[family.name]]
            continue
        blocks = pinned_blocks(family) if tier is Tier.FULL else None
        if blocks is not None:
            pinned += [(family.name, block) for block in blocks]
            added += [(family.name, block) for block in _blocks_on_rows(family, blocks, extra)]
            continue
        ids = [case.id for case in expand(family, tier)]
        pinned += [(family.name, id_) for id_ in ids]
        if added_rows(family, extra):
            known = frozenset(ids)
            added += [(family.name, case.id) for case in expand(family, tier, extra) if case.id not in known]
    part = _part([pinned, added], costs, shard)
    return replace(part, blocks={name: tuple(counted(casebook.families[name], blocks)) for name, blocks in part.blocks.items()})


def blocks_of(family: Family, extra: Sequence[str]) -> tuple[Block, ...] | None:
    """Return the blocks of the family's full tier, with blocks of the device's property rows last; None if no blocks are pinned.

    Raises:
        CasebookError: see ``pinned_blocks``.
    """
    blocks = pinned_blocks(family)
    return blocks and (*blocks, *counted(family, _blocks_on_rows(family, blocks, extra)))


def counted(family: Family, blocks: Iterable[Block]) -> Iterator[Block]:
    """Count the cases on property rows that only the device has: these are not pinned. Blocks without cases are left out."""
    for block in blocks:
        exact = replace(block, count=len(cases_on_row(family, block.row))) if block.row else block
        if exact.count:
            yield exact


def _blocks_on_rows(family: Family, blocks: Sequence[Block], extra: Sequence[str]) -> list[Block]:
    """Return a block for each row that only the device has, about as large as the blocks of other rows."""
    added = added_rows(family, extra)
    if not added or family.row_parameter is None:
        return []
    mean = sum(block.count for block in blocks) // len(family.parameters[family.row_parameter].labels)
    return [Block(family.name, (), max(1, mean), label) for label in added]


def _part(batches: Sequence[Sequence[Unit]], costs: Costs, shard: Shard) -> Part:
    ids: dict[str, set[str]] = defaultdict(set)
    blocks: dict[str, list[Block]] = defaultdict(list)
    priced = ([_cost(costs, *unit) for unit in batch] for batch in batches)
    for batch, parts in zip(batches, dealt(priced, shard.count), strict=True):
        for (family, what), part in zip(batch, parts, strict=True):
            if part == shard.number and isinstance(what, Block):
                blocks[family].append(what)
            elif part == shard.number and isinstance(what, str):
                ids[family].add(what)
    return Part({name: frozenset(found) for name, found in ids.items()}, {name: tuple(found) for name, found in blocks.items()})


def _cost(costs: Costs, family: str, what: str | Block) -> int:
    return costs.of(family, what) if isinstance(what, str) else what.count * costs.of(family)
