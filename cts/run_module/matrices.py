"""Matrices of a job in buffers: a device converts their row-major elements to their layouts before the run, and back after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from cts.devices.device import CallFailed
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall, ConversionInfo, ConvertsLayouts, Region
from cts.run_module.values import MOST_BYTES, Count, Given, JobError, Positive, Tolerance, component_named, numbers_of
from generators.kernel import HeldMatrix
from generators.layout_conversion import COMMANDS, FLOAT8, MatrixForm
from generators.types import COMPONENT_TYPES, ComponentType, ConversionCommand, VectorMatrixLayout

ALIGNMENT = 64
"""Alignment of matrices in bytes (VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097)."""

_STRIDE_ALIGNMENT = 16
_POISON = 0xA5
_SUCCESS = 0


class MatrixJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A matrix in a buffer. See docs/run_module.md."""

    rows: Positive
    columns: Positive
    type: str | None = None
    layout: Literal["row_major", "column_major", "inferencing_optimal", "training_optimal"] = "row_major"
    at: Count | None = None
    stride: Positive | None = None
    data: Given | None = None
    expected: Given | None = None
    tolerance: Tolerance = Tolerance()
    command: ConversionCommand = "device"
    copied: bool = False


@dataclass(frozen=True)
class Matrix:
    """A matrix of a job.

    Attributes:
        name: ``BUFFER.MATRIX``.
        form: its type and layout in the buffer.
        rows, columns: its size.
        at: its first byte; None for the first multiple of 64 after the previous matrix.
        elements: bits of the elements before the run, (rows, columns).
        expected: bits of the expected elements after it; None if nothing is expected.
        tolerance: of ``expected``, and of comparisons.
        command: the command that converts it to an optimal layout.
        copied: whether the module may copy its bytes.
    """

    name: str
    form: MatrixForm
    rows: int
    columns: int
    at: int | None
    elements: np.ndarray
    expected: np.ndarray | None
    tolerance: Tolerance
    command: ConversionCommand
    copied: bool

    @property
    def outer(self) -> MatrixForm:
        """The form from which a command converts it: row-major. 8-bit floats have no conversion back, so they are converted from f16."""
        component = COMPONENT_TYPES["f16"] if self.form.component.name in FLOAT8 else self.form.component
        return MatrixForm(component, VectorMatrixLayout.ROW_MAJOR, _aligned(self.columns * component.bytes, _STRIDE_ALIGNMENT))

    def size(self, device: object) -> int:
        """Return its bytes on a device, which says how many an optimal layout needs.

        Raises:
            DeviceFailure: the command fails, or the size is impossible.
        """
        if not self.form.layout.is_optimal:
            return self.form.least_bytes(self.rows, self.columns)
        answer = _answer(device, "host", ConversionInfo(self.rows, self.columns, self.outer, self.form))
        if not self.elements.nbytes <= answer.size <= MOST_BYTES:
            raise CallFailed(f"{COMMANDS['host']} claims that the matrix '{self.name}' has {answer.size:,} bytes", call=COMMANDS["host"])
        return answer.size

    def put_in(self, device: object, size: int) -> np.ndarray:
        """Return the bytes of the matrix in its layout, uint8 of shape (size,).

        Raises:
            DeviceFailure: the command fails.
        """
        if not self.form.layout.is_optimal:
            memory = np.zeros(size, np.uint8)
            memory[_places(self.form, self.rows, self.columns)] = _bytes(self.elements)
            return memory
        outer = np.full(self.rows * self.outer.stride, _POISON, np.uint8)
        bits = _cast(self.elements, self.form.component, self.outer.component)
        outer[_places(self.outer, self.rows, self.columns)] = _bytes(bits)
        return self._converted(device, self.outer, outer, self.form, size)

    def taken_out(self, device: object, memory: np.ndarray) -> np.ndarray:
        """Return the bits of the elements in the bytes of the matrix, (rows, columns): the inverse of ``put_in``.

        Raises:
            DeviceFailure: the command fails.
        """
        form = self.form
        if form.layout.is_optimal:
            form = self.outer
            memory = self._converted(device, self.form, memory, form, self.rows * form.stride)
        found = np.ascontiguousarray(memory[_places(form, self.rows, self.columns)]).view(form.component.bits_dtype)[..., 0]
        return _cast(found, form.component, self.form.component)

    def element_bytes(self) -> np.ndarray:
        """Return the offsets of the bytes that elements have in a row-major or column-major layout."""
        return _places(self.form, self.rows, self.columns).reshape(-1)

    def _converted(self, device: object, from_: MatrixForm, source: np.ndarray, to: MatrixForm, size: int) -> np.ndarray:
        regions = Region(source, 0, source.size), Region(np.full(size, _POISON, np.uint8), 0, size)
        answer = _answer(device, self.command, ConversionInfo(self.rows, self.columns, from_, to, *regions))
        assert answer.destination is not None, "the call had a destination"
        return answer.destination


def make_matrices(buffer: str, given: Mapping[str, MatrixJob], type_: ComponentType, folder: Path) -> tuple[Matrix, ...]:
    """Return the matrices of a buffer.

    Args:
        buffer: name of the buffer.
        given: the matrices of the job.
        type_: type of the elements of a matrix without one.
        folder: the folder of the files that the job names.

    Raises:
        JobError: a matrix is impossible.
    """
    return tuple(_matrix(f"{buffer}.{name}", one, type_, folder) for name, one in given.items())


def _matrix(name: str, given: MatrixJob, type_: ComponentType, folder: Path) -> Matrix:
    where = f"matrix '{name}'"
    component = type_ if given.type is None else component_named(given.type, where)
    layout = VectorMatrixLayout[given.layout.upper()]
    if given.rows * given.columns * component.bytes > MOST_BYTES:
        raise JobError(f"{where}: {given.rows} x {given.columns} {component}; at most {MOST_BYTES:,} bytes")
    form = MatrixForm(component, layout)
    if layout.is_optimal:
        if component.name not in COMPONENT_TYPES:
            raise JobError(f"{where}: {component} has no optimal layout; one of {', '.join(COMPONENT_TYPES)}")
        if given.stride is not None:
            raise JobError(f"{where}: an optimal layout has no stride; leave it out")
        if given.at is not None and given.at % ALIGNMENT:
            rule = "VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-10085"
            raise JobError(f"{where}: byte {given.at}; an optimal layout begins at a multiple of {ALIGNMENT} [{rule}]")
    else:
        line = form.line(given.rows, given.columns)
        stride = _aligned(line, _STRIDE_ALIGNMENT) if given.stride is None else given.stride
        if stride < line or stride % component.bytes:
            rule = "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcLayout-10077"
            what = "row" if layout is VectorMatrixLayout.ROW_MAJOR else "column"
            raise JobError(f"{where}: a stride of {stride} bytes; a {what} has {line}, in elements of {component.bytes} [{rule}]")
        form = MatrixForm(component, layout, stride)
    data: Given = [0] * (given.rows * given.columns) if given.data is None else given.data
    elements = _elements(data, given, component, folder, f"{where}: data")
    expected = None if given.expected is None else _elements(given.expected, given, component, folder, f"{where}: expected")
    return Matrix(name, form, given.rows, given.columns, given.at, elements, expected, given.tolerance, given.command, given.copied)


def _elements(given: Given, matrix: MatrixJob, component: ComponentType, folder: Path, where: str) -> np.ndarray:
    """Return the bits of all elements of a matrix, (rows, columns).

    Raises:
        JobError: they are not numbers, or another number of them.
    """
    count = matrix.rows * matrix.columns
    found = np.ascontiguousarray(numbers_of(given, component, count * component.bytes, folder, where)).view(component.bits_dtype)
    if found.size != count:
        raise JobError(f"{where}: {found.size} numbers; {matrix.rows} x {matrix.columns} elements need {count}")
    return found.reshape(matrix.rows, matrix.columns)


def placed(matrices: Iterable[Matrix], device: object, device_name: str) -> tuple[HeldMatrix, ...]:
    """Return the matrices of a buffer where they are on a device.

    Raises:
        DeviceFailure: the device does not say how large a matrix is.
        JobError: two matrices overlap on this device.
    """
    found, end = [], 0
    for one in matrices:
        at, size = _aligned(end, ALIGNMENT) if one.at is None else one.at, one.size(device)
        found.append(HeldMatrix(one.name, at, size, one.form.component, one.rows, one.columns, one.form.layout, one.copied))
        end = at + size
    for before, after in pairwise(sorted(found, key=lambda held: held.at)):
        if before.at + before.bytes > after.at:
            distance = after.at - before.at
            text = f"{before.bytes} bytes on {device_name}, but '{after.name}' begins {distance} bytes after it"
            raise JobError(f"matrix '{before.name}' needs {text}; leave out 'at', and give the module the offset with 'offset_of'")
    return tuple(found)


def _answer(device: object, command: ConversionCommand, info: ConversionInfo) -> ConversionAnswer:
    if not isinstance(device, ConvertsLayouts):
        raise CallFailed("the device converts no layouts", call=COMMANDS[command])
    (answer,) = device.convert(ConversionCall(command, (info,)))
    if answer.result != _SUCCESS:
        raise CallFailed(f"{COMMANDS[command]} returned {answer.result}", call=COMMANDS[command], result=answer.result)
    return answer


def _cast(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    if source == destination:
        return bits
    with np.errstate(all="ignore"):
        converted: np.ndarray = bits.view(source.dtype).astype(destination.dtype).view(destination.bits_dtype)
    return converted


def _places(form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    """Return the offsets of the bytes of each element, (rows, columns, bytes)."""
    return np.asarray(form.offsets(rows, columns)[..., None] + np.arange(form.component.bytes))


def _bytes(bits: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(bits)[..., None].view(np.uint8)


def _aligned(count: int, alignment: int) -> int:
    return -(-count // alignment) * alignment
