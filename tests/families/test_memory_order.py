"""Nothing that orders memory in the families of memory order can be left out: without it the embedded device finds a race, and an embedded
device with weak memory counts stale reads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.pipeline import passed_on
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange, make_kernels
from cts.verdict.compare import compare, is_permitted, wrong_elements
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.kernel import Kernel
from generators.passes import PassBarrier
from generators.spirv.enumerants import MemoryAccess, MemorySemantics, Op, Scope
from generators.spirv.reader import HEADER_WORDS, Instruction, read_instructions
from tests.suite import casebook
from tests.undefined import undefined

DEVICE = EmbeddedDevice(load_profile("universal"))
WEAK = [EmbeddedDevice(load_profile("universal"), choices=seed, weak=True) for seed in range(5)]
MASK = {
    Op.CooperativeMatrixLoadKHR: 5,
    Op.CooperativeMatrixStoreKHR: 4,
    Op.CooperativeMatrixLoadTensorNV: 5,
    Op.CooperativeMatrixStoreTensorNV: 3,
    Op.CooperativeVectorLoadNV: 4,
    Op.CooperativeVectorStoreNV: 3,
}
"""The place of the memory operands among an instruction's operands."""
SCOPE = {Op.ControlBarrier: 1, Op.MemoryBarrier: 0, Op.AtomicIAdd: 3, Op.AtomicOr: 3}
"""The place of the memory scope; the semantics follow it."""
Words = list[int]
Edit = Callable[["Module", Op, Words], Words | None]
"""Returns the operands of an instruction in a weaker module; None if the instruction is left out."""


class Module:
    """A module that is being edited."""

    def __init__(self, module: bytes) -> None:
        self.header = list(struct.unpack(f"<{HEADER_WORDS}I", module[: 4 * HEADER_WORDS]))
        self.instructions = list(read_instructions(module))
        self.constants: dict[int, int] = {}
        u32 = next(one.operands[0] for one in self.instructions if one.op is Op.TypeInt and one.operands[1:] == (32, 0))
        self.u32 = u32
        self.values = {one.operands[1]: one.operands[2] for one in self.instructions if one.op is Op.Constant and one.operands[0] == u32}

    def constant(self, value: int) -> int:
        """Return the id of a u32 constant."""
        if value not in self.constants:
            self.constants[value] = self.header[3]
            self.header[3] += 1
        return self.constants[value]

    def weaker(self, edit: Edit, chosen: Callable[[int, Instruction], bool]) -> bytes:
        """Return the module with ``edit`` of the ``chosen`` instructions, which it gets with their numbers."""
        body: Words = []
        begin = 0
        for number, one in enumerate(self.instructions):
            operands = edit(self, one.op, list(one.operands)) if chosen(number, one) else list(one.operands)
            if one.op is Op.Function and not begin:
                begin = len(body)
            if operands is not None:
                body += [int(one.op) | len(operands) + 1 << 16, *operands]
        added = [word for value, id_ in self.constants.items() for word in (int(Op.Constant) | 4 << 16, self.u32, id_, value)]
        words = [*self.header, *body[:begin], *added, *body[begin:]]
        return struct.pack(f"<{len(words)}I", *words)


def without(bit: MemoryAccess) -> Edit:
    """Remove a memory operand, and the operands that need it."""

    def edit(_: Module, op: Op, operands: Words) -> Words:
        at = MASK[op]
        mask, extra, kept = operands[at], operands[at + 1 :], list[int]()
        removed = int(bit)
        if bit is MemoryAccess.NonPrivatePointer:
            removed |= int(MemoryAccess.MakePointerAvailable | MemoryAccess.MakePointerVisible)
        for one in (MemoryAccess.Aligned, MemoryAccess.MakePointerAvailable, MemoryAccess.MakePointerVisible):
            if mask & one:
                word = extra.pop(0)
                if not removed & one:
                    kept.append(word)
        return [*operands[:at], mask & ~removed, *kept, *extra]

    return edit


def narrower(module: Module, op: Op, operands: Words) -> Words:
    """Narrow the scope of availability, visibility or order by one step: queue family, workgroup, subgroup, invocation."""
    steps = {Scope.QueueFamily: Scope.Workgroup, Scope.Workgroup: Scope.Subgroup, Scope.Subgroup: Scope.Invocation}
    at = SCOPE[op] if op in SCOPE else MASK[op] + 1 + bool(operands[MASK[op]] & MemoryAccess.Aligned)
    places = [0, 1] if op is Op.ControlBarrier and module.values[operands[0]] != Scope.Subgroup else [at]
    for place in places:
        operands[place] = module.constant(int(steps[Scope(module.values[operands[place]])]))
    return operands


def semantics(kept: int) -> Edit:
    """Keep only some bits of the semantics."""

    def edit(module: Module, op: Op, operands: Words) -> Words:
        at = SCOPE[op] + 1
        operands[at] = module.constant(module.values[operands[at]] & kept)
        return operands

    return edit


def dropped(*_: object) -> None:
    """Leave the instruction out."""


def no_bits(*bits: MemorySemantics) -> Edit:
    return semantics(~sum(int(bit) for bit in bits))


STORES = (Op.CooperativeMatrixStoreKHR, Op.CooperativeMatrixStoreTensorNV, Op.CooperativeVectorStoreNV)
LOADS = (Op.CooperativeMatrixLoadKHR, Op.CooperativeMatrixLoadTensorNV, Op.CooperativeVectorLoadNV)
BARRIERS = (Op.ControlBarrier, Op.MemoryBarrier)
ATOMICS = (Op.AtomicIAdd, Op.AtomicOr)


def shared(stores: bool, bit: MemoryAccess) -> Callable[[int, Instruction], bool]:
    """Choose the accesses to what is passed on, by the memory operand that they have."""
    ops = STORES if stores else LOADS
    return lambda _, one: one.op in ops and len(one.operands) > MASK[one.op] and bool(one.operands[MASK[one.op]] & bit)


def each(ops: Sequence[Op]) -> Callable[[int, Instruction], bool]:
    return lambda _, one: one.op in ops


NON_PRIVATE, AVAILABLE, VISIBLE = MemoryAccess.NonPrivatePointer, MemoryAccess.MakePointerAvailable, MemoryAccess.MakePointerVisible
PRIVATE: Mapping[str, tuple[Edit, Callable[[int, Instruction], bool]]] = {
    "private stores": (without(NON_PRIVATE), shared(True, NON_PRIVATE)),
    "private loads": (without(NON_PRIVATE), shared(False, NON_PRIVATE)),
}
BY_BARRIER = {
    **PRIVATE,
    "no control barrier": (dropped, each([Op.ControlBarrier])),
    "no semantics": (semantics(0), each(BARRIERS)),
    "no memory": (no_bits(MemorySemantics.UniformMemory, MemorySemantics.WorkgroupMemory), each(BARRIERS)),
    "not available": (no_bits(MemorySemantics.MakeAvailable), each(BARRIERS)),
    "not visible": (no_bits(MemorySemantics.MakeVisible), each(BARRIERS)),
    "narrower barriers": (narrower, each(BARRIERS)),
}
BY_FENCES = {**BY_BARRIER, "no memory barriers": (dropped, each([Op.MemoryBarrier]))}
BY_ACCESS = {
    **PRIVATE,
    **{key: BY_BARRIER[key] for key in ("no control barrier", "no semantics", "no memory")},
    "narrower barriers": BY_BARRIER["narrower barriers"],
    "stores not available": (without(AVAILABLE), shared(True, AVAILABLE)),
    "loads not visible": (without(VISIBLE), shared(False, VISIBLE)),
    "stores available in less": (narrower, shared(True, AVAILABLE)),
    "loads visible in less": (narrower, shared(False, VISIBLE)),
}
# The atomics make what is available in the workgroup available beyond it, so stores need not reach further.
ACROSS = {
    **{key: weaker for key, weaker in BY_ACCESS.items() if key != "stores available in less"},
    "relaxed atomics": (semantics(0), each(ATOMICS)),
    "relaxed start of the turn": (semantics(0), each([Op.AtomicOr])),
    "relaxed end of the turn": (semantics(0), each([Op.AtomicIAdd])),
    "atomics that order no buffers": (no_bits(MemorySemantics.UniformMemory), each(ATOMICS)),
    "narrower atomics": (narrower, each(ATOMICS)),
    "narrower start of the turn": (narrower, each([Op.AtomicOr])),
    "narrower end of the turn": (narrower, each([Op.AtomicIAdd])),
}

MATRICES = "memory_order[component:f16/{}]"
BARRIER, FENCES, ACCESS = "handover:barrier", "handover:fences", "handover:access"
STORAGE = ("workgroup", "storage_buffer", "physical_storage_buffer")
HANDOVER = ((BARRIER, BY_BARRIER), (FENCES, BY_FENCES), (ACCESS, BY_ACCESS))


def pairs(name: str, *forms: str) -> list[tuple[str, Mapping[str, tuple[Edit, Callable[[int, Instruction], bool]]]]]:
    """Return cases with each pair of a form, a storage and a handover: nothing in the families' programs depends on all three."""
    return [
        (name.format(f"form:{forms[(row + column) % len(forms)]}/storage:{storage}/{handover}"), weaker)
        for row, storage in enumerate(STORAGE)
        for column, (handover, weaker) in enumerate(HANDOVER)
    ]


CASES = pairs(MATRICES, "subgroup", "workgroup", "plain")
CASES += [(MATRICES.format(f"form:{form}/storage:storage_buffer/{ACCESS}/access:tensor"), BY_ACCESS) for form in ("subgroup", "workgroup")]
CASES += [(MATRICES.format(f"form:workgroup/{ACCESS}/extra:{extra}"), BY_ACCESS) for extra in ("volatile", "nontemporal")]
CASES += [(MATRICES.format(f"form:workgroups/storage:storage_buffer/{ACCESS}{more}"), ACROSS) for more in ("", "/access:tensor")]

VECTORS = "vector_memory_order[component:f16/{}]"
CASES += pairs(VECTORS, "neighbour", "mirrored")
CASES += [(VECTORS.format(f"form:mirrored/{ACCESS}/extra:{extra}"), BY_ACCESS) for extra in ("volatile", "nontemporal")]
CASES += [(VECTORS.format(f"form:workgroups/storage:storage_buffer/{ACCESS}"), ACROSS)]


@pytest.mark.parametrize(("name", "weaker"), CASES, ids=[name for name, _ in CASES])
def test_whatever_orders_memory_is_needed(name, weaker):
    built = build(find_case(casebook(), name))
    plan, (whole,) = arrange(built), make_kernels(built, "spirv")

    expected, before = plan.expected[0], plan.before[0]
    counts = [placed for placed in expected.placed if placed.array == "stale"]

    def outputs(device: EmbeddedDevice, run: Kernel) -> Mapping[str, np.ndarray]:
        return device.run(run, plan.dispatches[:1])[0].outputs

    assert all(is_permitted(built.program, expected, before, {**before, **outputs(device, whole)}) for device in (DEVICE, *WEAK))
    survivors = []
    for what, (edit, chosen) in weaker.items():
        module = Module(whole.spirv).weaker(edit, chosen)
        assert module != whole.spirv, what
        weakened = kernel(built.program, module)
        try:
            with undefined("KHR-MEM-01"):
                DEVICE.run(weakened, plan.dispatches[:1])
        except pytest.fail.Exception:
            survivors.append(what)
        read = (outputs(device, weakened) for device in WEAK)
        if not any(wrong_elements(placed, before, one).any() for one in read for placed in counts):
            survivors.append(f"{what}: no stale read")
    assert not survivors


DISPATCHES = [
    MATRICES.format("form:dispatches/storage:storage_buffer"),
    MATRICES.format("use:acc/form:dispatches/storage:storage_buffer/read:column/access:tensor_loads/between:buffers"),
    VECTORS.format("form:dispatches/storage:storage_buffer"),
]


def _run(name: str, devices: Sequence[EmbeddedDevice], barrier: PassBarrier | None = None) -> list[set[str]]:
    """Return, for each device, the arrays in which the results of a case are wrong. ``barrier``: replaces the case's own."""
    built = build(find_case(casebook(), name))
    plan, (whole,) = arrange(built), make_kernels(built, "spirv")
    assert whole.passes is not None
    run = whole if barrier is None else replace(whole, passes=replace(whole.passes, barrier=barrier))
    outcomes = [device.run(run, plan.dispatches[:1])[0] for device in devices]
    return [{mismatch.array for mismatch in compare(built.program, plan.expected[0], plan.before[0], one)} for one in outcomes]


@pytest.mark.parametrize("name", DISPATCHES)
def test_dispatches_are_ordered_only_by_a_barrier_with_accesses(name):
    assert _run(name, [DEVICE, *WEAK]) == [set()] * 6
    for barrier in ("execution", "none"):
        with undefined("KHR-MEM-01"):
            _run(name, [DEVICE], barrier)
        assert any("stale" in wrong for wrong in _run(name, WEAK, barrier))


def _first_lines_kept(_):
    """Keep the first 64 bytes of each buffer in a cache beyond the end of the dispatch."""
    return lambda contents, before: np.concatenate((before[:64], contents[64:]))


@pytest.mark.parametrize("name", DISPATCHES)
def test_writes_that_do_not_reach_the_next_dispatch_are_seen(name):
    device = EmbeddedDevice(load_profile("universal"), faults=Faults(operations={passed_on: _first_lines_kept}))
    assert _run(name, [device]) == [{"stale"}]


@pytest.mark.parametrize("name", ["memory_order[component:f16]", "vector_memory_order[component:f16]"])
def test_a_gpu_runs_more_rounds_with_the_same_results(name):
    built = build(find_case(casebook(), name))
    few, (whole,) = arrange(built), make_kernels(built, "spirv")
    many = arrange(built, on_gpu=True)
    assert few.dispatches[0].push_constants != many.dispatches[0].push_constants
    outcome = DEVICE.run(whole, many.dispatches[:1])[0]
    assert not compare(built.program, few.expected[0], few.before[0], outcome)
