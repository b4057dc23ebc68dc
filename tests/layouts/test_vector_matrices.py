"""Matrices of matrix-vector multiplies in arrays: the places of elements follow from offset, stride and layout."""

from __future__ import annotations

import numpy as np
import pytest

from generators.layouts.vector_matrices import VectorMatrices
from generators.numerics.formats import is_nan
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from generators.vector_rows import NotARow, parse_vector_row

U16 = COMPONENT_TYPES["u16"]
VALUES = np.arange(100, 142, dtype=np.uint16).reshape(2, 3, 7)
"""Two matrices, 3 x 7."""


@pytest.mark.parametrize(("layout", "stride"), [(VectorMatrixLayout.ROW_MAJOR, 32), (VectorMatrixLayout.COLUMN_MAJOR, 32)])
def test_every_element_is_at_first_and_pitch_and_stride(layout: VectorMatrixLayout, stride: int) -> None:
    matrices = VectorMatrices(U16, 3, 7, layout, 2, first=64, padding=16)
    data = matrices.contents(VALUES, np.random.default_rng(1))
    assert matrices.stride == stride
    assert matrices.pitch % 64 == 0
    assert data.size == matrices.bytes == 64 + 2 * matrices.pitch
    for matrix, row, column in np.ndindex(VALUES.shape):
        line, within = (row, column) if layout is VectorMatrixLayout.ROW_MAJOR else (column, row)
        at = 64 + matrix * matrices.pitch + line * stride + 2 * within
        assert int.from_bytes(data[at : at + 2].tobytes(), "little") == VALUES[matrix, row, column]


@pytest.mark.parametrize("layout", [VectorMatrixLayout.ROW_MAJOR, VectorMatrixLayout.COLUMN_MAJOR])
@pytest.mark.parametrize("name", ["f16", "f32"])
@pytest.mark.parametrize("nan", [False, True])
def test_some_rows_of_floats_have_nan_next_to_them(name: str, layout: VectorMatrixLayout, nan: bool) -> None:
    component = COMPONENT_TYPES[name]
    matrices = VectorMatrices(component, 13, 13, layout, 3, first=64, padding=208)
    numbers = np.arange(3 * 13 * 13).reshape(3, 13, 13).astype(component.dtype)
    data = matrices.contents(numbers, np.random.default_rng(1), nan)
    nans = is_nan(data.view(component.bits_dtype), component)
    beside = []
    for first in range(64, matrices.bytes, matrices.pitch):
        size = component.bytes
        lines = nans[first // size : (first + 13 * matrices.stride) // size].reshape(13, -1)
        assert not lines[:, :13].any()
        assert (lines[:, 13:].all(axis=1) == lines[:, 13:].any(axis=1)).all()
        beside.append(lines[:, -1].copy())
        lines[:] = False
    # Nothing else is NaN.
    assert not nans.any()
    assert np.mean(beside) == 0 if not nan else 0.3 < np.mean(beside) < 0.7
    assert beside[0][0] == nan


@pytest.mark.parametrize("transpose", [False, True])
def test_optimal_layouts_have_tight_rows(transpose: bool) -> None:
    matrices = VectorMatrices(U16, 3, 7, VectorMatrixLayout.TRAINING_OPTIMAL, 2, transpose)
    stored = VALUES.swapaxes(1, 2) if transpose else VALUES
    assert matrices.lines == ((7, 3) if transpose else (3, 7))
    assert matrices.contents(VALUES, np.random.default_rng(1)).tobytes() == stored.tobytes()
    assert matrices.bytes == VALUES.nbytes


def test_rows_have_names() -> None:
    row = parse_vector_row("u32.s8packed.s8.s32.s32")
    assert str(row) == "u32.s8packed.s8.s32.s32"
    assert [row.components(columns) for columns in (1, 4, 5, 8)] == [1, 1, 2, 2]
    assert parse_vector_row("f32.s8.s8.s32.s32").components(5) == 5


@pytest.mark.parametrize("text", ["f16.f16.f16.f16", "f16.f16.f16.f16.s8packed", "f16.f17.f16.f16.f16", "s8packed.s8.s8.s32.s32"])
def test_other_texts_are_not_rows(text: str) -> None:
    with pytest.raises(NotARow):
        parse_vector_row(text)
