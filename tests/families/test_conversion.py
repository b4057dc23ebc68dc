"""Data of the family conversion: every wrong conversion must fail on them, and nothing in them may be undefined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.reference.conversion import convert_value
from cts.reference.evaluate import evaluate
from cts.reference.values import MatrixValue
from cts.verdict.compare import compare, compare_quality
from cts.verdict.elements import scatter
from cts.verdict.poison import initial_contents
from cts.verdict.verdict import Verdict
from generators.casebook import build, find_case
from generators.errors import Rule
from generators.inputs.conversions import Step, edges, every_byte, fill, fits, overflowing, random
from generators.kernel import Outcome
from generators.program.conversion import Conversion, MatrixConvert, conversions
from generators.types import COMPONENT_TYPES
from tests.broken_rules import breaks
from tests.suite import casebook

TYPES = COMPONENT_TYPES
PAIRS = [Step(s, t, c) for s in TYPES.values() for t in TYPES.values() for c in conversions(s, t)]
CASE = "conversion[from:{}/to:{}/use:{}/shape:{}/signs:{}/saturation:{}/form:{}/third:{}]"


def case_id(source, target, use="acc", shape="16x16", signs="types", saturation="none", form="kept", third="f32"):
    return CASE.format(source, target, use, shape, signs, saturation, form, third)


def bits_of(numbers, component):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(numbers).astype(component.dtype).view(component.bits_dtype)


def read(matrix: MatrixValue) -> np.ndarray:
    return matrix.bits.view(matrix.component.dtype).astype(np.float64)


def fails(id_: str, wrong) -> bool:
    """Return whether a device fails if the bits of its conversions are ``wrong(matrix, operation)``."""
    return Verdict.FAIL in verdicts(id_, wrong)


def verdicts(id_: str, wrong) -> set[Verdict]:
    """Return the verdicts on the subcases of a device if its conversions return ``wrong(matrix, operation)``."""
    found = set()
    program = build(find_case(casebook(), id_)).program
    operations = [operation for operation in program.operations if isinstance(operation, MatrixConvert)]

    def step(state, operation):
        state.matrices[operation.result.name] = MatrixValue(
            operation.result.type.component, wrong(state.matrices[operation.matrix.name], operation)
        )

    for subcase in build(find_case(casebook(), id_)).subcases(program):
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        with np.errstate(all="ignore"):
            broken = evaluate_defect(program, subcase, dict.fromkeys(operations, step))
        outputs = {name: data.copy() for name, data in before.items()}
        for placed in broken.placed:
            scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
        outcome = Outcome({array.name: outputs[array.name] for array in program.arrays if array.role == "output"})
        if compare(program, expected, before, outcome):
            found.add(Verdict.FAIL)
        else:
            found.add(Verdict.QUALITY_WARNING if compare_quality(expected, before, outcome) else Verdict.PASS)
    return found


def right(matrix, operation):
    return convert_value(matrix, operation.result.type.component, operation.conversion, operation.saturating).bits


def the_other_neighbour(matrix, operation):
    value = convert_value(matrix, operation.result.type.component, operation.conversion, operation.saturating)
    return value.expected_bits[min(1, len(value.expected_bits) - 1)]


def by_the_types(matrix, operation):
    """Take the signedness from the types instead of the instruction."""
    target = operation.result.type.component
    return convert_value(matrix, target, conversions(matrix.component, target)[0]).bits


def transposed(matrix, operation):
    return np.ascontiguousarray(np.swapaxes(right(matrix, operation), 1, 2))


def rounded_to_integer(matrix, operation):
    return np.rint(read(matrix)).astype(operation.result.type.component.dtype).view(operation.result.type.component.bits_dtype)


def floored(matrix, operation):
    return np.floor(read(matrix)).astype(operation.result.type.component.dtype).view(operation.result.type.component.bits_dtype)


def through(name):
    """Build a conversion through an intermediate type that is too narrow."""

    def wrong(matrix, operation):
        numbers = matrix.bits.view(matrix.component.dtype)
        return bits_of(numbers.astype(TYPES[name].dtype).astype(np.float64), operation.result.type.component)

    return wrong


def as_type(name):
    """Build a conversion that makes the result in another type of the same width."""
    return lambda matrix, operation: bits_of(read(matrix), TYPES[name])


def from_type(name):
    """Build a conversion that reads the operand as another type of the same width."""
    return lambda matrix, operation: bits_of(matrix.bits.view(TYPES[name].dtype).astype(np.float64), operation.result.type.component)


def carry_from_denormals_doubled(matrix, operation):
    """Increase the exponent of values that round up from the denormals to the smallest normal value (Mesa 26.2: "Fix float8 denorm rounding
    to min-normal")."""
    target = operation.result.type.component
    bits, smallest = right(matrix, operation), target.bits_dtype.type(1 << (target.precision - 1))
    magnitude = bits & target.bits_dtype.type((1 << (target.bits - 1)) - 1)
    carried = (magnitude == smallest) & (np.abs(read(matrix)) < float(np.array(smallest).view(target.dtype)))
    return np.where(carried, bits + smallest, bits)


def low_bits_ignored(matrix, operation):
    """Ignore the low bits: inputs whose low 16 bits are zero hide this defect."""
    cut = MatrixValue(matrix.component, matrix.bits & np.uint32(0xFFFF0000))
    return right(cut, operation)


def wrapped(matrix, operation):
    """Ignore the decoration for saturation."""
    return convert_value(matrix, operation.result.type.component, operation.conversion).bits


def bytes_of_the_source(matrix, operation):
    return matrix.bits.astype(operation.result.type.component.bits_dtype)


DEFECTS = [
    (case_id("u8", "f16", signs="crossed"), by_the_types),
    (case_id("s8", "f16", signs="crossed"), by_the_types),
    (case_id("s8", "f16", use="a", signs="crossed", shape="8x8"), by_the_types),
    (case_id("u8", "s16", signs="crossed"), lambda m, o: m.bits.astype(np.uint16)),
    (case_id("u8", "u32", signs="crossed"), by_the_types),
    (case_id("s16", "u64", signs="crossed"), by_the_types),
    (case_id("f32", "u32", signs="crossed"), lambda m, o: np.maximum(np.trunc(read(m)), 0).astype(np.uint32)),
    (case_id("s8", "s16", use="a", shape="16x32"), lambda m, o: m.bits.astype(np.uint16)),
    (case_id("f16", "f32"), from_type("bf16")),
    (case_id("f16", "bf16", use="b"), as_type("f16")),
    (case_id("f32", "e4m3"), as_type("e5m2")),
    (case_id("f16", "s8"), rounded_to_integer),
    (case_id("f32", "s8"), floored),
    (case_id("f32", "u16"), rounded_to_integer),
    (case_id("s32", "f64"), through("bf16")),
    (case_id("u64", "f64"), through("bf16")),
    (case_id("s32", "f32"), through("f16")),
    (case_id("f64", "f32"), through("bf16")),
    (case_id("f32", "e4m3"), carry_from_denormals_doubled),
    (case_id("f32", "e5m2"), carry_from_denormals_doubled),
    (case_id("f32", "f64"), low_bits_ignored),
    (case_id("f32", "f16"), low_bits_ignored),
    (case_id("f32", "e4m3", saturation="largest", form="alone"), wrapped),
    (case_id("s32", "e5m2", saturation="largest", form="alone"), wrapped),
    (case_id("f16", "e5m2", saturation="largest", form="alone"), wrapped),
    (case_id("s8", "u8"), lambda m, o: np.where(m.bits >> 7, 0, m.bits).astype(np.uint8)),
    (case_id("s32", "u8"), lambda m, o: np.clip(m.bits.view(np.int32), 0, 255).astype(np.uint8)),
    (case_id("s8", "f16", form="before", use="a"), bytes_of_the_source),
    (case_id("f16", "s8", form="before", use="b"), rounded_to_integer),
    (case_id("f32", "s32", form="after"), rounded_to_integer),
    (case_id("s32", "f16", form="after"), bytes_of_the_source),
    (case_id("f32", "f16", form="both", third="bf16"), as_type("bf16")),
]


@pytest.mark.parametrize(("id_", "wrong"), DEFECTS, ids=[f"{i}: {id_[11:40]}" for i, (id_, _) in enumerate(DEFECTS)])
def test_a_wrong_conversion_is_seen(id_, wrong):
    assert fails(id_, wrong)


@pytest.mark.parametrize("source", ["s32", "u64"])
def test_a_conversion_to_f64_with_the_precision_of_f32_is_permitted_and_not_expected(source):
    found = verdicts(case_id(source, "f64"), through("f32"))
    assert Verdict.FAIL not in found
    assert Verdict.QUALITY_WARNING in found


@pytest.mark.parametrize("use", ["a", "b", "acc"])
@pytest.mark.parametrize(
    ("source", "target"), [("s8", "s16"), ("e4m3", "f16"), ("f16", "e5m2"), ("u16", "u8"), ("f16", "s8"), ("s8", "u8")]
)
def test_elements_in_other_places_are_seen(source, target, use):
    assert fails(case_id(source, target, use=use), transposed)


@pytest.mark.parametrize(
    ("source", "target", "form"), [("f32", "f16", "kept"), ("s32", "f32", "alone"), ("f32", "e4m3", "alone"), ("f32", "f16", "after")]
)
def test_either_direction_of_rounding_passes(source, target, form):
    assert not fails(case_id(source, target, form=form), right)
    assert not fails(case_id(source, target, form=form), the_other_neighbour)


@pytest.mark.parametrize(("source", "middle"), [("f32", "f16"), ("s32", "f16"), ("f64", "bf16")])
def test_a_chain_that_skips_a_rounding_passes(source, middle):
    id_ = case_id(source, middle, form="back")
    kept = []

    def skip(matrix, operation):
        kept.append(matrix.bits)
        return right(matrix, operation) if operation.result.type.component.name == middle else kept[-2]

    assert not fails(id_, skip)


@pytest.mark.parametrize("step", PAIRS, ids=lambda step: f"{step.conversion.value}-{step.source}-{step.target}")
def test_all_data_are_defined_and_both_signs_and_the_low_bits_occur(step):
    rng = np.random.default_rng(3)
    listed = every_byte([step]) if step.source.bits == 8 else edges([step])
    drawn = random([step], 512, rng)
    for bits in (listed, drawn):
        assert fits(step, bits).all()
        assert len(np.unique(bits)) > 30
        assert np.bitwise_or.reduce(bits & bits.dtype.type(0xFF)) == (0xFF if step.source.bits > 8 else np.bitwise_or.reduce(bits))
        convert_value(MatrixValue(step.source, bits.reshape(1, 1, -1)), step.target, step.conversion)
    top = step.source.bits_dtype.type(1 << (step.source.bits - 1))
    if step.conversion not in (Conversion.F_TO_U, Conversion.U_TO_F) and fits(step, np.array([top | 1], top.dtype)).all():
        assert (drawn & top).any()
        assert not (drawn & top).all()


@pytest.mark.parametrize("target", ["f16", "e4m3", "e5m2", "bf16"])
def test_overflow_is_just_beyond_the_largest_and_far_beyond(target):
    step = Step(TYPES["f64"], TYPES[target], Conversion.F_TO_F)
    values = np.abs(overflowing(step, 256, np.random.default_rng(1)).view(np.float64))
    largest = {"f16": 65504.0, "e4m3": 448.0, "e5m2": 57344.0, "bf16": 2.0**128 - 2.0**120}[target]
    assert largest < values.min() < 1.1 * largest < 1e300 < values.max()


def test_small_matrices_also_convert_every_pattern_of_an_8_bit_type():
    step = Step(TYPES["s8"], TYPES["s32"], Conversion.S_TO_S)
    parts = [fill(every_byte([step]), 64, part) for part in range(4)]
    assert len(np.unique(np.concatenate(parts))) == 256


def test_a_case_whose_types_no_instruction_converts_is_refused():
    case = find_case(casebook(), case_id("f32", "f16"))
    with breaks(Rule.CONSTRAINT):
        case.definition.builder.build(replace(case.parameters, to=TYPES["f32"]))
