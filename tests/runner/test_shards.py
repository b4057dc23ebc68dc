"""The distribution of cases to shards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.engine.costs import Costs, CostsError, measured, read_costs, write_costs
from cts.engine.shards import Part, Shard, ShardError, dealt, parse_shard, part_of_ids, part_of_tier
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Tier, expand
from generators.casebook.blocks import pinned_blocks
from tests.suite import casebook

COSTS = st.lists(st.integers(1, 10**6), max_size=60)


@given(st.lists(COSTS, max_size=3), st.integers(1, 9))
def test_the_costs_of_two_parts_differ_by_one_unit_at_most(batches: list[list[int]], count: int) -> None:
    loads = dict.fromkeys(range(1, count + 1), 0)
    for costs, parts in zip(batches, dealt(batches, count), strict=True):
        for cost, part in zip(costs, parts, strict=True):
            loads[part] += cost
    assert max(loads.values()) - min(loads.values()) <= max((cost for costs in batches for cost in costs), default=0)


@given(COSTS, COSTS, st.integers(1, 9))
def test_a_later_batch_moves_nothing(first: list[int], second: list[int], count: int) -> None:
    assert next(dealt([first, second], count)) == next(dealt([first], count))


@given(st.dictionaries(st.sampled_from("abcd"), st.sets(st.text("xyz", min_size=1))), st.integers(1, 5))
def test_each_case_is_in_one_shard(named: dict[str, set[str]], count: int) -> None:
    named_in_order = {family: sorted(ids) for family, ids in named.items()}
    parts = [part_of_ids(named_in_order, Costs({"a": 7}, {"xx": 100}), Shard(number, count)) for number in range(1, count + 1)]
    for family, ids in named.items():
        assert sorted(id_ for part in parts for id_ in part.ids.get(family, ())) == sorted(ids)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b", "1/100001", " 1/2", "1/" + "9" * 5000])
def test_text_that_is_not_a_shard_is_refused(text: str) -> None:
    with pytest.raises(ShardError):
        parse_shard(text)


def test_a_shard_is_read() -> None:
    assert parse_shard("2/8") == Shard(2, 8)


def parts(tier: Tier, count: int, extra: tuple[str, ...] = ()) -> list[Part]:
    costs = read_costs(casebook().root.parent)
    return [part_of_tier(casebook(), tier, extra, {}, costs, Shard(number, count)) for number in range(1, count + 1)]


def test_the_shards_of_a_tier_have_each_case_once_whatever_rows_a_device_adds() -> None:
    row = "48x16x16.f16.f16.f16.f16"
    plain, wider = parts(Tier.SMOKE, 3), parts(Tier.SMOKE, 3, (row,))
    for family in casebook():
        ids = sorted(case.id for case in expand(family, Tier.SMOKE))
        assert sorted(id_ for part in plain for id_ in part.ids.get(family.name, ())) == ids
        more = sorted(case.id for case in expand(family, Tier.SMOKE, (row,)))
        assert sorted(id_ for part in wider for id_ in part.ids.get(family.name, ())) == more
        for one, other in zip(plain, wider, strict=True):
            assert one.ids.get(family.name, frozenset()) <= other.ids.get(family.name, frozenset())


def test_the_shards_of_the_full_tier_have_each_block_once() -> None:
    found = parts(Tier.FULL, 5)
    for family in casebook():
        blocks = pinned_blocks(family) or ()
        assert sorted(block.name for part in found for block in part.blocks.get(family.name, ())) == sorted(block.name for block in blocks)


def result(id_: str, seconds: float, verdict: Verdict = Verdict.PASS) -> CaseResult:
    return CaseResult(id=id_, family=id_.partition("[")[0], verdict=verdict, seconds=seconds, steps={"open": 0.5})


def test_costs_are_means_without_what_did_not_run_and_long_cases_have_their_own() -> None:
    short = [result(f"a[n:{number}]", 0.5 + 0.001 * number) for number in range(1, 6)]
    costs = measured([*short, result("a[n:9]", 30.5), result("a[n:10]", 0.5, Verdict.NOT_SUPPORTED)])
    assert costs.families == {"a": 3000}
    assert costs.cases == {"a[n:9]": 30_000_000}
    assert costs.of("a", "a[n:9]") == 30_000_000
    assert costs.of("a", "a[n:10]") == costs.of("a") == costs.of("b") == 3000


def test_costs_that_are_written_are_read(tmp_path) -> None:
    (tmp_path / "golden").mkdir()
    costs = Costs({"a": 3, "b": 5}, {"a[n:1]": 2_000_000}, 4)
    write_costs(tmp_path, costs)
    assert read_costs(tmp_path) == costs


@pytest.mark.parametrize("line", ["a", "a\t", "a\t0", "a\t1.5", "a\t-3"])
def test_a_line_of_costs_of_another_form_is_named(tmp_path, line: str) -> None:
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "costs.tsv").write_text(f"# x\n{line}\n", encoding="utf-8")
    with pytest.raises(CostsError, match=r"costs\.tsv:2"):
        read_costs(tmp_path)
