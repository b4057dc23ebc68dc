"""Which property rows of a device become cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.device import MatrixRow
from cts.devices.embedded.profile import load_profile
from cts.selection import device_rows
from generators.types import Scope

ROW = MatrixRow(16, 16, 16, "f16", "f16", "f32", "f32", saturating=False, scope=Scope.SUBGROUP)
INTEGERS = replace(ROW, a="s8", b="s8", c="s32", result="s32", saturating=True)


def rows(*listed: MatrixRow, kind: str = "vulkan") -> tuple[str, ...]:
    return device_rows(replace(load_profile("universal").description, kind=kind, rows=listed))


def test_each_exact_row_of_the_subgroup_once() -> None:
    assert rows(INTEGERS, ROW, ROW) == ("16x16x16.f16.f16.f32.f32", "16x16x16.s8.s8.s32.s32.sat")
    assert rows(replace(ROW, scope=Scope.WORKGROUP), replace(ROW, flexible=True)) == ()


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
    """A device may list them (F-KHR-7); that the suite has no expected result for them must not be an error of its own."""
    assert rows(ROW, row) == rows(ROW)
