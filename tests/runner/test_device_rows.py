"""The property rows of a device that become cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.device import MatrixRow, VectorRow
from cts.embedded.profile import load_profile
from cts.engine.selection import device_rows
from generators.types import Scope

ROW = MatrixRow(16, 16, 16, "f16", "f16", "f32", "f32", saturating=False, scope=Scope.SUBGROUP)
INTEGERS = replace(ROW, a="s8", b="s8", c="s32", result="s32", saturating=True)


def rows(*listed: MatrixRow, kind: str = "vulkan") -> tuple[str, ...]:
    return device_rows(replace(load_profile("universal").description, kind=kind, rows=listed, vector_rows=()))


def test_each_exact_row_of_the_subgroup_once() -> None:
    assert rows(INTEGERS, ROW, ROW) == ("16x16x16.f16.f16.f32.f32", "16x16x16.s8.s8.s32.s32.sat")
    assert rows(replace(ROW, scope=Scope.WORKGROUP)) == ()


def test_flexible_rows_of_both_scopes_with_their_workgroups() -> None:
    flexible = replace(ROW, flexible=True)
    workgroup = replace(flexible, m=32, scope=Scope.WORKGROUP, invocations=128)
    assert rows(flexible, workgroup, workgroup) == ("16x16x16.f16.f16.f32.f32.flex", "32x16x16.f16.f16.f32.f32.wg4")


@pytest.mark.parametrize("invocations", [0, 16, 48])
def test_workgroups_that_are_not_a_multiple_of_the_subgroup_size_are_not_judged(invocations: int) -> None:
    assert rows(replace(ROW, flexible=True, scope=Scope.WORKGROUP, invocations=invocations)) == ()


def test_the_embedded_device_has_none() -> None:
    assert rows(ROW, kind="embedded") == ()


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, a="component type 1000672000"),
        replace(ROW, saturating=True),
        replace(INTEGERS, c="f32", result="f32", saturating=False),
        replace(INTEGERS, b="f16"),
    ],
    ids=["of another extension", "saturating floats", "integers to floats", "integers and floats"],
)
def test_rows_whose_results_no_text_defines_are_not_judged(row: MatrixRow) -> None:
    """A device may list them (F-KHR-7); the suite has no expected result for them, but this must not be an error."""
    assert rows(ROW, row) == rows(ROW)


def vectors(*listed: str, transposing: str = "") -> tuple[str, ...]:
    entries = [VectorRow(*types.split("."), transpose=False) for types in listed]
    entries += [VectorRow(*types.split("."), transpose=True) for types in transposing.split()]
    return device_rows(replace(load_profile("universal").description, kind="vulkan", rows=(), vector_rows=tuple(entries)))


def test_rows_of_cooperative_vectors_follow_each_once() -> None:
    assert vectors("s8.s8.s8.s32.s32", "f32.f16.f16.f16.f16", "s8.s8.s8.s32.s32") == ("f32.f16.f16.f16.f16", "s8.s8.s8.s32.s32")
    mixed = replace(load_profile("universal").description, kind="vulkan", rows=(ROW,), vector_rows=(VectorRow("f16", *["f16"] * 4, True),))
    assert device_rows(mixed) == ("16x16x16.f16.f16.f32.f32", "f16.f16.f16.f16.f16")


def test_rows_that_are_listed_without_transposition_say_that_they_have_it() -> None:
    assert vectors(transposing="f16.e4m3.e4m3.f16.f16 f16.f16.f16.f16.f16") == ("f16.e4m3.e4m3.f16.f16.t", "f16.f16.f16.f16.f16")
    assert vectors("u32.s8.s8.s32.s32", transposing="u32.s8.s8.s32.s32") == ("u32.s8.s8.s32.s32.t",)


@pytest.mark.parametrize(
    "types",
    [
        *("f16.f16.f16.f32.f16", "f16.f16.f16.f16.s32", "f16.s8.f16.s32.s32", "f16.e4m3.e4m3.e4m3.f16", "f64.f64.f64.f32.f32"),
        *("s8.s8.s8.s32.s16", "u32.s8packed.s8packed.s32.s32", "s32.s8packed.s8.s32.s32", "bf16.f16.f16.f16.f16"),
        "component type 7.f16.f16.f16.f16",
    ],
)
def test_rows_of_cooperative_vectors_without_data_in_the_suite_are_not_judged(types: str) -> None:
    assert vectors(types) == ()
