"""The C program of a reproduction agrees with the suite about lavapipe, for cases that fail and for cases that pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cts.engine.plan import checked_settings
from cts.engine.runner import judge
from cts.engine.session import open_holder
from cts.kinds.kernel_reproduction import write_reproduction
from generators.casebook import find_case
from tests.lavapipe import MATRIX2, needs
from tests.reproductions.lavapipe import Ended, compiled_and_run, environment, obstacle
from tests.suite import casebook

pytestmark = needs(obstacle(*MATRIX2))

FAILING = (
    "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]",
    "reduce[component:u32/shape:16x16/mode:row/function:add]",
    "function_bodies[component:f32/instruction:reduce/body:switch_default]",
    "conversion[from:f32/to:u32/shape:32x16/signs:crossed]",
    "memory[component:f16/subgroups:2/form:divided_plain/handover:fences]",
    "aggregates[row:8x8x8.f16.f16.f32.f32/count:2/move:copy_memory]",
    "aggregates[row:8x8x8.f16.f16.f32.f32/count:2/move:insert]",
    "flexible[row:8x8x8.f16.f16.f32.f32.flex/size:n256/does:per_element]",
    "per_element[component:u32/shape:8x8/function:struct/source:push_constant]",
    "elements[row:16x16x16.f16.f16.f32.f32/member:b/layouts:rc/holder:struct/action:move/condition:odd_lane]",
)
"""Wrong values, lost stores, refused pipelines and crashes that golden/known_failures/lavapipe.yaml lists."""

PASSING = (
    "conversion[from:s32/to:f16/signs:crossed]",  # permitted, not expected
    "conversion[from:f32/to:f16/shape:8x8/layouts:cr/storage:physical_storage_buffer]",
    "use_conversion[from:f16/use:a/shape:8x8/form:both]",
    "descriptor_arrays[component:f16/access:both/count:2/index:specialization/binding:last/layout:column/subgroups:2]",
    "elementwise[component:f16/operation:multiply/form:same]",
    "shader_objects[row:8x8x8.s8.s8.s32.s32/code:in_turn/scale:buffer/names:second/storage:physical_storage_buffer]",
    "module_versions[row:8x8x8.s8.s8.s32.s32/work:convert/version:1.5/local_size:built_in/full:required/subgroup_size:8]",
    "robustness[component:f16/use:a/shape:8x8/access:load/cut:first]",
    "specialization[component:f16/use:a/subgroups:2/load:column/twin:columns/cache:round_trip]",
    "subgroup_operations[row:8x8x8.f16.f16.f32.f32/subgroup_size:8/operation:add/purpose:offset/among:halves]",
    "variable_pointers[component:f16/form:phi/reach:two_buffers]",
)
"""Device addresses, arrays of descriptors, alternatives, shader objects, pipeline caches, robust access, subgroup sizes."""


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str, Path], str]]:
    """Return a function that writes the folder of a case, has the suite judge the case in a separate process for the device, and returns
    the result's code."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment().items():
            patched.setenv(name, value)
        options = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "isolation"))
        settings = checked_settings({**options, "device": "llvmpipe", "step_timeout": "240"})
        holder = open_holder(settings)

        def judge_and_write(id_: str, folder: Path) -> str:
            case = find_case(casebook(), id_)
            write_reproduction(case, folder, settings.front_end)
            result = judge(case, holder, settings.front_end, settings.tier)
            return result.code or result.verdict.value

        yield judge_and_write
        holder.close()


def agree(ended: Ended, code: str) -> bool:
    """Return whether a program ended in agreement with the suite. A program knows neither the step of its crash nor the position."""
    return ended.verdict == code or (ended.verdict in ("crash", "quality_warning") and code.startswith(f"{ended.verdict}."))


@pytest.mark.parametrize("case", [*FAILING, *PASSING])
def test_a_case_ends_without_the_suite_as_it_does_in_the_suite(case, judged, tmp_path):
    code = judged(case, tmp_path)
    ended = compiled_and_run(tmp_path)
    assert agree(ended, code), f"{code}\n{ended.output}"
    assert (ended.code == 0) == code.startswith(("pass", "quality_warning"))


def test_a_wrong_element_is_reported_with_its_place_and_both_values(judged, tmp_path):
    """The test changes the expected bits of one element, so only this element is wrong."""
    assert judged(PASSING[-1], tmp_path) == "pass"
    elements = next(tmp_path.glob("0-*/expected/elements.txt"))
    heading, first, *others = elements.read_text().splitlines()
    array, byte, type_, instance, row, column, bits = first.split()
    changed = f"{int(bits, 16) ^ 1:0{len(bits)}x}"
    elements.write_text("\n".join([heading, " ".join((array, byte, type_, instance, row, column, changed)), *others]) + "\n")
    ended = compiled_and_run(tmp_path)
    assert ended.code == 1
    told = [line for line in ended.output.splitlines() if "expected" in line and "got" in line]
    assert len(told) == 1
    assert f"({row}, {column}) at byte {byte}" in told[0]
    assert f"expected {changed}" in told[0]
    assert f"got {bits}" in told[0]


def test_a_device_that_lacks_a_feature_is_not_judged(judged, tmp_path):
    assert judged(PASSING[-1], tmp_path) == "pass"
    program = tmp_path / "repro.c"
    text = program.read_text()
    assert "lacking(" in text
    program.write_text(text.replace("    (void)has;\n    return NULL;", '    (void)has;\n    return "feature of nobody";'))
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == ("not_supported", 77)
