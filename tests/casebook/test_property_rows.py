"""What names a property row, and what does not."""

from __future__ import annotations

import pytest

from generators.errors import CasebookError
from generators.property_rows import check_property_row

ROW = "16x8x16.f16.f16.f32.f32"


@pytest.mark.parametrize("text", [ROW, "16x16x32.s8.s8.s32.s32.sat"])
def test_a_row_is_written_in_one_form(text: str) -> None:
    check_property_row(text)
    check_property_row(f"{text}.flex", flexible=True)
    check_property_row(f"{text}.wg12", flexible=True)


@pytest.mark.parametrize(
    ("text", "flexible"),
    [
        ("0x8x16.f16.f16.f32.f32", False),
        ("16x8x0.f16.f16.f32.f32", False),
        ("016x8x16.f16.f16.f32.f32", False),
        ("16x8x16.f16.f16.f32", False),
        ("16x8x16.f16.f16.f32.half", False),
        (f"{ROW}.flex", False),
        (ROW, True),
        (f"{ROW}.wg", True),
        (f"{ROW}.wg0", True),
        (f"{ROW}.wg02", True),
        (f"{ROW}.flex.wg2", True),
        ("0x8x16.f16.f16.f32.f32.flex", True),
    ],
)
def test_anything_else_is_refused_by_name(text: str, flexible: bool) -> None:
    with pytest.raises(CasebookError, match=f"^'{text.partition('.')[0]}"):
        check_property_row(text, flexible)
