"""Every barrier of family memory, and every scope of availability, is needed: without it the embedded device stops the case."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from cts.devices.device import UndefinedBehaviour
from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from generators.casebook import BuiltCase, build, find_case
from generators.dispatch import kernel
from generators.program.built import Built
from generators.program.workgroup import Barrier
from generators.spirv.emit import emit
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from generators.types import MemoryScope
from tests.suite import casebook

DEVICE = EmbeddedDevice(load_profile("universal"))
FORMS = ("workgroup", "plain_to_matrix", "matrix_to_plain", "plain_around_matrix", "in_place", "tiles", "reload_other", "reload_plain")


def case_of(form, storage="workgroup", handover="barrier"):
    name = f"memory[component:f16/subgroups:2/form:{form}/storage:{storage}/handover:{handover}/read:column]"
    return find_case(casebook(), name)


def run(case, program):
    return run_words(case, program, emit(program))


def run_words(case, program, module):
    plan = arrange(BuiltCase(case, Built(program, build(case).built.draw)))
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
    program = build(case).program
    run(case, program)
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Barrier):
            fewer = replace(program, operations=program.operations[:number] + program.operations[number + 1 :])
            with pytest.raises(UndefinedBehaviour, match="a race"):
                run(case, fewer)


@pytest.mark.parametrize("side", [0, 1])
def test_neither_memory_barrier_can_be_left_out(side):
    case = case_of("workgroup", handover="fences")
    program = build(case).program
    whole = run_words(case, program, emit(program))
    assert whole
    with pytest.raises(UndefinedBehaviour, match="a race"):
        run_words(case, program, without_memory_barrier(emit(program), side))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "plain_around_matrix"])
def test_a_barrier_of_the_subgroup_does_not_do_for_the_workgroup(form):
    case = case_of(form)
    program = build(case).program
    narrow = tuple(replace(o, scope=MemoryScope.SUBGROUP) if isinstance(o, Barrier) else o for o in program.operations)
    with pytest.raises(UndefinedBehaviour, match="a race"):
        run(case, replace(program, operations=narrow))
