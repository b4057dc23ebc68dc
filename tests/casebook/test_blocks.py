"""Blocks of the full tier: together they contain its cases in its order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.casebook import Family, Tier, expand
from generators.casebook.blocks import block_cases, block_file, blocks_text, divided, pinned_blocks
from generators.casebook.cases import full_rows
from generators.casebook.tiers import home
from generators.errors import CasebookError


def pin_blocks(family: Family, most: int) -> None:
    path = block_file(home(family), family.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(blocks_text(family, divided(family, full_rows(family), most)), encoding="utf-8")


@pytest.mark.parametrize("most", [1, 2, 3, 7, 1000])
def test_blocks_have_the_cases_of_the_full_tier_in_its_order(toy: Family, most: int) -> None:
    pin_blocks(toy, most)
    blocks = pinned_blocks(toy)
    assert blocks is not None
    assert [case for block in blocks for case in block_cases(toy, block)] == expand(toy, Tier.FULL)
    assert max(block.count for block in blocks) <= most
    assert len({block.name for block in blocks}) == len(blocks)
    pinned_blocks.cache_clear()


def test_a_family_without_pinned_blocks_has_none(toy: Family) -> None:
    assert pinned_blocks(toy) is None


def test_a_block_with_another_count_is_not_a_block_of_the_family(toy: Family) -> None:
    block = divided(toy, full_rows(toy), 3)[0]
    with pytest.raises(CasebookError, match="cts golden --update"):
        block_cases(toy, replace(block, count=block.count + 1))


def test_blocks_of_another_outline_are_refused(toy: Family) -> None:
    pin_blocks(toy, 3)
    path = block_file(home(toy), toy.name)
    path.write_text(path.read_text(encoding="utf-8").replace("outline\t", "outline\t0"), encoding="utf-8")
    with pytest.raises(CasebookError, match="cts golden --update"):
        pinned_blocks(toy)


@pytest.mark.parametrize("line", ["x\tbytes:1", "12", "-1\tbytes:1"])
def test_a_line_of_another_form_is_named(toy: Family, line: str) -> None:
    path = block_file(home(toy), toy.name)
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(CasebookError, match=r"toy\.tsv:1"):
        pinned_blocks(toy)


def test_a_block_with_labels_of_another_family_is_refused(toy: Family) -> None:
    block = divided(toy, full_rows(toy), 3)[0]
    with pytest.raises(CasebookError, match="has no label"):
        block_cases(toy, replace(block, labels=("bytes:512",)))
