"""Built-in variables: of compute shaders, and of the stages that a draw runs.

In a draw, each invocation is a lane, in the order of its number in the draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Malformed, Unsupported, enumerant_text
from cts.embedded.faults import replaceable
from cts.embedded.machine.machine import Machine
from cts.embedded.module.translation import Translation
from cts.embedded.types.shapes import element_of, is_int32, shape_of
from cts.embedded.types.spirv_types import Number, Type, Vector, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import BuiltIn, StorageClass
from generators.stages import Draw

_VECTORS: Mapping[int, int] = MappingProxyType(
    {
        BuiltIn.WorkgroupId: 3,
        BuiltIn.NumWorkgroups: 3,
        BuiltIn.WorkgroupSize: 3,
        BuiltIn.LocalInvocationId: 3,
        BuiltIn.GlobalInvocationId: 3,
        BuiltIn.LocalInvocationIndex: 0,
        BuiltIn.SubgroupSize: 0,
        BuiltIn.NumSubgroups: 0,
        BuiltIn.SubgroupId: 0,
        BuiltIn.SubgroupLocalInvocationId: 0,
        BuiltIn.SubgroupEqMask: 4,
        BuiltIn.SubgroupGeMask: 4,
        BuiltIn.SubgroupGtMask: 4,
        BuiltIn.SubgroupLeMask: 4,
        BuiltIn.SubgroupLtMask: 4,
    }
)
"""Built-in of a compute shader -> the number of 32-bit integers in its vector; 0 for a scalar."""


def check_built_in(which: int, type_: Type) -> None:
    """Check that a variable can be a built-in.

    Raises:
        Unsupported: the interpreter lacks the built-in.
        Malformed: the variable has the wrong type.
    """
    count = _VECTORS.get(which)
    if count is None:
        raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)}")
    if shape_of(type_) != count or not is_int32(element_of(type_)):
        raise Malformed(f"built-in {BuiltIn(which).name} cannot be a {type_text(type_)}")


@replaceable
def built_in(translation: Translation, which: int, type_: Type) -> Value:
    """Return the value of a built-in variable in the workgroup that runs.

    Raises:
        Unsupported: the built-in does not belong to compute shaders.
    """
    machine = translation.machine
    x, y, _ = translation.local_size
    lane = np.arange(machine.lanes, dtype=np.uint32)
    local = (lane % x, lane // x % y, lane // (x * y))
    if isinstance(type_, Vector):
        match which:
            case BuiltIn.WorkgroupId:
                return machine.workgroup
            case BuiltIn.NumWorkgroups:
                return machine.workgroups
            case BuiltIn.WorkgroupSize:
                return translation.local_size
            case BuiltIn.LocalInvocationId:
                return tuple(_simple(v) for v in local)
            case BuiltIn.GlobalInvocationId:
                size = translation.local_size
                return tuple(_simple(v + np.uint32(g * s)) for v, g, s in zip(local, machine.workgroup, size, strict=True))
            case _:
                return _subgroup_mask(machine, which, lane)
    match which:
        case BuiltIn.LocalInvocationIndex:
            return _simple(lane)
        case BuiltIn.SubgroupSize:
            return machine.subgroup_size
        case BuiltIn.NumSubgroups:
            return machine.subgroups
        case BuiltIn.SubgroupId:
            return _simple(lane // machine.subgroup_size)
        case BuiltIn.SubgroupLocalInvocationId:
            return _simple(lane % machine.subgroup_size)
        case _:
            raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)}")


def _subgroup_mask(machine: Machine, which: int, lane: np.ndarray) -> Value:
    own = lane % machine.subgroup_size
    comparisons: dict[int, np.ufunc] = {
        BuiltIn.SubgroupEqMask: np.equal,
        BuiltIn.SubgroupGeMask: np.greater_equal,
        BuiltIn.SubgroupGtMask: np.greater,
        BuiltIn.SubgroupLeMask: np.less_equal,
        BuiltIn.SubgroupLtMask: np.less,
    }
    compare = comparisons.get(which)
    if compare is None:
        raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)}")
    words = []
    for word in range(4):
        bits = np.arange(32 * word, 32 * word + 32)
        member = compare(bits, own[:, None]) & (bits < machine.subgroup_size)
        words.append((member.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32))
    return tuple(words)


def _simple(value: np.ndarray) -> Value:
    """Return a Python int if all invocations agree, else the array."""
    return int(value[0]) if (value == value[0]).all() else value.astype(np.uint32)


def check_drawn_built_in(which: int, type_: Type, storage: StorageClass, draw: Draw) -> None:
    """Check that a variable can be a built-in of the draw's stage.

    Raises:
        Unsupported: the interpreter lacks the built-in in this stage.
        Malformed: the variable has the wrong type.
    """
    match draw.stage, storage, which:
        case "fragment", StorageClass.Input, BuiltIn.FragCoord:
            fits = shape_of(type_) == 4 and _is_f32(element_of(type_))
        case "vertex", StorageClass.Input, BuiltIn.VertexIndex:
            fits = is_int32(type_)
        case "vertex", StorageClass.Output, BuiltIn.PointSize:
            fits = _is_f32(type_)
        case _:
            raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)} of {storage.name} storage in the {draw.stage} stage")
    if not fits:
        raise Malformed(f"built-in {BuiltIn(which).name} cannot be a {type_text(type_)}")


def drawn_built_in(which: int, draw: Draw) -> Value:
    """Return the value of an input. A fragment is a pixel: FragCoord is its center. Its depth is 0, and its 1/w is 1."""
    lane = np.arange(draw.invocations, dtype=np.uint32)
    if which == BuiltIn.VertexIndex:
        return lane
    half, zeros = np.float32(0.5), np.zeros(len(lane), np.float32)
    return ((lane % draw.width).astype(np.float32) + half, (lane // draw.width).astype(np.float32) + half, zeros, zeros + np.float32(1))


def _is_f32(type_: Type) -> bool:
    return isinstance(type_, Number) and type_.component.name == "f32"
