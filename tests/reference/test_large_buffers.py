"""Accesses beyond 4 GiB in the reference model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.reference.evaluate import evaluate
from generators.casebook import build, find_case
from tests.broken_rules import breaks
from tests.suite import casebook


@pytest.mark.parametrize("access", ["load", "store", "tensor_load", "tensor_store"])
def test_an_access_beyond_4_gib_needs_64_bit_indexing(access) -> None:
    case = build(find_case(casebook(), f"large_buffers[component:f16/access:{access}/beyond:4GiB/indexing:wide]"))
    subcase = next(iter(case.subcases(case.program)))
    assert evaluate(case.program, subcase).placed
    with breaks("VUID-RuntimeSpirv-None-10834"):
        evaluate(replace(case.program, wide_indexing=False), subcase)
