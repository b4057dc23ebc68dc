"""Current devices support only part of the smoke tier: enough cases of that part must show each wrong stride, first element and address."""

from __future__ import annotations

import pytest

from generators.casebook import Tier
from tests.families.kill_table import Choice, kill_table

ENOUGH = 3


@pytest.mark.parametrize("mistake", ["load_store.stride", "load_store.first", "load_store.address"])
@pytest.mark.parametrize("profile", ["llvmpipe", "nvidia-h200"])
def test_three_smoke_cases_show_each_wrong_address(profile: str, mistake: str) -> None:
    lines = kill_table("load_store", Choice(Tier.SMOKE, word=mistake, profile=profile, enough=ENOUGH))
    assert lines
    assert {kind: shown for _, kind, _, shown, _ in lines if shown < ENOUGH} == {}
