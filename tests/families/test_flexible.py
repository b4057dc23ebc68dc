"""Family flexible: sizes that are multiples of granularities, and data that reveal wrong fragments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.defects.defect import Defect, every
from cts.devices.requirements import missing
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.selection import device_rows
from cts.kinds.kernel import arrange
from cts.reference.evaluate import perform
from cts.reference.values import CERTAIN
from cts.verdict.compare import compare
from generators.casebook import build, expand, find_case
from generators.casebook.cases import with_property_rows
from generators.dispatch import kernel
from generators.errors import CasebookError
from generators.families.nv_cooperative_matrix2.flexible import parse_size
from generators.layouts.matrix_arrays import tiled
from generators.program.callbacks import PerElement, Reduce
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import MatrixType
from generators.property_rows import is_flexible, parse_flexible_row
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope, Use
from tests.families.evidence import is_seen, seen, unseen
from tests.suite import casebook


def case_of(row="32x16x16.f16.f16.f32.f32.wg4", size="3x1x2", does="muladd", beside=0, instances=1, layouts="rrrr"):
    return find_case(casebook(), f"flexible[row:{row}/size:{size}/does:{does}/beside:{beside}/instances:{instances}/layouts:{layouts}]")


@pytest.mark.parametrize(
    ("size", "sizes"), [("3x1x2", (96, 16, 32)), ("m256", (256, 16, 16)), ("n256", (32, 256, 16)), ("k1024", (32, 16, 1024))]
)
def test_sizes_are_counted_in_granularities_or_name_one_side(size, sizes):
    row = parse_size(size).of(parse_flexible_row("32x16x16.f16.f16.f32.f32.wg4").granularity)
    assert row is not None
    assert (row.m, row.n, row.k) == sizes


@pytest.mark.parametrize("label", ["16x16x16.f16.f16.f32.f32", "16x16x16.f16.f16.f32.f32.wg", "16x16.f16.f16.f32.f32.flex"])
def test_other_labels_are_not_flexible_rows(label):
    with pytest.raises(CasebookError, match="row"):
        parse_flexible_row(label)


def test_a_row_that_only_a_device_has_gets_the_cases_of_the_others():
    family = casebook().family("flexible")
    label = "64x16x16.f16.f16.f32.f32.wg16"
    wider = with_property_rows(family, [label])
    assert label in wider.parameters[0].values
    added = [
        case for case in expand(family, "nightly", [label, "4x4x4.f16.f16.f32.f32"]) if case.labels[0] not in family.parameters[0].values
    ]
    assert {case.labels[0] for case in added} == {label}
    assert {case.parameters.does for case in added} == {"muladd", "loop", "load_store", "tensor", "per_element"} | {
        f"reduce_{what}" for what in ("rows", "columns", "all")
    }


def test_other_families_do_not_get_flexible_rows():
    family = casebook().family("every_row")
    assert expand(family, "smoke", ["64x16x16.f16.f16.f32.f32.wg16"]) == expand(family, "smoke")


def test_the_family_names_every_flexible_row_of_the_devices_that_the_suite_knows():
    named = casebook().family("flexible").parameters[0].values
    for profile in ("nvidia-h200", "llvmpipe"):
        rows = device_rows(replace(load_profile(profile).description, kind="vulkan"))
        assert {label for label in rows if is_flexible(label)} <= set(named)


def test_current_devices_run_two_thirds_of_the_smoke_tier():
    description = load_profile("nvidia-h200").description
    cases = expand(casebook().family("flexible"), "smoke")
    programs = [build(case).program for case in cases]
    assert sum(not missing(kernel(program, emit(program)), description) for program in programs) * 3 > len(cases) * 2


def shifted(kind, by, axis):
    """Build the step of ``kind`` with the fragments of the result rotated along an axis."""

    def step(state, operation):
        perform(state, operation)
        value = state.matrices[operation.result.name]
        state.matrices[operation.result.name] = replace(value, bits=np.roll(value.bits, by, axis), history=None, known=CERTAIN)

    return step


@pytest.mark.parametrize(
    ("does", "kind"),
    [
        ("muladd", MatrixMulAdd),
        ("load_store", MatrixLoad),
        ("tensor", TensorLoad),
        ("per_element", PerElement),
        ("loop", MatrixMulAdd),
    ],
)
@pytest.mark.parametrize(("axis", "by"), [(1, 8), (1, 16), (2, 8), (2, 16)])
def test_fragments_that_are_exchanged_show(does, kind, axis, by):
    case = case_of(size="2x5x3", does=does)
    built = build(case)
    program = built.program
    subcases = built.subcases()
    for operation in every(program.operations, kind):
        if operation.result.type.shape[axis - 1] <= by:
            continue
        defect = Defect("exchanged", {operation: shifted(kind, by, axis)})
        assert any(is_seen(program, subcase, defect) for subcase in subcases), operation.result.name


@pytest.mark.parametrize(("does", "axis"), [("reduce_rows", 1), ("reduce_columns", 2)])
def test_a_reduction_of_another_row_or_column_shows(does, axis):
    case = case_of(size="2x5x3", does=does)
    built = build(case)
    program = built.program
    operation = every(program.operations, Reduce)[0]
    defect = Defect("exchanged", {operation: shifted(Reduce, 16, axis)})
    assert all(is_seen(program, subcase, defect) for subcase in built.subcases())


@pytest.mark.parametrize("tier", ["smoke", "nightly"])
def test_a_reduction_shows_zeros_with_which_fragments_are_filled_up(tier):
    reductions = [case for case in expand(casebook().family("flexible"), tier) if case.parameters.does.startswith("reduce")]
    assert {case.parameters.does for case in reductions} == {"reduce_rows", "reduce_columns", "reduce_all"}
    for case in reductions[:: 1 if tier == "smoke" else 16]:
        found = seen(case.id, "reduce.padded_with_zeros")
        assert found, case.id
        assert not unseen(found), case.id


@pytest.mark.parametrize("does", ["muladd", "tensor"])
def test_memory_beside_the_matrices_must_stay(does):
    """A device that uses memory that is not its own changes the bytes that are copied out at the end."""
    case = case_of(does=does, size="2x2x2", beside=8192)
    program = build(case).program
    array = next(array for array in program.arrays if array.name == "beside_shared")
    assert array.count * array.pointee.bytes == 8192
    stores = [operation for operation in program.operations if isinstance(operation, MatrixStore | TensorStore)]

    def overwriting(state, operation):
        perform(state, operation)
        state.memories["beside_shared"].contents[4096] ^= 1

    subcase = build(case).subcases(program)[0]
    assert is_seen(program, subcase, Defect("overwrites", {stores[-1]: overwriting}))


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("component", ["u8", "f16", "f32", "f64"])
@pytest.mark.parametrize("padded", [False, True])
def test_tiles_of_any_multiple_of_a_granularity_are_aligned(layout, component, padded):
    """Pointer and stride must be aligned to the lesser of 16 bytes and the line (KHR-ALIGN-01); a line of 24 or 40 bytes is not a multiple
    of 16."""
    type_ = COMPONENT_TYPES[component]
    for line in (*range(4, 60, 4), *range(64, 129, 8)):
        shape = (5, line) if layout is Layout.ROW_MAJOR else (line, 5)
        tiles = tiled(MatrixType(type_, Scope.SUBGROUP, *shape, Use.A), layout, padded, (3, 2))
        alignment = min(16, line * type_.bytes)
        assert tiles.stride * type_.bytes % alignment == 0
        assert tiles.pitch * type_.bytes % alignment == 0
        assert tiles.stride >= line + padded
        assert tiles.pitch >= 4 * tiles.stride + line + padded


@pytest.mark.parametrize(
    "case_id",
    [
        "flexible[row:8x8x8.u8.u8.u32.u32.flex/size:3x1x2/does:reduce_columns/instances:3/layouts:cccc]",
        "flexible[row:8x8x8.u8.u8.u32.u32.flex/size:2x5x3/does:per_element]",
        "flexible[row:8x8x8.s8.s8.s32.s32.flex/size:5x2x1/does:reduce_rows/instances:3/layouts:crrc]",
    ],
)
def test_lines_that_are_not_a_multiple_of_16_bytes_are_defined(case_id):
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    plan = arrange(built)
    outcomes = EmbeddedDevice(load_profile("llvmpipe")).run(kernel(program, emit(program)), plan.dispatches)
    assert [compare(program, *judged) for judged in zip(plan.expected, plan.before, outcomes, strict=True)] == [(), ()]
