"""tensor_block: loads from tensors that consist of blocks, with and without decode functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.families.nv_cooperative_matrix2.tensor_block.parameters import Parameters, SubcaseParameters
from generators.layouts.block_decoders import Decoder, block_type, decode_function
from generators.layouts.block_formats import TABLE, BlockFormat, set_scales
from generators.layouts.blocked_tensors import BlockedTensor, blocked_tensor, full_block, matrix_view, slice_of
from generators.layouts.decoded_inputs import decoded_inputs, small_contents
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.selecting_products import is_multiplied, multiply
from generators.layouts.tensor_slices import matrix_spans
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter
from generators.layouts.tensors import pattern_contents, tensor_array
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import BlockMember, BlockType, Matrix, TensorLayoutType
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass

_MOST_BYTES = 1 << 18
_MOST_BYTES_DEEP = 1 << 22

_RECORD = BlockType("Record", (BlockMember(COMPONENT_TYPES["u32"], 0), BlockMember(COMPONENT_TYPES["u16"], 4, 6)), 4)
"""A struct whose size differs from every component."""


def _tensor(parameters: Parameters) -> BlockedTensor | None:
    """Return the tensor and the slice of a case; None if the parameters contradict each other."""
    rows, columns = parameters.shape
    rank = parameters.rank
    block = full_block(parameters.block, rank)
    if block is None or (rank == 5 and rows % 4):
        return None
    return blocked_tensor(block, matrix_spans(rows, columns, rank), parameters.last, parameters.place, parameters.setting)


def _has_format(parameters: Parameters) -> bool:
    """Return whether blocks have as many elements as the format, and the format has the result's type."""
    decode, block = parameters.decode, full_block(parameters.block, parameters.rank)
    if block is None:
        return False
    if not isinstance(decode, BlockFormat):
        # A hash of coordinates is converted from an integer; bfloat16 and 8-bit floats have no such conversion.
        return decode != "coordinates" or parameters.component.has_arithmetic
    return math.prod(block) == decode.elements and parameters.component in decode.components


def _fits(parameters: Parameters) -> bool:
    tensor = _tensor(parameters)
    most = _MOST_BYTES_DEEP if parameters.place == "deep" else _MOST_BYTES
    return tensor is not None and tensor.blocks * _unit(parameters, tensor.block) * parameters.instances <= most


def _multiplies(parameters: Parameters) -> bool:
    """Return whether the matrix can be multiplied, if the case multiplies it."""
    return parameters.then == "store" or is_multiplied(parameters.matrix_type)


def _rounds_strides(parameters: Parameters) -> bool:
    tensor = _tensor(parameters)
    return tensor is not None and tensor.rounds_strides


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": _fits,
    "has_format": _has_format,
    "multiplies": _multiplies,
    "rounds_strides": _rounds_strides,
}


def _unit(parameters: Parameters, block: tuple[int, ...]) -> int:
    """Return the distance between blocks in bytes."""
    decode, component = parameters.decode, parameters.component
    return component.bytes if decode is None else block_type(decode, component, block).bytes


def _pointee(parameters: Parameters, block: tuple[int, ...]) -> Pointee:
    """Return the type of the elements of the tensor's array."""
    if parameters.pointee is not None:
        return parameters.pointee
    decode = parameters.decode
    return Pointee(COMPONENT_TYPES["u8"], 1, _RECORD if decode is None else block_type(decode, parameters.component, block))


def build(parameters: Parameters) -> Built:
    """Build a load of blocks, and a plain store of the matrix or of a multiply-add with it."""
    type_, component, decode = parameters.matrix_type, parameters.component, parameters.decode
    tensor = _tensor(parameters)
    if tensor is None:
        raise GeneratorError(Rule.CONSTRAINT, "tensor_block: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    element = component if decode is None else COMPONENT_TYPES["u8"]
    elements = tensor.blocks * _unit(parameters, tensor.block) // element.bytes
    source = tensor_array(builder, "source", element, elements, parameters.storage, False, _pointee(parameters, tensor.block))
    layout_type = TensorLayoutType(parameters.rank, parameters.mode)
    clamp: list[LayoutStep] = [("clamp_value", (CLAMP_VALUE,))] if parameters.mode is ClampMode.CONSTANT else []
    layout = writer.layout("layout", layout_type, *tensor.steps, *clamp, slice_of(tensor))
    view = matrix_view(writer, parameters.shape, parameters.rank, parameters.view)
    first = source.begin(writer.number("first", source.first, signed=False))
    if parameters.view.clipped:
        before = matrix_in(builder, "before", type_)
    else:
        before = builder.splat("before", type_, builder.literal(1, component))
    table = None
    if isinstance(decode, BlockFormat) and decode.table:
        table = builder.array("table", Pointee(COMPONENT_TYPES["s8"]), len(TABLE), StorageClass.STORAGE_BUFFER, "input")

    def loaded(name: str, result: Literal["value", "code", "coordinates"] = "value") -> Matrix:
        function = None
        if decode is not None:
            decoder = Decoder(decode, component, tensor.block, parameters.coordinates, parameters.calls, parameters.control, table, result)
            function = decode_function(decoder, f"decode_{result}")
        return source.load(name, type_, first, before, layout, view, None, function)

    matrix = loaded("matrix")
    if parameters.then == "muladd":
        multiply(builder, matrix)
    else:
        matrix_out(builder, "target", matrix)
    if parameters.loads == "several":
        matrix_out(builder, "codes", loaded("codes_loaded", "code"))
        matrix_out(builder, "hashes", loaded("hashes_loaded", "coordinates"))

    def filled(pattern: str, rng: np.random.Generator) -> np.ndarray:
        """Return elements of the component type in a pattern; where a function decodes a format, random bytes with scales."""
        array = source.array
        if decode is None or decode == "planes":
            if pattern == "small":
                return small_contents(array, component, rng)
            return pattern_contents(array, component, pattern, rng)
        data = rng.integers(0, 256, array.bytes, np.uint8)
        if isinstance(decode, BlockFormat):
            begins = [(source.first + i * source.pitch) * array.pointee.bytes for i in range(builder.instances)]
            set_scales(data, decode, begins, tensor.blocks, component, rng)
        return data

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        # Every byte of the source is filled, including bytes outside the blocks of the slice.
        inputs = decoded_inputs(filled(parameters.pattern, rng), program, type_, builder.instances, rng)
        return Subcase(name, inputs, dict(writer.operands))

    return Built(builder.build(), draw)
