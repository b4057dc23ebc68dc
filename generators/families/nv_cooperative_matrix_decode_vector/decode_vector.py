"""decode_vector: loads from tensors of blocks with a second function, which decodes a group of adjacent elements at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.layouts.block_decoders import Calls, Decoder, Decoding, decode_function
from generators.layouts.block_formats import FORMATS, TABLE, BlockFormat, set_scales
from generators.layouts.blocked_tensors import BlockedTensor, blocked_tensor, full_block, matrix_view, slice_of
from generators.layouts.decoded_inputs import decoded_inputs, small_contents
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.selecting_products import is_multiplied, multiply
from generators.layouts.tensor_slices import long_spans
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter
from generators.layouts.tensors import pattern_contents, tensor_array
from generators.layouts.vector_decoders import (
    PACKED,
    Body,
    PackedFormat,
    Pointees,
    VectorDecoder,
    copy_blocks,
    other_pointee,
    vector_decode_function,
)
from generators.parameters.blocked_tensors import ACCESS, BlockedTensorLoad
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS, OPERANDS
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.program.values import TensorLayoutType
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, StorageClass

_MOST_BYTES = 1 << 18

_DECODINGS: Mapping[str, Decoding] = MappingProxyType({"coordinates": "coordinates", "planes": "planes", **PACKED, **FORMATS})
_POINTEES: Mapping[str, Pointee] = MappingProxyType(
    {
        "u8": Pointee(COMPONENT_TYPES["u8"]),
        "u32": Pointee(COMPONENT_TYPES["u32"]),
        "uvec4": Pointee(COMPONENT_TYPES["u32"], 4),
    }
)


@dataclass(frozen=True, kw_only=True)
class Parameters(BlockedTensorLoad):
    """The parameters of a case."""

    lanes: Literal[2, 4, 8] = parameter("the elements that the vector function decodes at once", default=2, then=("block",))
    decode: Decoding = parameter("what the decode functions make of a block", labels=_DECODINGS)
    functions: Literal["agree", "differ"] = parameter(
        "whether both functions give the same elements, or different ones that show which function gave them", default="agree"
    )
    blocks: Pointees = parameter(
        "what the vector function's pointer points to: the scalar function's block; the same bytes as another struct, of 32-bit words "
        "where codes are packed; or a larger struct, whose copies of the blocks are elsewhere",
        default="same",
    )
    body: Body = parameter(
        "how the vector function makes its components: one after the other, in a loop, or in one of two ways, "
        "the first of which returns early",
        default="formula",
        then=ACCESS,
    )
    loads: Literal["one", "several"] = parameter(
        "loads by one layout: one; or three: with both functions, with only the scalar function, and with another pair of functions",
        default="one",
    )
    then: Literal["store", "muladd"] = parameter("what is done with the matrix", default="store")
    calls: Calls = parameter("the functions that each decode function consists of", default="plain")
    control: Hint = parameter("the function control, for or against inlining", default="none")
    coordinates: ComponentType = parameter("the type of the functions' coordinates", default="u32", labels=INTEGERS, then=OPERANDS)
    pointee: Pointee = parameter("the type that the tensor's array is declared with", default="u8", labels=_POINTEES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["bits", "small"] = parameter("what the source array is full of; small: whole numbers")


def _tensor(parameters: Parameters) -> BlockedTensor | None:
    """Return the tensor and the slice of a case; None if the parameters contradict each other."""
    rows, columns = parameters.shape
    block = full_block(parameters.block, parameters.rank)
    if block is None or (parameters.rank == 5 and rows % 8):
        return None
    spans = long_spans(rows, columns, parameters.rank)
    return blocked_tensor(block, spans, parameters.last, parameters.place, parameters.setting)


def _has_format(parameters: Parameters) -> bool:
    """Return whether blocks have as many elements as the format, and the format has the result's type."""
    decode, block = parameters.decode, full_block(parameters.block, parameters.rank)
    if block is None:
        return False
    if not isinstance(decode, BlockFormat):
        # A hash of coordinates is converted from an integer; bfloat16 and 8-bit floats have no such conversion.
        return decode != "coordinates" or parameters.component.has_arithmetic
    return math.prod(block) == decode.elements and parameters.component in decode.components


def _has_groups(parameters: Parameters) -> bool:
    """Return whether blocks consist of whole groups (DV-SEM-07)."""
    return parameters.block[-1] % parameters.lanes == 0


def _loads_groups(parameters: Parameters) -> bool:
    """Return whether the slice contains a whole group from a line of the tensor."""
    tensor = _tensor(parameters)
    if tensor is None or parameters.place == "periods":
        return tensor is not None
    begin = max(tensor.offsets[-1], 0)
    end = min(tensor.offsets[-1] + tensor.spans[-1], tensor.sizes[-1])
    first = -(-begin // parameters.lanes) * parameters.lanes
    return first + parameters.lanes <= end


def _has_pointees(parameters: Parameters) -> bool:
    """Return whether the vector function's pointer may have another type."""
    match parameters.blocks:
        case "apart":
            return parameters.decode == "planes"
        case "words":
            return not isinstance(parameters.decode, BlockFormat) or isinstance(parameters.decode, PackedFormat)
        case _:
            return True


def _fits(parameters: Parameters) -> bool:
    tensor = _tensor(parameters)
    return tensor is not None and _bytes(parameters, tensor) * parameters.instances <= _MOST_BYTES


def _multiplies(parameters: Parameters) -> bool:
    """Return whether the matrix can be multiplied, if the case multiplies it."""
    return parameters.then == "store" or is_multiplied(parameters.matrix_type)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": _fits,
    "has_format": _has_format,
    "has_groups": _has_groups,
    "has_pointees": _has_pointees,
    "loads_groups": _loads_groups,
    "multiplies": _multiplies,
}


def _decoder(parameters: Parameters, block: tuple[int, ...]) -> Decoder:
    """Return the decoder that makes the scalar function; its table is added later."""
    mark = 0 if parameters.functions == "differ" else None
    return Decoder(parameters.decode, parameters.component, block, parameters.coordinates, parameters.calls, parameters.control, mark=mark)


def _vector_decoder(parameters: Parameters, decoder: Decoder, tensor: BlockedTensor) -> VectorDecoder:
    """Return the decoder that makes the vector function for the scalar function of ``decoder``."""
    pointee = other_pointee(decoder, parameters.blocks, tensor.blocks * decoder.pointee.bytes)
    return VectorDecoder(decoder, parameters.lanes, pointee, parameters.body)


def _bytes(parameters: Parameters, tensor: BlockedTensor) -> int:
    """Return the number of bytes of a tensor's blocks, including the vector function's blocks."""
    decoder = _decoder(parameters, tensor.block)
    return tensor.blocks * max(decoder.pointee.bytes, _vector_decoder(parameters, decoder, tensor).pointee.bytes)


def build(parameters: Parameters) -> Built:
    """Build loads of blocks, and a plain store of each matrix or of a multiply-add with it."""
    type_, component, decode = parameters.matrix_type, parameters.component, parameters.decode
    tensor = _tensor(parameters)
    if tensor is None:
        raise GeneratorError(Rule.CONSTRAINT, "decode_vector: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    size = _bytes(parameters, tensor)
    source = tensor_array(builder, "source", COMPONENT_TYPES["u8"], size, parameters.storage, False, parameters.pointee)
    clamp: list[LayoutStep] = [("clamp_value", (CLAMP_VALUE,))] if parameters.mode is ClampMode.CONSTANT else []
    layout_type = TensorLayoutType(parameters.rank, parameters.mode)
    layout = writer.layout("layout", layout_type, *tensor.steps, *clamp, slice_of(tensor))
    view = matrix_view(writer, parameters.shape, parameters.rank, parameters.view)
    first = source.begin(writer.number("first", source.first, signed=False))
    if parameters.view.clipped:
        before = matrix_in(builder, "before", type_)
    else:
        before = builder.splat("before", type_, builder.literal(1, component))
    decoder = _decoder(parameters, tensor.block)
    if isinstance(decode, BlockFormat) and decode.table:
        table = builder.array("table", Pointee(COMPONENT_TYPES["s8"]), len(TABLE), StorageClass.STORAGE_BUFFER, "input")
        decoder = replace(decoder, table=table)
    groups = _vector_decoder(parameters, decoder, tensor)
    if parameters.functions == "differ":
        groups = replace(groups, scalar=replace(decoder, mark=1))
    scalar_function, vector_function = decode_function(decoder, "decode"), vector_decode_function(groups, "decode_group")
    matrix = source.load("matrix", type_, first, before, layout, view, None, scalar_function, vector_function)
    if parameters.then == "muladd":
        multiply(builder, matrix)
    else:
        matrix_out(builder, "target", matrix)
    if parameters.loads == "several":
        # The same scalar function alone, and another pair.
        matrix_out(builder, "alone", source.load("matrix_alone", type_, first, before, layout, view, None, scalar_function))
        other = replace(decoder, result="coordinates")
        hashes = decode_function(other, "hash"), vector_decode_function(replace(groups, scalar=other), "hash_group")
        matrix_out(builder, "hashes", source.load("matrix_hashes", type_, first, before, layout, view, None, *hashes))

    def filled(pattern: str, rng: np.random.Generator) -> np.ndarray:
        """Return random bytes with scales, or whole numbers; if the vector function has its own blocks, they are copies."""
        array = source.array
        if pattern == "small" and not isinstance(decode, BlockFormat):
            data = small_contents(array, component, rng)
        elif isinstance(decode, BlockFormat):
            data = rng.integers(0, 256, array.bytes, np.uint8)
        else:
            data = pattern_contents(array, component, pattern, rng)
        begins = [(source.first + i * source.pitch) * array.pointee.bytes for i in range(builder.instances)]
        if isinstance(decode, BlockFormat):
            set_scales(data, decode, begins, tensor.blocks, component, rng)
        if parameters.blocks == "apart":
            copy_blocks(data, begins, tensor.blocks, decoder.pointee, groups.pointee)
        return data

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = decoded_inputs(filled(parameters.pattern, rng), program, type_, builder.instances, rng)
        return Subcase(name, inputs, dict(writer.operands))

    return Built(builder.build(), draw)
