"""Barriers."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import Violation, enumerant_text
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.memory.ordering import MemoryKind
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.values import Value
from generators.spirv.enumerants import MemorySemantics, Op, Scope
from generators.types import Scope as MatrixScope

_RELEASE = MemorySemantics.Release | MemorySemantics.AcquireRelease | MemorySemantics.SequentiallyConsistent
_ACQUIRE = MemorySemantics.Acquire | MemorySemantics.AcquireRelease | MemorySemantics.SequentiallyConsistent
_ORDERS = _RELEASE | _ACQUIRE
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


def _check(translation: Translation, semantics: int) -> None:
    """Refuse semantics of a barrier with several memory orders, or with storage classes and none.

    Raises:
        Violation: it has such semantics, and the device is strict.
    """
    orders = (semantics & _ORDERS).bit_count()
    if orders > 1 and translation.settings.strict:
        raise Violation("VUID-StandaloneSpirv-MemorySemantics-10865", f"semantics {semantics:#x} with {orders} memory orders")
    if not orders and any(semantics & bit for bit, _ in _KINDS) and translation.settings.strict:
        raise Violation("VUID-StandaloneSpirv-MemorySemantics-10871", f"semantics {semantics:#x} with storage classes and no memory order")


@executes(Op.ControlBarrier)
def _control_barrier(translation: Translation, words: Words) -> Run:
    scope, memory_scope, semantics = (translation.constant(w) for w in words)
    machine = translation.machine
    _check(translation, semantics)
    if scope not in (Scope.Workgroup, Scope.Subgroup):
        named = enumerant_text(Scope, int(scope))
        raise Violation("VUID-StandaloneSpirv-None-04636", f"a control barrier of scope {named}; only Workgroup and Subgroup are allowed")
    subgroup_only = scope == Scope.Subgroup or memory_scope in (Scope.Subgroup, Scope.Invocation)
    own = semantics if _orders(semantics) and memory_scope != Scope.Invocation else 0
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
                text = f"only {active} of {machine.lanes} invocations reach the barrier, which the whole {what.name.lower()} must reach"
                machine.forbid("SPIR-V 3.42.20 OpControlBarrier", text)
        reached = _executing(machine) if subgroup_only else None
        if own:
            machine.clock.barrier(kinds, available, visible, reached)
        else:
            machine.clock.meet(reached)

    return run


@executes(Op.MemoryBarrier)
def _memory_barrier(translation: Translation, words: Words) -> Run:
    scope, semantics = (translation.constant(w) for w in words)
    _check(translation, semantics)
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
