"""The parameters of tensor_layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.families.nv_cooperative_matrix2.tensor_layout.forms import FORMS, LayoutForm
from generators.families.nv_cooperative_matrix2.tensor_layout.regions import (
    BlockKind,
    ClampValueKind,
    OffsetKind,
    Order,
    SliceKind,
    SpanKind,
    StrideKind,
)
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OPERANDS, OneTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.types import ClampMode, MemoryAccess


@dataclass(frozen=True)
class FirstElement:
    """The position of the first tensor in its array.

    Attributes:
        lead: bytes before it, to be rounded up.
        strided: whether the array has an ArrayStride, which must be ignored.
    """

    lead: int
    strided: bool = False


@dataclass(frozen=True)
class MemoryUse:
    """The memory operands of an access.

    Attributes:
        mask: the mask of all accesses.
        coherent: whether a load also makes memory visible, and a store makes it available.
    """

    mask: MemoryAccess
    coherent: bool = False


@dataclass(frozen=True)
class SpecializedType:
    """The operands of the layout's type that are specialization constants."""

    rank: bool = False
    mode: bool = False


_FIRST: Mapping[str, FirstElement] = MappingProxyType(
    {
        "least": FirstElement(16),
        "zero": FirstElement(0),
        "far": FirstElement((1 << 16) + 1),
        "strided": FirstElement(0, strided=True),
    }
)
_MEMORY: Mapping[str, MemoryUse | None] = MappingProxyType(
    {
        "none": None,
        "explicit_none": MemoryUse(MemoryAccess.NONE),
        "volatile": MemoryUse(MemoryAccess.VOLATILE),
        "aligned": MemoryUse(MemoryAccess.ALIGNED),
        "nontemporal": MemoryUse(MemoryAccess.NONTEMPORAL),
        "non_private": MemoryUse(MemoryAccess.NON_PRIVATE_POINTER),
        "coherent": MemoryUse(MemoryAccess.NONE, coherent=True),
        "all": MemoryUse(MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL, coherent=True),
    }
)
_CONSTANTS: Mapping[str, SpecializedType] = MappingProxyType(
    {
        "none": SpecializedType(),
        "rank": SpecializedType(rank=True),
        "mode": SpecializedType(mode=True),
        "both": SpecializedType(rank=True, mode=True),
    }
)


def _loads_clamp_values(parameters: Parameters) -> bool:
    """Return whether the case loads elements that are the clamp value."""
    return parameters.access == "load" and parameters.mode is ClampMode.CONSTANT and parameters.offset == "over"


def _has_run_time_operands(parameters: Parameters) -> bool:
    return parameters.source in ("push_constant", "buffer")


@dataclass(frozen=True, kw_only=True)
class Parameters(OneTensor):
    """The parameters of a case."""

    access: Literal["load", "store"] = parameter("what is done by tensor addressing", default="load")
    rank: Rank = parameter("dimensions of the tensor", default=2)
    span: SpanKind = parameter("the shape of the slice", default="matrix")
    offset: OffsetKind = parameter("where the slice is", default="inside")
    slices: SliceKind = parameter("the instructions that slice", default="one")
    order: Order = parameter("the order of the instructions that set up the layout", default="plain")
    strides: StrideKind = parameter("the strides of the tensor", default="default")
    blocks: BlockKind = parameter("whether the layout has block sizes, and whether they divide its dimensions", default="none")
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES)
    clamp_value: ClampValueKind = parameter("which of the instructions sets the clamp value", default="none", applies=_loads_clamp_values)
    form: LayoutForm = parameter("how the program gets its layouts", default="direct", labels=FORMS, then=OPERANDS)
    pointee: Literal["component", "vec2", "vec4", "u32", "uvec4"] = parameter(
        "the type that the tensor's array is declared with", default="component"
    )
    first: FirstElement = parameter("where the first tensor is in its array", default="least", labels=_FIRST)
    memory: MemoryUse | None = parameter("the memory operands of the access", default="none", labels=_MEMORY)
    constants: SpecializedType = parameter(
        "the operands of the layout's type that are specialization constants", default="none", labels=_CONSTANTS
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")
    moved: bool = parameter(
        "whether the slice is one element away from its place in other dispatches",
        default="no",
        labels={"no": False, "yes": True},
        applies=_has_run_time_operands,
    )
