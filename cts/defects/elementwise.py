"""Defects of arithmetic on elements: operands exchanged or used twice, another operator, a narrower type, division by other rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, Each, each_and_all, every, named_result
from cts.defects.edits import copied, exchanged, given, then, transposed, unchanged, with_matrix, with_scalar
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest, neighbours
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.program import Program
from generators.program.walking import flattened, names_read
from generators.types import COMPONENT_TYPES, ComponentType

Elementwise = MatrixNegate | MatrixArithmetic | MatrixTimesScalar


def _left_overwritten(state: State, operation: MatrixArithmetic) -> None:
    perform(state, operation)
    state.matrices[operation.left.name] = state.matrices[operation.result.name]


def _numbers(value: MatrixValue, signed: bool) -> np.ndarray:
    """Return the elements as Python integers."""
    component = value.component
    numbers = value.bits.astype(object)
    return np.asarray(numbers - ((numbers >> (component.bits - 1)) << component.bits)) if signed else numbers


def _whole(operation: MatrixArithmetic, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the sum, difference or product of Python integers, of any size."""
    return np.asarray(x + y if operation.operator == "add" else x - y if operation.operator == "subtract" else x * y)


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the quotient of Python integers, rounded toward zero."""
    return np.asarray(np.abs(x) // np.abs(y) * np.where((x < 0) != (y < 0), -1, 1))


def _computing(
    compute: Callable[[MatrixArithmetic, np.ndarray, np.ndarray], np.ndarray],
    signed: Callable[[MatrixArithmetic], bool] = lambda operation: operation.result.type.component.is_signed,
) -> Substitute:
    """Build a step that computes with Python integers, and keeps the low bits of the result.

    Args:
        compute: gives the result of two operands.
        signed: tells whether the operands are read as signed integers; by default as their type says.
    """

    def step(state: State, operation: MatrixArithmetic) -> None:
        component = operation.result.type.component
        x, y = (_numbers(state.matrices[m.name], signed(operation)) for m in (operation.left, operation.right))
        bits = compute(operation, x, y) % (1 << component.bits)
        state.matrices[operation.result.name] = MatrixValue(component, bits.astype(component.bits_dtype))

    return step


def _clipped(operation: MatrixArithmetic, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(_whole(operation, x, y), *operation.result.type.component.limits))


_SATURATED = _computing(_clipped)
_FLOOR_DIVIDED = _computing(lambda _, x, y: x // y, lambda _: True)
_OTHER_SIGNEDNESS = _computing(lambda _, x, y: _quotient(x, y), lambda operation: operation.operator != "signed_divide")


def _in_narrower(narrow: ComponentType) -> Substitute:
    """Build a step that rounds float operands and the result to ``narrow``."""

    def step(state: State, operation: MatrixArithmetic) -> None:
        component = operation.result.type.component
        x, y = (nearest(narrow, state.matrices[m.name].numbers) for m in (operation.left, operation.right))
        functions = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
        rounded = nearest(narrow, functions[operation.operator](x, y))
        state.matrices[operation.result.name] = MatrixValue(component, encode(component, rounded), computed=True)

    return step


def _through(wide: ComponentType, low_bits: int) -> Substitute:
    """Build a step whose integer operands and result go through ``low_bits``, or through a float type."""

    def narrowed(numbers: np.ndarray) -> np.ndarray:
        if wide.is_float:
            return np.array([int(v) for v in nearest(wide, numbers.astype(np.float64)).flat], object).reshape(numbers.shape)
        return np.asarray(numbers % (1 << low_bits))

    def compute(operation: MatrixArithmetic, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = narrowed(x), narrowed(y)
        if "divide" in operation.operator:
            return narrowed(_quotient(x, np.where(y == 0, 1, y)))
        return narrowed(_whole(operation, x, y))

    return _computing(compute)


def _with_factor(edit: Callable[[np.ndarray, ComponentType], np.ndarray]) -> Substitute:
    """Build a step that edits the bits of the scalar."""
    return lambda state, operation: with_scalar("scalar", lambda bits: edit(bits, operation.scalar.type))(state, operation)


def _unsigned(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    return bits & np.uint64((1 << (component.bits - 1)) - 1)


def _narrowed(narrow: ComponentType) -> Callable[[np.ndarray, ComponentType], np.ndarray]:
    return lambda bits, component: encode(component, nearest(narrow, values(bits.astype(component.bits_dtype), component)))


def _scalar_twice(state: State, operation: MatrixTimesScalar) -> None:
    """Multiply the product by the scalar once more."""
    perform(state, operation)
    perform(state, replace(operation, matrix=operation.result))


def _always_negative(value: MatrixValue) -> MatrixValue:
    sign = value.component.bits_dtype.type(1 << (value.component.bits - 1))
    return MatrixValue(value.component, value.bits | sign, computed=value.computed)


def _complemented(state: State, operation: MatrixNegate) -> None:
    value = state.matrices[operation.operand.name]
    state.matrices[operation.result.name] = MatrixValue(value.component, ~value.bits)


def _fused(product: MatrixArithmetic) -> Substitute:
    """Build a step that fuses ``product`` with the sum or difference that follows, and rounds once."""

    def step(state: State, operation: MatrixArithmetic) -> None:
        component = operation.result.type.component
        x, y, z = (state.matrices[m.name].numbers for m in (product.left, product.right, operation.right))
        value, rest = two_product(x, y)
        total, lost = two_sum(value, z if operation.operator == "add" else -z)
        # Cancellation makes the low bits of the product significant.
        total, lost = two_sum(total, rest + lost)
        low, high = neighbours(component, total, lost)
        chosen = np.where(high - total < total - low, high, low)
        state.matrices[operation.result.name] = MatrixValue(component, encode(component, chosen), computed=True)

    return step


def _left_is_used_again(program: Program, operation: MatrixArithmetic) -> bool:
    return any(operation.left.name in names_read(other) for other in flattened(program.operations) if other is not operation)


_of = Each("elementwise", "result", named_result)


def _arithmetic_defects(program: Program) -> Iterator[Defect]:
    operations = every(program.operations, MatrixArithmetic)
    if not operations:
        return
    component = operations[0].result.type.component
    unlike = [o for o in operations if o.left != o.right]
    yield from _of([o for o in unlike if o.operator not in ("add", "multiply")], "operands_exchanged", exchanged("left", "right"))
    yield from _of(unlike, "left_twice", copied("left", "right"))
    yield from _of(unlike, "right_twice", copied("right", "left"))
    yield from _of(unlike, "right_transposed", with_matrix("right", transposed))
    for right, wrong in (("add", "subtract"), ("subtract", "add"), ("multiply", "add"), ("add", "multiply"), ("divide", "multiply")):
        those = [o for o in operations if o.operator == right]
        yield from _of(those, "other_operator", given(operator=wrong), wrong=wrong, right=right)
    yield from _of([o for o in operations if _left_is_used_again(program, o)], "left_overwritten", _left_overwritten)
    if component.is_float:
        products = {o.result: o for o in operations if o.operator == "multiply"}
        for operation in operations:
            if operation.left in products and operation.operator in ("add", "subtract") and operation.no_contraction:
                step = _fused(products[operation.left])
                yield Defect("elementwise.fused", {operation: step}, {"result": named_result(operation)})
        for name in ("f32", "f16", "bf16"):
            if COMPONENT_TYPES[name].precision < component.precision:
                yield from _of(operations, "float_narrowed", _in_narrower(COMPONENT_TYPES[name]), type=name)
        return
    divisions = [o for o in operations if "divide" in o.operator]
    yield from _of([o for o in operations if o not in divisions], "saturates", _SATURATED)
    yield from _of([o for o in divisions if o.operator == "signed_divide"], "rounded_down", _FLOOR_DIVIDED)
    yield from _of(divisions, "divided_by_other_sign", _OTHER_SIGNEDNESS)
    if component.bits > 8:
        half = component.bits // 2
        for bits in (half, 24) if component.bits == 32 else (half,):
            yield from _of(operations, "integer_narrowed", _through(component, bits), bits=bits)
    for name in ("f32", "f64"):
        if COMPONENT_TYPES[name].precision < component.bits - 1:
            yield from _of(operations, "through_float", _through(COMPONENT_TYPES[name], 0), type=name)


@defects_of("elementwise", Elementwise)
def elementwise_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the arithmetic on elements in ``program``."""
    yield from _arithmetic_defects(program)
    negations, scaled = every(program.operations, MatrixNegate), every(program.operations, MatrixTimesScalar)
    yield from each_and_all(negations, "elementwise.complemented", "negation", _complemented, named_result)
    yield from each_and_all(negations, "elementwise.always_negative", "negation", then(_always_negative), named_result)
    yield from each_and_all(scaled, "elementwise.scalar_sign_dropped", "multiple", _with_factor(_unsigned), named_result)
    yield from each_and_all(scaled, "elementwise.scalar_twice", "multiple", _scalar_twice, named_result)
    for name in ("f32", "f16", "bf16"):
        narrow = [o for o in scaled if o.scalar.type.is_float and COMPONENT_TYPES[name].precision < o.scalar.type.precision]
        step = _with_factor(_narrowed(COMPONENT_TYPES[name]))
        yield from each_and_all(narrow, "elementwise.scalar_narrowed", "multiple", step, named_result, type=name)
    plain: list[Elementwise] = [*every(program.operations, MatrixArithmetic), *negations, *scaled]
    yield from each_and_all(plain, "elementwise.unchanged", "result", unchanged, named_result)
