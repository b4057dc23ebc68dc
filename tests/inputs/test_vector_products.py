"""Operands of matrix-vector multiplies: the values that they must contain to reveal a wrong conversion."""

from __future__ import annotations

import numpy as np
import pytest

from generators.inputs.vector_products import Multiplies, converted, floats, packed, whole
from generators.types import COMPONENT_TYPES
from generators.vector_rows import parse_vector_row

MANY = 16, 24


@pytest.mark.parametrize("target", ["s8", "u8"])
@pytest.mark.parametrize("source", ["f16", "f32"])
@pytest.mark.parametrize("ends", [False, True])
def test_floats_that_become_integers_are_ties_and_beyond_on_both_sides(source: str, target: str, ends: bool) -> None:
    low, high = (-128, 127) if target == "s8" else (0, 255)
    numbers = converted(COMPONENT_TYPES[source], COMPONENT_TYPES[target], ends, MANY, np.random.default_rng(1)).astype(np.float64)
    inside = numbers[(numbers > low) & (numbers < high)]
    assert np.isfinite(numbers).all()
    assert (numbers < low - 1).any()
    assert (numbers > high + 0.5).any()
    assert (inside % 1 == 0.5).any()
    assert ((inside % 1 != 0.5) & (inside % 1 != 0)).any()
    assert not np.signbit(numbers[numbers == 0]).any()


@pytest.mark.parametrize("target", ["s8", "u8"])
@pytest.mark.parametrize("source", ["s32", "u32"])
@pytest.mark.parametrize("ends", [False, True])
def test_integers_that_become_smaller_are_beyond_where_their_type_has_it(source: str, target: str, ends: bool) -> None:
    low, high = (-128, 127) if target == "s8" else (0, 255)
    numbers = converted(COMPONENT_TYPES[source], COMPONENT_TYPES[target], ends, MANY, np.random.default_rng(1)).astype(np.int64)
    assert (numbers > high).any()
    assert (numbers < low).any() == (source == "s32")
    assert ((numbers >= low) & (numbers <= high)).any()


def test_packed_elements_begin_in_the_lowest_bits() -> None:
    row = parse_vector_row("u32.s8packed.s8.s32.s32")
    found = packed(row, np.array([[1, -2, 3, 4, -5]]), np.random.default_rng(1))
    assert found.shape == (1, 2)
    assert found[0, 0] == 0x0403FE01
    assert found[0, 1] & 0xFF == 0xFB


@pytest.mark.parametrize("text", ["f16.e4m3.e4m3.f16.f16", "s32.f16.f16.f16.f16", "u32.f32.f32.f32.f32"])
def test_inputs_that_are_rounded_have_more_bits_than_their_interpretation(text: str) -> None:
    row = parse_vector_row(text)
    drawn = floats("rounded", Multiplies(row, 5, 7, 3, 8), np.random.default_rng(1))
    read = drawn.inputs.astype(np.float64).astype(row.interpretation.component.dtype).astype(np.float64)
    assert (read != drawn.inputs.astype(np.float64)).any()
    assert (drawn.matrices.astype(np.float64) != 0).any(axis=2).all()


@pytest.mark.parametrize("text", ["s8.s8.u8.s32.s32", "u32.u8packed.u8.u32.u32"])
def test_operands_have_the_types_and_shapes_of_the_row(text: str) -> None:
    row = parse_vector_row(text)
    drawn = whole("random", Multiplies(row, 5, 7, 3, 8), np.random.default_rng(1))
    assert drawn.inputs.shape == (8, row.components(7))
    assert drawn.matrices.shape == (3, 5, 7)
    assert drawn.biases.shape == (3, 5)
    assert drawn.inputs.dtype == row.input.dtype
    assert drawn.matrices.dtype == row.matrix.component.dtype
    assert drawn.biases.dtype == row.bias.component.dtype
