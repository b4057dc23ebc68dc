"""Tensor layouts and views: the mapping from matrix elements to places of a tensor in memory (SPV_NV_tensor_addressing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Operation
from generators.program.values import ScalarValue, TensorLayout, TensorView


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
