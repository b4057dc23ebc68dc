"""Tensor layouts and views: how matrix elements map to places of a tensor in memory (SPV_NV_tensor_addressing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Operation
from generators.program.values import Extent, Operand, ScalarValue, extent
from generators.types import ClampMode


@dataclass(frozen=True)
class TensorLayoutType:
    """OpTypeTensorLayoutNV: ``rank`` dimensions, 1 to 5. Both are literals, or specialization constants (TA-TL-03)."""

    rank: Extent
    clamp: ClampMode | Operand = ClampMode.UNDEFINED

    @property
    def clamp_value(self) -> ClampMode:
        """The mode in this case."""
        return self.clamp if isinstance(self.clamp, ClampMode) else ClampMode(extent(self.clamp))


@dataclass(frozen=True)
class TensorViewType:
    """OpTypeTensorViewNV.

    Attributes:
        permutation: of the dimensions; as many as the view has, 1 to 5.
        has_dimensions: whether it has dimensions and strides of its own; an operand is a u32 specialization constant, not 0 for true.
        rank: the Dim operand where it is a specialization constant; None for a literal.
    """

    permutation: tuple[Extent, ...]
    has_dimensions: bool | Operand = False
    rank: Operand | None = None


@dataclass(frozen=True)
class TensorLayout:
    """A tensor layout as a value: block sizes, dimensions, strides, offsets, spans and the clamp value."""

    name: str
    type: TensorLayoutType


@dataclass(frozen=True)
class TensorView:
    """A tensor view as a value: dimensions, strides and the clip window."""

    name: str
    type: TensorViewType


@dataclass(frozen=True)
class LayoutCreate(Operation):
    """OpCreateTensorLayoutNV."""

    result: TensorLayout


LayoutSetting = Literal["dimension", "stride", "slice", "clamp_value", "block_size"]


@dataclass(frozen=True)
class LayoutSet(Operation):
    """``result`` is ``layout`` with one setting changed: OpTensorLayoutSetDimensionNV, SetStrideNV, SliceNV (offset and span of each
    dimension in turn), SetClampValueNV or SetBlockSizeNV."""

    result: TensorLayout
    layout: TensorLayout
    setting: LayoutSetting
    operands: tuple[ScalarValue, ...]


@dataclass(frozen=True)
class ViewCreate(Operation):
    """OpCreateTensorViewNV."""

    result: TensorView


ViewSetting = Literal["dimension", "stride", "clip"]


@dataclass(frozen=True)
class ViewSet(Operation):
    """``result`` is ``view`` with one setting changed: OpTensorViewSetDimensionNV, SetStrideNV or SetClipNV (row offset, row span, column
    offset, column span)."""

    result: TensorView
    view: TensorView
    setting: ViewSetting
    operands: tuple[ScalarValue, ...]
