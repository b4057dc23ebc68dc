"""The data of the families of constructed matrices show the defects of real drivers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.defects.construction import construction_defects
from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate
from cts.reference.values import MatrixValue
from cts.verdict.compare import is_permitted
from cts.verdict.poison import initial_contents
from generators.casebook import build, expand, find_case
from generators.kernel import Outcome
from generators.numerics.formats import denormals, values
from generators.types import Use
from tests.broken_rules import breaks
from tests.families.evidence import chosen, judged
from tests.suite import casebook

STORED = (
    "construction[origin:{origin}/holder:{holder}/component:{component}/use:{use}/shape:{shape}"
    "/subgroups:{subgroups}/value:{value}/form:{form}/trips:{trips}]"
)
OPERAND = (
    "construction_operands[row:{row}/origin:{origin}/constructed:{constructed}/scalar:{scalar}/form:{form}"
    "/subgroups:{subgroups}/trips:{trips}]"
)


def stored(origin, component="f16", use="a", shape="8x8", subgroups=1, value="bytes", form="single", trips=3, holder="none"):
    return STORED.format(**locals())


def operand(origin, constructed, row="8x8x8.s8.s8.s32.s32", form="single", subgroups=1, trips=3, scalar="own"):
    return OPERAND.format(**locals())


@cache
def built(case_id):
    case = find_case(casebook(), case_id)
    built = build(case, is_placed=False)
    program = built.program
    return program, built.subcases()[0]


def is_seen(case_id, broken) -> bool:
    """Return whether a device that computes the results ``broken`` fails the case."""
    own, subcase = built(case_id)
    _, _, expected, before, _ = judged(own, subcase)
    return not is_permitted(own, expected, before, {**before, **outcome_of(own, broken, before).outputs})


PARTS = ("diagonal_only", "first_row_only", "first_column_only", "first_element_only", "zero")


@pytest.mark.parametrize(
    ("case_id", "id_"),
    [
        *((stored("constant", component, use), part) for component, use in (("f16", "a"), ("s8", "b"), ("f32", "acc")) for part in PARTS),
        *((stored("splat_push_constant", value="least"), part) for part in PARTS),
        *((stored("replicated", form="several"), part) for part in PARTS),
        (stored("null"), "null_constant.ones"),
        (stored("null", form="several"), "null_constant.ones"),
        (stored("specialization"), "specialization.default_kept"),
        (stored("replicated_specialization", form="twice"), "specialization.default_kept"),
        (stored("splat_specialization", "u8", "b", value="ones"), "specialization.default_kept"),
        (stored("splat_element", subgroups=2), "splat.scalar_of_first_instance"),
        (stored("splat_element", "u32", "acc", subgroups=4, form="replaced"), "splat.scalar_of_first_instance"),
        *((operand("constant", constructed), part) for constructed in ("a", "b", "c", "abc") for part in PARTS),
        *((operand("constant", constructed, "16x16x16.f16.f16.f32.f32"), part) for constructed in ("a", "b", "ac") for part in PARTS),
        *((operand("splat_buffer", "c", "16x16x16.bf16.bf16.bf16.bf16"), part) for part in PARTS),
        *((operand("splat_literal", "abc", form="loop"), part) for part in PARTS),
        *((operand("constant", constructed, "16x8x8.f16.f16.f32.f32"), "constant.sign_lost") for constructed in ("b", "ab")),
        (operand("splat_specialization", "b", "16x8x8.f16.f16.f16.f16"), "constant.sign_lost"),
        (operand("null", "a"), "null_constant.ones"),
        (operand("null", "c", "8x8x8.f16.f16.f16.f16"), "null_constant.ones"),
        (operand("null", "bc", form="loop"), "null_constant.ones"),
        (operand("specialization", "ab", scalar="shared"), "specialization.default_kept"),
        (operand("splat_element", "b", subgroups=2), "splat.scalar_of_first_instance"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(case_id, id_):
    program, subcase = built(case_id)
    defects = chosen(known_defects(program), *([f"splat.{id_}", f"constant.{id_}"] if id_ in PARTS else [id_]))
    assert defects
    for defect in defects:
        assert is_seen(case_id, evaluate_defect(program, subcase, defect.substitutes)), defect.text


@pytest.mark.parametrize("constructed", ["b", "ab", "abc"])
def test_a_sign_lost_in_every_other_row_is_named(constructed):
    """NVIDIA's 580.159.04 does this to constants of use B."""
    program, subcase = built(operand("constant", constructed, "16x8x8.f16.f16.f32.f32"))
    (b,) = (o for o in program.operations if type(o).__name__ == "MatrixConstant" and o.result.type.use is Use.B)
    minus_one = np.full((1, *b.result.type.shape), 0xBC00, np.uint16)
    minus_one[:, ::2] = 0x3C00

    def lose(state, operation):
        state.matrices[operation.result.name] = MatrixValue(operation.result.type.component, minus_one)

    broken, expected = evaluate_defect(program, subcase, {b: lose}), evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    outputs = {name: data.copy() for name, data in before.items()}
    for placed in broken.placed:
        bits, size = np.ascontiguousarray(placed.expected.bits), placed.expected.component.bytes
        outputs[placed.array][placed.offsets[..., None] + np.arange(size)] = bits.view(np.uint8).reshape(*bits.shape, size)
    found = diagnose(program, subcase, expected, before, Outcome(outputs))
    assert "constant.sign_lost" in [match.id for match in found]


@pytest.mark.parametrize("row", ["16x16x16.f16.f16.f32.f32", "8x8x8.s8.s8.s32.s32", "16x16x16.e4m3.e4m3.f32.f32"])
def test_twins_differ_although_their_constants_have_the_same_bits(row):
    """A compiler that confuses two types of the same width computes both products alike."""
    program, subcase = built(operand("constant", "a", row, form="twins"))
    constants = [o.value.value for o in program.operations if type(o).__name__ == "MatrixConstant"]
    assert len(set(constants)) == 1
    first, second = (placed.expected.bits for placed in evaluate(program, subcase).placed)
    assert not np.array_equal(first, second)
    swapped = dict(subcase.inputs) | {"b_in": subcase.inputs["b_twin_in"], "c_in": subcase.inputs["c_twin_in"]}
    same_data, _ = (placed.expected.bits for placed in evaluate(program, type(subcase)("swapped", swapped)).placed)
    assert (same_data != second).mean() > 0.9


@pytest.mark.parametrize("component", ["f16", "bf16", "e4m3", "s8", "u32", "f64"])
def test_several_constants_of_one_shader_and_the_default_all_differ(component):
    values = set()
    for value in ("bytes", "ones", "high", "low", "least"):
        program, _ = built(stored("specialization", component, value=value))
        (constant,) = program.operands
        values |= {constant.value, constant.default}
    assert len(values) == 6


@pytest.mark.parametrize("component", ["f16", "f32", "f64", "bf16", "e4m3", "e5m2"])
@pytest.mark.parametrize("origin", ["replicated", "replicated_specialization", "replicate_literal", "replicate_element"])
@pytest.mark.parametrize("form", ["single", "several"])
def test_no_denormal_is_replicated(component, origin, form):
    """The replicating instructions are not on Vulkan's list of instructions that must not flush denormals (facts.md C16)."""
    for value in ("bytes", "ones", "high", "low", "least"):
        program, subcase = built(stored(origin, component, subgroups=4, value=value, form=form))
        for placed in evaluate(program, subcase).placed:
            numbers = values(placed.expected.bits, placed.expected.component)
            assert not denormals(numbers, placed.expected.component).any()


def test_what_keeps_denormals_constructs_one():
    program, subcase = built(stored("splat_buffer", value="least"))
    (placed,) = evaluate(program, subcase).placed
    assert (placed.expected.bits == 1).all()


def may_round(parameters):
    """Return whether a loop begins with one constructed factor and sums in 16 bits, which the YAML lists as missing coverage."""
    factors = {"a", "b"} & set(parameters.constructed)
    return parameters.form == "loop" and len(factors) == 1 and parameters.row.result.bits == 16


@pytest.mark.parametrize("tier", ["smoke", "nightly"])
def test_every_multiply_add_is_judged_exactly(tier):
    """The suite's envelope would permit a small constant to be missing."""
    for case in expand(casebook().family("construction_operands"), tier)[:: 1 if tier == "smoke" else 7]:
        if tier == "nightly" and may_round(case.parameters):
            continue
        built = build(case, is_placed=False)
        program = built.program
        for subcase in built.subcases():
            assert {placed.expected.KIND for placed in evaluate(program, subcase).placed} == {"exact"}, case.id


@pytest.mark.parametrize("holder", ["function", "private", "function_array", "private_array"])
def test_an_initializer_that_is_dropped_shows(holder):
    """The variable holds zeros, or the value of another constant of the shader."""
    _, subcase = built(stored("constant", holder=holder))
    for other in (stored("null", holder=holder), stored("constant", holder=holder, value="low")):
        assert is_seen(stored("constant", holder=holder), evaluate(built(other)[0], subcase))


def test_zero_iterations_leave_the_initial_value():
    program, subcase = built(stored("splat_buffer", "s32", "acc", form="replaced", trips=0))
    bits = evaluate(program, subcase).placed[0].expected.bits
    assert set(bits.ravel()) == {0x93949596}


def test_results_that_depend_on_an_undefined_matrix_are_refused():
    """The first value of the loop is undefined, and no iteration replaces it."""
    program, subcase = built(stored("splat_push_constant", form="undefined", trips=1))
    never = replace(program, operations=tuple(map(without_iterations, program.operations)))
    with breaks("KHR-COMP-04"):
        evaluate(never, subcase)


def without_iterations(operation):
    if type(operation).__name__ != "Loop":
        return operation
    trip_count = type(operation.limit)("none", operation.limit.type, "literal", 0)
    return type(operation)(operation.index, trip_count, operation.carried, operation.body)


def blind_spots(family, tier, step=1):
    """Return (case, defect) for each known defect of construction that no case of the family shows, although the data of a case could."""
    found = []
    for case in expand(casebook().family(family), tier)[::step]:
        program, subcase = built(case.id)
        if case.parameters.trips == 0:
            continue
        for defect in construction_defects(program):
            if defect.id == "splat.scalar_of_first_instance" and not case.parameters.origin.varies:
                continue
            if not is_seen(case.id, evaluate_defect(program, subcase, defect.substitutes)):
                found.append((case.id, defect.text))
    return found


@pytest.mark.parametrize("family", ["construction", "construction_operands"])
def test_every_case_of_the_smoke_tier_shows_every_defect_of_construction(family):
    assert blind_spots(family, "smoke") == []
