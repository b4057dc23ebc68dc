"""Tensor layouts and views."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting, ViewCreate, ViewSet, ViewSetting
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute

_LAYOUT_SETTINGS: Mapping[LayoutSetting, Op] = MappingProxyType(
    {
        "dimension": Op.TensorLayoutSetDimensionNV,
        "stride": Op.TensorLayoutSetStrideNV,
        "slice": Op.TensorLayoutSliceNV,
        "clamp_value": Op.TensorLayoutSetClampValueNV,
        "block_size": Op.TensorLayoutSetBlockSizeNV,
    }
)
_VIEW_SETTINGS: Mapping[ViewSetting, Op] = MappingProxyType(
    {"dimension": Op.TensorViewSetDimensionNV, "stride": Op.TensorViewSetStrideNV, "clip": Op.TensorViewSetClipNV}
)


@emits(LayoutCreate, ViewCreate)
def emit_create(shader: Shader, create: LayoutCreate | ViewCreate) -> None:
    """Emit the creation of a layout or view."""
    op = Op.CreateTensorLayoutNV if isinstance(create, LayoutCreate) else Op.CreateTensorViewNV
    compute(shader, op, create.result)


@emits(LayoutSet)
def emit_layout_set(shader: Shader, change: LayoutSet) -> None:
    """Emit a copy of a layout with another setting."""
    operands = [shader.id(operand) for operand in change.operands]
    compute(shader, _LAYOUT_SETTINGS[change.setting], change.result, change.layout, *operands)


@emits(ViewSet)
def emit_view_set(shader: Shader, change: ViewSet) -> None:
    """Emit a copy of a view with another setting."""
    operands = [shader.id(operand) for operand in change.operands]
    compute(shader, _VIEW_SETTINGS[change.setting], change.result, change.view, *operands)
