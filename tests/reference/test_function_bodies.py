"""Bodies of functions that instructions call, with results worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.callbacks import applied
from cts.reference.evaluate import perform
from cts.reference.pointers import block_address, block_cast, block_load
from cts.reference.scalars import bits_of, extended, numbers, scalar_arithmetic
from cts.reference.state import State, initial_state
from generators.errors import Rule
from generators.program.arrays import AtomicOr
from generators.program.builder import U32, ProgramBuilder
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.pointers import BlockAddress, BlockCast, BlockLoad
from generators.program.program import Subcase
from generators.program.scalars import Extended, ExtendedName, ScalarArithmetic, ScalarOperator
from generators.program.values import ArrayType, BlockMember, BlockType, Value, literal
from generators.program.variables import Variable, VariableLoad
from generators.types import COMPONENT_TYPES, Scope, StorageClass
from tests.broken_rules import breaks

S32, F16, U16 = (COMPONENT_TYPES[name] for name in ("s32", "f16", "u16"))


def _state(builder: ProgramBuilder | None = None, inputs: dict[str, np.ndarray] | None = None) -> State:
    return initial_state((builder or ProgramBuilder(Scope.SUBGROUP)).build(), Subcase("one", inputs or {}), perform)


def _given(component: str, *operands: float) -> tuple[State, tuple[Value, ...]]:
    state, type_ = _state(), COMPONENT_TYPES[component]
    values = tuple(Value(f"v{i}", type_) for i in range(len(operands)))
    for value, operand in zip(values, operands, strict=True):
        state.scalars[value.name] = bits_of(np.array([operand], type_.dtype), type_)
    return state, values


def _extended(component: str, which: ExtendedName, *operands: float) -> float:
    state, values = _given(component, *operands)
    type_ = COMPONENT_TYPES[component]
    extended(state, Extended(Value("r", type_), which, values))
    return float(numbers(state.scalars["r"], type_)[0])


@pytest.mark.parametrize(
    ("component", "which", "operands", "result"),
    [
        ("s32", "minimum", (-3, 2), -3),
        ("u32", "minimum", (0xFFFFFFFD, 2), 2),
        ("f16", "maximum", (-1.5, -2.5), -1.5),
        ("s32", "clamp", (-9, -4, 7), -4),
        ("f16", "clamp", (9.5, -4, 7.25), 7.25),
        ("s32", "absolute", (-5,), 5),
        ("f16", "absolute", (-0.75,), 0.75),
        ("f16", "floor", (-0.75,), -1),
        ("f16", "fused", (1.5, -3, 0.25), -4.25),
    ],
)
def test_extended_instructions(component: str, which: ExtendedName, operands: tuple[float, ...], result: float) -> None:
    assert _extended(component, which, *operands) == result


@pytest.mark.parametrize(
    ("component", "which", "operands", "rule"),
    [
        ("s32", "clamp", (1, 4, 3), Rule.CLAMP_BOUNDS),
        ("s32", "absolute", (-(1 << 31),), Rule.ABSOLUTE_VALUE),
        ("f16", "minimum", (float("nan"), 1), Rule.NAN_OPERAND),
        # 2047 * 3 needs 13 bits, although the sum is exact again.
        ("f16", "fused", (2047, 3, -4095), Rule.INEXACT),
    ],
)
def test_undefined_or_inexact_results_are_refused(component: str, which: ExtendedName, operands: tuple[float, ...], rule: str) -> None:
    with breaks(rule):
        _extended(component, which, *operands)


def _divided(component: str, operator: ScalarOperator, left: int, right: int) -> int:
    state, (one, other) = _given(component, left, right)
    type_ = COMPONENT_TYPES[component]
    scalar_arithmetic(state, ScalarArithmetic(Value("r", type_), operator, one, other))
    return int(numbers(state.scalars["r"], type_)[0])


@pytest.mark.parametrize(
    ("component", "left", "right", "quotient"),
    [("s32", -7, 2, -3), ("s32", 7, -2, -3), ("s32", -7, -2, 3), ("s32", -(1 << 31), 3, -715827882), ("u32", 0xFFFFFFF9, 2, 0x7FFFFFFC)],
)
def test_quotients_are_rounded_toward_zero(component: str, left: int, right: int, quotient: int) -> None:
    assert _divided(component, "divide", left, right) == quotient


def test_remainders_of_negative_numbers_are_refused() -> None:
    """In Vulkan the result is poison without maintenance8."""
    assert _divided("s32", "modulo", 7, 4) == 3
    for left, right in ((-7, 4), (7, -4)):
        with breaks(Rule.NEGATIVE_REMAINDER):
            _divided("s32", "modulo", left, right)
    with breaks(Rule.DIVISION_OVERFLOW):
        _divided("s32", "divide", -(1 << 31), -1)


WORDS = BlockType("Words", (BlockMember(U32, 0, 2),), 8)
HALVES = BlockType("Halves", (BlockMember(U16, 0, 4),), 2)


def _pointed(offset: int) -> State:
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("packed", Pointee(U32), 4, StorageClass.PHYSICAL_STORAGE_BUFFER, "input")
    state = _state(builder, {"packed": np.array([1, 2, 0x00040003, 0x00060005], np.uint32).view(np.uint8)})
    block_address(state, BlockAddress(Value("p", WORDS), array, literal(U32, offset)))
    return state


def test_a_cast_pointer_leads_to_the_same_bytes() -> None:
    state = _pointed(8)
    block_cast(state, BlockCast(Value("h", HALVES), Value("p", WORDS)))
    for index, half in ((0, 3), (1, 4), (3, 6)):
        block_load(state, BlockLoad(Value("r", U16), Value("h", HALVES), 0, literal(U32, index)))
        assert state.scalars["r"].tolist() == [half]


def test_pointers_are_aligned_and_lead_to_whole_blocks() -> None:
    with breaks(Rule.MISALIGNED):
        _pointed(4)
    with breaks(Rule.OUT_OF_BOUNDS):
        _pointed(16)
    state = _pointed(0)
    block_cast(state, BlockCast(Value("h", HALVES), Value("p", WORDS)))
    with breaks(Rule.ALIGNMENT_TYPE):
        block_cast(state, BlockCast(Value("w", WORDS), Value("h", HALVES)))


def test_a_function_reads_the_variable_of_the_module_of_its_scope_instance() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    own = builder.variable("own", U32, "private")
    state = _state(builder)
    state.variables["own"] = np.array([10, 20], np.uint64)
    x, read, total = (Value(name, U32) for name in ("x", "read", "total"))
    function = Function("f", (x,), (VariableLoad(read, own), ScalarArithmetic(total, "add", x, read)), total)
    found = applied(state, function, [np.array([[1, 2, 3], [4, 5, 6]], np.uint32)], state.instances[:, None])
    assert found.tolist() == [[11, 12, 13], [24, 25, 26]]


def test_a_variable_of_a_function_begins_with_its_initializer() -> None:
    table = Variable("t", ArrayType(U32, 3), "function", tuple(literal(U32, n) for n in (7, 8, 9)))
    x, read = Value("x", U32), Value("read", U32)
    function = Function("f", (x,), (VariableLoad(read, table, (x,)),), read, variables=(table,))
    assert applied(_state(), function, [np.array([2, 0, 1], np.uint32)]).tolist() == [9, 7, 8]


def _marked(index: list[int], bits: list[int]) -> list[int]:
    """Set bits of three words that begin with 12, 8 and 4, in a call for each element."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    marks = builder.array("marks", Pointee(U32), 3, StorageClass.STORAGE_BUFFER, "inout")
    at, value = Value("at", U32), Value("value", U32)
    function = Function("mark", (at, value), (AtomicOr(marks, at, value),), value)
    state = _state(builder, {"marks": np.array([12, 8, 4], np.uint32).view(np.uint8)})
    applied(state, function, [np.array(index, np.uint32), np.array(bits, np.uint32)])
    return state.memories["marks"].contents.view(np.uint32).tolist()


def test_bits_that_calls_set_are_added_to_those_from_before() -> None:
    assert _marked([0, 2, 0, 0], [1, 6, 4, 18]) == [31, 8, 6]


def test_bits_outside_of_the_array_are_refused() -> None:
    with breaks(Rule.OUT_OF_BOUNDS):
        _marked([0, 3], [1, 1])
