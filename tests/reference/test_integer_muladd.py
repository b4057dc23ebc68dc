"""Integer multiply-adds equal exact arithmetic in Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cts.reference.integer_products import multiply_add
from cts.reference.values import MatrixValue
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands
from tests.broken_rules import breaks

INTEGERS = [component for component in COMPONENT_TYPES.values() if not component.is_float]
FLAGS = [MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED, MatrixOperands.RESULT_SIGNED]


@st.composite
def problems(draw: st.DrawFn) -> tuple[MatrixValue, MatrixValue, MatrixValue, ComponentType, MatrixOperands]:
    components = [draw(st.sampled_from(INTEGERS)) for _ in range(4)]
    m, n, k = (draw(st.integers(1, 3)) for _ in range(3))
    instances = draw(st.integers(1, 2))
    operands = MatrixOperands.NONE
    for flag in FLAGS:
        operands |= flag if draw(st.booleans()) else MatrixOperands.NONE

    def value(component: ComponentType, rows: int, columns: int) -> MatrixValue:
        edges = st.sampled_from([0, 1, (1 << component.bits) - 1, 1 << (component.bits - 1), (1 << (component.bits - 1)) - 1])
        element = st.one_of(edges, st.integers(0, (1 << component.bits) - 1))
        count = instances * rows * columns
        bits = draw(st.lists(element, min_size=count, max_size=count))
        return MatrixValue(component, np.array(bits, component.bits_dtype).reshape(instances, rows, columns))

    return value(components[0], m, k), value(components[1], k, n), value(components[2], m, n), components[3], operands


def number(bits: int, width: int, signed: bool) -> int:
    return bits - (1 << width) if signed and bits >> (width - 1) else bits


def slow(
    a: MatrixValue, b: MatrixValue, c: MatrixValue, result: ComponentType, operands: MatrixOperands
) -> list[list[list[tuple[list[int], int]]]]:
    """Return for each element the list of products and c, as exact integers."""

    def at(value: MatrixValue, flag: MatrixOperands, i: int, row: int, column: int) -> int:
        return number(int(value.bits[i, row, column]), value.component.bits, bool(operands & flag))

    instances, m, k = a.bits.shape
    n = b.bits.shape[2]
    return [
        [
            [
                (
                    [at(a, MatrixOperands.A_SIGNED, i, row, x) * at(b, MatrixOperands.B_SIGNED, i, x, column) for x in range(k)],
                    at(c, MatrixOperands.C_SIGNED, i, row, column),
                )
                for column in range(n)
            ]
            for row in range(m)
        ]
        for i in range(instances)
    ]


@given(problems())
def test_wrapping_is_the_low_order_bits(problem: tuple[MatrixValue, MatrixValue, MatrixValue, ComponentType, MatrixOperands]) -> None:
    result = problem[3]
    got = multiply_add(*problem)
    wanted = [[[(sum(products) + c) % (1 << result.bits) for products, c in row] for row in rows] for rows in slow(*problem)]
    assert got.bits.tolist() == wanted
    assert got.bits.dtype == result.bits_dtype


@given(problems())
def test_saturating_is_the_clamped_sum_or_undefined(
    problem: tuple[MatrixValue, MatrixValue, MatrixValue, ComponentType, MatrixOperands],
) -> None:
    a, b, c, result, operands = problem
    signed = bool(operands & MatrixOperands.RESULT_SIGNED)
    low, high = (-(1 << (result.bits - 1)), (1 << (result.bits - 1)) - 1) if signed else (0, (1 << result.bits) - 1)
    terms = [term for rows in slow(*problem) for row in rows for term in row]
    defined = all(
        low <= sum(p for p in products if p < 0) and sum(p for p in products if p > 0) <= high and low <= addend <= high
        for products, addend in terms
    )
    operands |= MatrixOperands.SATURATING_ACCUMULATION
    if not defined:
        with breaks("KHR-MAD-08", "KHR-MAD-10"):
            multiply_add(a, b, c, result, operands)
        return
    got = multiply_add(a, b, c, result, operands)
    wanted = [min(max(sum(products) + addend, low), high) % (1 << result.bits) for products, addend in terms]
    assert got.bits.ravel().tolist() == wanted


def test_a_huge_operand_times_zero_does_not_overflow() -> None:
    """The sum fits, although float64 could not prove it."""
    u64, u32 = COMPONENT_TYPES["u64"], COMPONENT_TYPES["u32"]
    huge, zero = MatrixValue(u64, np.full((1, 1, 1), 1 << 63, np.uint64)), MatrixValue(u64, np.zeros((1, 1, 2), np.uint64))
    c = MatrixValue(u32, np.full((1, 1, 2), 7, np.uint32))
    mixed = MatrixValue(u64, np.array([[[0, 1 << 63]]], np.uint64))
    rows = MatrixValue(u64, np.array([[[5, 6], [0, 0]]], np.uint64))
    assert multiply_add(huge, zero, c, u32, MatrixOperands.SATURATING_ACCUMULATION).bits.tolist() == [[[7, 7]]]
    assert multiply_add(mixed, rows, c, u32, MatrixOperands.SATURATING_ACCUMULATION).bits.tolist() == [[[7, 7]]]
