"""Built-ins that describe an invocation's subgroup (Vulkan, Built-In Variables)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from cts.verdict.expected import Authority, Exact, one_set
from generators.program.subgroups import SubgroupsStored
from generators.types import COMPONENT_TYPES


@evaluates(SubgroupsStored)
def subgroups_stored(state: State, operation: SubgroupsStored) -> None:
    """Store to the element of each place in each subgroup its subgroup and place. All subgroups are full: the local size in x is a multiple
    of the subgroup size (VUID-VkPipelineShaderStageCreateInfo-module-08987), and the module is SPIR-V 1.6."""
    program, u32 = state.program, COMPONENT_TYPES["u32"]
    places = program.workgroup_count * program.subgroups * operation.subgroup_size
    subgroup, lane = np.divmod(np.arange(places), operation.subgroup_size)
    size, count = np.full(places, operation.subgroup_size), np.full(places, program.subgroups)
    known = np.stack((size, count, subgroup % program.subgroups, lane), axis=-1).astype(np.uint32)
    offsets = np.arange(4 * places, dtype=np.int64).reshape(-1, operation.subgroup_size, 4) * u32.bytes
    expectation = one_set(Exact(u32, known.reshape(offsets.shape)), Authority("VUID-VkPipelineShaderStageCreateInfo-module-08987"))
    state.memories[operation.target.name].store(offsets, expectation, "the built-ins of the subgroup")
