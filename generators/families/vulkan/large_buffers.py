"""large_buffers: matrices and tensors beyond 2 GiB and beyond 4 GiB of a buffer. A case holds only windows of the buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.layouts.byte_tiles import ByteTiles
from generators.layouts.matrix_arrays import ALIGNMENT, lines_of, rounded_up
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, slice_step
from generators.layouts.tensors import pattern_contents
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, USES, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorLayout, TensorLayoutType
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, Scope, StorageClass, Use
from generators.windows import ALIGNMENT as WINDOW_ALIGNMENT
from generators.windows import Windows, windows_around

_U64 = COMPONENT_TYPES["u64"]
_SIGNED_LIMIT = 1 << 31
_LEAD = 192
"""Bytes before the first matrix, or after the limit."""

_BEYOND = {"1GiB": 1 << 30, "2GiB": 1 << 31, "4GiB": 1 << 32}
_STORAGE = {each.value: each for each in (StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER)}


def _is_matrix_access(parameters: Parameters) -> bool:
    return parameters.access in ("load", "store")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrix", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="16x16", decode=parse_shape)
    access: Literal["load", "store", "tensor_load", "tensor_store"] = parameter("the access to the large buffer", default="load")
    layout: Layout = parameter("layout of a matrix in the large buffer", default="row", labels=LAYOUTS, applies=_is_matrix_access)
    storage: StorageClass = parameter("storage class of the large buffer", default="storage_buffer", labels=_STORAGE)
    beyond: int = parameter("the byte beyond which the access goes", default="2GiB", labels=_BEYOND)
    by: Literal["stride", "first", "offset"] = parameter(
        "what leads there: lines far apart, the element that the pointer leads to, or the offset of a tensor's slice", default="stride"
    )
    indexing: Literal["narrow", "wide"] = parameter("whether the entry point has 64-bit indexing", default="narrow")
    source: Literal["literal", "push_constant"] = parameter("where first elements and strides come from", default="literal")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")


@dataclass(frozen=True)
class Geometry:
    """The position of a matrix in the large buffer, in bytes.

    Attributes:
        pointer: offset of the pointer.
        first: distance from there to the first line.
        stride: distance from one line to the next.
        lines, line: the number of lines, and the size of one.
        ranges: the powers of two at which an index or an address may wrap.
    """

    pointer: int
    first: int
    stride: int
    lines: int
    line: int
    ranges: tuple[int, ...]

    @property
    def end(self) -> int:
        """The byte after the last line."""
        return self.pointer + self.first + self.stride * (self.lines - 1) + self.line

    @property
    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield every line, and the places where a device that wraps addresses looks for it."""
        for number in range(self.lines):
            place = self.pointer + self.first + number * self.stride
            yield place, self.line
            yield from ((place % range_, self.line) for range_ in self.ranges if place >= range_)

    @property
    def windows(self) -> Windows:
        """The windows that a case holds."""
        span = rounded_up(self.end, WINDOW_ALIGNMENT) + WINDOW_ALIGNMENT
        return windows_around(span, self._runs)


def geometry(parameters: Parameters) -> Geometry:
    """Return the position of the matrix of a case."""
    limit, size = parameters.beyond, parameters.component.bytes
    layout = parameters.layout if _is_matrix_access(parameters) else Layout.ROW_MAJOR
    lines, length = lines_of(parameters.shape, layout)
    line = length * size
    tight = rounded_up(line, ALIGNMENT)
    ranges = tuple(range_ for range_ in _BEYOND.values() if range_ <= limit)
    match parameters.by:
        case "stride":
            # The last quarter of the lines is beyond the limit, so memory is not much more than the limit.
            stride = rounded_up(4 * limit // (3 * lines), WINDOW_ALIGNMENT) + 3 * ALIGNMENT
            return Geometry(_LEAD, 0, stride, lines, line, ranges)
        case "first":
            return Geometry(limit + _LEAD, 0, tight + ALIGNMENT, lines, line, ranges)
        case "offset":
            pitch = tight + ALIGNMENT
            return Geometry(_LEAD, (limit // pitch + 5) * pitch, pitch, lines, line, ranges)


def _index_fits(parameters: Parameters) -> bool:
    """Tell whether slice offsets, which are signed 32-bit integers, reach beyond the limit; only tensors have slices."""
    if parameters.by != "offset":
        return True
    return not _is_matrix_access(parameters) and geometry(parameters).end // geometry(parameters).stride < _SIGNED_LIMIT


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"index_fits": _index_fits}


class _LargeWriter:
    """Writes the program of one case: from a plain buffer to the large one, or back."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters, self.at = parameters, geometry(parameters)
        self.type = MatrixType(parameters.component, Scope.SUBGROUP, *parameters.shape, parameters.use)
        self.builder = ProgramBuilder(Scope.SUBGROUP, wide_indexing=parameters.indexing == "wide")
        self.tensors = TensorWriter(self.builder, parameters.source)
        self.operands: dict[str, int] = {}
        self.plain = ByteTiles(self.type, Layout.ROW_MAJOR)

    def write(self) -> Program:
        """Write the program."""
        builder, pointee = self.builder, Pointee(self.parameters.component)
        loads = self.parameters.access in ("load", "tensor_load")
        windows = self.at.windows
        large = Array(
            "source" if loads else "target",
            pointee,
            windows.span // pointee.bytes,
            self.parameters.storage,
            "input" if loads else "output",
            windows=windows,
        )
        builder.declare(large)
        name: Literal["target", "source"] = "target" if loads else "source"
        plain = builder.array(name, pointee, self.plain.length(pointee), StorageClass.STORAGE_BUFFER, "output" if loads else "input")
        plain_at = self.plain.first(builder, name, plain), self.plain.stride_operand(builder, plain), self.plain.layout
        if loads:
            builder.store(self._load(large), plain, *plain_at)
        else:
            self._store(builder.load("matrix", self.type, plain, *plain_at), large)
        return builder.build()

    def number(self, name: str, value: int) -> ScalarValue:
        """Return an operand from the case's source. It has 64 bits if it does not fit in a signed 32-bit integer, the type in which indices
        are counted."""
        component = U32 if value < _SIGNED_LIMIT else _U64
        self.operands[name] = value
        return self.builder.operand(name, component, self.parameters.source, value)

    def _first(self) -> ScalarValue:
        return self.number("first", self.at.pointer // self.parameters.component.bytes)

    def _stride(self) -> ScalarValue:
        return self.number("stride", self.at.stride // self.parameters.component.bytes)

    def _load(self, large: Array) -> Matrix:
        if self.parameters.access == "load":
            return self.builder.load("matrix", self.type, large, self._first(), self._stride(), self.parameters.layout)
        before = self.builder.splat("before", self.type, self.builder.literal(0, self.parameters.component))
        result = Matrix("matrix", self.type)
        self.builder.add(TensorLoad(result, large, self._first(), before, self._tensor()))
        return result

    def _store(self, matrix: Matrix, large: Array) -> None:
        if self.parameters.access == "store":
            self.builder.store(matrix, large, self._first(), self._stride(), self.parameters.layout)
        else:
            self.builder.add(TensorStore(matrix, large, self._first(), self._tensor()))

    def _tensor(self) -> TensorLayout:
        """Return the layout of a two-dimensional tensor that contains the matrix as a slice."""
        size, (rows, columns) = self.parameters.component.bytes, self.parameters.shape
        begin = self.at.first // self.at.stride
        steps: list[LayoutStep] = [
            ("dimension", (begin + rows, columns)),
            ("stride", (self.at.stride // size, 1)),
            slice_step((begin, 0), (rows, columns)),
        ]
        return self.tensors.layout("layout", TensorLayoutType(2, ClampMode.UNDEFINED), *steps)


def build(parameters: Parameters) -> Built:
    """Build a case. A device that wraps an index at 31 or 32 bits reads different bits of the source."""
    writer = _LargeWriter(parameters)
    program = writer.write()
    values = writer.operands

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        source = program.array("source")
        inputs = {"source": pattern_contents(source, parameters.component, parameters.pattern, rng)}
        return Subcase(name, inputs, run_time_operands(program, values))

    return Built(program, draw)
