"""Devices with only one of VK_EXT_cooperative_matrix_maintenance1 and VK_NV_cooperative_matrix2."""

from __future__ import annotations

import pytest

from cts.devices.kernel_needs import needs_of
from cts.devices.requirements import missing, missing_features_for
from cts.embedded.profile import load_profile
from cts.verdict.codes import Code
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.spirv.emit import emit
from tests.suite import casebook

EXT, NV = "VK_EXT_cooperative_matrix_maintenance1", "VK_NV_cooperative_matrix2"
SHARED = {
    "maintenance1[action:use/component:f16]": EXT,
    "maintenance1[action:reduce/component:f16]": EXT,
    "maintenance1[action:per_element/component:f16]": EXT,
    "maintenance1_reduce[component:f32/function:add/maintenance1:yes/mode:row/shape:16x16]": EXT,
    "maintenance1_per_element[component:f16/function:place/maintenance1:yes]": EXT,
    "maintenance1_bodies[body:loop/component:f32/instruction:element/maintenance1:yes]": EXT,
    "maintenance1_conversion[from:f16/maintenance1:yes/use:a]": EXT,
    "maintenance1_chain[enters:a/maintenance1:yes/types:f16.f32.f16.f32]": EXT,
    "use_conversion[from:f16/use:a]": NV,
    "reduce[component:f16/function:add/mode:row/shape:16x16]": NV,
    "per_element[component:f16/function:place]": NV,
}


def test_rows_by_subgroup_size_are_not_judged_without_the_extension():
    program = build(find_case(casebook(), "subgroup_size_rows[maintenance1:yes/row:8x8x8.f16.f16.f32.f32]")).program
    found = missing(kernel(program, emit(program)), load_profile("llvmpipe").description)
    assert found.code == Code.MISSING_EXTENSION.of(EXT)


def test_a_missing_extension_is_named_before_the_missing_features_of_its_components():
    program = build(find_case(casebook(), "maintenance1_reduce[component:bf16/function:add/maintenance1:yes/mode:row/shape:16x16]")).program
    needs = kernel(program, emit(program))
    device = load_profile("llvmpipe").description
    assert missing(needs, device).code == Code.MISSING_EXTENSION.of(EXT)
    assert missing_features_for(needs_of(needs), device) == missing(needs, device)


@pytest.mark.parametrize(("case_id", "extension"), SHARED.items())
def test_a_shared_instruction_needs_the_extension_that_declares_it(case_id, extension):
    program = build(find_case(casebook(), case_id)).program
    found = missing(kernel(program, emit(program)), load_profile("maintenance1").description)
    if extension == EXT:
        assert found is None, found
    else:
        assert found is not None
        assert found.code == Code.MISSING_EXTENSION.of(NV)
