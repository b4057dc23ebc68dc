"""A diagnosis names the defect that an implementation has.

The tests make the outcome of a broken implementation without the diagnosis's own defects: from a program that does what the broken
implementation does, or by arithmetic on the right outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import numpy as np
import pytest

from cts.diagnosis import diagnose as diagnosing
from cts.diagnosis.diagnose import diagnose
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.elements import scatter
from cts.verdict.expected import as_expected
from cts.verdict.failure import Fit, Match, explanations
from generators.casebook import build, find_case
from generators.kernel import Outcome
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Pointee
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.variables import VariableLoad
from generators.program.walking import changed
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, Scope
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type, muladd, perfect, store_program
from tests.suite import casebook

U8, S8, U32, S32, F16, F32 = (COMPONENT_TYPES[name] for name in ("u8", "s8", "u32", "s32", "f16", "f32"))
SIGNED = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED


def diagnosis_of(program: Program, subcase: Subcase, broken: Program, data: Subcase | None = None) -> list[str]:
    """Return the ids of the diagnosis if an implementation of ``program`` behaved like ``broken``."""
    expected, before, _ = perfect(program, subcase)
    outputs = {name: contents.copy() for name, contents in before.items() if program.array(name).role != "input"}
    for placed in evaluate(broken, data or subcase).placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    return ids(diagnose(program, subcase, expected, before, Outcome(outputs)))


def ids(found: Iterable[Match]) -> list[str]:
    return [match.id for match in found]


def told(found: Iterable[Match]) -> list[tuple[str, str]]:
    return [(match.id, match.sentence) for match in found]


def rewritten(program: Program, change: Callable[[Operation], Operation]) -> Program:
    return replace(program, operations=tuple(map(change, program.operations)))


def integer_case(operands: MatrixOperands = SIGNED, trips: int | None = None, instances: int = 1, size: int = 8) -> tuple[Program, Subcase]:
    rng = np.random.default_rng(11)
    a, b = (rng.integers(0, 256, (instances, size, size), np.uint8) for _ in range(2))
    c = rng.integers(0, 1 << 32, (instances, size, size), np.uint32)
    case = muladd(("s8", "s8", "s32", "s32"), a, b, c, operands, trips)
    return case.program, case.subcase


def with_flags(flags: MatrixOperands) -> Callable[[Operation], Operation]:
    return lambda operation: replace(operation, operands=flags) if isinstance(operation, MatrixMulAdd) else operation


@pytest.mark.parametrize(
    ("right", "wrong", "id_"),
    [
        (SIGNED, SIGNED & ~MatrixOperands.A_SIGNED, "multiply_add.sign_ignored"),
        (SIGNED, SIGNED & ~MatrixOperands.B_SIGNED, "multiply_add.sign_ignored"),
        (MatrixOperands.NONE, MatrixOperands.A_SIGNED, "multiply_add.sign_assumed"),
        (SIGNED | MatrixOperands.SATURATING_ACCUMULATION, SIGNED, "multiply_add.saturation_ignored"),
        (SIGNED, SIGNED | MatrixOperands.SATURATING_ACCUMULATION, "multiply_add.saturation_assumed"),
    ],
)
def test_a_flag_ignored_or_added(right: MatrixOperands, wrong: MatrixOperands, id_: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 256, (1, 8, 8), np.uint8) for _ in range(2))
    near = (np.uint32(0x80000000) + rng.integers(-5000, 5000, (1, 8, 8))).astype(np.uint32)
    case = muladd(("s8", "s8", "s32", "s32"), a, b, near, right)
    assert diagnosis_of(case.program, case.subcase, rewritten(case.program, with_flags(wrong))) == [id_]


def test_the_flag_of_c_ignored() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(0, 256, (1, 8, 8), np.uint8) for _ in range(3))
    case = muladd(("s8", "s8", "s8", "s32"), a, b, c, SIGNED)
    broken = rewritten(case.program, with_flags(SIGNED & ~MatrixOperands.C_SIGNED))
    assert "multiply_add.sign_ignored" in diagnosis_of(case.program, case.subcase, broken)


def test_c_dropped() -> None:
    program, subcase = integer_case()
    zero = replace(subcase, inputs={**subcase.inputs, "c_in": np.zeros_like(subcase.inputs["c_in"])})
    assert diagnosis_of(program, subcase, program, zero) == [
        "multiply_add.without_c",
        "single_edit.operand_zero",
        "single_edit.result_zero",
    ]


def test_a_and_b_exchanged() -> None:
    program, subcase = integer_case()
    exchanged = replace(subcase, inputs={**subcase.inputs, "a_in": subcase.inputs["b_in"], "b_in": subcase.inputs["a_in"]})
    assert "multiply_add.factors_exchanged" in diagnosis_of(program, subcase, program, exchanged)


def test_a_load_in_the_other_layout() -> None:
    program, subcase = integer_case()

    def swap(operation: Operation) -> Operation:
        if isinstance(operation, MatrixLoad) and operation.result.name == "a":
            return replace(operation, layout=Layout.COLUMN_MAJOR)
        return operation

    found = diagnosis_of(program, subcase, rewritten(program, swap))
    assert "load_store.layout_swapped" in found


def test_every_load_in_the_other_layout() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 256, (1, 8, 8), np.uint8), rng.integers(0, 256, (1, 8, 8), np.uint8)
    case = muladd(("u8", "u8", "u32", "u32"), a, b, rng.integers(0, 1 << 32, (1, 8, 8), np.uint32))
    swapped = rewritten(case.program, lambda o: replace(o, layout=Layout.COLUMN_MAJOR) if isinstance(o, MatrixLoad) else o)
    assert "load_store.every_layout_swapped" in diagnosis_of(case.program, case.subcase, swapped)


def moved(pointee: str, stride: int, first: int = 0, layout: Layout = Layout.ROW_MAJOR) -> tuple[Program, Subcase]:
    """Build a program that loads a 4x4 matrix of u8 from a place counted in ``pointee`` and stores it tightly."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    name, _, lanes = pointee.partition("x")
    declared = Pointee(COMPONENT_TYPES[name], int(lanes or 1))
    source = builder.array("source", declared, 256 // declared.bytes, BUFFER, "input", 32)
    out = builder.array("out", Pointee(U8), 16, BUFFER, "output")
    loaded = builder.load("m", matrix_type("u8", 4, 4), source, builder.literal(first), builder.literal(stride), layout)
    builder.store(loaded, out, builder.literal(0), builder.literal(4), Layout.ROW_MAJOR)
    return builder.build(), Subcase("one", {"source": np.random.default_rng(4).permutation(256).astype(np.uint8)})


@pytest.mark.parametrize(
    ("right", "wrong", "id_"),
    [
        (("u32", 3, 2), ("u8", 3, 8), "load_store.stride_in_elements"),
        (("u32", 3, 2), ("u8", 12, 2), "load_store.first_in_elements"),
        (("u32", 3, 2), ("u8", 3, 2), "load_store.both_in_elements"),
        (("u8", 12, 8), ("u8", 4, 8), "load_store.stride_ignored"),
        (("u8", 12, 8), ("u8", 12, 0), "load_store.first_ignored"),
        (("u8", 12, 8), ("u8", 12, 20), "load_store.line_too_far"),
        (("u8", 0, 8), ("u8", 4, 8), "load_store.stride_zero_as_tight"),
        (("u8", 2, 1), ("u8", 64, 32), "load_store.array_stride_as_element"),
        (("u8", 12, 8), ("u8", 12, 8, Layout.COLUMN_MAJOR), "load_store.layout_swapped"),
    ],
)
def test_a_load_from_the_wrong_place(right: tuple[str, int, int], wrong: tuple[str, int, int], id_: str) -> None:
    program, subcase = moved(*right)
    broken, _ = moved(*wrong)
    assert id_ in diagnosis_of(program, subcase, broken)


def test_a_store_in_the_other_layout() -> None:
    program, subcase = moved("u8", 12)
    broken = rewritten(program, lambda o: replace(o, layout=Layout.COLUMN_MAJOR) if isinstance(o, MatrixStore) else o)
    assert "load_store.layout_swapped" in diagnosis_of(program, subcase, broken)


@pytest.mark.parametrize(
    ("wrong", "id_"), [(2, "loop.one_too_few"), (4, "loop.one_too_many"), (1, "loop.runs_once"), (0, "loop.result_lost")]
)
def test_another_number_of_iterations(wrong: int, id_: str) -> None:
    program, subcase = integer_case(trips=3)
    broken, _ = integer_case(trips=wrong)
    assert id_ in diagnosis_of(program, subcase, broken)


def test_the_accumulator_not_carried() -> None:
    program, subcase = integer_case(trips=3)
    broken, _ = integer_case(trips=1)
    assert "loop.not_carried" in diagnosis_of(program, subcase, broken)


def test_c_taken_in_the_first_iteration_only() -> None:
    program, subcase = integer_case(trips=3)
    product, _ = integer_case()
    zero = replace(subcase, inputs={**subcase.inputs, "c_in": np.zeros_like(subcase.inputs["c_in"])})
    assert "multiply_add.c_in_first_iteration" in diagnosis_of(program, subcase, product, zero)


def test_the_data_of_instance_0_in_every_instance() -> None:
    program, subcase = integer_case(instances=2)
    half = len(subcase.inputs["a_in"]) // 2
    repeated = replace(subcase, inputs={**subcase.inputs, "a_in": np.tile(subcase.inputs["a_in"][:half], 2)})
    found = diagnosis_of(program, subcase, program, repeated)
    assert "multiply_add.a_of_first_instance" in found


def float_problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-60, 60, (1, 8, 8)).astype(np.float64) for _ in range(2))
    return a, b, rng.integers(-(2**20), 2**20, (1, 8, 8)).astype(np.float64)


def float_diagnosis(outcome: np.ndarray, foreseen: Collection[str] = ()) -> list[Match]:
    a, b, c = float_problem()
    case = muladd(("f16", "f16", "f32", "f32"), as_bits(a, F16), as_bits(b, F16), as_bits(c, F32))
    expected, before, _ = perfect(case.program, case.subcase)
    assert expected.placed[0].expected.KIND == "exact"
    received = Outcome({"d_out": as_bytes(outcome.astype(np.float32))})
    wanted = as_expected(expected)
    assert compare(case.program, wanted, before, received)
    return list(diagnose(case.program, case.subcase, wanted, before, received, foreseen))


def test_a_sum_kept_in_bfloat16() -> None:
    bf16 = COMPONENT_TYPES["bf16"].dtype
    a, b, c = float_problem()
    total = c.astype(np.float32).astype(bf16)
    for k in range(8):
        total = (total.astype(np.float32) + (a[:, :, k, None] * b[:, None, k, :]).astype(np.float32)).astype(bf16)
    assert "the sum kept in bf16 (rounded after each term)" in [match.text for match in float_diagnosis(total)]


def test_a_sum_rounded_to_bfloat16_at_the_end() -> None:
    a, b, c = float_problem()
    found = float_diagnosis((a @ b + c).astype(COMPONENT_TYPES["bf16"].dtype))
    assert "the sum rounded to bf16 at the end" in [match.text for match in found]


def equal_products(c: float, outcome: float, component: str = "f32") -> list[Match]:
    """Diagnose a device that gives ``outcome`` for every element, a sum of eight products and ``c``; the right result is 14 + ``c``."""
    shape = (1, 8, 8)
    type_ = COMPONENT_TYPES[component]
    case = muladd(
        ("f16", "f16", component, component),
        as_bits(np.full(shape, 1.75), F16),
        as_bits(np.ones(shape), F16),
        as_bits(np.full(shape, c), type_),
    )
    expected, before, _ = perfect(case.program, case.subcase)
    wanted = as_expected(expected)
    received = Outcome({"d_out": as_bytes(np.full(shape, outcome, type_.dtype))})
    assert compare(case.program, wanted, before, received)
    return list(diagnose(case.program, case.subcase, wanted, before, received))


def test_c_added_twice_is_named_even_if_a_narrow_sum_also_fits() -> None:
    found = equal_products(1, 16)
    assert told(found)[0] == ("multiply_add.c_twice", "the sum d computed with C added twice")
    assert any(match.id.startswith("multiply_add.sum_") for match in found)
    assert all(match.equal and (match.explains, match.failing) == (64, 64) for match in found)
    assert explanations(found)[0].startswith(f"{len(found)} that fit equally well: the sum d computed with C added twice; or the sum ")
    assert explanations(found)[0].endswith(" (64 of 64 failing elements)")


def test_c_added_twice() -> None:
    a, b, c = float_problem()
    assert ids(float_diagnosis(a @ b + 2 * c)) == ["multiply_add.c_twice"]


@pytest.mark.parametrize("where", [np.s_[:, 0], np.s_[:, :8], np.s_[:, :, 3:]], ids=["row", "all", "columns"])
def test_infinities_are_not_elements_of_other_rows(where: tuple[slice, ...]) -> None:
    a, b, c = float_problem()
    alike = np.broadcast_to((a @ b + c)[:, :1], c.shape).copy()
    problem = muladd(("f16", "f16", "f32", "f32"), as_bits(a * 0, F16), as_bits(b * 0, F16), as_bits(alike, F32))
    expected, before, _ = perfect(problem.program, problem.subcase)
    outcome = alike.copy()
    outcome[where] = np.inf
    found = diagnose(problem.program, problem.subcase, expected, before, Outcome({"d_out": as_bytes(outcome.astype(np.float32))}))
    assert ids(found) == ["outcome.infinite"]


def test_a_relative_error() -> None:
    a, b, c = float_problem()
    noise = np.random.default_rng(7).uniform(0.5, 1, c.shape) * np.random.default_rng(8).choice([-1, 1], c.shape)
    found = float_diagnosis((a @ b + c) * (1 + noise * 2.0**-11))
    assert [match.sentence for match in found] == ["every wrong element of d is off by less than 2^-11 of itself: about 11 bits are right"]
    assert float_diagnosis((a @ b + c) * (1 + 2.0**-12))[0].sentence == "the sum too large by 2^-12 of itself"


def test_an_ignored_index_is_not_a_row_of_another_place() -> None:
    case = find_case(casebook(), "aggregates[row:8x8x8.f16.f16.f32.f32/count:2]")
    built = build(case)
    program, subcase = built.program, built.subcases()[0]

    def first(operation: Operation) -> list[Operation]:
        return [replace(operation, path=(0,) * len(operation.path)) if isinstance(operation, VariableLoad) else operation]

    broken = replace(program, operations=changed(program.operations, first))
    found = diagnosis_of(program, subcase, broken)
    assert "variable.index_ignored" in found
    assert not [id_ for id_ in found if id_.startswith("outcome.")]


def test_half_of_k() -> None:
    a, b, c = float_problem()
    found = float_diagnosis(a[:, :, :4] @ b[:, :4] + c)
    assert told(found) == [("multiply_add.first_half_of_k", "the sum d computed over the first half of K only")]


def test_a_transposed_result() -> None:
    a, b, c = float_problem()
    assert "multiply_add.result_transposed" in ids(float_diagnosis((a @ b + c).transpose(0, 2, 1)))


@pytest.mark.parametrize(
    ("change", "id_", "text"),
    [
        (lambda d: np.roll(d, 2, axis=1), "rotated", "d: every element is rotated by 2 rows"),
        (
            lambda d: np.concatenate([np.full((1, 8, 1), 5.0), d[:, :, :-1]], axis=2),
            "shifted",
            "d: every element is 1 column higher than it should be",
        ),
        (lambda d: d[:, [0, 1, 2, 3, 3, 3, 3, 3]], "as_one_line", "every wrong row of d equals the expected row 3"),
        (lambda d: d[:, :, [0, 1, 2, 3, 0, 1, 2, 3]], "as_distant_line", "every wrong column of d equals the expected column 4 before it"),
        (lambda d: d[:, [0, 1, 6, 7, 4, 5, 6, 7]], "as_distant_line", "every wrong row of d equals the expected row 4 after it"),
        (lambda d: np.where(np.arange(8)[:, None] == 2, 0.0, d), "zero", "every wrong element of d is zero"),
        (lambda d: d * np.nan, "nan", "every wrong element of d is NaN"),
        (lambda d: -d, "other_sign", "every wrong element of d has the other sign"),
        (
            lambda d: np.nextafter(d.astype(np.float32), np.float32(np.inf)),
            "rounded_otherwise",
            "every wrong element of d is the neighbour of the expected value: rounded the other way",
        ),
        (lambda d: d[:, [1, 0, 3, 2, 6, 7, 4, 5]], "elsewhere", "d has the right elements in other places"),
    ],
)
def test_relations_where_no_defect_of_the_program_fits(change: Callable[[np.ndarray], np.ndarray], id_: str, text: str) -> None:
    a, b, c = float_problem()
    assert (f"outcome.{id_}", text) in told(float_diagnosis(change(a @ b + c)))


def test_a_defect_of_some_elements_only_is_named_only_if_it_is_foreseen() -> None:
    a, b, c = float_problem()
    outcome = a @ b + c
    outcome[:, 4:] -= c[:, 4:]
    found = {match.id: match.fit for match in float_diagnosis(outcome, foreseen=["multiply_add.without_c"])}
    assert found == {"multiply_add.without_c": Fit.WRONG_ELEMENTS}
    assert float_diagnosis(outcome) == []


def test_a_specialization_constant_left_at_its_default() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(U8), 128, BUFFER, "input")
    out = builder.array("out", Pointee(U8), 16, BUFFER, "output")
    stride = builder.operand("stride", U32, "specialization", value=9, default=11)
    loaded = builder.load("m", matrix_type("u8", 4, 4), source, builder.literal(1), stride, Layout.ROW_MAJOR)
    builder.store(loaded, out, builder.literal(0), builder.literal(4), Layout.ROW_MAJOR)
    program, subcase = builder.build(), Subcase("one", {"source": np.arange(128, dtype=np.uint8)})
    broken = rewritten(program, lambda o: replace(o, stride=builder.literal(11)) if isinstance(o, MatrixLoad) else o)
    assert "specialization.default_kept" in diagnosis_of(program, subcase, broken)


def test_a_matrix_that_is_not_stored_leaves_what_was_there() -> None:
    program, subcase = integer_case()
    expected, before, _ = perfect(program, subcase)
    outcome = Outcome({"d_out": before["d_out"].copy()})
    assert "load_store.not_stored" in ids(diagnose(program, subcase, expected, before, outcome))


def test_garbage_has_no_explanation() -> None:
    program, subcase = integer_case()
    expected, before, _ = perfect(program, subcase)
    garbage = np.random.default_rng(1).integers(0, 256, len(before["d_out"]), np.uint8)
    assert diagnose(program, subcase, expected, before, Outcome({"d_out": garbage})) == ()


def test_a_rotation_by_half_is_not_reported_as_two_shifts() -> None:
    a, b, c = float_problem()
    found = float_diagnosis(np.roll(a @ b + c, 4, axis=2))
    assert "outcome.rotated" in ids(found)
    assert "outcome.shifted" not in ids(found)


def test_a_flipped_bit_of_a_moved_value_is_not_a_rounding() -> None:
    bits = as_bits(np.random.default_rng(5).normal(size=(8, 8)), F16)
    program, subcase = store_program({"type": "f16", "pointee": "f16", "first": 0, "stride": 8, "layout": "ROW_MAJOR"}, bits, 128)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"][40] ^= 1
    assert diagnose(program, subcase, expected, before, outcome) == ()


def test_a_foreseen_defect_that_explains_everything_is_the_only_one_tried(monkeypatch):
    program, subcase = integer_case()
    broken = rewritten(program, with_flags(SIGNED & ~MatrixOperands.A_SIGNED))
    expected, before, _ = perfect(program, subcase)
    outputs = {name: contents.copy() for name, contents in before.items() if program.array(name).role != "input"}
    for placed in evaluate(broken, subcase).placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    tried: list[str] = []
    evaluated = diagnosing.evaluate_defect
    monkeypatch.setattr(diagnosing, "evaluate_defect", lambda *given, **more: tried.append("one") or evaluated(*given, **more))

    everything = ids(diagnose(program, subcase, expected, before, Outcome(outputs)))
    for_everything = len(tried)
    tried.clear()
    assert ids(diagnose(program, subcase, expected, before, Outcome(outputs), foreseen=everything[:1])) == everything[:1]
    assert len(tried) < for_everything
    assert ids(diagnose(program, subcase, expected, before, Outcome(outputs), foreseen=["operand.of_another_family"])) == everything
