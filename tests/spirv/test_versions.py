"""Modules of each SPIR-V version: their declarations, the absence of newer features, and how devices and validators treat them."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from cts.devices.requirements import missing
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.errors import Lack, Rule
from generators.glsl.emit import emit as print_glsl
from generators.program.shape import WorkgroupShape
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Op
from generators.spirv.module import Module
from generators.spirv.versions import extension_of, extensions_beyond, version_word
from tests.broken_rules import breaks
from tests.lacks import lacks
from tests.suite import casebook
from tests.undefined import undefined

VERSIONS = ((1, 3), (1, 4), (1, 5), (1, 6))
ENVIRONMENTS = {(1, 3): "vulkan1.1", (1, 4): "vulkan1.1spv1.4", (1, 5): "vulkan1.2", (1, 6): "vulkan1.3"}
"""SPIR-V version -> the environment of spirv-val in which it is the newest."""

SIZES = ("x_constant", "constants", "literals", "built_in")


def case_of(storage="physical_storage_buffer"):
    return find_case(
        casebook(), f"workgroup_shapes[row:16x16x16.f16.f16.f32.f32/form:muladd/subgroups:4/storage:{storage}/subgroup_size:32]"
    )


def program_of(version, local_size="x_constant", full=True):
    program = build(case_of()).program
    return replace(program, shape=replace(program.shape, version=version, local_size=local_size, full_subgroups=full))


def lines(program, word):
    return [line.strip() for line in disassemble(emit(program)).splitlines() if word in line]


def with_version(module, version):
    words = bytearray(module)
    struct.pack_into("<I", words, 4, version_word(version))
    return bytes(words)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_module_declares_as_extensions_what_later_versions_made_core(version):
    declared = lines(program_of(version), "OpExtension")
    for extension in ("SPV_KHR_vulkan_memory_model", "SPV_KHR_physical_storage_buffer"):
        assert any(extension in line for line in declared) == (version < (1, 5))


@pytest.mark.parametrize(
    ("capability", "version", "extension"),
    [
        (Capability.VulkanMemoryModel, (1, 4), "SPV_KHR_vulkan_memory_model"),
        (Capability.VulkanMemoryModel, (1, 5), ""),
        (Capability.StorageBuffer8BitAccess, (1, 4), "SPV_KHR_8bit_storage"),
        (Capability.StorageBuffer16BitAccess, (1, 3), ""),
        (Capability.SignedZeroInfNanPreserve, (1, 3), "SPV_KHR_float_controls"),
        (Capability.SignedZeroInfNanPreserve, (1, 4), ""),
        (Capability.CooperativeMatrixKHR, (1, 6), "SPV_KHR_cooperative_matrix"),
        (Capability.PhysicalStorageBufferAddresses, (1, 3), "SPV_KHR_physical_storage_buffer"),
    ],
)
def test_the_extension_of_a_capability_depends_on_the_version(capability, version, extension):
    assert extension_of(capability, version) == extension


@pytest.mark.parametrize("version", VERSIONS)
def test_the_interface_has_all_variables_from_1_4_on(version):
    (entry,) = lines(program_of(version), "OpEntryPoint")
    assert "%gl_NumSubgroups" in entry
    assert ("%push_constants" in entry) == (version >= (1, 4))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", SIZES)
def test_a_module_has_nothing_newer_than_its_version(version, size):
    assert extensions_beyond(emit(program_of(version, size))) == set()


def test_an_extension_that_is_not_declared_is_named():
    assert extensions_beyond(with_version(emit(program_of((1, 6))), (1, 4))) == {
        "SPV_KHR_vulkan_memory_model",
        "SPV_KHR_physical_storage_buffer",
    }


def test_an_instruction_that_no_extension_gives_to_the_version_is_refused():
    def made(version):
        module = Module(version)
        u32 = module.type(Op.TypeInt, 32, 0)
        one = module.constant(Op.Constant, u32, 1)
        module.label(module.new_id())
        module.value(Op.CopyLogical, u32, one)
        module.end_entry_point("main", (one, one, one))
        return module.assemble()

    assert made((1, 4))
    with breaks(Rule.SPIRV_VERSION):
        made((1, 3))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"version": (1, 2), "full_subgroups": True}, Rule.SPIRV_VERSION),
        ({"version": (1, 7), "full_subgroups": True}, Rule.SPIRV_VERSION),
        ({"version": (1, 5)}, "VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770"),
        ({"version": (1, 5), "full_subgroups": False}, "VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770"),
    ],
)
def test_a_shape_that_no_pipeline_may_have_is_refused(changes, rule):
    with breaks(rule):
        WorkgroupShape(**changes)


def test_a_constant_decorated_with_workgroup_size_takes_precedence():
    text = disassemble(emit(program_of((1, 3), "built_in")))
    assert "LocalSize 1 1 1" in text
    assert "%workgroup_size = OpSpecConstantComposite %v3uint %local_size %uint_1 %uint_1" in text


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", SIZES)
def test_glsl_says_what_glslang_writes_in_that_version(version, size):
    program = program_of(version, size)
    if size == "literals" or (size == "built_in") == (version < (1, 6)):
        assert "local_size_x" in print_glsl(program)
    else:
        with lacks(Lack.LOCAL_SIZE):
            print_glsl(program)


def run(program, change_kernel=lambda k: k):
    device = EmbeddedDevice(load_profile("universal"))
    return device.run(change_kernel(kernel(program, emit(program))), arrange(build(case_of())).dispatches)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", SIZES)
def test_the_embedded_device_computes_the_same_in_each_version(version, size):
    (latest, *_), (found, *_) = run(program_of((1, 6))), run(program_of(version, size))
    assert latest.outputs
    assert {name: each.tobytes() for name, each in latest.outputs.items()} == {n: each.tobytes() for n, each in found.outputs.items()}


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_the_embedded_device_refuses_matrices_without_full_subgroups(version):
    with undefined("VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770"):
        run(program_of(version), lambda k: replace(k, full_subgroups=False))


def test_from_1_6_on_subgroups_are_full_by_themselves():
    assert run(program_of((1, 6), full=False))


@pytest.mark.parametrize(
    ("version", "wrong", "rule"),
    [
        ((1, 4), (1, 6), "SPIR-V 2.16.1"),
        ((1, 3), (1, 4), "SPIR-V 3.52.4"),
    ],
)
def test_the_embedded_device_refuses_what_the_version_lacks(version, wrong, rule):
    """Each module of ``wrong`` claims to have SPIR-V ``version``."""
    with undefined(rule):
        run(program_of(wrong), lambda k: replace(k, spirv=with_version(k.spirv, version), full_subgroups=True))


def lacking(version, feature, full=True, changed=lambda k: k):
    description = load_profile("universal").description
    features = {name: name != feature for name in description.features}
    program = program_of(version, full=full)
    return missing(changed(kernel(program, emit(program))), replace(description, features=features))


def test_a_device_without_full_subgroups_runs_only_modules_of_1_6():
    assert lacking((1, 6), "computeFullSubgroups", None) is None
    for full in (True, None):
        reason = lacking((1, 5), "computeFullSubgroups", changed=lambda k, full=full: replace(k, full_subgroups=full))
        assert reason is not None
        assert reason.code == "missing.feature.computeFullSubgroups"


def test_a_device_takes_the_versions_of_its_vulkan():
    program = program_of((1, 4))
    description = replace(load_profile("universal").description, api_version="1.1.0")
    reason = missing(kernel(program, emit(program)), description)
    assert reason is not None
    assert reason.text == "SPIR-V 1.4 (Vulkan 1.1.0 accepts 1.3)"


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_a_validator_accepts_tensor_loads_of_a_version_that_their_extension_does_not_have(version, tmp_path, spirv_val):
    """The notes of CM2-EXT-01 and TA-EXT-01 say so."""
    program = build(find_case(casebook(), "tensor_clamp[component:f16/rank:2/mode:constant/side:before]")).program
    module = tmp_path / "module.spv"
    module.write_bytes(emit(replace(program, shape=WorkgroupShape(full_subgroups=True, version=version))))
    judged = spirv_val("--target-env", "vulkan1.3", module)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", SIZES)
def test_a_validator_accepts_the_module_where_its_version_is_the_newest(version, size, tmp_path, spirv_val):
    module = tmp_path / "module.spv"
    module.write_bytes(emit(program_of(version, size)))
    for environment in {"vulkan1.3", ENVIRONMENTS[version]}:
        judged = spirv_val("--target-env", environment, "--allow-localsizeid", module)
        assert judged.returncode == 0, judged.stdout + judged.stderr
