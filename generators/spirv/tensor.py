"""Tensor layouts and views."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting, ViewCreate, ViewSet, ViewSetting
from generators.program.values import TensorLayoutType, TensorViewType
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits

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


def tensor_type(shader: Shader, type_: TensorLayoutType | TensorViewType) -> int:
    """Return the id of a tensor layout's or view's type."""
    module = shader.module
    module.require(Capability.TensorAddressingNV)
    if isinstance(type_, TensorLayoutType):
        # ClampMode is an IntEnum: a literal one is also an extent.
        return module.type(Op.TypeTensorLayoutNV, shader.extent(type_.rank), shader.extent(type_.clamp))
    rank = shader.extent(len(type_.permutation) if type_.rank is None else type_.rank)
    permutation = [shader.extent(dimension) for dimension in type_.permutation]
    return module.type(Op.TypeTensorViewNV, rank, shader.boolean(type_.has_dimensions), *permutation)


@emits(LayoutCreate, ViewCreate)
def emit_create(shader: Shader, create: LayoutCreate | ViewCreate) -> None:
    """Emit the creation of a layout or view."""
    op = Op.CreateTensorLayoutNV if isinstance(create, LayoutCreate) else Op.CreateTensorViewNV
    shader.module.value(op, tensor_type(shader, create.result.type), result=shader.define(create.result))


@emits(LayoutSet)
def emit_layout_set(shader: Shader, change: LayoutSet) -> None:
    """Emit a copy of a layout with another setting."""
    operands = [shader.id(operand) for operand in change.operands]
    shader.module.value(
        _LAYOUT_SETTINGS[change.setting],
        tensor_type(shader, change.result.type),
        shader.define(change.layout),
        *operands,
        result=shader.define(change.result),
    )


@emits(ViewSet)
def emit_view_set(shader: Shader, change: ViewSet) -> None:
    """Emit a copy of a view with another setting."""
    operands = [shader.id(operand) for operand in change.operands]
    shader.module.value(
        _VIEW_SETTINGS[change.setting],
        tensor_type(shader, change.result.type),
        shader.define(change.view),
        *operands,
        result=shader.define(change.result),
    )
