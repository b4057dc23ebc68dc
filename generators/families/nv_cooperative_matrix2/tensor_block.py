"""tensor_block: loads from tensors that consist of blocks, with and without decode functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import possible
from generators.families.blocked_loads import blocked_loads, has_format, tensor_of
from generators.layouts.block_decoders import Calls, Decoder, Decoding, block_type, decode_function
from generators.layouts.block_formats import FORMATS
from generators.layouts.blocked_tensors import BlockedTensor
from generators.layouts.matrix_arrays import matrix_out
from generators.layouts.sliced_tensors import matrix_spans
from generators.parameters.blocked_tensors import ACCESS, BlockedTensorLoad
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS, OPERANDS
from generators.program.memory import Pointee
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.program.values import BlockMember, BlockType, Matrix
from generators.types import COMPONENT_TYPES, ComponentType

_MOST_BYTES = 1 << 18
_MOST_BYTES_DEEP = 1 << 22

_RECORD = BlockType("Record", (BlockMember(COMPONENT_TYPES["u32"], 0), BlockMember(COMPONENT_TYPES["u16"], 4, 6)), 4)
"""A struct whose size differs from every component."""

_DECODINGS: Mapping[str, Decoding | None] = MappingProxyType({"planes": "planes", "coordinates": "coordinates", "none": None, **FORMATS})
_POINTEES: Mapping[str, Pointee | None] = MappingProxyType(
    {
        "u8": Pointee(COMPONENT_TYPES["u8"]),
        "u32": Pointee(COMPONENT_TYPES["u32"]),
        "uvec4": Pointee(COMPONENT_TYPES["u32"], 4),
        "struct": None,
    }
)


def _has_function(parameters: Parameters) -> bool:
    return parameters.decode is not None


@dataclass(frozen=True, kw_only=True)
class Parameters(BlockedTensorLoad):
    """The parameters of a case."""

    decode: Decoding | None = parameter(
        "what the decode function makes of a block; none: there is no function", labels=_DECODINGS, then=ACCESS
    )
    loads: Literal["one", "several"] = parameter(
        "loads by one layout, each with another function", default="one", applies=_has_function, then=("then",)
    )
    calls: Calls = parameter("the functions that a decode function consists of", default="plain", applies=_has_function)
    control: Hint = parameter("the function control, for or against inlining", default="none", applies=_has_function)
    coordinates: ComponentType = parameter(
        "the type of the function's coordinates", default="u32", labels=INTEGERS, applies=_has_function, then=OPERANDS
    )
    pointee: Pointee | None = parameter(
        "the type that the tensor's array is declared with; struct: the block that a function decodes, or a struct of 16 bytes",
        default="u8",
        labels=_POINTEES,
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits", "small"] = parameter("what the source array is full of; small: whole numbers")


def _tensor(parameters: Parameters) -> BlockedTensor | None:
    return tensor_of(parameters, matrix_spans, lines=4)


def _fits(parameters: Parameters) -> bool:
    tensor = _tensor(parameters)
    most = _MOST_BYTES_DEEP if parameters.place == "deep" else _MOST_BYTES
    return tensor is not None and tensor.elements * _unit(parameters, tensor) * parameters.instances <= most


def _rounds_strides(parameters: Parameters) -> bool:
    tensor = _tensor(parameters)
    return tensor is not None and tensor.rounds_strides


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": _fits,
    "has_format": lambda parameters: has_format(parameters, parameters.decode),
    "multiplies": lambda parameters: parameters.multiplies,
    "rounds_strides": _rounds_strides,
}


def _unit(parameters: Parameters, tensor: BlockedTensor) -> int:
    """Return the distance between blocks in bytes."""
    decode, component = parameters.decode, parameters.component
    return component.bytes if decode is None else block_type(decode, component, tensor.blocks).bytes


def _pointee(parameters: Parameters, tensor: BlockedTensor) -> Pointee:
    """Return the type of the elements of the tensor's array."""
    if parameters.pointee is not None:
        return parameters.pointee
    decode = parameters.decode
    return Pointee(COMPONENT_TYPES["u8"], 1, _RECORD if decode is None else block_type(decode, parameters.component, tensor.blocks))


def build(parameters: Parameters) -> Built:
    """Build a load of blocks, and a plain store of the matrix or of a multiply-add with it."""
    component, decode = parameters.component, parameters.decode
    tensor = possible(_tensor(parameters), "tensor_block")
    size, element = tensor.elements * _unit(parameters, tensor), component if decode is None else COMPONENT_TYPES["u8"]
    loads = blocked_loads(parameters, tensor, decode, size, element, _pointee(parameters, tensor))

    def loaded(name: str, result: Literal["value", "code", "coordinates"] = "value") -> Matrix:
        if decode is None:
            return loads.load(name)
        given = parameters.coordinates, parameters.calls, parameters.control
        return loads.load(name, decode_function(Decoder(decode, component, tensor.blocks, *given, loads.table, result), f"decode_{result}"))

    loads.use(loaded("matrix"))
    if parameters.loads == "several":
        matrix_out(loads.builder, "codes", loaded("codes_loaded", "code"))
        matrix_out(loads.builder, "hashes", loaded("hashes_loaded", "coordinates"))

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        return loads.subcase(name, loads.contents(parameters.pattern, decode in (None, "planes"), rng), program, rng)

    return Built(loads.builder.build(), draw)
