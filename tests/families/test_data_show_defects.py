"""The data of real cases must give another result under each known defect, or a driver with that defect would pass."""

import pytest

from cts.diagnose import known_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build_program, build_subcases, expand, find_case
from tests.families.evidence import casebook, seen

LOAD_STORE = "load_store[{}-{}-{}-subgroup-{}-copy-{}-storage_buffer-storage_buffer-{}-{}-{}-{}-literal-u32-{}-none]"
MULADD = "muladd[{}-subgroup-{}-{}-{}-{}-{}-same-{}-tight-storage_buffer]"


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
    return LOAD_STORE.format(component, use, shape, subgroups, layouts, *pointees, *strides, first)


def muladd(row, data, form="single", subgroups=1, trips=3, source="literal", layouts="rrrr"):
    return MULADD.format(row, subgroups, data, form, trips, source, layouts)


def memory(form, storage="workgroup", layouts="row-column", subgroups=2, shape="16x16", handover="barrier", padding="tight"):
    return f"memory[f16-a-{shape}-subgroup-{subgroups}-{form}-{storage}-{handover}-{layouts}-{padding}-none]"


@pytest.mark.parametrize(
    ("case_id", "words"),
    [
        (load_store(layouts="row-column"), "loaded column major instead of row major"),
        (load_store(component="u8", layouts="column-row"), "loaded row major instead of column major"),
        (load_store(component="s8"), "loaded transposed"),
        (load_store(strides=("odd", "padded"), pointees=("uvec4", "component")), "the stride ignored"),
        (load_store(pointees=("uvec4", "component")), "loaded with the stride counted in"),
        (load_store(component="s8", pointees=("u32", "component"), first="minimal"), "loaded with the first element counted in"),
        (load_store(component="f32", pointees=("vec4", "vec2"), first="far"), "first element ignored"),
        (load_store(strides=("zero", "padded")), "stride 0 taken as close together"),
        (load_store(subgroups=2), "from the place of instance 0"),
        (load_store(), "one line too far"),
        (load_store(component="s8", shape="8x8", first="minimal"), "loaded from an address rounded down to 16 bytes"),
        (load_store(component="u8", shape="8x8", strides=("tight", "padded"), first="minimal"), "loaded with the stride rounded down"),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), "without C"),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), "the sum kept in f16"),
        (muladd("16x16x16.bf16.bf16.f32.f32", "exact"), "the sum kept in bf16"),
        (muladd("16x8x16.f16.f16.f16.f16", "exact"), "the sum kept in bf16"),
        (muladd("16x16x16.f16.f16.f32.f32", "exact"), "C rounded to f16 first"),
        (muladd("16x16x16.s8.u8.s32.s32", "wrap"), "MatrixASignedComponents ignored"),
        (muladd("16x16x16.u8.s8.s32.s32", "wrap"), "MatrixBSignedComponents ignored"),
        (muladd("16x16x16.u8.u8.s32.s32", "wrap"), "sign-extended without Matrix"),
        (muladd("16x16x16.s8.s8.s16.s32", "wrap"), "MatrixCSignedComponents ignored"),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap"), "the sum kept in"),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap"), "saturates without"),
        (muladd("16x16x16.s8.s8.s32.s32.sat", "saturate"), "wraps: SaturatingAccumulation ignored"),
        (muladd("16x16x16.u16.u16.u16.u16.sat", "saturate"), "with the other signedness"),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", "loop"), "one iteration too"),
        (muladd("16x16x16.f16.f16.f32.f32", "exact", "loop", trips=0), "at least once"),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", "loop_fixed"), "not carried"),
        (muladd("16x16x16.s8.s8.s32.s32", "wrap", subgroups=4), "instance 0"),
        (memory("subgroup"), "as it was stored"),
        (memory("workgroup", layouts="row-row"), "as it was stored"),
        (memory("plain_around_matrix"), "see what plain stores left"),
        (memory("tiles"), "the tile of the first one"),
        (memory("array_stride", "storage_buffer", "row-row", subgroups=1, padding="padded"), "ArrayStride"),
        (memory("array_stride", "storage_buffer", "column-column", subgroups=1, padding="padded"), "ArrayStride"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(case_id, words):
    found = seen(case_id, words)
    assert found, f"no known defect of this case is described with {words!r}"
    assert all(found.values()), [description for description, is_visible in found.items() if not is_visible]


def test_a_stride_kept_in_16_bits_is_not_one_that_is_ignored():
    case = find_case(casebook(), load_store(component="u8", strides=("huge", "padded")))
    program = build_program(case)
    subcase = build_subcases(case, program)[0]
    placed = {
        defect.words: evaluate(program, subcase, defect.substitutes).placed[0].allowed.bits.tobytes()
        for defect in known_defects(program)
        if "loaded with the stride ignored" in defect.words or "loaded with the bytes of the stride" in defect.words
    }
    assert len(set(placed.values())) == len(placed) == 2


@pytest.mark.parametrize("layout", ["row", "column"])
def test_the_smoke_tier_has_addresses_that_only_narrow_lines_allow(layout):
    """Below 16 bytes of alignment: lines of eight 8-bit elements, from the least place that Vulkan allows."""
    found = [case.values for case in expand(casebook().family("load_store"), "smoke") if case.values["first"] == "minimal"]
    short = {"row": ("8x8", "16x8"), "column": ("8x8", "8x16")}[layout]
    assert any(
        values["component"] in ("e4m3", "e5m2", "s8", "u8") and values["load"] == values["store"] == layout and values["shape"] in short
        for values in found
    )


@pytest.mark.parametrize("access", ["loaded", "stored"])
def test_the_smoke_tier_shows_a_stride_whose_bytes_are_kept_in_16_bits(access):
    far = [
        case
        for case in expand(casebook().family("load_store"), "smoke")
        if "huge" in (case.values["load_stride"], case.values["store_stride"])
    ]
    found = {words for case in far for words, is_visible in seen(case.id, "kept in 16 bits").items() if is_visible}
    assert any(f" {access} with" in words and "loaded and stored" not in words for words in found), found
