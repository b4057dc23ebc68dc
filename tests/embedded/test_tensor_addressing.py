"""Addresses of elements in tensor loads and stores: tables worked out by hand from the specification's text."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.instructions.tensors.tensor_addressing import Layout, View, tensor_places
from generators.spirv.enumerants import TensorClampMode as Mode
from tests.embedded.assembly import words
from tests.embedded.conftest import run
from tests.embedded.tensors import load_module, store_module

PAD = 90000


def tensor(rows: int, columns: int, pitch: int = 0) -> np.ndarray:
    """Build a tensor whose element (r, c) is 10 r + c; the elements between rows and after the last are PAD."""
    pitch = pitch or columns
    numbers = np.full(rows * pitch + 64, PAD)
    for r in range(rows):
        numbers[r * pitch : r * pitch + columns] = 10 * r + np.arange(columns)
    return words(*numbers)


def loaded(given: np.ndarray, shape: tuple[int, int], mode: Mode, dim: int, lines: list[str], **options) -> list[list[int]]:
    module = load_module(shape, mode, dim, lines, **options)
    return run(module, given, shape[0] * shape[1] * 4).outputs["output"].view(np.uint32).reshape(shape).tolist()


AROUND = {
    Mode.Constant: [
        [99, 99, 99, 99, 99, 99, 99, 99],
        [99, 99, 0, 1, 2, 3, 4, 99],
        [99, 99, 10, 11, 12, 13, 14, 99],
        [99, 99, 20, 21, 22, 23, 24, 99],
    ],
    Mode.ClampToEdge: [
        [0, 0, 0, 1, 2, 3, 4, 4],
        [0, 0, 0, 1, 2, 3, 4, 4],
        [10, 10, 10, 11, 12, 13, 14, 14],
        [20, 20, 20, 21, 22, 23, 24, 24],
    ],
    Mode.Repeat: [
        [23, 24, 20, 21, 22, 23, 24, 20],
        [3, 4, 0, 1, 2, 3, 4, 0],
        [13, 14, 10, 11, 12, 13, 14, 10],
        [23, 24, 20, 21, 22, 23, 24, 20],
    ],
    Mode.RepeatMirrored: [
        [12, 11, 10, 11, 12, 13, 14, 13],
        [2, 1, 0, 1, 2, 3, 4, 3],
        [12, 11, 10, 11, 12, 13, 14, 13],
        [22, 21, 20, 21, 22, 23, 24, 23],
    ],
}
"""A tensor of 3 x 5; rows -1 to 2 and columns -2 to 5 of it are loaded."""


@pytest.mark.parametrize("mode", AROUND, ids=lambda mode: mode.name)
def test_each_clamp_mode_on_both_sides_of_both_dimensions(mode) -> None:
    assert loaded(tensor(3, 5), (4, 8), mode, 2, ["value 99", "dimension 3 5", "slice -1 4 -2 8"]) == AROUND[mode]


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [
        (Mode.Repeat, 3, [[2, 0, 1, 2], [0, 1, 2, 0], [1, 2, 0, 1], [2, 0, 1, 2]]),
        (Mode.RepeatMirrored, 4, [[1, 0, 1, 2], [3, 2, 1, 0], [1, 2, 3, 2], [1, 0, 1, 2]]),
        (Mode.RepeatMirrored, 2, [[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 0]]),
    ],
)
def test_repetition_goes_on_for_several_periods_to_both_sides(mode, size, expected) -> None:
    assert loaded(tensor(1, size), (4, 4), mode, 1, [f"dimension {size}", "slice -7 16"]) == expected


def test_coordinates_in_bounds_are_the_same_in_every_mode() -> None:
    for mode in Mode:
        got = loaded(tensor(5, 6), (2, 3), mode, 2, ["dimension 5 6", "slice 3 2 2 3"])
        assert got == [[32, 33, 34], [42, 43, 44]]


def test_the_clamp_value_is_0_at_first_and_its_low_bits_count() -> None:
    assert loaded(tensor(1, 2), (1, 4), Mode.Constant, 1, ["dimension 2", "slice 0 4"]) == [[0, 1, 0, 0]]
    given = np.arange(1, 33, dtype=np.uint8)
    module = load_module((1, 4), Mode.Constant, 1, ["dimension 2", "slice -2 4", "value 305419896"], component="u8")
    assert run(module, given, 4).outputs["output"].tolist() == [0x78, 0x78, 1, 2]


def test_a_span_that_differs_from_the_matrix_in_shape() -> None:
    # 6 elements of two rows of 3, read as three rows of 2.
    assert loaded(tensor(4, 5), (3, 2), Mode.Undefined, 2, ["dimension 4 5", "slice 1 2 1 3"]) == [[11, 12], [13, 21], [22, 23]]


def test_a_matrix_larger_than_the_slice_begins_it_again() -> None:
    got = loaded(tensor(4, 5), (4, 3), Mode.Undefined, 2, ["dimension 4 5", "slice 1 2 1 3"])
    assert got == [[11, 12, 13], [21, 22, 23], [11, 12, 13], [21, 22, 23]]


def test_strides_between_rows_and_between_elements() -> None:
    got = loaded(words(*range(64)), (2, 3), Mode.Undefined, 2, ["dimension 4 3", "stride 10 2", "slice 2 2 0 3"])
    assert got == [[20, 22, 24], [30, 32, 34]]


def test_five_dimensions_from_the_outermost_to_the_innermost() -> None:
    # Strides 120, 60, 20, 5 and 1; the slice has 2 x 1 x 2 x 1 x 2 elements from (0, 1, 1, 2, 3).
    lines = ["dimension 2 2 3 4 5", "slice 0 2 1 1 1 2 2 1 3 2"]
    first = 60 + 20 + 10 + 3
    got = loaded(words(*range(240)), (2, 4), Mode.Undefined, 5, lines)
    assert got == [[first, first + 1, first + 20, first + 21], [first + 120, first + 121, first + 140, first + 141]]


BLOCKS = [[0, 1, 1, 1], [3, 4, 4, 4], [3, 4, 4, 4], [6, 7, 7, 7]]
"""Rows 1 to 4 in blocks of 2, columns 2 to 5 in blocks of 3: 7 columns are 3 blocks, the last incomplete."""


def test_a_block_is_one_element_and_an_incomplete_one_counts() -> None:
    assert loaded(words(*range(64)), (4, 4), Mode.Undefined, 2, ["block 2 3", "dimension 5 7", "slice 1 4 2 4"]) == BLOCKS


def test_a_block_size_after_the_dimensions_leaves_the_strides() -> None:
    got = loaded(words(*range(64)), (4, 4), Mode.Undefined, 2, ["dimension 5 7", "block 2 3", "slice 1 4 2 4"])
    assert got == [[0, 1, 1, 1], [7, 8, 8, 8], [7, 8, 8, 8], [14, 15, 15, 15]]
    strided = ["dimension 5 7", "block 2 3", "stride 3 1", "slice 1 4 2 4"]
    assert loaded(words(*range(64)), (4, 4), Mode.Undefined, 2, strided) == BLOCKS


def test_coordinates_are_clamped_before_they_are_divided_into_blocks() -> None:
    # Columns 5 to 8 of 7: 5, 6, 6, 6, in blocks of 3.
    assert loaded(words(*range(64)), (1, 4), Mode.ClampToEdge, 1, ["block 3", "dimension 7", "slice 5 4"]) == [[1, 2, 2, 2]]


def test_slices_add_up_and_the_last_span_counts() -> None:
    got = loaded(tensor(6, 7), (2, 2), Mode.Undefined, 2, ["dimension 6 7", "slice 4 2 2 5", "slice -1 2 3 2"])
    assert got == [[35, 36], [45, 46]]


def test_the_order_of_state() -> None:
    shape, given = (2, 2), tensor(4, 5, 8)
    sliced = [[11, 12], [21, 22]]
    lines = ["value 5", "dimension 4 5", "stride 8 1", "slice 1 2 1 2"]
    assert loaded(given, shape, Mode.Undefined, 2, lines) == sliced
    assert loaded(given, shape, Mode.Undefined, 2, ["stride 8 1", *lines]) == sliced
    # Dimensions after a slice clear the offsets and set the span to the whole dimension. Dimensions after strides make those tight again.
    assert loaded(given, shape, Mode.Undefined, 2, ["dimension 4 5", "stride 8 1", "slice 1 2 1 2", "dimension 2 2"]) == [[0, 1], [2, 3]]
    # The clamp value survives everything.
    assert loaded(given, (1, 3), Mode.Constant, 1, ["value 5", "dimension 2", "slice 0 3", "dimension 1", "slice 0 3"]) == [[0, 5, 5]]


def test_each_instruction_makes_a_copy() -> None:
    lines = ["dimension 4 5", "slice 1 2 1 2", "slice 1 1 1 4", "value 6", "stride 17 2", "block 2 2", "dimension 1 1"]
    assert loaded(tensor(4, 5), (2, 2), Mode.Undefined, 2, lines, used=2) == [[11, 12], [21, 22]]


def test_a_view_without_dimensions_in_order_is_not_a_view() -> None:
    lines = ["dimension 4 5", "slice 1 3 1 2"]
    for options in ({}, {"permutation": "0 1"}):
        assert loaded(tensor(4, 5), (3, 2), Mode.Undefined, 2, lines, **options) == [[11, 12], [21, 22], [31, 32]]


def test_a_transposing_view() -> None:
    got = loaded(tensor(5, 4), (2, 3), Mode.Undefined, 2, ["dimension 5 4", "slice 1 3 2 2"], permutation="1 0")
    assert got == [[12, 22, 32], [13, 23, 33]]


def test_a_permutation_that_is_not_its_own_inverse() -> None:
    # T[i][j][k] = 100 i + 10 j + k of 2 x 3 x 4. Permutation 1 2 0: i runs fastest, then k, then j.
    given = words(*(100 * i + 10 * j + k for i in range(2) for j in range(3) for k in range(4)))
    got = loaded(given, (4, 6), Mode.Undefined, 3, ["dimension 2 3 4"], permutation="1 2 0")
    assert got == [
        [0, 100, 1, 101, 2, 102],
        [3, 103, 10, 110, 11, 111],
        [12, 112, 13, 113, 20, 120],
        [21, 121, 22, 122, 23, 123],
    ]


def test_a_view_with_dimensions_of_its_own() -> None:
    # A slice of 2 x 6 as 2 x 3 x 2 with the last two dimensions exchanged.
    given, lines = tensor(3, 8), ["dimension 3 8", "slice 1 2 1 6"]
    got = loaded(given, (2, 6), Mode.Undefined, 2, lines, permutation="0 2 1", own=True, view_lines=["dimension 2 3 2"])
    assert got == [[11, 13, 15, 12, 14, 16], [21, 23, 25, 22, 24, 26]]


def test_strides_of_a_view_that_overlap_or_are_0() -> None:
    for stride, expected in (("1 1", [[0, 1, 2], [1, 2, 3]]), ("0 1", [[0, 1, 2], [0, 1, 2]]), ("1 3", [[0, 3, 6], [1, 4, 7]])):
        view_lines = ["dimension 2 3", f"stride {stride}"]
        got = loaded(tensor(1, 8), (2, 3), Mode.Undefined, 1, ["dimension 8"], permutation="0 1", own=True, view_lines=view_lines)
        assert got == expected


def test_a_clip_region_keeps_the_object_outside_and_counts_from_its_corner() -> None:
    got = loaded(tensor(1, 8), (4, 4), Mode.Undefined, 1, ["dimension 8"], permutation="0", view_lines=["clip 1 2 2 2"])
    assert got == [[7, 7, 7, 7], [7, 7, 0, 1], [7, 7, 2, 3], [7, 7, 7, 7]]


def test_a_clip_region_over_the_right_edge_has_its_full_width_up_to_that_of_the_matrix() -> None:
    lines = ["dimension 9"]
    three = loaded(tensor(1, 9), (4, 4), Mode.Undefined, 1, lines, permutation="0", view_lines=["clip 1 2 2 3"])
    assert three == [[7, 7, 7, 7], [7, 7, 0, 1], [7, 7, 3, 4], [7, 7, 7, 7]]
    more = loaded(tensor(1, 9), (4, 4), Mode.Undefined, 1, lines, permutation="0", view_lines=["clip 2 9 2 9"])
    assert more == [[7, 7, 7, 7], [7, 7, 7, 7], [7, 7, 0, 1], [7, 7, 4, 5]]


def test_a_view_and_a_slice_out_of_bounds() -> None:
    lines = ["value 50", "dimension 3 3", "slice -1 2 2 2"]
    got = loaded(tensor(3, 3), (2, 3), Mode.Constant, 2, lines, permutation="1 0", view_lines=["clip 0 2 1 2"])
    # The transposed slice is (50, 2), (50, 50); it fills the two columns of the clip region.
    assert got == [[7, 50, 2], [7, 50, 50]]


def stored(shape: tuple[int, int], mode: Mode, dim: int, lines: list[str], size: int, **options) -> list[int]:
    given = words(*range(100, 100 + shape[0] * shape[1]))
    return run(store_module(shape, mode, dim, lines, **options), given, words(*[0] * size)).outputs["output"].view(np.uint32).tolist()


@pytest.mark.parametrize("mode", AROUND, ids=lambda mode: mode.name)
def test_a_store_in_any_mode_drops_what_is_out_of_bounds(mode) -> None:
    got = stored((3, 4), mode, 2, ["dimension 2 3", "slice -1 3 -2 4"], 8)
    assert got == [106, 107, 0, 110, 111, 0, 0, 0]


def test_a_store_through_a_view_and_a_clip_region_writes_nothing_else() -> None:
    # Columns 1 and 2 of three: 101 102 / 104 105, transposed, in rows 3 apart.
    lines = ["dimension 2 2", "stride 3 1"]
    assert stored((2, 3), Mode.Undefined, 2, lines, 8, permutation="1 0", view_lines=["clip 0 2 1 2"]) == [101, 104, 0, 102, 105, 0, 0, 0]


def test_a_pointer_into_the_buffer() -> None:
    assert loaded(words(*range(20)), (1, 2), Mode.Undefined, 1, ["dimension 9", "slice 3 2"], at="8") == [[11, 12]]
    assert stored((1, 2), Mode.Undefined, 1, ["dimension 9", "slice 2 2"], 9, at="4") == [0, 0, 0, 0, 0, 0, 100, 101, 0]


def test_blocks_and_coordinates_for_a_decode_function() -> None:
    layout = Layout(Mode.Constant, (2, 4), (6, 10), (3, 1), (1, 5), (2, 6), 9)
    places = tensor_places(layout, None, 2, 6, False)
    assert places.block_coord[0].tolist() == [[0] * 6, [1] * 6]
    assert places.block_coord[1][0].tolist()[:5] == [1, 1, 1, 2, 2]
    assert places.coord_in_block[0].tolist() == [[1] * 6, [0] * 6]
    assert places.coord_in_block[1][0].tolist()[:5] == [1, 2, 3, 0, 1]
    assert places.index[0].tolist()[:5] == [1, 1, 1, 2, 2]
    assert places.clamped.tolist() == [[False] * 5 + [True]] * 2
    assert not places.skipped.any()
    assert not places.broken


def test_clipped_elements_break_no_rule() -> None:
    layout = Layout(Mode.Undefined, (1,), (4,), (1,), (0,), (99,), 0)
    view = View(False, (0,), (0,), (0,), (0, 1), (0, 4))
    assert not tensor_places(layout, view, 2, 4, False).broken
    assert [rule for rule, _ in tensor_places(layout, None, 2, 4, False).broken] == ["CM2-CL-01"]
