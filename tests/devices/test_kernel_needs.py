"""The missing needs of a kernel are the same with and without its module."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.kernel_needs import BY_SUBGROUP, DependsOnDevice, needs_of
from cts.devices.requirements import missing, missing_for
from cts.embedded.profile import load_profile
from cts.kinds.kernel import compile_module
from generators.casebook import CaseKind, build, expand, find_case
from generators.dispatch import kernel
from generators.kernel import Kernel
from tests.suite import casebook

EVERY = 97
"""The tests take every 97th case of the smoke tier."""

_UNIVERSAL = load_profile("universal").description
_BARE = replace(_UNIVERSAL, name="bare", features={}, rows=(), vector_rows=())
_TIGHT = replace(
    _UNIVERSAL,
    name="tight",
    subgroup_size=16,
    max_workgroup_invocations=64,
    max_shared_memory=1500,
    limits=_UNIVERSAL.limits | {"maxStorageBufferRange": 600, "maxPushConstantsSize": 8, "maxPerStageDescriptorStorageBuffers": 3},
)
DEVICES = (_BARE, _TIGHT, *(load_profile(name).description for name in ("adreno", "llvmpipe", "nvidia-h200", "maintenance1")))
CASES = [case for family in casebook() if family.kind is CaseKind.KERNEL for case in expand(family, "smoke")][::EVERY]


def kernels(id_: str) -> list[Kernel]:
    program = build(find_case(casebook(), id_)).program
    module = compile_module(program, "spirv")
    return [kernel(one, module) for one in program.all]


@pytest.mark.parametrize("id_", [case.id for case in CASES])
def test_a_device_lacks_the_same_for_needs_as_for_the_kernel(id_):
    for one in kernels(id_):
        needs = needs_of(one)
        assert [missing_for(needs, device) for device in DEVICES] == [missing(one, device) for device in DEVICES]


def test_the_local_size_that_a_device_sets_is_none_of_a_subgroup_size():
    (one,) = kernels("load_store[component:f32]")
    assert needs_of(one).sizes.local_size == (BY_SUBGROUP, 1, 1)


def test_kernels_that_differ_in_nothing_that_a_device_supports_have_equal_needs():
    (one,), (other,) = kernels("load_store[component:f32]"), kernels("load_store[component:f32/memory:volatile]")
    assert one.spirv != other.spirv
    assert needs_of(one).types == needs_of(other).types
    assert needs_of(one).environment == needs_of(other).environment


def test_needs_that_depend_on_the_subgroup_size_are_not_returned():
    (one,) = kernels("specialization[component:f16]")
    # Pretend that the device sets a constant of the matrix types.
    where = one.specialization[0].constant_id
    with pytest.raises(DependsOnDevice):
        needs_of(replace(one, local_size_constant_id=where, specialization=one.specialization[1:]))
