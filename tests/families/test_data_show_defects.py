"""The data of real cases must give a different result under each known defect, or a driver with that defect would pass."""

import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare, compare_quality
from cts.verdict.poison import initial_contents
from generators.casebook import build, expand, find_case
from generators.types import Layout
from tests.families.evidence import chosen, parts, seen, unseen
from tests.suite import casebook

LOAD_STORE = (
    "load_store[component:{}/use:{}/shape:{}/subgroups:{}/load:{}/store:{}/load_pointee:{}/store_pointee:{}/"
    "load_stride:{}/store_stride:{}/first:{}]"
)
MULADD = "muladd[row:{}/subgroups:{}/data:{}/form:{}/trips:{}/trip_source:{}/layouts:{}]"


def load_store(
    component="f16",
    use="a",
    shape="16x16",
    subgroups=1,
    layouts="row-row",
    pointees=("component", "component"),
    strides=("padded", "padded"),
    first="zero",
):
    return LOAD_STORE.format(component, use, shape, subgroups, *layouts.split("-"), *pointees, *strides, first)


def muladd(row, data, form="single", subgroups=1, trips=3, source="literal", layouts="rrrr"):
    return MULADD.format(row, subgroups, data, form, trips, source, layouts)


def memory(form, storage="workgroup", layouts="row-column", subgroups=2, shape="16x16", handover="barrier", padding="tight"):
    written, read = layouts.split("-")
    place = f"shape:{shape}/subgroups:{subgroups}/form:{form}/storage:{storage}/handover:{handover}"
    return f"memory[component:f16/{place}/written:{written}/read:{read}/padding:{padding}]"


def wanted(id_, **parameters):
    """Name a defect by its id and parameters."""
    return id_, parameters


@pytest.mark.parametrize(
    ("case_id", "defect"),
    [
        (load_store(layouts="row-column"), wanted("load_store.layout_swapped", access="loaded", wrong="column")),
        (load_store(component="u8", layouts="column-row"), wanted("load_store.layout_swapped", access="loaded", wrong="row")),
        (load_store(component="s8"), wanted("load_store.load_transposed")),
        (load_store(strides=("odd", "padded"), pointees=("uvec4", "component")), wanted("load_store.stride_ignored")),
        (load_store(pointees=("uvec4", "component")), wanted("load_store.stride_in_elements", access="loaded")),
        (
            load_store(component="s8", pointees=("u32", "component"), first="minimal"),
            wanted("load_store.first_in_elements", access="loaded"),
        ),
        (load_store(component="f32", pointees=("vec4", "vec2"), first="far"), wanted("load_store.first_ignored")),
        (load_store(strides=("zero", "padded")), wanted("load_store.stride_zero_as_tight")),
        (load_store(subgroups=2), wanted("load_store.place_of_first_instance")),
        (load_store(), wanted("load_store.line_too_far")),
        (load_store(component="s8", shape="8x8", first="minimal"), wanted("load_store.address_rounded_down", access="loaded")),
        (
            load_store(component="u8", shape="8x8", strides=("tight", "padded"), first="minimal"),
            wanted("load_store.stride_rounded_down", access="loaded"),
        ),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), wanted("multiply_add.without_c")),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), wanted("multiply_add.sum_narrowed", type="bf16")),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), wanted("multiply_add.sum_narrowed_c_last", type="bf16")),
        (muladd("16x16x16.bf16.bf16.f32.f32", "exact"), wanted("multiply_add.sum_narrowed", type="e4m3")),
        (muladd("16x16x16.bf16.bf16.f32.f32", "exact"), wanted("multiply_add.sum_narrowed_c_last", type="e4m3")),
        (muladd("16x8x16.f16.f16.f16.f16", "exact"), wanted("multiply_add.sum_narrowed", type="bf16")),
        (muladd("16x8x16.f16.f16.f16.f16", "exact"), wanted("multiply_add.sum_narrowed_c_last", type="bf16")),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), wanted("multiply_add.c_rounded", type="bf16")),
        (muladd("16x16x16.s8.u8.s32.s32", "wrap"), wanted("multiply_add.sign_ignored", operand="A")),
        (muladd("16x16x16.u8.s8.s32.s32", "wrap"), wanted("multiply_add.sign_ignored", operand="B")),
        (muladd("16x16x16.u8.u8.s32.s32", "wrap"), wanted("multiply_add.sign_assumed")),
        (muladd("16x16x16.s8.s8.s16.s32", "wrap"), wanted("multiply_add.sign_ignored", operand="C")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap"), wanted("multiply_add.integer_sum_narrowed")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap"), wanted("multiply_add.saturation_assumed")),
        (muladd("16x16x16.s8.s8.s32.s32.sat", "saturate"), wanted("multiply_add.saturation_ignored")),
        (muladd("16x16x16.u16.u16.u16.u16.sat", "saturate"), wanted("multiply_add.saturates_by_other_sign")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", "loop"), wanted("loop.one_too_few")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", "loop"), wanted("loop.one_too_many")),
        (muladd("16x16x16.f16.f16.f32.f32", "exact", "loop", trips=0), wanted("loop.at_least_once")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", "loop_fixed"), wanted("loop.not_carried")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", subgroups=4), wanted("multiply_add.a_of_first_instance")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", subgroups=4), wanted("multiply_add.b_of_first_instance")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", subgroups=4), wanted("multiply_add.c_of_first_instance")),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", subgroups=4), wanted("load_store.place_of_first_instance")),
        (memory("subgroup"), wanted("memory.load_forwarded")),
        (memory("workgroup", layouts="row-row"), wanted("memory.load_forwarded")),
        (memory("plain_around_matrix"), wanted("memory.stale_plain_load")),
        (memory("tiles"), wanted("memory.first_tile")),
        (memory("array_stride", "storage_buffer", "row-row", subgroups=1, padding="padded"), wanted("load_store.array_stride_as_element")),
        (memory("array_stride", "storage_buffer", "row-row", subgroups=1, padding="padded"), wanted("memory.stride_in_array_strides")),
        (
            memory("array_stride", "storage_buffer", "column-column", subgroups=1, padding="padded"),
            wanted("load_store.array_stride_as_element"),
        ),
        (
            memory("array_stride", "storage_buffer", "column-column", subgroups=1, padding="padded"),
            wanted("memory.stride_in_array_strides"),
        ),
    ],
    ids=lambda part: part.replace("[", "(").replace("]", ")") if isinstance(part, str) else "-".join([part[0], *part[1].values()]),
)
def test_the_data_show_the_defect(case_id, defect):
    id_, parameters = defect
    found = seen(case_id, id_, **parameters)
    assert found
    assert not unseen(found)


@pytest.mark.parametrize(
    ("row", "narrow"), [("16x16x16.f16.f16.f32.f32", "f16"), ("16x16x16.bf16.bf16.f32.f32", "bf16"), ("8x8x16.f16.f16.f32.f32", "f16")]
)
@pytest.mark.parametrize("id_", ["multiply_add.sum_narrowed", "multiply_add.sum_narrowed_c_last", "multiply_add.c_rounded"])
def test_a_sum_of_fewer_bits_is_permitted_and_not_expected(row, narrow, id_):
    program, subcases = parts(muladd(row, "exact"))
    for defect in chosen(known_defects(program), id_, type=narrow):
        warned = 0
        for subcase in subcases:
            expected = evaluate(program, subcase)
            before = initial_contents(program, subcase, expected)
            outcome = outcome_of(program, evaluate_defect(program, subcase, defect.substitutes), before)
            assert not compare(program, expected, before, outcome), subcase.name
            warned += bool(compare_quality(expected, before, outcome))
        assert warned


def test_a_stride_kept_in_16_bits_is_not_one_that_is_ignored():
    case = find_case(casebook(), load_store(component="u8", strides=("huge", "padded")))
    built = build(case)
    program = built.program
    subcase = built.subcases()[0]
    placed = {
        defect.id: evaluate_defect(program, subcase, defect.substitutes).placed[0].expected.bits.tobytes()
        for defect in chosen(known_defects(program), "load_store.stride_ignored", "load_store.stride_in_16_bits", access="loaded")
    }
    assert len(set(placed.values())) == len(placed) == 2


@pytest.mark.parametrize("layout", Layout)
def test_the_smoke_tier_has_addresses_that_only_narrow_lines_allow(layout):
    """Addresses that are not multiples of 16 bytes: lines of eight 8-bit elements, from the first place that Vulkan allows."""
    cases = [case.parameters for case in expand(casebook().family("load_store"), "smoke")]
    short = {Layout.ROW_MAJOR: ((8, 8), (16, 8)), Layout.COLUMN_MAJOR: ((8, 8), (8, 16))}[layout]
    assert any(
        parameters.first == "minimal"
        and parameters.component.bits == 8
        and parameters.load is parameters.store is layout
        and parameters.shape in short
        for parameters in cases
    )


@pytest.mark.parametrize("access", ["loaded", "stored"])
def test_the_smoke_tier_shows_a_stride_whose_bytes_are_kept_in_16_bits(access):
    far = [
        case
        for case in expand(casebook().family("load_store"), "smoke")
        if "huge" in (case.parameters.load_stride, case.parameters.store_stride)
    ]
    found = [one for case in far for one in seen(case.id, "load_store.stride_in_16_bits", access=access)]
    assert any(one.is_visible for one in found)
