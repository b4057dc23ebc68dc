"""Programs that load a matrix from a tensor of blocks, through decode functions or without them, and their input data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from generators.layouts.block_decoders import Decoding
from generators.layouts.block_formats import TABLE, BlockFormat, set_scales
from generators.layouts.blocked_tensors import BlockedTensor, blocked_tensor, full_block
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.selecting_products import LARGEST, factor_or_addend, multiply, whole_number_bytes
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter, ViewStep
from generators.layouts.tensors import Tensor, pattern_contents, tensor_array
from generators.parameters.blocked_tensors import BlockedTensorLoad
from generators.program.builder import ProgramBuilder
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, ScalarValue, TensorLayout, TensorLayoutType, TensorView, TensorViewType
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, StorageClass

Spans = Callable[[int, int, int], tuple[int, ...]]
"""The spans of a slice for a matrix, from its rows, its columns and the number of dimensions."""


def tensor_of(parameters: BlockedTensorLoad, spans: Spans, lines: int) -> BlockedTensor | None:
    """Return the tensor and the slice of a case; None if the parameters contradict each other.

    Args:
        parameters: the parameters of the case.
        spans: gives the spans of the slice.
        lines: the number of which the matrix's rows must be a multiple, with five dimensions.
    """
    rows, columns = parameters.shape
    block = full_block(parameters.block, parameters.rank)
    if block is None or (parameters.rank == 5 and rows % lines):
        return None
    return blocked_tensor(block, spans(rows, columns, parameters.rank), parameters.last, parameters.place, parameters.setting)


def has_format(parameters: BlockedTensorLoad, decode: Decoding | None) -> bool:
    """Return whether blocks have as many elements as the format, and the format has the result's type."""
    block = full_block(parameters.block, parameters.rank)
    if block is None:
        return False
    if not isinstance(decode, BlockFormat):
        # A hash of coordinates is converted from an integer; bfloat16 and 8-bit floats have no such conversion.
        return decode != "coordinates" or parameters.component.has_arithmetic
    return math.prod(block) == decode.elements and parameters.component in decode.components


@dataclass(frozen=True, eq=False)
class BlockedLoads:
    """The tensor of a program, and the operands that all loads from it share.

    Attributes:
        parameters: the parameters of the case. ``decode``: the kind of its decode function; None if it has none.
        tensor: the tensor and the slice. ``source``: the tensor in its array.
        writer: the writer of the layout and the view.
        first: the first element of the tensor. ``before``: the Object of every load.
        layout, view: as in TensorLoad.
        table: the table of numbers, if the format of the blocks has one.
    """

    parameters: BlockedTensorLoad
    decode: Decoding | None
    tensor: BlockedTensor
    source: Tensor
    writer: TensorWriter
    first: ScalarValue
    before: Matrix
    layout: TensorLayout
    view: TensorView | None
    table: Array | None

    @property
    def builder(self) -> ProgramBuilder:
        """The builder of the program."""
        return self.writer.builder

    def load(self, name: str, decode: Function | None = None, decode_vector: Function | None = None) -> Matrix:
        """Load the slice as a matrix called ``name``."""
        type_ = self.parameters.matrix_type
        return self.source.load(name, type_, self.first, self.before, self.layout, self.view, None, decode, decode_vector)

    def use(self, matrix: Matrix) -> None:
        """Store the matrix, or a multiply-add with it, to ``target``."""
        if self.parameters.then == "muladd":
            multiply(self.builder, matrix)
        else:
            matrix_out(self.builder, "target", matrix)

    @property
    def begins(self) -> list[int]:
        """The first byte of the tensor of each scope instance."""
        source = self.source
        return [(source.first + i * source.pitch) * source.array.pointee.bytes for i in range(self.builder.instances)]

    def contents(self, pattern: str, has_elements: bool, rng: np.random.Generator) -> np.ndarray:
        """Return the contents of the whole source, uint8, including bytes outside the blocks of the slice.

        Args:
            pattern: the pattern of elements; ``small``: whole numbers with exact sums of products.
            has_elements: whether blocks consist of elements of the component type. Otherwise they are random bytes, with scales that keep
                the results of a format exact.
            rng: draws the contents.
        """
        array, component, decode = self.source.array, self.parameters.component, self.decode
        if has_elements and pattern == "small":
            return np.resize(whole_number_bytes(component, array.bytes // component.bytes, LARGEST, rng), array.bytes)
        if has_elements:
            return pattern_contents(array, component, pattern, rng)
        data = rng.integers(0, 256, array.bytes, np.uint8)
        if isinstance(decode, BlockFormat):
            set_scales(data, decode, self.begins, self.tensor.elements, component, rng)
        return data

    def subcase(self, name: str, source: np.ndarray, program: Program, rng: np.random.Generator) -> Subcase:
        """Return a subcase with the contents of the source, uint8. The other arrays are the matrix before the load, the table, and the
        operands of a multiply-add."""
        inputs, type_, instances = {"source": source}, self.parameters.matrix_type, self.builder.instances
        for array in program.arrays:
            if array.name == "before":
                inputs["before"] = pattern_contents(array, type_.component, "index", rng)
            elif array.name == "table":
                inputs["table"] = TABLE.view(np.uint8).copy()
            elif array.name in ("other", "addend"):
                inputs[array.name] = factor_or_addend(array.name, type_, array.pointee.component, instances, array.count, rng)
        return Subcase(name, inputs)


def _view(writer: TensorWriter, parameters: BlockedTensorLoad) -> TensorView | None:
    """Return the view of the loads; None for no view. A clip window leaves out the matrix's first and last rows and columns."""
    use, (rows, columns), order = parameters.view, parameters.shape, tuple(range(parameters.rank))
    if not use.is_there:
        return None
    type_ = TensorViewType(order[::-1] if use.permuted else order)
    steps: list[ViewStep] = []
    match use.own:
        case "rows":
            type_, steps = TensorViewType((1, 0, 2), has_dimensions=True), [("dimension", (2, rows // 2, columns))]
        case "columns":
            type_ = TensorViewType((0, 1, 2), has_dimensions=True)
            steps = [("dimension", (rows, columns // 2, 2)), ("stride", (columns, 1, columns // 2))]
        case "again":
            type_ = TensorViewType((0, 1, 2), has_dimensions=True)
            steps = [("dimension", (2, rows // 2, columns)), ("stride", (0, columns, 1))]
    if use.clipped:
        steps.append(("clip", (1, rows - 3, 2, columns - 3)))
    return writer.view("view", type_, *steps)


def blocked_loads(
    parameters: BlockedTensorLoad, tensor: BlockedTensor, decode: Decoding | None, size: int, element: ComponentType, pointee: Pointee
) -> BlockedLoads:
    """Begin the program of a case: declare the tensor, and set up the layout and the view.

    Args:
        parameters, tensor, decode: as in BlockedLoads.
        size: bytes of one tensor.
        element: the component type in which the array is counted.
        pointee: the pointee of the array.
    """
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    source = tensor_array(builder, "source", element, size // element.bytes, parameters.storage, False, pointee)
    clamp: list[LayoutStep] = [("clamp_value", (CLAMP_VALUE,))] if parameters.mode is ClampMode.CONSTANT else []
    layout = writer.layout("layout", TensorLayoutType(parameters.rank, parameters.mode), *tensor.steps, *clamp, tensor.slice)
    view = _view(writer, parameters)
    first = source.begin(writer.number("first", source.first, signed=False))
    if parameters.view.clipped:
        before = matrix_in(builder, "before", parameters.matrix_type)
    else:
        before = builder.splat("before", parameters.matrix_type, builder.literal(1, parameters.component))
    table = None
    if isinstance(decode, BlockFormat) and decode.table:
        table = builder.array("table", Pointee(COMPONENT_TYPES["s8"]), len(TABLE), StorageClass.STORAGE_BUFFER, "input")
    return BlockedLoads(parameters, decode, tensor, source, writer, first, before, layout, view, table)
