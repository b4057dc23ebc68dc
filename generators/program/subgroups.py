"""Built-ins that describe an invocation's subgroup, written to memory."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import Effect


@dataclass(frozen=True)
class SubgroupsStored(Effect):
    """Every invocation has stored (SubgroupSize, NumSubgroups, SubgroupId, SubgroupLocalInvocationId) to the element of ``target`` whose
    number is (WorkgroupIndex * NumSubgroups + SubgroupId) * ``subgroup_size`` + SubgroupLocalInvocationId, with WorkgroupIndex as for
    InstanceIndex. The elements are vectors of four u32.

    Vulkan leaves open which invocations form a subgroup, but each has its own place in one. So every element is written once, and its value
    is known.
    """

    target: Array
    subgroup_size: int
