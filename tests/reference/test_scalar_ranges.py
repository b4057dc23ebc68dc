"""Scalars for which Vulkan's precision of functions permits a range, and values computed from them, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.callbacks import applied, results
from cts.reference.evaluate import perform
from cts.reference.scalars import bits_of
from cts.reference.state import State, initial_state
from cts.reference.values import Range
from generators.errors import Rule
from generators.numerics import formats
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Branch, Condition, Exit, Merged, Select
from generators.program.functions import Function
from generators.program.operation import Operation
from generators.program.program import Subcase
from generators.program.scalars import Extended, ExtendedName, ScalarArithmetic, ScalarOperator
from generators.program.values import Scalar, ScalarValue, Value, literal
from generators.types import COMPONENT_TYPES, Scope
from tests.broken_rules import breaks

F16, F32 = COMPONENT_TYPES["f16"], COMPONENT_TYPES["f32"]
X, Y, Z = (Value(name, F16) for name in "xyz")
STEP = 2.0**-10
"""The distance between f16 numbers from 1 to 2."""


def number(value: float) -> ScalarValue:
    return literal(F16, formats.bits_of(F16, value))


def ends(body: list[Operation], returned: Scalar, given: list[float]) -> list[tuple[float, float]]:
    """Return the ends of the range of a function's results, for each number."""
    (found,) = results(_state(), Function("f", (X,), tuple(body), returned), [np.array(given)])
    assert isinstance(found.range, Range)
    assert ((found.range.low <= found.numbers) & (found.numbers <= found.range.high)).all()
    return list(zip(found.range.low.tolist(), found.range.high.tolist(), strict=True))


def _state() -> State:
    return initial_state(ProgramBuilder(Scope.SUBGROUP).build(), Subcase("one", {}), perform)


@pytest.mark.parametrize(
    ("which", "argument", "center", "bound"),
    [
        # 1 + 2 |x| ULP; the numbers below 2 are 2**-10 apart.
        ("power_of_two", 1.0, 2.0, 3 * STEP),
        ("power_of_two", -2.0, 0.25, 5 * STEP / 8),
        ("exponential", 0.0, 1.0, STEP / 2),
        # 2 ULP of 0.5 and 1.
        ("inverse_root", 4.0, 0.5, STEP / 2),
        ("inverse_root", 1.0, 1.0, STEP),
        # An absolute error within [0.5, 2], 3 ULP outside of it.
        ("logarithm", 2.0, np.log(2.0), 2.0**-7),
        ("logarithm", 8.0, np.log(8.0), 6 * STEP),
    ],
)
def test_functions_have_the_bounds_of_the_table(which: ExtendedName, argument: float, center: float, bound: float) -> None:
    ((low, high),) = ends([Extended(Y, which, (X,))], Y, [argument])
    assert (low, high) == pytest.approx((center - bound, center + bound), rel=2.0**-40)


@pytest.mark.parametrize(
    ("operator", "other", "low", "high"),
    [
        # 0.5 - 2 ULP to 0.5 + 2 ULP, and then rounded in any direction.
        ("multiply", 3.0, 1534 * STEP, 1538 * STEP),
        ("multiply", -1.0, -0.5 - STEP / 2, -0.5 + STEP / 2),
        ("add", 1.0, 1535 * STEP, 1537 * STEP),
        ("subtract", 0.5, -STEP / 2, STEP / 2),
    ],
)
def test_operators_round_the_ends_in_any_direction(operator: ScalarOperator, other: float, low: float, high: float) -> None:
    body = [Extended(Y, "inverse_root", (X,)), ScalarArithmetic(Z, operator, Y, number(other))]
    ((least, greatest),) = ends(body, Z, [4.0])
    # The possible float64 error costs a step if an end is a number of the type.
    assert low - STEP <= least <= low
    assert high <= greatest <= high + STEP


def test_extremes_and_clamps_cut_a_range() -> None:
    root = Extended(Y, "inverse_root", (X,))
    for which, operands, expected in (
        ("minimum", (Y, number(0.5)), (0.5 - STEP / 2, 0.5)),
        ("maximum", (number(0.5), Y), (0.5, 0.5 + STEP / 2)),
        ("clamp", (Y, number(0.5), number(2)), (0.5, 0.5 + STEP / 2)),
    ):
        assert ends([root, Extended(Z, which, operands)], Z, [4.0])[0] == pytest.approx(expected, rel=2.0**-40)
    with breaks(Rule.CLAMP_BOUNDS):
        ends([root, Extended(Z, "clamp", (X, Y, number(0.5)))], Z, [4.0])
    with breaks(Rule.VALUE_RANGE):
        ends([root, Extended(Z, "floor", (Y,))], Z, [4.0])


def test_a_range_beside_numbers_that_are_exact() -> None:
    positive = Condition(X, "greater", number(0))
    root = Extended(Y, "inverse_root", (X,))
    half = (0.5 - STEP / 2, 0.5 + STEP / 2)
    early = [Exit("return", Condition(X, "equal", number(1)), (), number(7)), root]
    assert ends(early, Y, [1.0, 4.0]) == [(7, 7), pytest.approx(half, rel=2.0**-40)]
    branch = Branch(positive, (root,), (ScalarArithmetic(Value("w", F16), "add", X, X),), (Merged(Z, (Y, Value("w", F16))),))
    assert ends([branch], Z, [-3.0, 4.0]) == [(-6, -6), pytest.approx(half, rel=2.0**-40)]
    chosen = [root, Select(Z, Condition(X, "less", number(2)), number(9), Y)]
    assert ends(chosen, Z, [1.0, 4.0]) == [(9, 9), pytest.approx(half, rel=2.0**-40)]


def test_comparisons_of_ranges_that_do_not_overlap_are_certain() -> None:
    body = (
        Extended(Y, "power_of_two", (X,)),
        Select(Z, Condition(Y, "less", number(1.5)), number(-1), number(1)),
    )
    function = Function("f", (X,), body, Z)
    assert applied(_state(), function, [np.array([0.0, 1.0])]).tolist() == [-1, 1]
    with breaks(Rule.RANGES_OVERLAP):
        applied(
            _state(),
            Function("f", (X,), (body[0], Select(Z, Condition(Y, "less", number(2)), number(-1), number(1))), Z),
            [np.array([1.0])],
        )
    same = Select(Z, Condition(Y, "less", number(2)), X, number(1))
    assert applied(_state(), Function("f", (X,), (body[0], same), Z), [np.array([1.0])]).tolist() == [1]


def test_who_needs_one_value_refuses_a_range() -> None:
    function = Function("f", (X,), (Extended(Y, "exponential", (X,)),), Y)
    with breaks(Rule.VALUE_RANGE):
        applied(_state(), function, [np.array([1.0])])
    with breaks(Rule.VALUE_RANGE):
        results(_state(), Function("f", (X,), (*function.body, Extended(Z, "exponential", (Y,))), Z), [np.array([1.0])])


@pytest.mark.parametrize(
    ("which", "argument", "rule"),
    [
        ("exponential", 12.0, Rule.OVERFLOW),
        ("power_of_two", 16.0, Rule.OVERFLOW),
        ("logarithm", 0.0, Rule.FUNCTION_DOMAIN),
        ("inverse_root", -1.0, Rule.FUNCTION_DOMAIN),
    ],
)
def test_arguments_with_unpromised_results_are_refused(which: ExtendedName, argument: float, rule: str) -> None:
    with breaks(rule):
        ends([Extended(Y, which, (X,))], Y, [argument])


def test_other_types_are_refused() -> None:
    for name in ("f64", "s32", "bf16"):
        type_ = COMPONENT_TYPES[name]
        x = Value("x", type_)
        state = _state()
        state.scalars["x"] = bits_of(np.array([1]), type_)
        with breaks(Rule.COMPONENT_TYPE):
            perform(state, Extended(Value("y", type_), "exponential", (x,)))
