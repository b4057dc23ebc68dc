"""The search for hidden defects distinguishes defects that only failing cases show from defects that other cases also show."""

from __future__ import annotations

from collections.abc import Set

import pytest

from generators.casebook import Tier
from tests.families import masks
from tests.families.masks import Mask

FAILURE = "block-strides-rounded-down"
OWN = "tensor_layout.block_strides_rounded_down"


def _failing(name: str, tier: str, driver: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return a case that fails by the known failure, and a selected case that passes."""
    del tier, driver
    return {
        f"{name}[strides:default]": ({FAILURE}, {OWN, "a.hidden", "b.passing", "c.elsewhere[bits:8]"}),
        f"{name}[strides:padded]": (set(), {"b.passing"}),
    }


def _elsewhere(name: str, tier: str, driver: str, wanted: Set[str]) -> set[str]:
    """Pretend that a case that no known failure selects shows one kind."""
    del name, tier, driver
    return {"c.elsewhere[bits:8]"} & wanted


def test_defects_that_only_failing_cases_show_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "seen_by_failing", _failing)
    monkeypatch.setattr(masks, "seen_elsewhere", _elsewhere)
    monkeypatch.setattr(masks, "_families", lambda: ["kernel_dequantised"])
    # Known failures of one family must not stay in the cache for other tests.
    monkeypatch.setattr(masks, "_entries", masks._entries.__wrapped__)
    case = "kernel_dequantised[strides:default]"
    assert masks.masks("nvidia", "smoke", 1) == [Mask("nvidia", FAILURE, "a.hidden", 1, case)]


SEEN_BESIDE = [
    (
        "nvidia",
        "vector_muladd",
        {f"vector_multiply.other_float8[operand:{operand}]" for operand in ("input", "matrix", "input/every", "matrix/every")},
    ),
    ("lavapipe", "reduce", {"reduce.argument_of_fragment_kept[fragment:16]", "reduce.argument_of_fragment_kept[fragment:16/every]"}),
]
"""Kinds of defects that some cases show although no known failure of the driver selects them, because a product was added for this."""


@pytest.mark.parametrize(("driver", "family", "kinds"), SEEN_BESIDE)
def test_a_case_beside_a_known_failure_shows_the_defect(driver: str, family: str, kinds: set[str]) -> None:
    assert masks.seen_elsewhere(family, Tier.SMOKE, driver, kinds) == kinds
