"""The parameters of tensor_block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.layouts.block_decoders import Calls, Decoding
from generators.layouts.block_formats import FORMATS
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS, OneTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES, STORAGE_CLASSES
from generators.program.memory import Pointee
from generators.program.operation import Hint
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, StorageClass


@dataclass(frozen=True)
class BlockSetting:
    """How a layout gets its block size.

    Attributes:
        when: before the dimensions, after them, or before and after and before other dimensions again.
        strided: whether explicit strides follow.
    """

    when: Literal["before", "after", "again"]
    strided: bool = False


@dataclass(frozen=True)
class ViewUse:
    """The tensor view of a case: whether it permutes dimensions, and whether it has a clip window."""

    permuted: bool = False
    clipped: bool = False

    @property
    def is_there(self) -> bool:
        """Whether the case has a view at all."""
        return self.permuted or self.clipped


_DECODINGS: Mapping[str, Decoding | None] = MappingProxyType({"none": None, "coordinates": "coordinates", "planes": "planes", **FORMATS})
_SETTINGS: Mapping[str, BlockSetting] = MappingProxyType(
    {
        "before": BlockSetting("before"),
        "after": BlockSetting("after"),
        "before_strided": BlockSetting("before", strided=True),
        "after_strided": BlockSetting("after", strided=True),
        "again": BlockSetting("again"),
    }
)
_VIEWS: Mapping[str, ViewUse] = MappingProxyType(
    {
        "none": ViewUse(),
        "permuted": ViewUse(permuted=True),
        "clip": ViewUse(clipped=True),
        "permuted_clip": ViewUse(permuted=True, clipped=True),
    }
)
_POINTEES: Mapping[str, Pointee | None] = MappingProxyType(
    {
        "u8": Pointee(COMPONENT_TYPES["u8"]),
        "u32": Pointee(COMPONENT_TYPES["u32"]),
        "uvec4": Pointee(COMPONENT_TYPES["u32"], 4),
        "struct": None,
    }
)
_BUFFERS: Mapping[str, StorageClass] = MappingProxyType(
    {name: STORAGE_CLASSES[name] for name in ("storage_buffer", "physical_storage_buffer")}
)


def _block_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes that ``2x4`` names; raises ValueError."""
    sizes = tuple(int(size) for size in text.split("x"))
    if len(sizes) > 5 or min(sizes) < 1:
        raise ValueError("expected the sizes of 1 to 5 dimensions, such as 2x4")
    return sizes


def _has_function(parameters: Parameters) -> bool:
    return parameters.decode is not None


def _goes_out(parameters: Parameters) -> bool:
    return parameters.place in ("over", "periods")


@dataclass(frozen=True, kw_only=True)
class Parameters(OneTensor):
    """The parameters of a case."""

    rank: Rank = parameter("dimensions of the tensor", default=2)
    block: tuple[int, ...] = parameter("sizes of a block in the last dimensions; 1 in the others", decode=_block_sizes)
    decode: Decoding | None = parameter("what the decode function makes of a block; none: there is no function", labels=_DECODINGS)
    last: Literal["whole", "short", "one"] = parameter(
        "the last block of each dimension: it has all elements, lacks one, or has one", default="whole"
    )
    place: Literal["straddle", "aligned", "end", "far", "deep", "over", "periods"] = parameter(
        "where the slice is: from the middle of a block, from the beginning of one, at the end of the tensor, after more blocks than 8 "
        "bits (far) or 16 bits (deep) count, over the edges, or over several periods of the tensor",
        default="straddle",
    )
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES, applies=_goes_out)
    setting: BlockSetting = parameter("when the block size is set", default="before", labels=_SETTINGS)
    view: ViewUse = parameter("the tensor view of the load", default="none", labels=_VIEWS)
    loads: Literal["one", "several"] = parameter("loads by one layout, each with another function", default="one", applies=_has_function)
    then: Literal["store", "muladd"] = parameter("what is done with the matrix", default="store")
    calls: Calls = parameter("the functions that a decode function consists of", default="plain", applies=_has_function)
    control: Hint = parameter("the function control: whether to inline is asked for, or against", default="none", applies=_has_function)
    coordinates: ComponentType = parameter("the type of the function's coordinates", default="u32", labels=INTEGERS, applies=_has_function)
    storage: StorageClass = parameter("where the tensor is", default="storage_buffer", labels=_BUFFERS)
    pointee: Pointee | None = parameter(
        "the type that the tensor's array is declared with; struct: the block that a function decodes, or a struct of 16 bytes",
        default="u8",
        labels=_POINTEES,
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits", "small"] = parameter("what the source array is full of; small: whole numbers")
