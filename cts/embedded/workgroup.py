"""Barriers, and built-in variables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Malformed, Unsupported, Violation, enumerant_text
from cts.embedded.faults import replaceable
from cts.embedded.machine import Machine, Run
from cts.embedded.ordering import MemoryKind
from cts.embedded.shapes import element_of, shape_of
from cts.embedded.spirv_types import Type, Vector, type_text
from cts.embedded.tensor_types import is_int32
from cts.embedded.translation import Handler, Translation, Words
from cts.embedded.values import Value
from generators.spirv.enumerants import BuiltIn, MemorySemantics, Op, Scope
from generators.types import Scope as MatrixScope

_RELEASE = MemorySemantics.Release | MemorySemantics.AcquireRelease | MemorySemantics.SequentiallyConsistent
_ACQUIRE = MemorySemantics.Acquire | MemorySemantics.AcquireRelease | MemorySemantics.SequentiallyConsistent
_KINDS: tuple[tuple[MemorySemantics, MemoryKind], ...] = (
    (MemorySemantics.WorkgroupMemory, "workgroup"),
    (MemorySemantics.UniformMemory, "buffer"),
    (MemorySemantics.ImageMemory, "image"),
)


def _orders(semantics: int) -> bool:
    return bool(semantics & _RELEASE) and bool(semantics & _ACQUIRE)


def _reach(translation: Translation, semantics: int) -> tuple[tuple[MemoryKind, ...], bool, bool]:
    """Return the kinds of memory that a barrier orders, and whether it makes writes available and visible."""
    shared = not translation.private_model
    available, visible = (shared or bool(semantics & bit) for bit in (MemorySemantics.MakeAvailable, MemorySemantics.MakeVisible))
    return tuple(kind for bit, kind in _KINDS if semantics & bit), available, visible


def _executing(machine: Machine) -> np.ndarray:
    """Return the numbers of the subgroups that execute."""
    return np.unique(np.flatnonzero(machine.mask) // machine.subgroup_size)


_BEYOND = (Scope.Device, Scope.QueueFamily)


def _fence_beyond(translation: Translation, semantics: int) -> None:
    """Note a memory barrier whose scope is wider than the workgroup."""
    machine = translation.machine
    _, available, visible = _reach(translation, semantics)
    machine.clock.fence_beyond(np.flatnonzero(machine.mask), bool(semantics & _RELEASE), bool(semantics & _ACQUIRE), available, visible)


def _control_barrier(translation: Translation, words: Words) -> Run:
    scope, memory_scope, semantics = (translation.constant(w) for w in words)
    machine = translation.machine
    if scope not in (Scope.Workgroup, Scope.Subgroup):
        raise Violation("VUID-StandaloneSpirv-None-04636", f"a control barrier at scope {scope}")
    subgroup_only = scope == Scope.Subgroup or memory_scope in (Scope.Subgroup, Scope.Invocation)
    own = semantics if _orders(semantics) else 0
    kinds, available, visible = _reach(translation, own)
    beyond = memory_scope in _BEYOND and bool(semantics & MemorySemantics.UniformMemory)

    def run() -> Value:
        if beyond:
            _fence_beyond(translation, semantics)
        if not machine.full:
            what = MatrixScope.SUBGROUP if scope == Scope.Subgroup else MatrixScope.WORKGROUP
            try:
                machine.active_instances(what)
            except Violation:
                active = int(machine.mask.sum())
                text = f"a barrier that {active} of {machine.lanes} invocations reach, not the whole {what.name.lower()}"
                machine.forbid("SPIR-V 3.42.20 OpControlBarrier", text)
        reached = _executing(machine) if subgroup_only else None
        if own:
            machine.clock.barrier(kinds, available, visible, reached)
        else:
            machine.clock.meet(reached)

    return run


def _memory_barrier(translation: Translation, words: Words) -> Run:
    scope, semantics = (translation.constant(w) for w in words)
    machine = translation.machine
    kinds, available, visible = _reach(translation, semantics)
    beyond = scope in _BEYOND and bool(semantics & MemorySemantics.UniformMemory)
    counts = scope in (Scope.Subgroup, Scope.Workgroup, Scope.Device, Scope.QueueFamily) and _orders(semantics)

    def run() -> Value:
        # A memory barrier alone orders nothing. A control barrier after it does, if the same invocation executes both. In a function that
        # is called for elements, it is not specified which invocation executes either.
        if beyond and not machine.callback:
            _fence_beyond(translation, semantics)
        if counts and not machine.callback:
            alone = scope == Scope.Subgroup or not machine.full
            machine.clock.fence(kinds, available, visible, _executing(machine) if alone else None)

    return run


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


HANDLERS: Mapping[Op, Handler] = MappingProxyType({Op.ControlBarrier: _control_barrier, Op.MemoryBarrier: _memory_barrier})
"""Handlers for barriers."""
