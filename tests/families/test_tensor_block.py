"""What devices do wrong with blocks and decode functions must change a stored element, or nobody would see it."""

import pytest

from cts.compare import compare
from cts.defects.tensor import tensor_defects
from cts.defects.tensor_block import tensor_block_defects
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import build_program, build_subcases, find_case
from tests.families.evidence import casebook, is_seen, outcome_of

COORDINATES = "with block coordinates and coordinates in the block exchanged"
CLAMPING = "with coordinates before clamping"


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
    axes = (component, use, shape, "subgroup", 1, rank, block, decode, last, place, mode, setting, "none", loads, then, calls)
    return f"tensor_block[{'-'.join(map(str, axes))}-none-u32-literal-u32-storage_buffer-u8]"


def defects(id_, words):
    case = find_case(casebook(), id_)
    program = build_program(case)
    found = [defect for defect in (*tensor_defects(program), *tensor_block_defects(program)) if words in defect.words]
    assert found, f"no known defect of {id_} is described with {words!r}"
    return program, build_subcases(case, program), found


@pytest.mark.parametrize(
    ("id_", "words"),
    [
        (case_id(), COORDINATES),
        (case_id(rank=5, block="2x2x3x2x2"), COORDINATES),
        (case_id(rank=3, block="2x1x3"), "in reverse order"),
        (case_id(component="f32"), "block coordinates that count elements"),
        (case_id(), "block coordinates of zero"),
        (case_id(decode="planes"), "block coordinates of zero"),
        (case_id(decode="q4_0", block="32"), "coordinates in the block of zero"),
        (case_id(decode="q4_0", block="32"), "that begin at the slice"),
        (case_id(place="over", mode="edge"), CLAMPING),
        (case_id(place="over", mode="repeat", decode="planes"), CLAMPING),
        (case_id(place="periods", mode="mirrored"), CLAMPING),
        (case_id(place="over", mode="edge"), "clamped to whole blocks"),
        (case_id(place="over", mode="constant"), "decoded where it takes the clamp value"),
        (case_id(decode="planes"), "indices that count components"),
        (case_id(decode="planes"), "indices that count bytes"),
        (case_id(decode="planes"), "neighbour of each block"),
        (case_id(decode="q4_0", block="32"), "neighbour of each block"),
        (case_id(decode="q8_0", block="4x8"), "neighbour of each block"),
        (case_id(decode="none"), "neighbour of each block"),
        (case_id(decode="none"), "block sizes ignored"),
        (case_id(decode="none"), "rounded down"),
        (case_id(decode="planes", last="one"), "rounded down"),
        (case_id(decode="planes", setting="after"), "computes the strides again"),
        (case_id(decode="q4_0", block="32"), "halves of bytes exchanged"),
        (case_id(decode="q5_0", block="32", calls="deep"), "halves of bytes exchanged"),
        (case_id(decode="int4", block="32", component="s32"), "halves of bytes exchanged"),
        (case_id(decode="q5_0", block="32"), "fifth bit"),
        (case_id(decode="q5_1", block="32", component="f32"), "fifth bit"),
        (case_id(decode="int4", block="32", component="s32"), "widened as unsigned"),
        (case_id(decode="q8_0", block="32", component="f32"), "widened as unsigned"),
        (case_id(decode="q5_1", block="32", loads="several"), "by the function of another load"),
        (case_id(decode="q4_0", block="32", use="a", then="muladd"), "neighbour of each block"),
        (case_id(decode="q4_0", block="32", use="a", then="muladd"), "halves of bytes exchanged"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(id_, words):
    program, subcases, found = defects(id_, words)
    unseen = [defect.words for defect in found if not any(is_seen(program, subcase, defect) for subcase in subcases)]
    assert not unseen


@pytest.mark.parametrize("words", [COORDINATES, "in reverse order", "that begin at the slice", CLAMPING])
def test_a_hash_of_coordinates_differs_without_reading_memory(words):
    """Not because the other reading breaks off: every one gives numbers."""
    program, (subcase,), (defect,) = defects(case_id(place="over", mode="repeat", rank=3, block="2x1x3"), words)
    expected, other = evaluate(program, subcase), evaluate(program, subcase, defect.substitutes)
    before = initial_contents(program, subcase, expected)
    assert compare(program, expected, before, outcome_of(program, other, before))


@pytest.mark.parametrize("words", ["rounded down", "computes the strides again"])
def test_what_rounds_nowhere_does_not_show(words):
    """A defect shows only where a dimension has a part of a block, or where the block size comes last."""
    program, subcases, found = defects(case_id(decode="none", last="whole"), words)
    assert not any(is_seen(program, subcase, defect) for defect in found for subcase in subcases)


def test_results_of_32_bits_need_more_than_16():
    """A function that computes in f16 whatever it declares is seen in nearly every element."""
    id_ = case_id(decode="q4_1", block="32", component="f32")
    case = find_case(casebook(), id_)
    program = build_program(case)
    (subcase,) = build_subcases(case, program)
    (placed,) = evaluate(program, subcase).placed
    values = placed.allowed.bits.view("float32")
    assert (values.astype("float16").astype("float32") != values).mean() > 0.5
