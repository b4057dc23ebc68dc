"""Buffers of matrices in a layout that the device chooses: their sizes, and the conversions before and after each dispatch.

If the device converts, each such buffer has a second buffer with the row-major elements. Commands convert from it before the dispatches
and to it after them. If the host converts, it does so before the submission and after it.
8-bit floats cannot be converted to row-major, so they become f16, which has all of their values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cts.devices.layout_conversion import ConversionAnswer, ConversionInfo, Region
from cts.devices.vulkan.guarded import Layout
from cts.devices.vulkan.matrix_conversion import Conversion
from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot, Outcome, StrayWrite
from generators.layout_conversion import FLOAT8, MatrixForm
from generators.numerics.formats import is_nan
from generators.types import COMPONENT_TYPES, VectorMatrixLayout

_ALIGNMENT = 64
"""Alignment of matrices in bytes (VUIDs 10084, 10085, RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097)."""

_STRIDE_ALIGNMENT = 16
_POISON = 0xA5
_PADDING = 0x5A
"""Bytes of padding elements: 203.25 in f16, 1.5e16 in f32."""


class HostConversions(Protocol):
    """The host command that converts matrices."""

    def size(self, rows: int, columns: int, form: MatrixForm) -> int:
        """Return the bytes that the device needs for a matrix."""
        ...

    def host(self, info: ConversionInfo) -> ConversionAnswer:
        """Convert a matrix."""
        ...


@dataclass(frozen=True)
class OpaqueBuffer:
    """A buffer of matrices in the device's layout and, if the device converts them, the buffer with their elements.

    Attributes:
        slot: the kernel's slot.
        opaque: describes its matrices.
        place: index of the slot.
        elements: index of the slot with the elements; None if the host converts them.
        inner: form of a matrix in the device's layout.
        outer: form of a matrix with row-major elements.
        size: bytes of a matrix in the device's layout.
        pitch: bytes from one matrix in that layout to the next.
        outer_pitch: bytes from one row-major matrix to the next.
    """

    slot: BufferSlot
    opaque: OpaqueSlot
    place: int
    elements: int | None
    inner: MatrixForm
    outer: MatrixForm
    size: int
    pitch: int
    outer_pitch: int

    @property
    def slots(self) -> tuple[BufferSlot, BufferSlot]:
        """Return the slots of both buffers on the device. Commands write both."""
        return self.inner_slot, BufferSlot(f"elements of {self.slot.name}", self.opaque.count * self.outer_pitch, written=True)

    @property
    def inner_slot(self) -> BufferSlot:
        """The buffer in the device's layout. It is written if the shader writes it or the device converts it."""
        written = self.slot.written or self.elements is not None
        return replace(self.slot, bytes=self.opaque.count * self.pitch, written=written, opaque=None)

    def put_in(self, contents: np.ndarray) -> np.ndarray:
        """Return the bytes of row-major matrices, with padding.

        Args:
            contents: row-major elements of all matrices without padding.
        """
        bits = contents.view(self.opaque.component.bits_dtype).reshape(self.opaque.count, self.opaque.rows, self.opaque.columns)
        if self.outer.component != self.opaque.component:
            with np.errstate(all="ignore"):
                bits = bits.view(self.opaque.component.dtype).astype(self.outer.component.dtype).view(self.outer.component.bits_dtype)
        memory = np.full(self.opaque.count * self.outer_pitch, _POISON, np.uint8)
        memory[self._places()] = np.ascontiguousarray(bits)[..., None].view(np.uint8)
        return memory

    def taken_out(self, memory: np.ndarray) -> np.ndarray:
        """Return the elements in ``memory``: the inverse of ``put_in``."""
        bits = np.ascontiguousarray(memory[self._places()]).view(self.outer.component.bits_dtype)[..., 0]
        if self.outer.component != self.opaque.component:
            with np.errstate(all="ignore"):
                bits = bits.view(self.outer.component.dtype).astype(self.opaque.component.dtype)
        return np.ascontiguousarray(bits).view(np.uint8).reshape(-1)

    def by_host(self, memory: np.ndarray, conversions: HostConversions, *, back: bool = False) -> np.ndarray:
        """Convert all matrices on the host, from the result of ``put_in`` to the device's layout, or ``back``.

        Raises:
            DeviceFailure: the command fails.
        """
        forms, pitches = (self.outer, self.inner), (self.outer_pitch, self.pitch)
        if back:
            forms, pitches = forms[::-1], pitches[::-1]
        found = []
        for matrix in memory.reshape(self.opaque.count, pitches[0]):
            destination = np.full(pitches[1], _POISON, np.uint8)
            regions = Region(matrix, 0, pitches[0]), Region(destination, 0, pitches[1])
            answer = conversions.host(ConversionInfo(self.opaque.rows, self.opaque.columns, *forms, *regions))
            assert answer.destination is not None, "the call had a destination"
            found.append(answer.destination)
        memories = np.concatenate(found)
        if not back and self.opaque.ignores_finite_padding:
            memories.reshape(self.opaque.count, self.pitch)[:, self._padding(conversions)] = _PADDING
        return memories

    def _padding(self, conversions: HostConversions) -> np.ndarray:
        """Return which bytes of a matrix in the training-optimal layout are padding elements, bool of shape (pitch,).

        Elements are the ones that differ between two matrices without equal elements. Finite padding may have any value (CV-API-11).

        Raises:
            DeviceFailure: the command fails.
        """
        found = []
        for byte in (0, 0x3C):
            source, destination = np.full(self.outer_pitch, byte, np.uint8), np.full(self.pitch, _POISON, np.uint8)
            regions = Region(source, 0, self.outer_pitch), Region(destination, 0, self.pitch)
            answer = conversions.host(ConversionInfo(self.opaque.rows, self.opaque.columns, self.outer, self.inner, *regions))
            assert answer.destination is not None, "the call had a destination"
            found.append(answer.destination.view(self.opaque.component.bits_dtype))
        padding = np.repeat(found[0] == found[1], self.opaque.component.bytes)
        padding[self.size :] = False
        return padding

    def _places(self) -> np.ndarray:
        """Return the offsets of all bytes, with shape (matrices, rows, columns, bytes of an element)."""
        first = np.arange(self.opaque.count)[:, None, None] * self.outer_pitch
        offsets = first + self.outer.offsets(self.opaque.rows, self.opaque.columns)
        return np.asarray(offsets[..., None] + np.arange(self.outer.component.bytes))


class OpaqueBuffers:
    """The buffers of a kernel. Some of them have matrices in the device's layout.

    Args:
        kernel: the kernel.
        conversions: the host command of the device.

    Attributes:
        slots: all buffers on the device: the kernel's, then the buffers with elements.
    """

    def __init__(self, kernel: Kernel, conversions: HostConversions) -> None:
        self._conversions = conversions
        self._buffers: list[OpaqueBuffer] = []
        slots = list(kernel.buffers)
        for place, slot in enumerate(kernel.buffers):
            if slot.opaque is not None:
                elements = len(slots) if slot.opaque.command == "device" else None
                buffer = _buffer(slot, slot.opaque, place, elements, conversions)
                slots[place] = buffer.inner_slot
                if elements is not None:
                    slots.append(buffer.slots[1])
                self._buffers.append(buffer)
        self.slots = tuple(slots)

    def prepared(self, dispatch: Dispatch) -> Dispatch:
        """Return a dispatch with contents for all buffers, and with pitches in its push constants.

        Raises:
            DeviceFailure: a host command fails.
        """
        contents = list(dispatch.contents)
        push_constants = bytearray(dispatch.push_constants)
        for buffer in self._buffers:
            elements = buffer.put_in(contents[buffer.place])
            if buffer.elements is None:
                contents[buffer.place] = buffer.by_host(elements, self._conversions)
            else:
                contents.append(elements)
                contents[buffer.place] = np.full(buffer.opaque.count * buffer.pitch, _POISON, np.uint8)
            at = buffer.opaque.pitch_offset
            if at is not None:
                push_constants[at : at + 4] = buffer.pitch.to_bytes(4, "little")
        return replace(dispatch, contents=tuple(contents), push_constants=bytes(push_constants))

    def conversions(self, layout: Layout, base: int, dispatches: int) -> tuple[list[Conversion], list[Conversion]]:
        """Return the conversions before and after some dispatches.

        Args:
            layout: the layout of ``slots``.
            base: device address of the first dispatch's range.
            dispatches: how many.
        """
        there: list[Conversion] = []
        back: list[Conversion] = []
        for dispatch in range(dispatches):
            start = base + dispatch * layout.pitch
            for buffer in self._buffers:
                if buffer.elements is None:
                    continue
                rows, columns = buffer.opaque.rows, buffer.opaque.columns
                for number in range(buffer.opaque.count):
                    inner = start + layout.offsets[buffer.place] + number * buffer.pitch
                    outer = start + layout.offsets[buffer.elements] + number * buffer.outer_pitch
                    sides = outer, buffer.outer_pitch, inner, buffer.pitch
                    there.append(Conversion(rows, columns, buffer.outer, buffer.inner, *sides))
                    back.append(Conversion(rows, columns, buffer.inner, buffer.outer, *sides[2:], *sides[:2]))
        return there, back

    def with_repeats(self, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        """Apply ``outcome`` to an outcome and its repeats."""
        repeats = tuple((number, self.outcome(dispatch, other)) for number, other in outcome.repeats)
        return replace(self.outcome(dispatch, outcome), repeats=repeats)

    def outcome(self, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        """Return an outcome for the kernel's buffers, with row-major elements. Report a changed read-only matrix as a stray write.

        Args:
            dispatch: the kernel's dispatch.
            outcome: the outcome for the device's buffers.

        Raises:
            DeviceFailure: a host command fails.
        """
        outputs, stray = dict(outcome.outputs), list(outcome.stray)
        for buffer in self._buffers:
            if buffer.elements is None:
                if buffer.slot.written:
                    back = buffer.by_host(outputs[buffer.slot.name], self._conversions, back=True)
                    outputs[buffer.slot.name] = buffer.taken_out(back)
                continue
            inner, elements = buffer.slots
            del outputs[inner.name]
            found = buffer.taken_out(outputs.pop(elements.name))
            if buffer.slot.written:
                outputs[buffer.slot.name] = found
            elif written := _changed(buffer, dispatch.contents[buffer.place], found):
                stray.append(written)
        return Outcome(outputs, tuple(stray))


def _buffer(slot: BufferSlot, opaque: OpaqueSlot, place: int, elements: int | None, conversions: HostConversions) -> OpaqueBuffer:
    component = COMPONENT_TYPES["f16"] if opaque.component.name in FLOAT8 else opaque.component
    line = opaque.columns * component.bytes
    # Longer than a row, as the stride's valid usage requires (F-CV-6).
    stride = (line // _STRIDE_ALIGNMENT + 1) * _STRIDE_ALIGNMENT
    inner = MatrixForm(opaque.component, opaque.layout)
    size = conversions.size(opaque.rows, opaque.columns, inner)
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
    """Describe the changed elements of a read-only matrix; None if there are none. All NaNs are equal."""
    component = buffer.opaque.component
    old, new = before.view(component.bits_dtype), after.view(component.bits_dtype)
    different = np.flatnonzero((old != new) & ~(is_nan(old, component) & is_nan(new, component)))
    if not len(different):
        return None
    return StrayWrite(buffer.slot.name, "read-only", int(different[0]) * component.bytes, len(different) * component.bytes)
