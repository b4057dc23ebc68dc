"""Property rows that only vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.device import DeviceDescription, MatrixRow
from cts.devices.property_commands import PropertyCall
from cts.devices.requirements import missing
from cts.devices.vulkan.rows_by_subgroup_size import rows_by_subgroup_size
from cts.embedded.profile import load_profile
from cts.embedded.property_commands import ask
from cts.engine.selection import device_rows
from cts.verdict.codes import Code
from generators.casebook import build, expand, find_case
from generators.dispatch import kernel
from generators.spirv.emit import emit
from generators.types import Scope
from tests.suite import casebook

DESCRIPTION = load_profile("maintenance1").description
LISTED = MatrixRow(32, 8, 16, "f16", "f16", "f32", "f32", saturating=False, scope=Scope.SUBGROUP)
LABEL = "32x8x16.f16.f16.f32.f32"


def with_row(subgroup_size: int | None, **limits: int) -> DeviceDescription:
    row = replace(LISTED, subgroup_size=subgroup_size)
    return replace(
        DESCRIPTION, rows=(row,), limits={"minSubgroupSize": 32, "maxSubgroupSize": 32, "requiredSubgroupSizeStages": 0x20, **limits}
    )


def lacks(description: DeviceDescription, *options: str) -> object:
    program = build(find_case(casebook(), f"module_versions[{'/'.join([f'row:{LABEL}', 'work:muladd', *options])}]")).program
    return missing(kernel(program, emit(program)), description)


LATER, EARLIER, REQUIRED = (), ("version:1.5", "full:required"), ("subgroup_size:32",)


@pytest.mark.parametrize(
    ("listed_for", "options"), [(0, LATER), (32, EARLIER), (32, REQUIRED), (None, LATER), (None, EARLIER), (None, REQUIRED)]
)
def test_a_row_is_for_kernels_of_the_subgroup_size_that_it_is_listed_for(listed_for, options):
    assert lacks(with_row(listed_for), *options) is None


@pytest.mark.parametrize(("listed_for", "options"), [(32, LATER), (0, EARLIER), (0, REQUIRED), (16, REQUIRED)])
def test_a_row_is_for_no_other_kernels(listed_for, options):
    found = lacks(with_row(listed_for), *options)
    assert found.code == Code.MISSING_ROW.of("type")


def test_cases_run_on_every_row_that_one_list_alone_has():
    cases = expand(casebook().family("subgroup_size_rows"), "nightly")
    run = set()
    for case in cases:
        program = build(case).program
        if missing(kernel(program, emit(program)), DESCRIPTION) is None:
            run.add(case.parameters.row)
    only_here = {row for row in DESCRIPTION.rows if row.subgroup_size is not None and row.result != "f16"}
    assert {(row.m, row.n, row.k, row.a) for row in only_here} <= {(row.m, row.n, row.k, row.a.name) for row in run}


def test_where_sizes_vary_every_pipeline_requires_the_devices_own_one():
    assert lacks(with_row(32, minSubgroupSize=16)) is None
    assert lacks(with_row(0, minSubgroupSize=16)) is not None


def test_rows_of_a_size_are_in_no_other_list():
    for name, subgroup_size in (("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", None), ("", 16)):
        description = with_row(16 if subgroup_size is None else 32)
        if name:
            assert ask(description, PropertyCall(name)).count == 0


def test_rows_that_a_device_lists_by_subgroup_size_are_its_rows():
    description = with_row(32)
    known = tuple(replace(LISTED, m=8, subgroup_size=size) for size in (0, 32))
    others = replace(
        description, rows=(*description.rows, *known, replace(LISTED, m=16, saturating=True, subgroup_size=0), replace(LISTED, m=64))
    )
    found = rows_by_subgroup_size(lambda call: ask(others, call), others)
    assert set(found) == {row for row in others.rows if row.subgroup_size is not None}


def test_sizes_between_the_least_and_the_greatest_are_asked_for():
    description = with_row(16, minSubgroupSize=8, maxSubgroupSize=64)
    asked = []

    def seen(call):
        asked.append(call.info.subgroup_size)
        return ask(description, call)

    assert rows_by_subgroup_size(seen, description) == description.rows
    assert set(asked) == {0, 8, 16, 32, 64}


def test_a_device_without_the_feature_is_not_asked():
    without = replace(DESCRIPTION, features={**DESCRIPTION.features, "cooperativeMatrixProperties2": False})
    assert rows_by_subgroup_size(lambda _: pytest.fail("asked"), without) == ()


FLEXIBLE = {"cooperativeMatrixFlexibleDimensions": True, "cooperativeMatrixWorkgroupScope": True}


def with_flexible(*rows: MatrixRow, **limits: int) -> DeviceDescription:
    """Return the description of a device with flexible dimensions, and the features of both extensions."""
    given = with_row(32, cooperativeMatrixFlexibleDimensionsMaxDimension=64, cooperativeMatrixWorkgroupScopeMaxWorkgroupSize=128, **limits)
    return replace(given, features={**given.features, **FLEXIBLE}, rows=rows)


def test_with_flexible_dimensions_the_list_by_subgroup_size_has_granularities():
    """VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensions-10165 and 10166: a match in any of the three lists is enough."""
    granular = replace(LISTED, m=8, n=8, k=8, flexible=True, subgroup_size=0)
    description = with_flexible(granular)
    assert lacks(description) is None
    assert lacks(replace(description, rows=(replace(granular, k=32),))) is not None
    assert rows_by_subgroup_size(lambda call: ask(description, call), replace(description, rows=())) == (granular,)


@pytest.mark.parametrize(
    "row",
    [LISTED, replace(LISTED, subgroup_size=0, flexible=True), replace(LISTED, m=16, flexible=True)],
    ids=["exact sizes", "by subgroup size", "granularities"],
)
def test_with_flexible_dimensions_a_match_in_any_of_three_lists_is_enough(row):
    assert lacks(with_flexible(row)) is None


def test_rows_of_workgroups_are_asked_for_with_each_number_of_invocations():
    shared = replace(LISTED, scope=Scope.WORKGROUP, flexible=True, invocations=64, subgroup_size=0)
    description, asked = with_flexible(shared), set()

    def seen(call):
        asked.add((call.info.scope, call.info.invocations, call.info.subgroup_size))
        return ask(description, call)

    assert rows_by_subgroup_size(seen, description) == (shared,)
    assert asked == {(Scope.SUBGROUP, 0, size) for size in (0, 32)} | {
        (Scope.WORKGROUP, count, size) for count in (32, 64, 128) for size in (0, 32)
    }


def test_rows_of_workgroups_are_not_asked_for_without_that_scope():
    asked = []
    rows_by_subgroup_size(lambda call: asked.append(call.info.scope) or ask(DESCRIPTION, call), DESCRIPTION)
    assert set(asked) == {Scope.SUBGROUP}


def test_the_largest_dimension_binds_every_type_where_dimensions_are_flexible_and_none_elsewhere():
    """VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensionsMaxDimension-10167."""
    large = replace(with_flexible(LISTED), limits=with_flexible(LISTED).limits | {"cooperativeMatrixFlexibleDimensionsMaxDimension": 16})
    assert lacks(large).code == Code.MISSING_ROW.of("type")
    fixed = replace(large, features=large.features | {"cooperativeMatrixFlexibleDimensions": False})
    assert lacks(fixed) is None


@pytest.mark.parametrize(("listed_for", "limits", "taken"), [(0, {}, True), (32, {}, False), (32, {"maxSubgroupSize": 64}, True)])
def test_cases_take_rows_for_the_size_that_pipelines_have(listed_for, limits, taken):
    description = replace(with_row(listed_for, **limits), kind="vulkan")
    assert device_rows(description) == ((LABEL,) if taken else ())
