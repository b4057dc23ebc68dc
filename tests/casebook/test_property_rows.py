"""Texts that name a property row, and texts that do not."""

from __future__ import annotations

import pytest

from generators.errors import CasebookError
from generators.property_rows import by_likeness, check_property_row, check_row, row_kind

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


@pytest.mark.parametrize(
    ("label", "order"),
    [
        ("8x8x8.f16.f16.f32.f32", ["f16.f16.f32.f32", "bf16.bf16.f32.f32", "s8.s8.s32.s32", "s8.s8.s32.s32.sat"]),
        ("8x8x8.bf16.bf16.f32.f32", ["bf16.bf16.f32.f32", "f16.f16.f32.f32", "s8.s8.s32.s32", "s8.s8.s32.s32.sat"]),
        ("8x8x8.s8.s8.s32.s32.sat", ["s8.s8.s32.s32.sat", "s8.s8.s32.s32", "f16.f16.f32.f32", "bf16.bf16.f32.f32"]),
    ],
)
def test_rows_are_alike_by_kind_of_components_then_types(label: str, order: list[str]) -> None:
    rows = [f"16x16x16.{types}" for types in ("f16.f16.f32.f32", "s8.s8.s32.s32", "bf16.bf16.f32.f32", "s8.s8.s32.s32.sat")]
    assert by_likeness(label, rows) == [f"16x16x16.{types}" for types in order]


def test_sizes_and_scope_decide_between_rows_with_the_same_types() -> None:
    rows = [f"{sizes}.f16.f16.f32.f32.{scope}" for sizes, scope in (("16x16x16", "flex"), ("16x8x16", "wg4"), ("16x8x16", "flex"))]
    assert by_likeness("16x8x8.f16.f16.f32.f32.wg8", rows) == [rows[1], rows[2], rows[0]]


VECTORS = [
    *("f16.f16.f16.f16.f16", "f16.e4m3.e4m3.f16.f16", "f32.s8.s8.s32.s32"),
    *("s32.s8.s8.s32.s32", "s8.s8.s8.s32.s32", "u32.s8packed.s8.s32.s32"),
]


@pytest.mark.parametrize("text", [*VECTORS, "f16.e4m3.e4m3.f16.f16.t"])
def test_a_row_of_cooperative_vectors_is_written_in_one_form(text: str) -> None:
    assert row_kind(text) == "vector"
    check_row(text, "vector")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f16.f16.f16.f16", "is not a row of cooperative vectors: expected five types"),
        ("f16.f16.f16.f16.half", "is not a row of cooperative vectors"),
        ("s8packed.s8.s8.s32.s32", "is not a row of cooperative vectors"),
        ("f16.f16.f16.f16.f16.t", "must be written f16.f16.f16.f16.f16$"),
    ],
)
def test_other_rows_of_cooperative_vectors_are_refused(text: str, message: str) -> None:
    with pytest.raises(CasebookError, match=message):
        check_row(text, "vector")


def test_kinds_of_rows() -> None:
    assert [row_kind(text) for text in (ROW, f"{ROW}.flex", f"{ROW}.wg2", VECTORS[0])] == ["exact", "flexible", "flexible", "vector"]


@pytest.mark.parametrize(
    ("label", "first"),
    [
        ("f32.f16.f16.f32.f32", "f16.f16.f16.f16.f16"),
        ("f16.e5m2.e4m3.f16.f16", "f16.e4m3.e4m3.f16.f16"),
        ("f16.e4m3.e4m3.f16.f16.t", "f16.f16.f16.f16.f16"),
        ("f16.s8.s8.s32.s32", "f32.s8.s8.s32.s32"),
        ("s16.s8.s8.s32.s32", "s32.s8.s8.s32.s32"),
        ("s32.s8.s8.s32.s32.t", "s8.s8.s8.s32.s32"),
        ("u32.s8packed.s8.s32.u32", "u32.s8packed.s8.s32.s32"),
    ],
)
def test_rows_of_cooperative_vectors_are_alike_by_kind_then_transposition_then_conversion(label: str, first: str) -> None:
    assert by_likeness(label, VECTORS)[0] == first
