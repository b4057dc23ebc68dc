"""The padding elements of matrices in the training-optimal layout, which a shader must not see."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.layout_conversion import ConversionCall
from cts.devices.vulkan.opaque import OpaqueBuffers
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot
from generators.types import COMPONENT_TYPES, VectorMatrixLayout

LAYOUTS = {"training": VectorMatrixLayout.TRAINING_OPTIMAL, "inferencing": VectorMatrixLayout.INFERENCING_OPTIMAL}


class Host:
    """Converts as the embedded device does."""

    def __init__(self) -> None:
        self._device = EmbeddedDevice(load_profile("universal"))

    def host(self, info):
        (answer,) = self._device.convert(ConversionCall("host", (info,)))
        return answer

    def size(self, rows, columns, form):
        from cts.devices.layout_conversion import ConversionInfo

        return self.host(ConversionInfo(rows, columns, form, form)).size


def converted(component: str, layout: str) -> tuple[OpaqueBuffers, Dispatch, np.ndarray]:
    """Return the buffers of a kernel, its dispatch, and the bytes of its matrices in the device's layout."""
    opaque = OpaqueSlot(COMPONENT_TYPES[component], 5, 7, LAYOUTS[layout], 2, command="host")
    size = 2 * 5 * 7 * COMPONENT_TYPES[component].bytes
    kernel = Kernel(b"", (BufferSlot("matrices", size, True, binding=0, opaque=opaque),))
    buffers = OpaqueBuffers(kernel, Host())
    # No element has the bits of padding.
    elements = np.full(size, 0x11, np.uint8)
    dispatch = Dispatch(b"", (elements,))
    return buffers, dispatch, buffers.prepared(dispatch).contents[0]


@pytest.mark.parametrize("component", ["f16", "f32"])
def test_every_element_beside_a_training_optimal_matrix_is_a_finite_number(component):
    _, __, memory = converted(component, "training")
    number = COMPONENT_TYPES[component]
    # A tile has 16 rows of 64 bytes.
    assert np.count_nonzero(memory == 0x11) == 2 * 5 * 7 * number.bytes
    assert np.count_nonzero(memory == 0x5A) == 2 * (16 * 64 - 5 * 7 * number.bytes)
    assert np.isfinite(memory.view(number.dtype)).all()


@pytest.mark.parametrize(("component", "layout"), [("f16", "inferencing"), ("s8", "training")])
def test_padding_of_other_matrices_is_left_alone(component, layout):
    assert not (converted(component, layout)[2] == 0x5A).any()
