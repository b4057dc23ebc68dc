"""Indices of tensor views, worked out by hand from SPV_NV_cooperative_matrix2, Tensor Layout and View,
matrixCoordToTensorElementWithView."""

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from cts.reference.tensor import WHOLE_SPAN, LayoutState, ViewState
from cts.reference.tensor_addressing import addresses
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.tensor import LayoutCreate, LayoutSet, ViewCreate, ViewSet
from generators.program.tensor_access import TensorLoad
from generators.program.values import MatrixType, TensorLayoutType, TensorViewType, Value
from generators.types import COMPONENT_TYPES, ClampMode, Layout, Scope, StorageClass, Use
from tests.broken_rules import breaks

WHOLE = (0, WHOLE_SPAN, 0, WHOLE_SPAN)


def one(*values):
    return np.array([values], np.int64)


def layout(*dimensions, stride=None, offset=None, span=None):
    rank = len(dimensions)
    if stride is None:
        stride = [int(np.prod(dimensions[i + 1 :])) for i in range(rank)]
    return LayoutState(
        one(*[1] * rank), one(*dimensions), one(*stride), one(*(offset or [0] * rank)), one(*(span or dimensions)), np.zeros(1, np.uint64)
    )


def found(shape, layout_state, permutation, dimension=(), stride=(), clip=WHOLE, clamp=ClampMode.UNDEFINED, store=False):
    own = bool(dimension)
    rank = len(permutation)
    view = ViewState(one(*(dimension or [0] * rank)), one(*(stride or [0] * rank)), one(*clip))
    layout_type = TensorLayoutType(layout_state.dimension.shape[1], clamp)
    return addresses(shape, layout_type, layout_state, TensorViewType(permutation, own), view, store)


def indices(*arguments, **keywords):
    return found(*arguments, **keywords).index[0].tolist()


def test_an_exchanged_pair_of_dimensions_transposes():
    # Dimension 0 becomes the inner one: the second element of the matrix is one row further.
    assert indices((3, 2), layout(2, 3), (1, 0)) == [[0, 3], [1, 4], [2, 5]]


def test_the_permutation_names_the_dimension_at_each_place():
    # (2, 0, 1): the innermost place has dimension 1 (3 of them, stride 5), then dimension 0 (2, stride 15), then dimension 2 (5, stride 1).
    got = np.ravel(indices((5, 6), layout(2, 3, 5), (2, 0, 1))).tolist()
    assert got == [15 * a + 5 * b + c for c in range(5) for a in range(2) for b in range(3)]


def test_the_inverse_permutation_is_another_one():
    assert indices((5, 6), layout(2, 3, 5), (1, 2, 0)) != indices((5, 6), layout(2, 3, 5), (2, 0, 1))


def test_space_to_depth():
    # A 4x4 image of 2 channels becomes 2x2 places of 2x2x2 channels: view (h/2, 2, w/2, 2, c), the two halves before the two remainders.
    got = np.ravel(indices((4, 8), layout(4, 4, 2), (0, 2, 1, 3, 4), (2, 2, 2, 2, 2), (16, 8, 4, 2, 1))).tolist()
    expected = [
        (2 * i + a) * 8 + (2 * j + b) * 2 + c for i in range(2) for j in range(2) for a in range(2) for b in range(2) for c in range(2)
    ]
    assert got == expected


def test_windows_overlap():
    # Four places, windows of three: each row begins one element later.
    assert indices((4, 3), layout(6), (0, 1), (4, 3), (1, 1)) == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_a_stride_of_zero_repeats():
    assert indices((2, 3), layout(3), (0, 1), (2, 3), (0, 1)) == [[0, 1, 2], [0, 1, 2]]


def test_a_view_of_fewer_elements_begins_again():
    assert indices((3, 2), layout(2, 4), (1, 0), (2, 2), (4, 1)) == [[0, 4], [1, 5], [0, 4]]


def test_the_index_in_the_slice_goes_through_span_offset_and_stride():
    state = layout(4, 9, stride=(20, 2), offset=(1, 3), span=(2, 3))
    assert indices((2, 3), state, (0, 1)) == [[26, 28, 30], [46, 48, 50]]
    assert indices((3, 2), state, (1, 0)) == [[26, 46], [28, 48], [30, 50]]


def test_the_index_is_relative_to_the_clip_window():
    result = found((4, 4), layout(2, 2), (0, 1), clip=(1, 2, 2, 2))
    assert result.clipped[0].tolist() == [[True] * 4, [True, True, False, False], [True, True, False, False], [True] * 4]
    assert result.index[0][1:3, 2:4].tolist() == [[0, 1], [2, 3]]


def test_lines_of_a_window_over_the_edge_are_as_wide_as_its_span():
    result = found((2, 4), layout(6), (0,), clip=(0, 2, 3, 3))
    assert result.clipped[0].tolist() == [[True, True, True, False]] * 2
    assert result.index[0][:, 3].tolist() == [0, 3], "F-TA-9: 3, not the only visible column"


def test_lines_of_a_window_larger_than_the_matrix_are_as_wide_as_the_matrix():
    assert indices((2, 3), layout(6), (0,), clip=(0, 9, 0, 7)) == [[0, 1, 2], [3, 4, 5]]


def test_an_empty_window_leaves_everything_out():
    assert found((2, 3), layout(6), (0,), clip=(0, 2, 1, 0)).clipped.all()


def test_clipped_elements_are_not_out_of_bounds():
    state = layout(2, 2, offset=(0, 1), span=(2, 2))
    result = found((2, 4), state, (0, 1), clip=(0, 2, 1, 2), clamp=ClampMode.CONSTANT)
    assert result.outside[0].tolist() == [[False, False, True, False]] * 2
    assert not (result.outside & result.clipped).any()


def test_edges_are_clamped_after_the_view():
    state = layout(2, 2, offset=(0, 1), span=(2, 2))
    assert indices((2, 2), state, (1, 0), clamp=ClampMode.CLAMP_TO_EDGE) == [[1, 3], [1, 3]]


@pytest.mark.parametrize(
    ("permutation", "clip", "rule"),
    [((0, 1, 2), WHOLE, "F-TA-10"), ((0, 1), (1, WHOLE_SPAN, 0, 4), "F-TA-8")],
)
def test_results_that_the_specification_leaves_open_are_refused(permutation, clip, rule):
    with breaks(rule):
        found((2, 3), layout(2, 3), permutation, clip=clip)


def loaded(*steps, permutation=(0, 1), own=True):
    """Return the elements of a 2x4 matrix after a load from a tensor of 4x4 elements that count up. Its previous elements are 100 and
    more."""
    u8 = COMPONENT_TYPES["u8"]
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(u8), 16, StorageClass.STORAGE_BUFFER, "input")
    old = builder.array("old", Pointee(u8), 16, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(u8), 16, StorageClass.STORAGE_BUFFER, "output")
    type_ = MatrixType(u8, Scope.SUBGROUP, 2, 4, Use.ACCUMULATOR)
    zero, four = builder.literal(0), builder.literal(4)
    before = builder.load("before", type_, old, zero, four, Layout.ROW_MAJOR)
    layouts = [Value(f"layout_{i}", TensorLayoutType(2)) for i in range(3)]
    builder.add(LayoutCreate(layouts[0]))
    builder.add(LayoutSet(layouts[1], layouts[0], "dimension", (four, four)))
    slice_ = tuple(builder.literal(n) for n in (0, 2, 0, 4))
    builder.add(LayoutSet(layouts[2], layouts[1], "slice", slice_))
    view = Value("view", TensorViewType(permutation, own))
    builder.add(ViewCreate(view))
    for i, (setting, *values) in enumerate(steps):
        changed = Value(f"view_{i}", view.type)
        builder.add(ViewSet(changed, view, setting, tuple(map(builder.literal, values))))
        view = changed
    matrix = Value("matrix", type_)
    builder.add(TensorLoad(matrix, source, zero, before, layouts[2], view))
    builder.store(matrix, target, zero, four, Layout.ROW_MAJOR)
    inputs = {"source": np.arange(16, dtype=np.uint8), "old": np.arange(100, 116, dtype=np.uint8)}
    return evaluate(builder.build(), Subcase("one", inputs)).placed[0].expected.bits[0].tolist()


def test_a_new_view_clips_nothing():
    assert loaded(own=False) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_default_strides_are_row_major():
    assert loaded(("dimension", 4, 2), permutation=(1, 0)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_new_dimensions_replace_strides():
    assert loaded(("dimension", 2, 4), ("stride", 1, 2), ("dimension", 4, 2), permutation=(1, 0)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_new_dimensions_and_strides_leave_the_clip_window():
    kept = loaded(("clip", 0, 2, 1, 2), ("dimension", 2, 2), ("stride", 4, 1))
    assert kept == [[100, 0, 1, 103], [104, 4, 5, 107]]


def test_clipped_elements_keep_what_the_matrix_had():
    assert loaded(("clip", 1, 1, 2, 2), own=False) == [[100, 101, 102, 103], [104, 105, 0, 1]]
