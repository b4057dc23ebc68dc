"""Mistakes of devices with blocks and decode functions must change a stored element, or they would go unnoticed."""

import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.tensor import tensor_defects
from cts.defects.tensor_block import tensor_block_defects
from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from tests.families.evidence import chosen, is_seen
from tests.suite import casebook

COORDINATES = "tensor_block.coordinates_exchanged"
CLAMPING = "tensor_block.coordinates_unclamped"


def case_id(
    component="f16",
    use="acc",
    rank=2,
    block="4",
    decode="coordinates",
    last="short",
    place="straddle",
    mode="undefined",
    setting="before",
    loads="one",
    then="store",
    calls="plain",
    shape="16x16",
):
    labels = f"component:{component}/use:{use}/shape:{shape}/rank:{rank}/block:{block}/decode:{decode}/last:{last}/place:{place}"
    return f"tensor_block[{labels}/mode:{mode}/setting:{setting}/loads:{loads}/then:{then}/calls:{calls}]"


def defects(case_id, id_):
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    found = chosen((*tensor_defects(program), *tensor_block_defects(program)), id_)
    assert found
    return program, built.subcases(), found


@pytest.mark.parametrize(
    ("case", "id_"),
    [
        (case_id(), COORDINATES),
        (case_id(rank=5, block="2x2x3x2x2"), COORDINATES),
        (case_id(rank=3, block="2x1x3"), "tensor_block.coordinates_reversed"),
        (case_id(component="f32"), "tensor_block.block_coordinates_in_elements"),
        (case_id(), "tensor_block.block_coordinates_zero"),
        (case_id(decode="planes"), "tensor_block.block_coordinates_zero"),
        (case_id(decode="q4_0", block="32"), "tensor_block.coordinates_in_block_zero"),
        (case_id(decode="q4_0", block="32"), "tensor_block.coordinates_from_slice"),
        (case_id(place="over", mode="edge"), CLAMPING),
        (case_id(place="over", mode="repeat", decode="planes"), CLAMPING),
        (case_id(place="periods", mode="mirrored"), CLAMPING),
        (case_id(place="over", mode="edge"), "tensor_block.clamped_to_whole_blocks"),
        (case_id(place="over", mode="constant"), "tensor_block.decoded_out_of_bounds"),
        (case_id(decode="planes"), "tensor_block.index_in_components"),
        (case_id(decode="planes"), "tensor_block.index_in_bytes"),
        (case_id(decode="planes"), "tensor_block.neighbour"),
        (case_id(decode="q4_0", block="32"), "tensor_block.neighbour"),
        (case_id(decode="q8_0", block="4x8"), "tensor_block.neighbour"),
        (case_id(decode="none"), "tensor_block.neighbour"),
        (case_id(decode="none"), "tensor_block.sizes_ignored"),
        (case_id(decode="none"), "tensor_layout.block_sizes_ignored"),
        (case_id(decode="none"), "tensor_layout.block_strides_rounded_down"),
        (case_id(decode="planes", last="one"), "tensor_layout.block_strides_rounded_down"),
        (case_id(decode="planes", setting="after"), "tensor_layout.block_size_resets_strides"),
        (case_id(decode="q4_0", block="32"), "tensor_block.halves_of_bytes_exchanged"),
        (case_id(decode="q5_0", block="32", calls="deep"), "tensor_block.halves_of_bytes_exchanged"),
        (case_id(decode="int4", block="32", component="s32"), "tensor_block.halves_of_bytes_exchanged"),
        (case_id(decode="q5_0", block="32"), "tensor_block.fifth_bit_dropped"),
        (case_id(decode="q5_1", block="32", component="f32"), "tensor_block.fifth_bit_dropped"),
        (case_id(decode="int4", block="32", component="s32"), "tensor_block.bytes_unsigned"),
        (case_id(decode="q8_0", block="32", component="f32"), "tensor_block.bytes_unsigned"),
        (case_id(decode="q5_1", block="32", loads="several"), "tensor_block.function_of_another_load"),
        (case_id(decode="q4_0", block="32", use="a", then="muladd"), "tensor_block.neighbour"),
        (case_id(decode="q4_0", block="32", use="a", then="muladd"), "tensor_block.halves_of_bytes_exchanged"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(case, id_):
    program, subcases, found = defects(case, id_)
    unseen = [defect.text for defect in found if not any(is_seen(program, subcase, defect) for subcase in subcases)]
    assert not unseen


@pytest.mark.parametrize("id_", [COORDINATES, "tensor_block.coordinates_reversed", "tensor_block.coordinates_from_slice", CLAMPING])
def test_a_hash_of_coordinates_differs_without_reading_memory(id_):
    """The results differ because both readings give numbers, not because one of them stops."""
    program, (subcase,), (defect,) = defects(case_id(place="over", mode="repeat", rank=3, block="2x1x3"), id_)
    expected, other = evaluate(program, subcase), evaluate_defect(program, subcase, defect.substitutes)
    before = initial_contents(program, subcase, expected)
    assert compare(program, expected, before, outcome_of(program, other, before))


@pytest.mark.parametrize("id_", ["tensor_layout.block_strides_rounded_down", "tensor_layout.block_size_resets_strides"])
def test_a_defect_of_rounding_does_not_show_if_nothing_rounds(id_):
    """A defect is visible only if a dimension has a partial block, or if the block size comes last."""
    program, subcases, found = defects(case_id(decode="none", last="whole"), id_)
    assert not any(is_seen(program, subcase, defect) for defect in found for subcase in subcases)


def test_results_of_32_bits_need_more_than_16():
    """A function that computes in f16, although it declares f32, is wrong in nearly every element."""
    id_ = case_id(decode="q4_1", block="32", component="f32")
    case = find_case(casebook(), id_)
    built = build(case)
    program = built.program
    (subcase,) = built.subcases()
    (placed,) = evaluate(program, subcase).placed
    values = placed.expected.bits.view("float32")
    assert (values.astype("float16").astype("float32") != values).mean() > 0.5
