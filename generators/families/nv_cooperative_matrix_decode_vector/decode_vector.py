"""decode_vector: loads from tensors of blocks with a second function, which decodes a group of adjacent elements at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import possible
from generators.families.blocked_loads import blocked_loads, has_format, tensor_of
from generators.layouts.block_decoders import Calls, Decoder, Decoding, decode_function
from generators.layouts.block_formats import FORMATS, BlockFormat
from generators.layouts.blocked_tensors import BlockedTensor
from generators.layouts.matrix_arrays import matrix_out
from generators.layouts.sliced_tensors import long_spans
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
from generators.program.memory import Pointee
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.types import COMPONENT_TYPES, ComponentType

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
        then=("then",),
    )
    calls: Calls = parameter("the functions that each decode function consists of", default="plain")
    control: Hint = parameter("the function control, for or against inlining", default="none")
    coordinates: ComponentType = parameter("the type of the functions' coordinates", default="u32", labels=INTEGERS, then=OPERANDS)
    pointee: Pointee = parameter("the type that the tensor's array is declared with", default="u8", labels=_POINTEES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["bits", "small"] = parameter("what the source array is full of; small: whole numbers")


def _tensor(parameters: Parameters) -> BlockedTensor | None:
    return tensor_of(parameters, long_spans, lines=8)


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


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": _fits,
    "has_format": lambda parameters: has_format(parameters, parameters.decode),
    "has_groups": _has_groups,
    "has_pointees": _has_pointees,
    "loads_groups": _loads_groups,
    "multiplies": lambda parameters: parameters.multiplies,
}


def _decoder(parameters: Parameters, tensor: BlockedTensor) -> Decoder:
    """Return the decoder that makes the scalar function; its table is added later."""
    mark, given = 0 if parameters.functions == "differ" else None, (parameters.coordinates, parameters.calls, parameters.control)
    return Decoder(parameters.decode, parameters.component, tensor.blocks, *given, mark=mark)


def _vector_decoder(parameters: Parameters, decoder: Decoder, tensor: BlockedTensor) -> VectorDecoder:
    """Return the decoder that makes the vector function for the scalar function of ``decoder``."""
    pointee = other_pointee(decoder, parameters.blocks, tensor.elements * decoder.pointee.bytes)
    return VectorDecoder(decoder, parameters.lanes, pointee, parameters.body)


def _bytes(parameters: Parameters, tensor: BlockedTensor) -> int:
    """Return the number of bytes of a tensor's blocks, including the vector function's blocks."""
    decoder = _decoder(parameters, tensor)
    return tensor.elements * max(decoder.pointee.bytes, _vector_decoder(parameters, decoder, tensor).pointee.bytes)


def build(parameters: Parameters) -> Built:
    """Build loads of blocks, and a plain store of each matrix or of a multiply-add with it."""
    tensor = possible(_tensor(parameters), "decode_vector")
    size, element = _bytes(parameters, tensor), COMPONENT_TYPES["u8"]
    loads = blocked_loads(parameters, tensor, parameters.decode, size, element, parameters.pointee)
    decoder = replace(_decoder(parameters, tensor), table=loads.table)
    groups = _vector_decoder(parameters, decoder, tensor)
    if parameters.functions == "differ":
        groups = replace(groups, scalar=replace(decoder, mark=1))
    scalar_function, vector_function = decode_function(decoder, "decode"), vector_decode_function(groups, "decode_group")
    loads.use(loads.load("matrix", scalar_function, vector_function))
    if parameters.loads == "several":
        # The same scalar function alone, and another pair.
        matrix_out(loads.builder, "alone", loads.load("matrix_alone", scalar_function))
        other = replace(decoder, result="coordinates")
        hashes = decode_function(other, "hash"), vector_decode_function(replace(groups, scalar=other), "hash_group")
        matrix_out(loads.builder, "hashes", loads.load("matrix_hashes", *hashes))

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        data = loads.contents(parameters.pattern, not isinstance(parameters.decode, BlockFormat), rng)
        if parameters.blocks == "apart":
            # The vector function has its own blocks, which are copies.
            copy_blocks(data, loads.begins, tensor.elements, decoder.pointee, groups.pointee)
        return loads.subcase(name, data, program, rng)

    return Built(loads.builder.build(), draw)
