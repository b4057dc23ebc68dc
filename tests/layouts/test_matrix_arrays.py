"""Matrices and tensors in arrays: the contents are where programs load them."""

from __future__ import annotations

import numpy as np
import pytest

from generators.layouts.matrix_arrays import Tiles, matrix_source, tight, tiled
from generators.layouts.tensors import row_major, shared_tensor
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MatrixLoad
from generators.program.scalars import ScalarArithmetic
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, Layout, Scope, Use

U16 = COMPONENT_TYPES["u16"]
TYPE = MatrixType(U16, Scope.SUBGROUP, 2, 3, Use.A)
VALUES = np.arange(100, 124, dtype=np.uint16).reshape(4, 2, 3)
"""Two matrices for each of two instances."""


@pytest.mark.parametrize("layout", list(Layout))
def test_every_element_is_at_first_and_pitch_and_stride(layout: Layout) -> None:
    tiles = Tiles(TYPE, layout, stride=5, pitch=17, instances=2, steps=2, first=3)
    data = tiles.contents(VALUES, np.random.default_rng(1)).view(np.uint16)
    assert len(data) == tiles.length == 3 + 4 * 17
    for tile, row, column in np.ndindex(VALUES.shape):
        line, within = (row, column) if layout is Layout.ROW_MAJOR else (column, row)
        assert data[3 + tile * 17 + line * 5 + within] == VALUES[tile, row, column]


@pytest.mark.parametrize("layout", list(Layout))
def test_tight_matrices_have_nothing_between_them(layout: Layout) -> None:
    tiles = tight(TYPE, layout, (2, 2))
    whole = VALUES if layout is Layout.ROW_MAJOR else VALUES.swapaxes(1, 2)
    assert tiles.contents(VALUES, np.random.default_rng(1)).tobytes() == whole.tobytes()


def test_bits_between_matrices_name_their_positions_without_a_generator() -> None:
    tiles = tiled(TYPE, Layout.ROW_MAJOR, 1, (4, 1))
    data = tiles.contents(VALUES, None).view(np.uint16)
    between = np.delete(data, [tile * tiles.pitch + row * tiles.stride + column for tile, row, column in np.ndindex(VALUES.shape)])
    assert len(set(between.tolist())) == len(between)


def test_a_program_loads_each_instance_from_its_own_matrices() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    tiles = tiled(TYPE, Layout.ROW_MAJOR, 1, (2, 2))
    source = matrix_source(builder, "source", tiles)
    source.load_tile("second", 1)
    program = builder.build()
    scaled, first, load = program.operations[1:]
    assert isinstance(scaled, ScalarArithmetic)
    assert isinstance(first, ScalarArithmetic)
    assert isinstance(load, MatrixLoad)
    assert (scaled.operator, scaled.right) == ("multiply", builder.literal(2 * tiles.pitch))
    assert (first.operator, first.right) == ("add", builder.literal(tiles.pitch))
    assert (load.first, load.stride) == (first.result, builder.literal(tiles.stride))
    assert program.array("source").bytes == tiles.bytes


def test_strides_of_a_tensor_and_the_contents_of_its_array_agree() -> None:
    assert row_major((2, 3, 5)) == (15, 5, 1)
    assert row_major((2, 3, 5), gap=2) == (21, 7, 1)
    assert row_major((2, 3, 5), padded=True, inner=3) == (3 * 17 + 1, 3 * 5 + 2, 3)
    values = np.arange(30, dtype=np.uint16).reshape(2, 3, 5)
    tensor = shared_tensor(ProgramBuilder(Scope.SUBGROUP), "tensor", U16, values.shape, gap=2)
    data = tensor.contents(values, np.random.default_rng(1)).view(np.uint16)
    for place in np.ndindex(values.shape):
        assert data[tensor.first + np.dot(place, tensor.strides)] == values[place]
