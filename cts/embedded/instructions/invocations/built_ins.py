"""Built-in variables: of compute shaders, and of the stages that a draw runs.

In a draw, each invocation is a lane, in the order of its number in the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Malformed, Unsupported, enumerant_text
from cts.embedded.faults import replaceable
from cts.embedded.module.translation import Translation
from cts.embedded.types.shapes import element_of, is_int32, is_number, shape_of
from cts.embedded.types.spirv_types import Type, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import BuiltIn, StorageClass
from generators.stages import Draw

_Compute = Callable[[Translation, np.ndarray], Value]
"""Returns the value of a built-in from the numbers of the invocations, uint32."""


def _local(translation: Translation, lane: np.ndarray) -> tuple[np.ndarray, ...]:
    x, y, _ = translation.local_size
    return lane % x, lane // x % y, lane // (x * y)


def _global(translation: Translation, lane: np.ndarray) -> Value:
    first = (g * s for g, s in zip(translation.machine.workgroup, translation.local_size, strict=True))
    return tuple(_simple(v + np.uint32(begin)) for v, begin in zip(_local(translation, lane), first, strict=True))


def _subgroup_mask(compare: np.ufunc) -> _Compute:
    def compute(translation: Translation, lane: np.ndarray) -> Value:
        size = translation.machine.subgroup_size
        words = []
        for word in range(4):
            bits = np.arange(32 * word, 32 * word + 32)
            member = compare(bits, (lane % size)[:, None]) & (bits < size)
            words.append((member.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32))
        return tuple(words)

    return compute


_BUILT_INS: Mapping[int, tuple[int, _Compute]] = MappingProxyType(
    {
        BuiltIn.WorkgroupId: (3, lambda translation, _: translation.machine.workgroup),
        BuiltIn.NumWorkgroups: (3, lambda translation, _: translation.machine.workgroups),
        BuiltIn.WorkgroupSize: (3, lambda translation, _: translation.local_size),
        BuiltIn.LocalInvocationId: (3, lambda translation, lane: tuple(map(_simple, _local(translation, lane)))),
        BuiltIn.GlobalInvocationId: (3, _global),
        BuiltIn.LocalInvocationIndex: (0, lambda _, lane: _simple(lane)),
        BuiltIn.SubgroupSize: (0, lambda translation, _: translation.machine.subgroup_size),
        BuiltIn.NumSubgroups: (0, lambda translation, _: translation.machine.subgroups),
        BuiltIn.SubgroupId: (0, lambda translation, lane: _simple(lane // translation.machine.subgroup_size)),
        BuiltIn.SubgroupLocalInvocationId: (0, lambda translation, lane: _simple(lane % translation.machine.subgroup_size)),
        BuiltIn.SubgroupEqMask: (4, _subgroup_mask(np.equal)),
        BuiltIn.SubgroupGeMask: (4, _subgroup_mask(np.greater_equal)),
        BuiltIn.SubgroupGtMask: (4, _subgroup_mask(np.greater)),
        BuiltIn.SubgroupLeMask: (4, _subgroup_mask(np.less_equal)),
        BuiltIn.SubgroupLtMask: (4, _subgroup_mask(np.less)),
    }
)
"""Built-in of a compute shader -> the number of 32-bit integers in its vector (0 for a scalar), and its value."""


def check_built_in(which: int, type_: Type) -> None:
    """Check that a variable can be a built-in.

    Raises:
        Unsupported: the interpreter lacks the built-in.
        Malformed: the variable has the wrong type.
    """
    if which not in _BUILT_INS:
        raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)}")
    count, _ = _BUILT_INS[which]
    if shape_of(type_) != count or not is_int32(element_of(type_)):
        raise Malformed(f"built-in {BuiltIn(which).name} cannot be a {type_text(type_)}")


@replaceable
def built_in(translation: Translation, which: int, type_: Type) -> Value:  # noqa: ARG001 (faults need the type)
    """Return the value of a built-in variable, which ``check_built_in`` has checked, in the workgroup that runs."""
    _, compute = _BUILT_INS[which]
    return compute(translation, np.arange(translation.machine.lanes, dtype=np.uint32))


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
            fits = shape_of(type_) == 4 and is_number(element_of(type_), "f32")
        case "vertex", StorageClass.Input, BuiltIn.VertexIndex:
            fits = is_int32(type_)
        case "raygen", StorageClass.Input, BuiltIn.LaunchIdKHR:
            fits = shape_of(type_) == 3 and is_int32(element_of(type_))
        case "vertex", StorageClass.Output, BuiltIn.PointSize:
            fits = is_number(type_, "f32")
        case _:
            raise Unsupported(f"built-in {enumerant_text(BuiltIn, which)} of {storage.name} storage in the {draw.stage} stage")
    if not fits:
        raise Malformed(f"built-in {BuiltIn(which).name} cannot be a {type_text(type_)}")


def drawn_built_in(which: int, draw: Draw) -> Value:
    """Return the value of an input. A fragment is a pixel: FragCoord is its center. Its depth is 0, and its 1/w is 1."""
    lane = np.arange(draw.invocations, dtype=np.uint32)
    if which == BuiltIn.VertexIndex:
        return lane
    if which == BuiltIn.LaunchIdKHR:
        return lane, 0, 0
    half, zeros = np.float32(0.5), np.zeros(len(lane), np.float32)
    return ((lane % draw.width).astype(np.float32) + half, (lane // draw.width).astype(np.float32) + half, zeros, zeros + np.float32(1))
