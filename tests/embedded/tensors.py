"""Short descriptions of modules with one tensor load or store."""

from __future__ import annotations

from collections.abc import Sequence

from generators.spirv.enumerants import TensorClampMode
from tests.embedded.assembly import shader

_OPS = {
    "block": "OpTensorLayoutSetBlockSizeNV",
    "dimension": "OpTensorLayoutSetDimensionNV",
    "stride": "OpTensorLayoutSetStrideNV",
    "slice": "OpTensorLayoutSliceNV",
    "value": "OpTensorLayoutSetClampValueNV",
}
_VIEW_OPS = {"dimension": "OpTensorViewSetDimensionNV", "stride": "OpTensorViewSetStrideNV", "clip": "OpTensorViewSetClipNV"}


def operand(word: str) -> str:
    """Return an id as it is, or the constant of a number: ``3``, ``-1``."""
    return word if word.startswith("%") else f"%s32_{word}" if word.startswith("-") else f"%u32_{word}"


def steps(ops: dict[str, str], type_: str, name: str, create: str, lines: Sequence[str]) -> str:
    """Return the instructions that ``lines`` describe, such as "slice -1 4 0 4", each applied to the previous result.

    The results are %t0, %t1, … for the name t.
    """
    text = f"%{name}0 = {create} %{type_}\n"
    for i, line in enumerate(lines):
        op, *operands = line.split()
        text += f"%{name}{i + 1} = {ops[op]} %{type_} %{name}{i} {' '.join(map(operand, operands))}\n"
    return text


def layout(lines: Sequence[str]) -> str:
    """Return a tensor layout of the type %layout in %t<len(lines)>."""
    return steps(_OPS, "layout", "t", "OpCreateTensorLayoutNV", lines)


def view(lines: Sequence[str]) -> str:
    """Return a tensor view of the type %view in %v<len(lines)>."""
    return steps(_VIEW_OPS, "view", "v", "OpCreateTensorViewNV", lines)


def flat(shape: tuple[int, int]) -> str:
    """Return lines that make %flat1, a layout with a matrix of ``shape`` in row-major order."""
    create = "%flat0 = OpCreateTensorLayoutNV %flat\n"
    return create + f"%flat1 = OpTensorLayoutSetDimensionNV %flat %flat0 %u32_{shape[0] * shape[1]}\n"


def types(
    shape: tuple[int, int],
    dim: int,
    mode: TensorClampMode,
    permutation: str = "",
    own: bool = False,
    component: str = "u32",
    scope: int = 3,
) -> str:
    """Declare %matrix, %flat, %layout and, with a permutation like "1 0", %view; %seven is a matrix of sevens."""
    text = f"%matrix = OpTypeCooperativeMatrixKHR %{component} %u32_{scope} %u32_{shape[0]} %u32_{shape[1]} %u32_2\n"
    text += f"%seven = OpConstantComposite %matrix %{component}_7\n"
    text += "%flat = OpTypeTensorLayoutNV %u32_1 %u32_0\n"
    text += f"%layout = OpTypeTensorLayoutNV %u32_{dim} %u32_{int(mode)}\n"
    if permutation:
        order = permutation.split()
        text += f"%view = OpTypeTensorViewNV %u32_{len(order)} %{str(own).lower()} {' '.join(f'%u32_{p}' for p in order)}\n"
    return text


def load_module(
    shape: tuple[int, int],
    mode: TensorClampMode,
    dim: int,
    lines: Sequence[str],
    permutation: str = "",
    own: bool = False,
    view_lines: Sequence[str] = (),
    component: str = "u32",
    at: str = "0",
    used: int | None = None,
    object_: str = "%seven",
    scope: int = 3,
) -> bytes:
    """Return a module that loads a matrix of ``shape`` from the input at element ``at`` and stores it in row-major order to the output.

    It loads with the layout that the first ``used`` (default: all) of ``lines`` make. At subgroup scope the matrices follow each other in
    the order of the subgroups.
    """
    last = len(lines) if used is None else used
    addressing = f"TensorView %v{len(view_lines)}" if permutation else "None"
    size = f"%u32_{shape[0] * shape[1]}"
    body = flat(shape) + layout(lines) + (view(view_lines) if permutation else "")
    body += f"""
%from = OpAccessChain %ptr_in %input %s32_0 {operand(at)}
%m = OpCooperativeMatrixLoadTensorNV %matrix %from {object_} %t{last} None {addressing}
%first = OpIMul %u32 {"%subgroup" if scope == 3 else "%u32_0"} {size}
%to = OpAccessChain %ptr_out %output %s32_0 %first
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None None
"""
    return shader(body, types(shape, dim, mode, permutation, own, component, scope), buffer_type=component)


def store_module(
    shape: tuple[int, int],
    mode: TensorClampMode,
    dim: int,
    lines: Sequence[str],
    permutation: str = "",
    own: bool = False,
    view_lines: Sequence[str] = (),
    at: str = "0",
    scope: int = 3,
) -> bytes:
    """Return a module that stores the u32 matrix in the input, which is in row-major order, to element ``at`` of the output."""
    addressing = f"TensorView %v{len(view_lines)}" if permutation else "None"
    body = flat(shape) + layout(lines) + (view(view_lines) if permutation else "")
    body += f"""
%from = OpAccessChain %ptr_in %input %s32_0 %u32_0
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %flat1 None None
%to = OpAccessChain %ptr_out %output %s32_0 {operand(at)}
OpCooperativeMatrixStoreTensorNV %to %m %t{len(lines)} None {addressing}
"""
    return shader(body, types(shape, dim, mode, permutation, own, "u32", scope))
