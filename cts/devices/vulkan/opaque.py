"""Buffers with matrices in a layout that the device decides: how big they are, and the conversions before and after each dispatch.

Each such buffer has a second one, which holds the elements row-major. Commands convert from it before the dispatches and to it after them.
An 8-bit float cannot be converted to row-major, so its elements are f16 there, which has all of its values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cts.devices.vulkan.guarded import Layout
from cts.devices.vulkan.matrix_conversion import Conversion
from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot, Outcome, StrayWrite
from generators.layout_conversion import FLOAT8, MatrixForm
from generators.numerics.formats import is_nan
from generators.types import COMPONENT_TYPES, VectorMatrixLayout

_ALIGNMENT = 64
"""Bytes of which addresses of matrices are multiples (VUIDs 10084, 10085, RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097)."""

_STRIDE_ALIGNMENT = 16
_POISON = 0xA5


class KnowsSizes(Protocol):
    """Something that knows how many bytes a device needs for a matrix."""

    def size(self, rows: int, columns: int, form: MatrixForm) -> int:
        """Return the bytes."""
        ...


@dataclass(frozen=True)
class OpaqueBuffer:
    """A buffer with matrices in the device's layout, and the one with their elements.

    Attributes:
        slot: of the kernel.
        opaque: what is in it.
        place: number of the slot. ``elements``: number of the slot with the elements.
        inner, outer: forms of a matrix in both.
        size: bytes of a matrix in the device's layout. ``pitch``: from one to the next.
        outer_pitch: bytes from the first element of a matrix to the first element of the next.
    """

    slot: BufferSlot
    opaque: OpaqueSlot
    place: int
    elements: int
    inner: MatrixForm
    outer: MatrixForm
    size: int
    pitch: int
    outer_pitch: int

    @property
    def slots(self) -> tuple[BufferSlot, BufferSlot]:
        """Return both buffers as the device has them. Commands write both."""
        inner = replace(self.slot, bytes=self.opaque.count * self.pitch, written=True, opaque=None)
        return inner, BufferSlot(f"elements of {self.slot.name}", self.opaque.count * self.outer_pitch, written=True)

    def put_in(self, contents: np.ndarray) -> np.ndarray:
        """Return the bytes of the second buffer for elements that are row-major, each matrix tight, one after another."""
        bits = contents.view(self.opaque.component.bits_dtype).reshape(self.opaque.count, self.opaque.rows, self.opaque.columns)
        if self.outer.component is not self.opaque.component:
            with np.errstate(all="ignore"):
                bits = bits.view(self.opaque.component.dtype).astype(self.outer.component.dtype).view(self.outer.component.bits_dtype)
        memory = np.full(self.opaque.count * self.outer_pitch, _POISON, np.uint8)
        memory[self._places()] = np.ascontiguousarray(bits)[..., None].view(np.uint8)
        return memory

    def taken_out(self, memory: np.ndarray) -> np.ndarray:
        """Return elements as ``put_in`` takes them."""
        bits = np.ascontiguousarray(memory[self._places()]).view(self.outer.component.bits_dtype)[..., 0]
        if self.outer.component is not self.opaque.component:
            with np.errstate(all="ignore"):
                bits = bits.view(self.outer.component.dtype).astype(self.opaque.component.dtype)
        return np.ascontiguousarray(bits).view(np.uint8).reshape(-1)

    def _places(self) -> np.ndarray:
        """Return the places of all bytes, (matrices, rows, columns, bytes of an element)."""
        first = np.arange(self.opaque.count)[:, None, None] * self.outer_pitch
        offsets = first + self.outer.offsets(self.opaque.rows, self.opaque.columns)
        return np.asarray(offsets[..., None] + np.arange(self.outer.component.bytes))


class OpaqueBuffers:
    """The buffers of a kernel, some of which have matrices in the device's layout.

    Args:
        kernel: the kernel.
        sizes: the device's.

    Attributes:
        slots: all buffers as the device has them: the kernel's, and then those with elements.
    """

    def __init__(self, kernel: Kernel, sizes: KnowsSizes) -> None:
        self._buffers: list[OpaqueBuffer] = []
        slots = list(kernel.buffers)
        for place, slot in enumerate(kernel.buffers):
            if slot.opaque is not None:
                buffer = _buffer(slot, slot.opaque, place, len(slots), sizes)
                inner, elements = buffer.slots
                slots[place] = inner
                slots.append(elements)
                self._buffers.append(buffer)
        self.slots = tuple(slots)

    def prepared(self, dispatch: Dispatch) -> Dispatch:
        """Return a dispatch with contents for all buffers, and pitches in its push constants."""
        contents = list(dispatch.contents)
        push_constants = bytearray(dispatch.push_constants)
        for buffer in self._buffers:
            contents.append(buffer.put_in(contents[buffer.place]))
            contents[buffer.place] = np.full(buffer.opaque.count * buffer.pitch, _POISON, np.uint8)
            at = buffer.opaque.pitch_offset
            if at is not None:
                push_constants[at : at + 4] = buffer.pitch.to_bytes(4, "little")
        return replace(dispatch, contents=tuple(contents), push_constants=bytes(push_constants))

    def conversions(self, layout: Layout, base: int, dispatches: int) -> tuple[list[Conversion], list[Conversion]]:
        """Return the conversions before and after some dispatches.

        Args:
            layout: of ``slots``.
            base: device address of the first dispatch's range.
            dispatches: how many.
        """
        there: list[Conversion] = []
        back: list[Conversion] = []
        for dispatch in range(dispatches):
            start = base + dispatch * layout.pitch
            for buffer in self._buffers:
                rows, columns = buffer.opaque.rows, buffer.opaque.columns
                for number in range(buffer.opaque.count):
                    inner = start + layout.offsets[buffer.place] + number * buffer.pitch
                    outer = start + layout.offsets[buffer.elements] + number * buffer.outer_pitch
                    sides = outer, buffer.outer_pitch, inner, buffer.pitch
                    there.append(Conversion(rows, columns, buffer.outer, buffer.inner, *sides))
                    back.append(Conversion(rows, columns, buffer.inner, buffer.outer, *sides[2:], *sides[:2]))
        return there, back

    def outcome(self, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        """Return an outcome in which matrices are their elements.

        Args:
            dispatch: as the kernel has it. A read-only matrix that has changed is told of as a stray write.
            outcome: of the device's buffers.
        """
        outputs, stray = dict(outcome.outputs), list(outcome.stray)
        for buffer in self._buffers:
            inner, elements = buffer.slots
            del outputs[inner.name]
            found = buffer.taken_out(outputs.pop(elements.name))
            if buffer.slot.written:
                outputs[buffer.slot.name] = found
            elif written := _changed(buffer, dispatch.contents[buffer.place], found):
                stray.append(written)
        return Outcome(outputs, tuple(stray))


def _buffer(slot: BufferSlot, opaque: OpaqueSlot, place: int, elements: int, sizes: KnowsSizes) -> OpaqueBuffer:
    component = COMPONENT_TYPES["f16"] if opaque.component.name in FLOAT8 else opaque.component
    line = opaque.columns * component.bytes
    # Longer than a row, as the valid usage of a stride has it (F-CV-6).
    stride = (line // _STRIDE_ALIGNMENT + 1) * _STRIDE_ALIGNMENT
    inner = MatrixForm(opaque.component, opaque.layout)
    size = sizes.size(opaque.rows, opaque.columns, inner)
    return OpaqueBuffer(
        slot,
        opaque,
        place,
        elements,
        inner,
        MatrixForm(component, VectorMatrixLayout.ROW_MAJOR, stride),
        size,
        _aligned(size),
        _aligned(opaque.rows * stride),
    )


def _aligned(count: int) -> int:
    return -(-count // _ALIGNMENT) * _ALIGNMENT


def _changed(buffer: OpaqueBuffer, before: np.ndarray, after: np.ndarray) -> StrayWrite | None:
    """Return the elements of a read-only matrix that are others now; any NaN is as good as another one."""
    component = buffer.opaque.component
    old, new = before.view(component.bits_dtype), after.view(component.bits_dtype)
    different = np.flatnonzero((old != new) & ~(is_nan(old, component) & is_nan(new, component)))
    if not len(different):
        return None
    return StrayWrite(buffer.slot.name, "read-only", int(different[0]) * component.bytes, len(different) * component.bytes)
