"""The parameters of tensor_block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.layouts.block_decoders import Calls, Decoding
from generators.layouts.block_formats import FORMATS
from generators.parameters.blocked_tensors import ACCESS, BlockedTensorLoad
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS, OPERANDS
from generators.program.memory import Pointee
from generators.program.operation import Hint
from generators.types import COMPONENT_TYPES, ComponentType

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
    loads: Literal["one", "several"] = parameter("loads by one layout, each with another function", default="one", applies=_has_function)
    then: Literal["store", "muladd"] = parameter("what is done with the matrix", default="store")
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
