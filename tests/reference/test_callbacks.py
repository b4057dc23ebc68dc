"""Functions that are called for elements, with results worked out by hand from the text of SPV_NV_cooperative_matrix2."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from generators.errors import Rule
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce, StructOperand, VectorOperand
from generators.program.expressions import Binary, Called, Choose, Converted, Expression, Part, constant, element_function
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.values import Matrix, MatrixType, StructType, Value, VectorType
from generators.types import COMPONENT_TYPES, Layout, ReduceMode, Scope, StorageClass, Use
from tests.broken_rules import breaks

S32 = COMPONENT_TYPES["s32"]
ROW, COLUMN = Value("row", U32), Value("column", U32)


def _matrix_type(component: str, rows: int, columns: int) -> MatrixType:
    return MatrixType(COMPONENT_TYPES[component], Scope.SUBGROUP, rows, columns, Use.ACCUMULATOR)


def _evaluated(builder: ProgramBuilder, result: Matrix, data: np.ndarray) -> np.ndarray:
    rows, columns = result.type.shape
    array = builder.array("target", Pointee(result.type.component), rows * columns, StorageClass.STORAGE_BUFFER, "output")
    zero = builder.literal(0)
    builder.store(result, array, zero, builder.literal(columns), Layout.ROW_MAJOR)
    found = evaluate(builder.build(), Subcase("one", {"source": np.ascontiguousarray(data).view(np.uint8).ravel()}))
    return found.placed[0].expected.bits[0].view(result.type.component.dtype)


def _loaded(component: str, data: np.ndarray) -> tuple[ProgramBuilder, Matrix]:
    builder = ProgramBuilder(Scope.SUBGROUP)
    rows, columns = data.shape
    array = builder.array("source", Pointee(COMPONENT_TYPES[component]), data.size, StorageClass.STORAGE_BUFFER, "input")
    zero = builder.literal(0)
    return builder, builder.load("m", _matrix_type(component, rows, columns), array, zero, builder.literal(columns), Layout.ROW_MAJOR)


def reduced(component: str, given: object, mode: ReduceMode, to: tuple[int, int], combine: Expression | None = None) -> list[list[float]]:
    data = np.array(given, COMPONENT_TYPES[component].dtype)
    builder, matrix = _loaded(component, data)
    a, b = (Value(name, COMPONENT_TYPES[component]) for name in "ab")
    result = Value("r", _matrix_type(component, *to))
    builder.add(Reduce(result, matrix, mode, element_function("f", (a, b), combine or Binary("add", a, b))))
    return _evaluated(builder, result, data).astype(float).tolist()


NUMBERS = [[1, 2, 3, 4], [10, 20, 30, 40]]


def test_a_row_is_combined_and_given_to_all_columns_of_the_result() -> None:
    assert reduced("f32", NUMBERS, ReduceMode.ROW, (2, 3)) == [[10] * 3, [100] * 3]


def test_a_column_is_combined_and_given_to_all_rows_of_the_result() -> None:
    """F-CM2-1: the text says row."""
    assert reduced("s32", NUMBERS, ReduceMode.COLUMN, (3, 4)) == [[11, 22, 33, 44]] * 3


def test_all_elements_are_combined_for_a_result_of_any_size() -> None:
    assert reduced("u32", NUMBERS, ReduceMode.ROW_AND_COLUMN, (4, 1)) == [[110]] * 4


def test_aligned_squares_of_four_become_one_element() -> None:
    assert reduced("f16", NUMBERS, ReduceMode.TWO_BY_TWO, (1, 2)) == [[33, 77]]


def test_integers_wrap() -> None:
    assert reduced("u8", [[200, 100, 7, 1]], ReduceMode.ROW, (1, 1)) == [[(200 + 100 + 8) % 256]]


@pytest.mark.parametrize(
    ("mode", "to", "rule"),
    [
        (ReduceMode.ROW, (1, 4), "CM2-RED-04"),
        (ReduceMode.COLUMN, (2, 2), "CM2-RED-05"),
        (ReduceMode.TWO_BY_TWO, (2, 2), "CM2-RED-03"),
        (ReduceMode.TWO_BY_TWO, (1, 4), "CM2-RED-03"),
    ],
)
def test_a_result_of_a_size_that_the_mode_has_not_is_refused(mode: ReduceMode, to: tuple[int, int], rule: str) -> None:
    with breaks(rule):
        reduced("f32", NUMBERS, mode, to)


def test_a_function_whose_order_decides_is_refused() -> None:
    a, b = Value("a", S32), Value("b", S32)
    with breaks("CM2-RED-09"):
        reduced("s32", NUMBERS, ReduceMode.ROW, (2, 4), Binary("subtract", a, b))


def test_a_sum_that_some_order_rounds_is_refused() -> None:
    """1 + 2048 is not an f16, whatever the whole sum is."""
    with breaks(Rule.INEXACT):
        reduced("f16", [[1.0, 2048.0, -2048.0, -1.0]], ReduceMode.ROW, (1, 1))


def applied(component: str, given: object, function: Function, *extra: object) -> list[list[float]]:
    data = np.array(given, COMPONENT_TYPES[component].dtype)
    builder, matrix = _loaded(component, data)
    result = Value("r", matrix.type)
    builder.add(PerElement(result, matrix, function, tuple(matrix if operand == "matrix" else operand for operand in extra)))  # type: ignore[arg-type]
    return _evaluated(builder, result, data).astype(float).tolist()


def test_a_function_gets_row_column_and_element() -> None:
    x = Value("x", U32)
    tens = Binary("add", Binary("multiply", ROW, constant(U32, 10)), COLUMN)
    function = element_function("f", (ROW, COLUMN, x), Binary("add", Binary("multiply", x, constant(U32, 100)), tens))
    assert applied("u32", [[7, 8], [9, 5]], function) == [[700, 801], [910, 511]]


def test_rows_compare_by_the_signedness_of_their_parameter() -> None:
    """column - 1 of column 0 is -1, or the greatest number."""
    x = Value("x", S32)
    for type_, first in ((U32, 0), (S32, 5)):
        row, column = Value("row", type_), Value("column", type_)
        before = Binary("less", Binary("subtract", column, constant(type_, 1)), row)
        function = element_function("f", (row, column, x), Choose(before, x, constant(S32, 0)))
        assert applied("s32", [[5, 6], [7, 8]], function) == [[first, 0], [first and 7, 8]]


def test_operands_are_passed_in_order() -> None:
    x, scalar, other = (Value(name, U32) for name in ("x", "scalar", "other"))
    vector, struct = Value("v", VectorType(U32, 2)), Value("s", StructType("Pair", (U32, S32)))
    parts = (x, scalar, Part(vector, 0), Part(vector, 1), Part(struct, 0), Converted(U32, Part(struct, 1)), other)
    total: Expression = parts[0]
    for part in parts[1:]:
        total = Binary("add", Binary("multiply", total, constant(U32, 10)), part)
    literal = ProgramBuilder(Scope.SUBGROUP).literal
    operands = (literal(2), VectorOperand((literal(3), literal(4))), StructOperand((literal(5), literal(6, S32))), "matrix")
    function = element_function("f", (ROW, COLUMN, x, scalar, vector, struct, other), total)
    assert applied("u32", [[1, 7]], function, *operands) == [[1234561, 7234567]]


def test_a_function_calls_another_with_its_own_parameters() -> None:
    x, a, b = (Value(name, U32) for name in "xab")
    inner = element_function("inner", (a, b), Binary("subtract", a, b))
    function = element_function("f", (ROW, COLUMN, x), Called(inner, (Called(inner, (x, COLUMN)), ROW)))
    assert applied("u32", [[10, 10], [10, 10]], function) == [[10, 9], [9, 8]]


@pytest.mark.parametrize(("value", "to", "expected"), [(-2, "u32", 4294967294), (-2, "s32", -2)])
def test_integers_convert_by_the_signedness_of_both_types(value: int, to: str, expected: int) -> None:
    target = COMPONENT_TYPES[to]
    x = Value("x", target)
    narrow = constant(COMPONENT_TYPES["s8"], value % 256)
    function = element_function("f", (ROW, COLUMN, x), Converted(target, narrow))
    assert applied(to, [[0]], function) == [[expected]]


def test_a_shift_by_the_width_is_refused() -> None:
    x = Value("x", U32)
    with breaks(Rule.SHIFT):
        applied("u32", [[1]], element_function("f", (ROW, COLUMN, x), Binary("shift_left", x, constant(U32, 32))))


def test_a_float_that_rounds_is_refused() -> None:
    f16 = COMPONENT_TYPES["f16"]
    x = Value("x", f16)
    with breaks(Rule.INEXACT):
        applied("f16", [[2048.0]], element_function("f", (ROW, COLUMN, x), Binary("add", x, constant(f16, 0x3C00))))
