"""The C program of a folder: its declarations, requests and omissions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.devices.capabilities import CAPABILITY_FEATURES, DEVICE_FEATURES, FLOAT_MODES
from cts.devices.vulkan.structures import FEATURES
from cts.kinds.kernel_reproduction import write_reproduction
from cts.repro.c_program import Features
from cts.repro.feature_structures import feature_structures, structure_of
from generators.casebook import Case, Family, expand, find_case
from generators.errors import Lack, NotExpressible
from tests.lavapipe import MATRIX2, needs
from tests.reproductions.lavapipe import compiled_and_run, obstacle
from tests.suite import casebook

STATISTICS = ("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR", "VK_KHR_pipeline_executable_properties")

PLAIN = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]"


def program(id_: str, folder: Path) -> str:
    """Return the program of a case; empty if it has none."""
    write_reproduction(find_case(casebook(), id_), folder, "spirv")
    path = folder / "repro.c"
    return path.read_text() if path.exists() else ""


def test_every_feature_of_a_capability_is_in_a_structure_or_a_property():
    properties = tuple(FLOAT_MODES.values())
    asked = {name for clauses in CAPABILITY_FEATURES.values() for names in clauses for name in names} | DEVICE_FEATURES
    missing = [name for name in asked if structure_of(name, ()) is None and not name.startswith(properties)]
    assert missing == [], "add their structure to cts/repro/feature_structures.yaml"


def test_the_program_asks_for_the_structures_that_a_vulkan_device_is_asked_for():
    asked = {(one.structure, one.extension) for one in feature_structures() if one.number}
    # A program needs nothing that only tells of its code.
    assert asked == {(one.name, one.extension) for one in FEATURES} - {STATISTICS}


def test_a_feature_of_two_extensions_is_that_of_the_one_in_use():
    for extension in ("VK_NV_cooperative_matrix2", "VK_EXT_cooperative_matrix_maintenance1"):
        found = structure_of("cooperativeMatrixReductions", {extension})
        assert found is not None
        assert found.extension == extension


def test_names_of_structures_are_names_of_c():
    names = [one.name for one in feature_structures() if one.number]
    assert all(name.isidentifier() for name in names)
    assert len(set(names)) == len(names)


def test_it_declares_the_structures_of_extensions_for_older_headers(tmp_path):
    text = program(PLAIN, tmp_path)
    assert "#ifndef VK_KHR_cooperative_matrix" in text
    assert "VkPhysicalDeviceCooperativeMatrixFeaturesKHR" in text


def test_it_has_nothing_that_the_case_does_not_need(tmp_path):
    text = program(PLAIN, tmp_path)
    for word in ("vkGetBufferDeviceAddress", "VkShaderEXT", "vkCreatePipelineCache", "VkPipelineRobustness", "@{", "//%"):
        assert word not in text


def test_a_buffer_without_a_binding_has_none(tmp_path):
    text = program("conversion[from:f32/to:f16/shape:8x8/layouts:cr/storage:physical_storage_buffer]", tmp_path)
    rows = text.partition("buffers[] = {")[2].partition("};")[0].strip().splitlines()
    for row in rows:
        binding, _, address_at = row.strip(" {},").split(", ")[-3:]
        assert binding == "-1"
        assert int(address_at) % 8 == 0


def test_it_quotes_the_rule_with_its_section(tmp_path):
    text = program("reduce[component:u32/shape:16x16/mode:row/function:add]", tmp_path)
    opening = text.partition("*/")[0]
    assert "CM2-RED-08" in opening
    assert "SPV_NV_cooperative_matrix2, 3." in opening
    assert "CM2-RED-08" in (tmp_path / "README.md").read_text()


def test_only_a_refusal_of_a_disputed_module_is_a_warning(tmp_path):
    case = next(case for case in _smoke(casebook().family("load_store")) if case.disputed)
    text = program(case.id, tmp_path)
    assert text.count('"quality_warning", why') == 1
    assert "if (takes_module && result < 0 " in text
    plain = next(case for case in _smoke(casebook().family("load_store")) if not case.disputed)
    assert '"quality_warning", why' not in program(plain.id, tmp_path / "plain")


def _smoke(family: Family) -> list[Case]:
    return expand(family, "smoke")


def _is_compute(id_: str) -> bool:
    return "stage" not in id_


@pytest.mark.parametrize("family", ["vector_stages", "vector_training"])
def test_a_folder_without_a_program_says_why(family, tmp_path):
    for case in _smoke(casebook().family(family)):
        if not program(case.id, tmp_path):
            assert "There is no `repro.c`: it" in (tmp_path / "README.md").read_text()
            return
    pytest.fail("every case has a program")


def test_the_readme_fits_on_a_screen(tmp_path):
    program(PLAIN, tmp_path)
    assert len((tmp_path / "README.md").read_text().splitlines()) <= 50


@pytest.mark.parametrize(("between", "structure"), [("memory", "VkMemoryBarrier barrier"), ("buffers", "VkBufferMemoryBarrier barriers")])
def test_dispatches_of_one_submission_have_the_barrier_of_the_case_between_them(between, structure, tmp_path):
    last = "" if between == "memory" else f"/between:{between}"
    text = program(f"memory_order[component:f16/form:dispatches/storage:storage_buffer{last}]", tmp_path)
    assert structure in text.partition("between_passes(VkCommandBuffer commands)")[2].partition("\n}\n")[0]


def test_a_debugger_sees_names_labels_and_frames(tmp_path):
    text = program(PLAIN, tmp_path)
    assert all(f"VK_OBJECT_TYPE_{kind}" in text for kind in ("BUFFER", "PIPELINE", "SHADER_MODULE", "DESCRIPTOR_SET", "COMMAND_BUFFER"))
    assert ": ranges of one buffer" in text
    assert "begin_label(buffer, one->folder)" in text
    assert "end_frame(vk.queue)" in text


def test_an_extension_that_the_program_does_not_know_is_named():
    with pytest.raises(NotExpressible) as refused:
        Features({"VK_EXT_later"}).require_extensions()
    assert refused.value.lack is Lack.PROGRAM_FEATURES


@needs(obstacle(*MATRIX2))
def test_it_runs_as_often_as_it_is_told(tmp_path):
    program("muladd[row:8x8x8.f16.f16.f32.f32/data:exact]", tmp_path)
    ended = compiled_and_run(tmp_path, "--loop", "3")
    assert ended.verdict == "pass"
    assert "3 of 3 rounds" in ended.output


@needs(obstacle(*MATRIX2))
def test_arguments_that_would_run_nothing_or_on_another_device_are_refused(tmp_path):
    program("muladd[row:8x8x8.f16.f16.f32.f32/data:exact]", tmp_path)
    assert compiled_and_run(tmp_path, "--loop", "3", "0").code == 0
    wrong = ("--loop", "0"), ("--loop", "x"), ("--loop",), ("llvmpipe",), ("0", "1s")
    assert [compiled_and_run(tmp_path, *arguments).code for arguments in wrong] == [2] * len(wrong)


@needs(obstacle(*MATRIX2))
def test_it_stops_after_the_first_wrong_round(tmp_path):
    program(PLAIN, tmp_path)
    ended = compiled_and_run(tmp_path, "--loop", "3")
    assert (ended.code, ended.verdict) == (1, "fail.value")
    assert "1 of 3 rounds, the last of them wrong" in ended.output
