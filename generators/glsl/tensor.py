"""tensorLayoutNV and tensorViewNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, tensor_parameters
from generators.program.program import Program
from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting, ViewCreate, ViewSet, ViewSetting
from generators.program.values import Operand, ScalarValue
from generators.program.walking import flattened

_LAYOUT_SETTINGS: Mapping[LayoutSetting, str] = MappingProxyType(
    {
        "dimension": "setTensorLayoutDimensionNV",
        "stride": "setTensorLayoutStrideNV",
        "slice": "sliceTensorLayoutNV",
        "clamp_value": "setTensorLayoutClampValueNV",
        "block_size": "setTensorLayoutBlockSizeNV",
    }
)
_VIEW_SETTINGS: Mapping[ViewSetting, str] = MappingProxyType(
    {"dimension": "setTensorViewDimensionsNV", "stride": "setTensorViewStrideNV", "clip": "setTensorViewClipNV"}
)


def flags(program: Program) -> frozenset[Operand]:
    """Return the specialization constants that are declared as bool; they tell whether a view has its own dimensions. As VkBool32 they have
    the size and the values of the program's u32; glslang 16.6 crashes on ``flag != 0`` in the parameters of a view."""
    views = [operation.result for operation in flattened(program.operations) if isinstance(operation, ViewCreate)]
    return frozenset(view.type.has_dimensions for view in views if isinstance(view.type.has_dimensions, Operand))


@prints(LayoutCreate, ViewCreate)
def emit_create(shader: Shader, create: LayoutCreate | ViewCreate) -> None:
    """Write the creation of a layout or view."""
    kind = "Layout" if isinstance(create, LayoutCreate) else "View"
    assign(shader, create.result, f"createTensor{kind}NV({tensor_parameters(shader, create.result.type)})")


@prints(LayoutSet)
def emit_layout_set(shader: Shader, change: LayoutSet) -> None:
    """Write a copy of a layout with another setting."""
    _emit_set(shader, change, change.layout.name, _LAYOUT_SETTINGS[change.setting])


@prints(ViewSet)
def emit_view_set(shader: Shader, change: ViewSet) -> None:
    """Write a copy of a view with another setting."""
    _emit_set(shader, change, change.view.name, _VIEW_SETTINGS[change.setting])


def _emit_set(shader: Shader, change: LayoutSet | ViewSet, base: str, function: str) -> None:
    operands = ", ".join((identifier(base), *(_operand(shader, operand) for operand in change.operands)))
    assign(shader, change.result, f"{function}({operands})")


def _operand(shader: Shader, value: ScalarValue) -> str:
    """Return a parameter. Parameters are uint, except a slice's offsets, which are int; the other type is converted, which keeps its bits.

    Raises:
        NotExpressible: it does not have 32 bits.
    """
    if value.type.is_float or value.type.bits != 32:
        raise NotExpressible(Lack.INDEX_TYPE, f"the operands of tensor layouts and views have 32 bits in GLSL, not {value.type}")
    return shader.text(value)
