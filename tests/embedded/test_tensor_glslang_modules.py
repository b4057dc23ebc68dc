"""Tensor loads and stores in modules that glslang 16.6 compiled from the shaders in glslang/."""

from __future__ import annotations

from struct import pack

import numpy as np
import pytest

from cts.devices.requirements import missing
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Kernel, Specialization
from generators.types import COMPONENT_TYPES
from tests.embedded.glslang_modules import kernel, module, run
from tests.undefined import undefined

U32 = COMPONENT_TYPES["u32"]


def specialized(values: dict[int, int]) -> tuple[Specialization, ...]:
    return tuple(Specialization(id_, U32, value) for id_, value in values.items())


@pytest.mark.parametrize("mapping", ["interleaved", "scattered"])
def test_a_transposing_clipped_view_of_a_slice_over_the_edge_and_five_mirrored_dimensions(mapping) -> None:
    height, width, top, left = 20, 25, 11, -3
    memory = np.arange(700, dtype=np.float16)
    padded = np.full((height + 16, width + 32), 0.5, np.float16)
    padded[:height, 16 : 16 + width] = memory[: height * (width + 8)].reshape(height, width + 8)[:, :width]
    tile = padded[top : top + 16, 16 + left : 16 + left + 16]
    first = np.full((16, 16), 7, np.float16)
    first[1:15, 2:14] = tile.T.ravel()[: 14 * 12].reshape(14, 12)
    contents = [memory, np.zeros(512, np.float16)]
    built = kernel("tensor_view", contents, {1}, push_constant_bytes=16)
    got = run(built, contents, pack("<IIii", height, width, top, left), mapping)["buffer1"].view(np.float16)
    assert got[:256].reshape(16, 16).tolist() == first.tolist()
    # The second load goes through a view, and the store goes back through the same view.
    assert got[256:].tolist() == memory[:256].tolist()


def test_a_tile_of_workgroup_memory_there_and_back() -> None:
    contents = [np.zeros(256, np.float16)]
    got = run(kernel("tensor_shared", contents, {0}), contents)["buffer0"].view(np.float16).reshape(16, 16)
    assert got.tolist() == [[32 * c + 5 + r for c in range(16)] for r in range(16)]


def test_workgroup_memory_that_nobody_filled() -> None:
    contents = [np.zeros(256, np.float16)]
    with undefined("SPIR-V 3.3.8 OpVariable"):
        run(kernel("tensor_shared", contents, {0}, specialization=specialized({0: 0})), contents)


def tiles(constants: dict[int, int], subgroups: int, top: int, left: int, image: np.ndarray) -> np.ndarray:
    """Return the tiles of 8 x 4 that begin at rows top, top + 8 and top + 16, with the shape (subgroups, 3, 8, 4)."""
    slots = (BufferSlot("image", image.size, False, None, 0), BufferSlot("tiles", 96 * subgroups, True, 0))
    chosen = specialized(constants)
    built = Kernel(module("tensor_tiles"), slots, chosen, subgroups=subgroups, push_constant_bytes=24)
    push = bytes(8) + pack("<IIii", *image.shape, top, left)
    found = run(built, [image, np.zeros(96 * subgroups, np.int8)], push)["tiles"]
    return found.view(np.int8).reshape(subgroups, 3, 8, 4)


IMAGE = (np.arange(20 * 6).reshape(20, 6) - 60).astype(np.int8)


def test_functions_private_variables_and_a_clamp_mode_of_specialization() -> None:
    # Rows -3 to 20 and columns 4 to 7 of 20 x 6; the clamp value depends on the subgroup, and only tiles that begin above the image have
    # it.
    for mode in (1, 2, 3):
        got = tiles({2: mode}, 2, -3, 4, IMAGE)
        for subgroup in range(2):
            value = np.int8(-128 + subgroup)
            for part in range(3):
                for r in range(8):
                    row = -3 + 8 * part + r
                    for c in range(4):
                        column = 4 + c
                        inside = 0 <= row < 20 and column < 6
                        if mode == 1:
                            want = IMAGE[row, column] if inside else value if part == 0 else 0
                        elif mode == 2:
                            want = IMAGE[min(max(row, 0), 19), min(column, 5)]
                        else:
                            want = IMAGE[row % 20, column % 6]
                        assert got[subgroup, part, r, c] == want


def test_a_view_of_specialization_at_workgroup_scope() -> None:
    straight = tiles({2: 2, 3: 2}, 1, 0, 0, IMAGE)
    turned = tiles({2: 2, 3: 2, 4: 1, 5: 1, 6: 0}, 1, 0, 0, IMAGE)
    assert straight[0, 1].tolist() == IMAGE[8:16, :4].tolist()
    assert turned[0, 1].ravel().tolist() == IMAGE[8:16, :4].T.ravel().tolist()


def test_a_clamp_mode_of_specialization_that_leaves_it_undefined() -> None:
    with undefined("CM2-CL-01"):
        tiles({2: 0}, 1, -3, 0, IMAGE)


def test_what_a_module_with_tensor_loads_needs() -> None:
    built = kernel("tensor_view", [np.zeros(700, np.float16), np.zeros(512, np.float16)], {1}, push_constant_bytes=16)
    lack = missing(built, load_profile("llvmpipe").description)
    assert lack is not None
    assert lack.code == "missing.feature.cooperativeMatrixTensorAddressing"
    for name in "universal", "nvidia-h200":
        assert not missing(built, load_profile(name).description)
