"""A device with less than Vulkan, or an extension that it advertises, requires breaks the rule about it, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.device import DeviceDescription
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.kinds.property_rules import Commanded
from cts.kinds.required_support import REQUIRED_SUPPORT
from cts.verdict.codes import Code
from generators.casebook import find_case
from tests.suite import casebook

LEAST = {
    "maxComputeWorkGroupSize[0]": 128,
    "maxComputeWorkGroupSize[1]": 128,
    "maxComputeWorkGroupSize[2]": 64,
    "maxComputeWorkGroupCount[0]": 65535,
    "maxPushConstantsSize": 128,
    "maxPerStageDescriptorStorageBuffers": 4,
    "maxStorageBufferRange": 1 << 27,
    "maxBufferSize": 1 << 30,
    "maxMemoryAllocationSize": 1 << 30,
    "minStorageBufferOffsetAlignment": 256,
    "minSubgroupSize": 8,
    "maxSubgroupSize": 64,
    "subgroupSupportedStages": 0x20,
    "subgroupSupportedOperations": 0x1,
}
EXTENSIONS = ("VK_KHR_cooperative_matrix", "VK_NV_cooperative_matrix2", "VK_NV_cooperative_vector")
LEGAL = replace(
    load_profile("universal").description,
    limits=LEAST,
    max_workgroup_invocations=128,
    max_shared_memory=1 << 14,
    api_version="1.1.0",
    features={"cooperativeMatrix": True, "cooperativeMatrixReductions": True, "cooperativeVector": True},
    extra={"extensions": EXTENSIONS},
)


def limits(**changed: int) -> DeviceDescription:
    return replace(LEGAL, limits=LEAST | changed)


WRONG = [
    ("workgroup_invocations", replace(LEGAL, max_workgroup_invocations=127)),
    *(("workgroup_size", limits(**{f"maxComputeWorkGroupSize[{axis}]": 63})) for axis in range(3)),
    ("workgroup_count", limits(**{"maxComputeWorkGroupCount[0]": 65534})),
    ("shared_memory", replace(LEGAL, max_shared_memory=(1 << 14) - 1)),
    ("push_constants", limits(maxPushConstantsSize=127)),
    ("storage_buffers", limits(maxPerStageDescriptorStorageBuffers=3)),
    ("storage_buffers", limits(maxStorageBufferRange=(1 << 27) - 1)),
    ("memory_size", limits(maxBufferSize=1 << 29)),
    ("memory_size", limits(maxMemoryAllocationSize=1 << 29)),
    ("offset_alignment", limits(minStorageBufferOffsetAlignment=512)),
    ("offset_alignment", limits(minStorageBufferOffsetAlignment=48)),
    ("subgroup_sizes", limits(minSubgroupSize=64)),
    ("subgroup_sizes", limits(maxSubgroupSize=16)),
    ("subgroup_sizes", limits(maxSubgroupSize=256)),
    ("subgroup_operations", limits(subgroupSupportedStages=0x1F)),
    ("subgroup_operations", limits(subgroupSupportedStages=0x1F, queueFlags=0x2)),
    ("subgroup_operations", limits(subgroupSupportedOperations=0x2)),
    ("extension_features", replace(LEGAL, features={**LEGAL.features, "cooperativeMatrixReductions": False})),
    ("extension_features", replace(LEGAL, features={**LEGAL.features, "cooperativeVector": False})),
    ("extension_dependencies", replace(LEGAL, extra={"extensions": EXTENSIONS[1:]})),
]


def broken(description: DeviceDescription) -> set[str]:
    device = EmbeddedDevice(load_profile("universal"))
    asked = Commanded(device, description, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")
    return {name for name, rule in REQUIRED_SUPPORT.items() if list(rule.broken(asked))}


def test_a_device_with_the_least_that_is_required_keeps_every_rule() -> None:
    assert broken(LEGAL) == set()


def test_an_instance_extension_is_enough_instead_of_vulkan_1_1() -> None:
    assert "extension_dependencies" not in broken(replace(LEGAL, api_version="1.0.3"))


def test_a_device_without_a_compute_queue_needs_no_subgroups_in_compute_shaders() -> None:
    assert broken(limits(queueFlags=0, subgroupSupportedStages=0)) == set()


@pytest.mark.parametrize(("rule", "description"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_a_device_with_less_breaks_the_rule_about_it_alone(rule: str, description: DeviceDescription) -> None:
    assert broken(description) == {rule}


def test_a_device_without_a_property_command_is_judged() -> None:
    profile = replace(load_profile("universal"), features=frozenset(), extensions=(), max_workgroup_invocations=1)
    case = find_case(casebook(), "required_support[rule:workgroup_invocations]")
    result = judge(case, DeviceHolder(lambda: EmbeddedDevice(profile)), "spirv", "smoke")
    assert result.code == Code.FAIL_PROPERTY.of("workgroup_invocations")
