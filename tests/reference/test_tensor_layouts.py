"""The settings of tensor layout instructions, and the resulting places of elements: worked out by hand from SPV_NV_tensor_addressing and
SPV_NV_cooperative_matrix2."""

from __future__ import annotations

import pytest

from cts.reference.tensor_addressing import Addresses, addresses
from generators.layouts.tensor_writer import LayoutStep
from generators.program.values import TensorLayoutType
from generators.types import ClampMode
from tests.broken_rules import breaks
from tests.reference.tensors import layout, numbers

U, CONSTANT, EDGE, REPEAT, MIRRORED = ClampMode
WIDE = (1 << 32) - 1


def found(shape: tuple[int, int], rank: int, *steps: LayoutStep, mode: ClampMode = U, store: bool = False) -> Addresses:
    """Return the places of a matrix's elements."""
    return addresses(shape, TensorLayoutType(rank, mode), layout(rank, *steps), None, None, store)


def test_a_new_layout_is_all_zeros_but_the_block_sizes() -> None:
    state = layout(3)
    assert numbers(state.block_size) == [1, 1, 1]
    for part in (state.dimension, state.stride, state.offset, state.span):
        assert numbers(part) == [0, 0, 0]
    assert state.clamp_value.tolist() == [0]


def test_dimensions_set_spans_and_strides_and_clear_offsets() -> None:
    state = layout(3, ("dimension", (9, 9, 9)), ("slice", (1, 2, 3, 4, 5, 6)), ("dimension", (4, 5, 7)))
    assert numbers(state.dimension) == numbers(state.span) == [4, 5, 7]
    assert numbers(state.offset) == [0, 0, 0]
    assert numbers(state.stride) == [35, 7, 1]


def test_default_strides_count_blocks_and_round_up() -> None:
    """F-TA-13: 7 elements in blocks of 3 are three blocks, 5 in blocks of 2 are three; the size of the outermost dimension does not
    matter."""
    assert numbers(layout(3, ("block_size", (2, 2, 3)), ("dimension", (4, 5, 7))).stride) == [9, 3, 1]


def test_a_block_size_after_the_dimensions_leaves_the_strides() -> None:
    """F-TA-14."""
    state = layout(2, ("dimension", (4, 6)), ("block_size", (2, 3)))
    assert numbers(state.stride) == [6, 1]
    assert numbers(state.block_size) == [2, 3]


def test_strides_are_replaced_and_nothing_else() -> None:
    state = layout(2, ("dimension", (4, 6)), ("slice", (1, 2, 3, 2)), ("stride", (20, 3)))
    assert numbers(state.stride) == [20, 3]
    assert (numbers(state.offset), numbers(state.span), numbers(state.dimension)) == ([1, 3], [2, 2], [4, 6])


def test_offsets_of_slices_add_up_and_spans_are_replaced() -> None:
    state = layout(2, ("dimension", (8, 9)), ("slice", (-5, 6, 7, 2)), ("slice", (6, 3, -9, 4)))
    assert numbers(state.offset) == [1, -2]
    assert numbers(state.span) == [3, 4]


def test_the_clamp_value_is_the_last_one_and_survives_dimensions() -> None:
    state = layout(1, ("clamp_value", (5,)), ("clamp_value", (WIDE,)), ("dimension", (4,)))
    assert state.clamp_value.tolist() == [WIDE]


def test_strides_less_than_the_next_dimension_takes_are_a_mistake() -> None:
    layout(2, ("dimension", (4, 6)), ("stride", (6, 1)))
    with breaks("TA-STR-02"):
        layout(2, ("dimension", (4, 6)), ("stride", (5, 1)))


def test_too_few_operands_are_a_mistake() -> None:
    with breaks("TA-SLI-03"):
        layout(2, ("slice", (1, 2)))


def test_elements_are_counted_along_rows_and_taken_apart_innermost_first() -> None:
    """Six elements, lines of two in the slice: 0 1 | 2 3 | 4 5, from (1, 2) of a tensor of 4 x 5."""
    result = found((2, 3), 2, ("dimension", (4, 5)), ("slice", (1, 3, 2, 2)))
    assert result.index.tolist() == [[[7, 8, 12], [13, 17, 18]]]


def test_the_outermost_coordinate_wraps() -> None:
    """F-TA-11: the slice has four elements, and the matrix has six."""
    result = found((2, 3), 2, ("dimension", (4, 5)), ("slice", (0, 2, 0, 2)))
    assert result.index.tolist() == [[[0, 1, 5], [6, 0, 1]]]


def test_an_element_of_a_block_is_the_block() -> None:
    """F-CM2-8. Coordinates 0 to 5 from offset 1, in blocks of 3, three blocks of stride 4 apart."""
    result = found((1, 6), 1, ("block_size", (3,)), ("dimension", (9,)), ("stride", (4,)), ("slice", (1, 6)))
    assert result.index.tolist() == [[[0, 0, 4, 4, 4, 8]]]
    assert result.within[..., 0].tolist() == [[[1, 2, 0, 1, 2, 0]]]


@pytest.mark.parametrize(
    ("mode", "coordinates"),
    [
        (EDGE, [0, 0, 0, 0, 1, 2, 2, 2, 2, 2]),
        (REPEAT, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]),
        (MIRRORED, [1, 2, 1, 0, 1, 2, 1, 0, 1, 2]),
    ],
)
def test_coordinates_from_minus_three_to_six_of_a_dimension_of_three(mode: ClampMode, coordinates: list[int]) -> None:
    result = found((1, 10), 1, ("dimension", (3,)), ("slice", (-3, 10)), mode=mode)
    assert result.index.tolist() == [[coordinates]]
    assert not result.outside.any()


@pytest.mark.parametrize(("mode", "store"), [(CONSTANT, False), (CONSTANT, True), (EDGE, True), (REPEAT, True), (MIRRORED, True)])
def test_elements_out_of_bounds_have_no_address(mode: ClampMode, store: bool) -> None:
    result = found((1, 5), 1, ("dimension", (3,)), ("slice", (-1, 5)), mode=mode, store=store)
    assert result.outside.tolist() == [[[True, False, False, False, True]]]
    assert result.index.tolist() == [[[0, 0, 1, 2, 0]]]


def test_out_of_bounds_in_mode_undefined_is_a_mistake() -> None:
    with breaks("CM2-CL-01"):
        found((1, 4), 1, ("dimension", (4,)), ("slice", (1, 4)))


def test_a_layout_without_dimensions_addresses_nothing() -> None:
    with breaks("F-TA-12"):
        found((1, 4), 1)
