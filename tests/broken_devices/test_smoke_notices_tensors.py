"""Devices with one defect each in tensor addressing and in what calls functions for elements, which the smoke tier of a family must
notice on what an H200 has. What such a device has of a family's combinations is a part, and not the same for every use and type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.embedded import callbacks, decode, per_element, reduction, tensor_access, tensor_state
from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.instructions import HANDLERS
from cts.devices.embedded.profile import load_profile
from generators.spirv.enumerants import Op, TensorClampMode
from generators.types import Use
from tests.broken_devices.smoke import fails, noticed

PROFILE = "nvidia-h200"
DIMENSION_OF_ONE = [
    f"tensor_clamp[component:f16/rank:{rank}/mode:mirrored/side:{side}/which:beside_one/reach:part/size:odd/source:{source}]"
    for rank, side, source in ((3, "after", "push_constant"), (5, "before", "literal"))
]
"""Of the nightly tier: on NVIDIA's devices such loads do not end."""
USES = {Use.A: "a", Use.B: "b", Use.ACCUMULATOR: "acc"}


@pytest.fixture
def handlers(monkeypatch):
    return lambda changes: monkeypatch.setattr("cts.devices.embedded.device.HANDLERS", {**HANDLERS, **changes})


def changed_places(monkeypatch, change: Callable) -> None:
    """Tensor accesses take the layout and the view that ``change`` makes of (operands, layout, view, whether it is a store)."""
    places = tensor_access._places

    def broken(machine, operands, layout, view, store):
        return places(machine, operands, *change(operands, layout, view, store), store)

    monkeypatch.setattr(tensor_access, "_places", broken)


def first_of(monkeypatch, name: str) -> None:
    """Each scope instance takes the first one's layout, or view."""
    own = getattr(tensor_access, name)

    def broken(machine, operands, value):
        found = own(machine, operands, value)
        return [found[0]] * len(found)

    monkeypatch.setattr(tensor_access, name, broken)


def test_layout_of_the_first_instance(monkeypatch):
    first_of(monkeypatch, "_layouts")
    assert noticed("tensor_layout", PROFILE, access="load", scope="subgroup", subgroups="2")
    assert noticed("tensor_layout", PROFILE, access="store", scope="subgroup", subgroups="2")


def test_clamp_value_of_the_first_instance(monkeypatch):
    own = tensor_access._layouts

    def broken(machine, operands, value):
        found = own(machine, operands, value)
        return [replace(layout, clamp_value=found[0].clamp_value) for layout in found]

    monkeypatch.setattr(tensor_access, "_layouts", broken)
    assert noticed("tensor_layout", PROFILE, form="instance_clamp_value")


@pytest.mark.parametrize("access", ["load", "store"])
def test_view_of_the_first_instance(monkeypatch, access):
    first_of(monkeypatch, "_views")
    assert noticed("tensor_view", PROFILE, access=access, place="instance")


@pytest.mark.parametrize("op", [Op.TensorViewSetDimensionNV, Op.TensorViewSetStrideNV, Op.TensorViewSetClipNV], ids=lambda op: op.name)
def test_views_that_change_in_place(handlers, op):
    def broken(translation, words):
        run, values = tensor_state.HANDLERS[op](translation, words), translation.values

        def both():
            values[words[2]] = run()
            return values[words[2]]

        return both

    handlers({op: broken})
    assert noticed("tensor_view", PROFILE, place=("derived", "derived_dimension", "derived_stride"))


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("family", ["tensor_layout", "tensor_clamp"])
def test_a_matrix_of_one_use_that_begins_elsewhere(monkeypatch, family, use, store):
    def moved(operands, layout, view, is_store):
        if operands.matrix.use is use and is_store == store:
            layout = replace(layout, offset=(layout.offset[0] - 1, *layout.offset[1:]))
        return layout, view

    changed_places(monkeypatch, moved)
    assert noticed(family, PROFILE, use=USES[use], access="store" if store else "load")


@pytest.mark.parametrize("case_id", DIMENSION_OF_ONE, ids=["layout", "rank_5"])
def test_a_remainder_by_zero_in_a_dimension_of_one_element(monkeypatch, case_id):
    def folded_in_bounds(operands, layout, view, store):
        if layout.clamp_mode is TensorClampMode.RepeatMirrored and layout.dimension[0] == 1:
            layout = replace(layout, clamp_mode=TensorClampMode.Constant, offset=(-1, *layout.offset[1:]))
        return layout, view

    assert not fails(case_id, EmbeddedDevice(load_profile(PROFILE)))
    changed_places(monkeypatch, folded_in_bounds)
    assert fails(case_id, EmbeddedDevice(load_profile(PROFILE), strict=False))


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_a_clip_window_ignored_by_one_use(monkeypatch, use, store):
    def without(operands, layout, view, is_store):
        if view is not None and operands.matrix.use is use and is_store == store:
            view = replace(view, clip_rows=(0, operands.matrix.rows), clip_columns=(0, operands.matrix.columns))
        return layout, view

    changed_places(monkeypatch, without)
    assert noticed("tensor_view", PROFILE, access="store" if store else "load")


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("store", [False, True], ids=["load", "store"])
def test_strides_of_a_view_ignored_by_one_use(monkeypatch, use, store):
    def without(operands, layout, view, is_store):
        if view is not None and view.has_dimensions and operands.matrix.use is use and is_store == store:
            sizes = view.dimension
            view = replace(view, stride=tuple(int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))))
        return layout, view

    changed_places(monkeypatch, without)
    assert noticed("tensor_view", PROFILE, use=USES[use], access="store" if store else "load")


@pytest.mark.parametrize("use", Use)
def test_what_a_matrix_had_lost_by_one_use(handlers, use):
    def broken(translation, words):
        run, values = tensor_access.HANDLERS[Op.CooperativeMatrixLoadTensorNV](translation, words), translation.values
        if translation.types[words[0]].use is not use:
            return run

        def without():
            before = values[words[3]]
            values[words[3]] = np.zeros_like(before) if isinstance(before, np.ndarray) else before
            result = run()
            values[words[3]] = before
            return result

        return without

    handlers({Op.CooperativeMatrixLoadTensorNV: broken})
    assert noticed("tensor_view", PROFILE, access="load", clip="inside")


def test_block_coordinates_of_8_bits(monkeypatch):
    elements = decode.Decode._call
    monkeypatch.setattr(
        decode.Decode,
        "_call",
        lambda self, function, found: elements(self, function, replace(found, block=found.block & 255)),
    )
    assert noticed("tensor_block", PROFILE, place="far")


@pytest.mark.parametrize("use", Use)
def test_rows_and_columns_exchanged_for_one_use(monkeypatch, use):
    own = per_element._check

    def broken(translation, callback, matrix, operands):
        own(translation, callback, matrix, operands)
        if matrix.use is use:
            call = callback.call
            callback.call = lambda lanes, arguments: call(lanes, [arguments[1], arguments[0], *arguments[2:]])

    monkeypatch.setattr(per_element, "_check", broken)
    assert noticed("per_element", PROFILE, use=USES[use])


@pytest.mark.parametrize(("use", "size"), [*((use, 16) for use in Use), (Use.ACCUMULATOR, 32)])
def test_places_in_a_fragment_instead_of_the_matrix(monkeypatch, use, size):
    own = per_element._check

    def broken(translation, callback, matrix, operands):
        own(translation, callback, matrix, operands)
        if matrix.use is use:
            call = callback.call
            callback.call = lambda lanes, arguments: call(lanes, [arguments[0] % size, arguments[1] % size, *arguments[2:]])

    monkeypatch.setattr(per_element, "_check", broken)
    assert noticed("per_element", PROFILE, use=USES[use])


@pytest.mark.parametrize("size", [8, 16, 32, 64, 128])
def test_places_in_a_fragment_of_a_large_matrix(monkeypatch, size):
    own = per_element._check

    def broken(translation, callback, matrix, operands):
        own(translation, callback, matrix, operands)
        call = callback.call
        callback.call = lambda lanes, arguments: call(lanes, [arguments[0] % size, arguments[1] % size, *arguments[2:]])

    monkeypatch.setattr(per_element, "_check", broken)
    assert noticed("flexible", PROFILE, does="per_element")


def test_operands_of_the_first_instance(monkeypatch):
    monkeypatch.setattr(callbacks, "_chosen", lambda value, lanes: value[lanes.instances * 0] if callbacks.varies(value) else value)
    assert noticed("per_element", PROFILE, scope="subgroup", subgroups="2")


def test_row_numbers_of_8_signed_bits(monkeypatch):
    own = per_element._check

    def broken(translation, callback, matrix, operands):
        own(translation, callback, matrix, operands)
        call = callback.call
        callback.call = lambda lanes, arguments: call(
            lanes, [*(place.astype(np.int8).astype(np.uint32) for place in arguments[:2]), *arguments[2:]]
        )

    monkeypatch.setattr(per_element, "_check", broken)
    assert noticed("flexible", PROFILE, size=("m256", "n256", "k256"), does="per_element")


def changed_reduction(handlers, mode: int, change: Callable) -> None:
    """Reductions of ``mode`` give what ``change`` makes of (values, words, types of result and operand, the right result)."""

    def broken(translation, words):
        run, values = reduction.HANDLERS[Op.CooperativeMatrixReduceEXT](translation, words), translation.values
        if words[3] != mode:
            return run
        types = translation.types[words[0]], translation.type_of[words[2]]
        return lambda: change(values, words, types, run())

    handlers({Op.CooperativeMatrixReduceEXT: broken})


@pytest.mark.parametrize(("mode", "word"), [(1, "row"), (2, "column"), (3, "both"), (4, "2x2")])
def test_the_reduction_of_the_first_instance(handlers, mode, word):
    changed_reduction(handlers, mode, lambda values, words, types, right: np.repeat(right[:1], len(right), 0))
    assert noticed("reduce", PROFILE, mode=word, scope="subgroup")


@pytest.mark.parametrize(("mode", "word"), [(1, "row"), (2, "column"), (3, "both")])
def test_reductions_in_place(handlers, mode, word):
    def in_place(values, words, types, right):
        if types[0] == types[1]:
            values[words[2]] = right.copy()
        return right

    changed_reduction(handlers, mode, in_place)
    assert noticed("reduce", PROFILE, mode=word)
