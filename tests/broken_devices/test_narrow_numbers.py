"""Devices that address tensors with too few bits, or that handle several elements as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.instructions.matrices.callbacks import call
from cts.embedded.instructions.tensors.tensor_access import places_of
from cts.embedded.profile import load_profile
from generators.spirv.enumerants import Op
from tests.broken_devices.smoke import fails, noticed, wrong

PROFILE = "nvidia-h200"
VAST = [f"tensor_layout[component:f16/{part}offset:vast/source:push_constant]" for part in ("", "access:store/")]
"""Cases of the nightly tier with tensors of more than 64 MiB."""


def unsigned(bits):
    return lambda number: number & (1 << bits) - 1


def signed(bits):
    return lambda number: (number + (1 << bits - 1) & (1 << bits) - 1) - (1 << bits - 1)


def in_f32(number):
    return int(np.float32(number))


def layouts(**numbers) -> Faults:
    """Return a fault that applies functions to the named numbers of each layout."""

    def fault(right):
        def broken(machine, matrix, layout, view, store):
            changed = {name: tuple(map(change, getattr(layout, name))) for name, change in numbers.items()}
            return right(machine, matrix, replace(layout, **changed), view, store)

        return broken

    return Faults(operations={places_of: fault})


def views(**numbers) -> Faults:
    """Return a fault that applies functions to the named numbers of each view."""

    def fault(right):
        def broken(machine, matrix, layout, view, store):
            if view is not None:
                view = replace(view, **{name: tuple(map(change, getattr(view, name))) for name, change in numbers.items()})
            return right(machine, matrix, layout, view, store)

        return broken

    return Faults(operations={places_of: fault})


def places(change) -> Faults:
    """Return a fault that makes tensor accesses go to the places that ``change`` computes from the right ones."""
    return Faults(operations={places_of: lambda right: lambda *arguments: change(right(*arguments))})


@pytest.mark.parametrize("mode", ["repeat", "mirrored", "edge", "constant"])
def test_offsets_of_24_bits(mode):
    assert noticed("tensor_clamp", wrong(PROFILE, layouts(offset=signed(24))), reach="immense", mode=mode, access="load")


@pytest.mark.parametrize("mode", ["repeat", "mirrored"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_remainders_of_coordinates_in_f32(mode, side):
    assert noticed("tensor_clamp", wrong(PROFILE, layouts(offset=in_f32)), reach="immense", mode=mode, side=side, access="load")


@pytest.mark.parametrize(
    ("name", "change"),
    [("dimension", unsigned(16)), ("offset", signed(16)), ("offset", signed(17)), ("stride", unsigned(16))],
    ids=["dimension", "offset", "offset_17", "stride"],
)
def test_layouts_of_16_bits(name, change):
    # The dimensions determine a stride that is not set.
    device = wrong(PROFILE, layouts(**{name: change}))
    assert noticed("tensor_layout", device, offset=("deep", "broad"))


@pytest.mark.parametrize("access", ["load", "store"])
def test_indices_of_20_bits(access):
    device = wrong(PROFILE, places(lambda right: replace(right, index=right.index & (1 << 20) - 1)))
    assert noticed("tensor_layout", device, offset=("deep", "broad"), access=access)


@pytest.mark.parametrize("case_id", VAST, ids=["load", "store"])
def test_indices_of_24_bits(case_id):
    assert not fails(case_id, EmbeddedDevice(load_profile(PROFILE)))
    assert fails(case_id, wrong(PROFILE, places(lambda right: replace(right, index=right.index & (1 << 24) - 1))))


@pytest.mark.parametrize(("name", "form"), [("stride", "far"), ("dimension", "broad")])
@pytest.mark.parametrize("access", ["load", "store"])
def test_views_of_16_bits(name, form, access):
    assert noticed("tensor_view", wrong(PROFILE, views(**{name: unsigned(16)})), form=form, access=access)


def test_block_coordinates_of_16_bits():
    def fault(right):
        def broken(callback, lanes, arguments):
            if callback.op is Op.CooperativeMatrixLoadTensorNV:
                pointer, block, inside = arguments
                arguments = [pointer, tuple(coordinate & 0xFFFF for coordinate in block), inside]
            return right(callback, lanes, arguments)

        return broken

    assert noticed("tensor_block", wrong(PROFILE, Faults(operations={call: fault})), place="deep", decode="coordinates")


def test_block_numbers_of_16_bits():
    device = wrong(PROFILE, places(lambda right: replace(right, index=right.index & 0xFFFF)))
    assert noticed("tensor_block", device, place="deep", decode=("none", "planes"))


def in_groups(mask, count):
    """Return a mask in which each group of ``count`` columns repeats its first column."""
    return mask[:, np.arange(mask.shape[1]) // count * count]


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize(("count", "pointee"), [(4, "vec4"), (8, "uvec4")])
def test_vectors_of_elements_that_are_out_of_bounds_together(count, pointee, access):
    device = wrong(PROFILE, places(lambda right: replace(right, clamped=in_groups(right.clamped, count))))
    assert noticed("tensor_clamp", device, pointee=pointee, access=access)


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize(("count", "pointee"), [(4, "vec4"), (8, "uvec4")])
def test_vectors_of_elements_that_are_clipped_together(count, pointee, access):
    device = wrong(PROFILE, places(lambda right: replace(right, skipped=in_groups(right.skipped, count))))
    assert noticed("tensor_view", device, pointee=pointee, access=access)


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("fragment", [16, 32])
def test_transpositions_within_fragments(size, fragment):
    def fault(right):
        def handler(translation, words):
            run, values = right(translation, words), translation.values

            def broken():
                result, operand = run(), values[words[2]]
                if operand.shape[1] != operand.shape[2] or operand.shape[1] <= fragment:
                    return result
                result = operand.copy()
                for row in range(0, operand.shape[1], fragment):
                    for column in range(0, operand.shape[2], fragment):
                        part = slice(None), slice(row, row + fragment), slice(column, column + fragment)
                        result[part] = operand[part].transpose(0, 2, 1)
                return result

            return broken

        return handler

    device = wrong(PROFILE, Faults({Op.CooperativeMatrixTransposeNV: fault}))
    assert noticed("use_conversion", device, shape=f"{size}x{size}") == (size > fragment)
