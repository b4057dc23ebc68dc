"""Devices with one defect each in tensor addressing or in calls of functions for elements: the smoke tier of a family must notice the
defect with the features of an H200. Such a device supports only some of a family's cases, different ones for each use and type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.instructions.matrices.callbacks import call, of_instances
from cts.embedded.instructions.tensors.tensor_access import layouts_of, places_of, views_of
from cts.embedded.module.translation import filled
from cts.embedded.profile import load_profile
from generators.families.nv_cooperative_matrix2.kernel_attention.functions import LOWEST
from generators.spirv.enumerants import Op, TensorClampMode
from generators.types import Use
from tests.broken_devices.smoke import fails, noticed, wrong

PROFILE = "nvidia-h200"
DIMENSION_OF_ONE = [
    f"tensor_clamp[component:f16/rank:{rank}/mode:mirrored/side:{side}/which:beside_one/reach:part/size:odd/source:{source}]"
    for rank, side, source in ((3, "after", "push_constant"), (5, "before", "literal"))
]
"""Cases of the nightly tier only: such loads hang NVIDIA's devices."""
USES = {Use.A: "a", Use.B: "b", Use.ACCUMULATOR: "acc"}


def addressing(change: Callable) -> Faults:
    """Change the layout and the view of tensor accesses; ``change`` gets the type of the matrix, layout, view, and whether it is a
    store."""

    def fault(right):
        return lambda machine, matrix, layout, view, store: right(machine, matrix, *change(matrix, layout, view, store), store)

    return Faults(operations={places_of: fault})


def first_alone(right):
    """Give each scope instance the layout, or the view, of the first one."""

    def broken(machine, scope, type_, value):
        found = right(machine, scope, type_, value)
        return [found[0]] * len(found)

    return broken


def first_clamp_value(right):
    """Give each scope instance the clamp value of the first one."""

    def broken(machine, scope, type_, value):
        found = right(machine, scope, type_, value)
        return [replace(layout, clamp_value=found[0].clamp_value) for layout in found]

    return broken


def test_layout_of_the_first_instance():
    device = wrong(PROFILE, Faults(operations={layouts_of: first_alone}))
    assert noticed("tensor_layout", device, access="load", scope="subgroup", subgroups="2")
    assert noticed("tensor_layout", device, access="store", scope="subgroup", subgroups="2")


def test_clamp_value_of_the_first_instance():
    device = wrong(PROFILE, Faults(operations={layouts_of: first_clamp_value}))
    assert noticed("tensor_layout", device, form="instance_clamp_value")


@pytest.mark.parametrize("access", ["load", "store"])
def test_view_of_the_first_instance(access):
    device = wrong(PROFILE, Faults(operations={views_of: first_alone}))
    assert noticed("tensor_view", device, access=access, place="instance")


@pytest.mark.parametrize("op", [Op.TensorViewSetDimensionNV, Op.TensorViewSetStrideNV, Op.TensorViewSetClipNV], ids=lambda op: op.name)
def test_views_that_change_in_place(op):
    def in_place(right):
        def handler(translation, words):
            run, values = right(translation, words), translation.values

            def both():
                values[words[2]] = run()
                return values[words[2]]

            return both

        return handler

    assert noticed("tensor_view", wrong(PROFILE, Faults({op: in_place})), place=("derived", "derived_dimension", "derived_stride"))


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("family", ["tensor_layout", "tensor_clamp"])
def test_a_matrix_of_one_use_that_begins_elsewhere(family, use, store):
    def moved(matrix, layout, view, is_store):
        if matrix.use is use and is_store == store:
            layout = replace(layout, offset=(layout.offset[0] - 1, *layout.offset[1:]))
        return layout, view

    assert noticed(family, wrong(PROFILE, addressing(moved)), use=USES[use], access="store" if store else "load")


@pytest.mark.parametrize("case_id", DIMENSION_OF_ONE, ids=["layout", "rank_5"])
def test_a_remainder_by_zero_in_a_dimension_of_one_element(case_id):
    def folded_in_bounds(matrix, layout, view, store):
        if layout.clamp_mode is TensorClampMode.RepeatMirrored and layout.dimension[0] == 1:
            layout = replace(layout, clamp_mode=TensorClampMode.Constant, offset=(-1, *layout.offset[1:]))
        return layout, view

    assert not fails(case_id, EmbeddedDevice(load_profile(PROFILE)))
    assert fails(case_id, wrong(PROFILE, addressing(folded_in_bounds)))


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_a_clip_window_ignored_by_one_use(use, store):
    def without(matrix, layout, view, is_store):
        if view is not None and matrix.use is use and is_store == store:
            view = replace(view, clip_rows=(0, matrix.rows), clip_columns=(0, matrix.columns))
        return layout, view

    assert noticed("tensor_view", wrong(PROFILE, addressing(without)), access="store" if store else "load")


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_strides_of_a_view_ignored_by_one_use(use, store):
    def without(matrix, layout, view, is_store):
        if view is not None and view.has_dimensions and matrix.use is use and is_store == store:
            sizes = view.dimension
            view = replace(view, stride=tuple(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))))
        return layout, view

    assert noticed("tensor_view", wrong(PROFILE, addressing(without)), use=USES[use], access="store" if store else "load")


@pytest.mark.parametrize("use", Use)
def test_previous_elements_lost_by_one_use(use):
    def into_zeros(right):
        def handler(translation, words):
            run, values = right(translation, words), translation.values
            if translation.types[words[0]].use is not use:
                return run

            def without():
                before = values[words[3]]
                values[words[3]] = np.zeros_like(before) if isinstance(before, np.ndarray) else before
                result = run()
                values[words[3]] = before
                return result

            return without

        return handler

    assert noticed("tensor_view", wrong(PROFILE, Faults({Op.CooperativeMatrixLoadTensorNV: into_zeros})), access="load", clip="inside")


def arguments_of(op: Op, change: Callable) -> Faults:
    """Change the arguments of functions that instructions ``op`` call; ``change`` gets the type of the matrix and the right arguments."""

    def fault(right):
        def broken(callback, lanes, arguments):
            return right(callback, lanes, change(callback.matrix, arguments) if callback.op is op else arguments)

        return broken

    return Faults(operations={call: fault})


def element_places(change: Callable, use: Use | None = None) -> Faults:
    """Change the coordinates that functions of elements get in matrices of ``use`` (None: in all matrices); ``change`` gets row and
    column."""

    def changed(matrix, arguments):
        return [*change(*arguments[:2]), *arguments[2:]] if use in (None, matrix.use) else arguments

    return arguments_of(Op.CooperativeMatrixPerElementOpEXT, changed)


def test_block_coordinates_of_8_bits():
    def cut(matrix, arguments):
        pointer, block, inside = arguments
        return [pointer, tuple(coordinate & 255 for coordinate in block), inside]

    assert noticed("tensor_block", wrong(PROFILE, arguments_of(Op.CooperativeMatrixLoadTensorNV, cut)), place="far")


@pytest.mark.parametrize("use", Use)
def test_rows_and_columns_exchanged_for_one_use(use):
    faults = element_places(lambda row, column: (column, row), use)
    assert noticed("per_element", wrong(PROFILE, faults), use=USES[use])


@pytest.mark.parametrize(("use", "size"), [*((use, 16) for use in Use), (Use.ACCUMULATOR, 32)])
def test_places_in_a_fragment_instead_of_the_matrix(use, size):
    faults = element_places(lambda row, column: (row % size, column % size), use)
    assert noticed("per_element", wrong(PROFILE, faults), use=USES[use])


@pytest.mark.parametrize("size", [8, 16, 32, 64, 128])
def test_places_in_a_fragment_of_a_large_matrix(size):
    faults = element_places(lambda row, column: (row % size, column % size))
    assert noticed("flexible", wrong(PROFILE, faults), does="per_element")


def test_operands_of_the_first_instance():
    def first_instance(right):
        return lambda value, lanes: right(value, replace(lanes, instances=lanes.instances * 0))

    assert noticed("per_element", wrong(PROFILE, Faults(operations={of_instances: first_instance})), scope="subgroup", subgroups="2")


def test_row_numbers_of_8_signed_bits():
    faults = element_places(lambda *places: [place.astype(np.int8).astype(np.uint32) for place in places])
    assert noticed("flexible", wrong(PROFILE, faults), size=("m256", "n256", "k256"), does="per_element")


def reductions(mode: int, change: Callable) -> Faults:
    """Change the results of reductions of ``mode``; ``change`` gets values, words, the types of result and operand, and the right
    result."""

    def fault(right):
        def handler(translation, words):
            run, values = right(translation, words), translation.values
            if words[3] != mode:
                return run
            types = translation.types[words[0]], translation.type_of[words[2]]
            return lambda: change(values, words, types, run())

        return handler

    return Faults({Op.CooperativeMatrixReduceEXT: fault})


@pytest.mark.parametrize(("mode", "word"), [(1, "row"), (2, "column"), (3, "both"), (4, "2x2")])
def test_the_reduction_of_the_first_instance(mode, word):
    faults = reductions(mode, lambda values, words, types, right: np.repeat(right[:1], len(right), 0))
    assert noticed("reduce", wrong(PROFILE, faults), mode=word, scope="subgroup")


@pytest.mark.parametrize(("mode", "word"), [(1, "row"), (2, "column"), (3, "both")])
def test_reductions_in_place(mode, word):
    def in_place(values, words, types, right):
        if types[0] == types[1]:
            values[words[2]] = right.copy()
        return right

    assert noticed("reduce", wrong(PROFILE, reductions(mode, in_place)), mode=word)


@pytest.mark.parametrize("profile", ["llvmpipe", PROFILE])
def test_running_maximum_that_starts_at_zero(profile):
    def from_zero(right):
        def broken(translation, type_, value):
            matrix = right(translation, type_, value)
            return np.where(matrix == np.asarray(LOWEST).astype(matrix.dtype), np.zeros_like(matrix), matrix)

        return broken

    labels = {} if profile == PROFILE else {"access": "plain"}
    assert noticed("kernel_attention", wrong(profile, Faults(operations={filled: from_zero})), **labels)


@pytest.mark.parametrize(("tail", "mask"), [("none", "keys"), ("keys", "keys"), ("none", "causal")])
def test_masks_of_scores_left_out(tail, mask):
    def unmasked(right):
        def broken(callback, lanes, arguments):
            # The arguments are row, column, score, and the numbers that decide which keys exist.
            if callback.op is Op.CooperativeMatrixPerElementOpEXT and len(arguments) in (5, 6):
                return arguments[2]
            return right(callback, lanes, arguments)

        return broken

    assert noticed("kernel_attention", wrong(PROFILE, Faults(operations={call: unmasked})), tail=tail, mask=mask)


MARKS = {"instruction": "element", "body": ("mark", "store")}


def calls(change: Callable) -> Faults:
    """Make operations on elements call their function for a changed list of elements: ``change`` gets the numbers of all elements."""

    def fault(right):
        def changed(callback, lanes, arguments):
            if callback.op is not Op.CooperativeMatrixPerElementOpEXT:
                return right(callback, lanes, arguments)
            count = lanes.instances.size
            order = change(np.arange(count))
            chosen = replace(lanes, instances=lanes.instances[order])
            if not order.size:
                return np.zeros_like(arguments[2])
            found = right(callback, chosen, [one[order] if isinstance(one, np.ndarray) else one for one in arguments])
            result = np.zeros(count, found.dtype)
            result[order] = found
            return result

        return changed

    return Faults(operations={call: fault})


def test_functions_may_be_called_in_any_order_and_more_than_once() -> None:
    for change in (lambda order: order[::-1], lambda order: np.concatenate((order, order[::-3]))):
        device = EmbeddedDevice(load_profile("universal"), faults=calls(change))
        assert not noticed("function_bodies", device, **{**MARKS, "body": "mark"})


@pytest.mark.parametrize("result", ["stored", "unused"])
@pytest.mark.parametrize("change", [lambda order: order[1:], lambda order: order[order % 16 != 5], lambda order: order[:0]])
def test_functions_that_are_not_called_for_an_element(change, result) -> None:
    assert noticed("function_bodies", wrong("universal", calls(change)), **MARKS, result=result)
