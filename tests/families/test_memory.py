"""Every barrier of family memory, and every scope of availability, is needed: without it the embedded device stops the case."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from generators.casebook import BuiltCase, build, find_case
from generators.dispatch import kernel
from generators.placements.place import Placed
from generators.program.control_flow import Branch
from generators.program.load_store import MemoryOperand
from generators.program.program import Built
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.workgroup import Barrier
from generators.spirv.emit import emit
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from generators.types import MemoryAccess, MemoryScope
from tests.suite import casebook
from tests.undefined import undefined

DEVICE = EmbeddedDevice(load_profile("universal"))
FORMS = ("workgroup", "plain_to_matrix", "matrix_to_plain", "plain_around_matrix", "in_place", "tiles", "reload_other", "reload_plain")


def case_of(form, storage="workgroup", handover="barrier"):
    name = f"memory[component:f16/subgroups:2/form:{form}/storage:{storage}/handover:{handover}/read:column]"
    return find_case(casebook(), name)


def run(case, program):
    return run_words(case, program, emit(program))


def run_words(case, program, module):
    plan = arrange(BuiltCase(case, Built(program, build(case).built.draw), Placed(program, {})))
    return DEVICE.run(kernel(program, module), plan.dispatches[:1])


def without_memory_barrier(module, which):
    """Return a module without one of its memory barriers."""
    words = list(struct.unpack(f"<{len(module) // 4}I", module))
    found = [one for one in read_instructions(module) if one.op is Op.MemoryBarrier][which]
    del words[found.position : found.position + 1 + len(found.operands)]
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize("storage", ["workgroup", "storage_buffer"])
@pytest.mark.parametrize("form", ["subgroup", "reload", *FORMS])
def test_no_barrier_can_be_left_out(form, storage):
    case = case_of(form, storage)
    program = build(case, is_placed=False).program
    run(case, program)
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Barrier):
            fewer = replace(program, operations=program.operations[:number] + program.operations[number + 1 :])
            with undefined("KHR-MEM-01"):
                run(case, fewer)


@pytest.mark.parametrize("side", [0, 1])
def test_neither_memory_barrier_can_be_left_out(side):
    case = case_of("workgroup", handover="fences")
    program = build(case, is_placed=False).program
    whole = run_words(case, program, emit(program))
    assert whole
    with undefined("KHR-MEM-01"):
        run_words(case, program, without_memory_barrier(emit(program), side))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "plain_around_matrix"])
def test_a_barrier_of_the_subgroup_does_not_do_for_the_workgroup(form):
    case = case_of(form)
    program = build(case, is_placed=False).program
    narrow = tuple(replace(o, scope=MemoryScope.SUBGROUP) if isinstance(o, Barrier) else o for o in program.operations)
    with undefined("KHR-MEM-01"):
        run(case, replace(program, operations=narrow))


def without_each_barrier(operations):
    """Yield the operations with one barrier removed, for each barrier, including those in branches."""
    for number, operation in enumerate(operations):
        before, after = operations[:number], operations[number + 1 :]
        if isinstance(operation, Barrier):
            yield before + after
        elif isinstance(operation, Branch):
            yield from ((*before, replace(operation, then=then), *after) for then in without_each_barrier(operation.then))


@pytest.mark.parametrize(("form", "barriers"), [("own_copies", 1), ("divided", 1), ("divided_plain", 3)])
def test_no_barrier_of_a_subgroup_can_be_left_out(form, barriers):
    case = find_case(casebook(), f"memory[component:f16/subgroups:2/form:{form}]")
    program = build(case, is_placed=False).program
    run(case, program)
    fewer = list(without_each_barrier(program.operations))
    assert len(fewer) == barriers
    for operations in fewer:
        with undefined("KHR-MEM-01"):
            run(case, replace(program, operations=operations))


TENSORS = [("subgroup", "barrier"), ("workgroup", "barrier"), ("workgroup", "access"), ("in_place", "access")]


@pytest.mark.parametrize("storage", ["workgroup", "storage_buffer"])
@pytest.mark.parametrize("access", ["tensor", "tensor_stores", "tensor_loads"])
@pytest.mark.parametrize(("form", "handover"), TENSORS)
def test_no_barrier_between_tensor_accesses_can_be_left_out(form, handover, access, storage):
    case = find_case(casebook(), f"memory[component:f16/subgroups:2/form:{form}/storage:{storage}/handover:{handover}/access:{access}]")
    program = build(case, is_placed=False).program
    run(case, program)
    for operations in without_each_barrier(program.operations):
        with undefined("KHR-MEM-01"):
            run(case, replace(program, operations=operations))


def private(operations, kind):
    """Limit the availability or visibility of a kind of tensor access to the shared array to the subgroup."""

    def change(operation):
        if not isinstance(operation, kind):
            return operation
        made = MemoryAccess.MAKE_POINTER_VISIBLE if kind is TensorLoad else MemoryAccess.MAKE_POINTER_AVAILABLE
        return replace(operation, memory=MemoryOperand(MemoryAccess.NON_PRIVATE_POINTER | made, scope=MemoryScope.SUBGROUP))

    return tuple(change(operation) for operation in operations)


@pytest.mark.parametrize("kind", [TensorLoad, TensorStore])
def test_a_tensor_access_must_reach_the_workgroup(kind):
    """If barriers make nothing available or visible, the accesses must do so (CM2-MEM-03)."""
    name = "memory[component:f16/subgroups:2/form:workgroup/storage:storage_buffer/handover:access/access:tensor]"
    case = find_case(casebook(), name)
    program = build(case, is_placed=False).program
    run(case, program)
    with undefined("KHR-MEM-01"):
        run(case, replace(program, operations=private(program.operations, kind)))
