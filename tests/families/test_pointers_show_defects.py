"""Pointers, descriptors, blocks and entry points: a device with a mistake fails cases because of different values."""

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.diagnosis.shown import BEYOND, outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from tests.families.evidence import chosen, parts

SHOWN = {
    "pointer.stride_in_components": (
        "untyped_pointers[component:f32/untyped:load/storage:physical_storage_buffer]",
        "variable_pointers[component:f16/use:acc/untyped:untyped]",
    ),
    "pointer.stride_in_base_elements": (
        "untyped_pointers[component:s8/use:b/shape:16x32/untyped:load/base:vec4/padding:3]",
        "untyped_pointers[component:f16/untyped:load/base:uvec4/padding:1]",
    ),
    "pointer.base_type_ignored": (
        "untyped_pointers[component:f16/base:u32]",
        "untyped_pointers[component:u8/untyped:load/base:vec4/storage:workgroup]",
    ),
    "pointer.stride_ignored": (
        "variable_pointers[component:f16/form:phi/reach:two_buffers]",
        "descriptor_arrays[component:f16/index:buffer]",
    ),
    "pointer.first_chosen": ("variable_pointers[component:f16]", "variable_pointers[component:f16/form:argument/reach:workgroup]"),
    "pointer.second_chosen": (
        "variable_pointers[component:f16/access:store]",
        "variable_pointers[component:s8/form:returned]",
    ),
    "pointer.chosen_by_first_instance": (
        "variable_pointers[component:f16/decides:instance/subgroups:2]",
        "variable_pointers[component:f16/form:returned/reach:workgroup/decides:instance/subgroups:2]",
    ),
    "pointer.not_moved": ("variable_pointers[component:f16/form:moved]", "variable_pointers[component:f16/form:carried/access:store]"),
    "descriptor.first_chosen": ("descriptor_arrays[component:f16/index:buffer]", "descriptor_arrays[component:f16/access:store]"),
    "descriptor.next_chosen": (
        "descriptor_arrays[component:u8]",
        "descriptor_arrays[component:f32/use:acc/access:both]",
    ),
    "descriptor.chosen_by_first_instance": (
        "descriptor_arrays[component:f16/index:instance/subgroups:2]",
        "descriptor_arrays[component:f16/access:store/index:instance/subgroups:2]",
    ),
    "workgroup_block.not_shared": (
        "workgroup_blocks[component:f32/read:u32]",
        "workgroup_blocks[component:u32/form:both_aliased]",
    ),
    "workgroup_block.offset_ignored": (
        "workgroup_blocks[component:f16/use:a/form:both_aliased/written:column/loaded:column]",
        "workgroup_blocks[component:f16/read:s8/use:b/shape:16x32/offset:0/written:column]",
    ),
    "entry_point.other_runs": (
        "entry_points[row:8x8x8.f16.f16.f32.f32]",
        "entry_points[row:16x16x32.s8.s8.s32.s32/names:prefix/order:other_first]",
    ),
    "entry_point.constants_of_other": (
        "entry_points[row:8x8x8.f16.f16.f32.f32/called:shared]",
        "entry_points[row:8x8x8.s8.s8.s32.s32/order:other_first]",
    ),
}


@pytest.mark.parametrize(("id_", "case_id"), [(id_, case) for id_, cases in SHOWN.items() for case in cases])
def test_a_value_differs(id_, case_id):
    program, subcases = parts(case_id)
    found = chosen(known_defects(program), id_)
    assert len(found) == 1
    differs = []
    for subcase in subcases:
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        with np.errstate(all="ignore"):
            broken = evaluate_defect(program, subcase, found[0].substitutes, beyond=BEYOND)
        differs.append(bool(compare(program, expected, before, outcome_of(program, broken, before))))
    assert any(differs)
