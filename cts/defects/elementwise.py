"""Defects of arithmetic on elements: operands exchanged or used twice, another operator, a narrower type, division by other rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.elementwise import combine, negated
from cts.reference.evaluate import perform
from cts.reference.float_controls import modes
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest, neighbours
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.program import Program
from generators.program.walking import flattened, names_read
from generators.types import COMPONENT_TYPES, ComponentType

Elementwise = MatrixNegate | MatrixArithmetic | MatrixTimesScalar
Pair = tuple[MatrixValue, MatrixValue]


def _result(operation: Elementwise) -> str:
    return named(operation.result)


def _with(exchange: Callable[[MatrixValue, MatrixValue], Pair]) -> Substitute:
    def step(state: State, operation: MatrixArithmetic) -> None:
        left, right = exchange(state.matrices[operation.left.name], state.matrices[operation.right.name])
        found = modes(state, left.component)
        state.matrices[operation.result.name] = combine(operation.operator, left, right, operation.no_contraction, found)

    return step


def _as(operator: str) -> Substitute:
    def step(state: State, operation: MatrixArithmetic) -> None:
        left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
        state.matrices[operation.result.name] = combine(operator, left, right, modes=modes(state, left.component))

    return step


def _unchanged(state: State, operation: Elementwise) -> None:
    operand = {MatrixNegate: "operand", MatrixArithmetic: "left", MatrixTimesScalar: "matrix"}[type(operation)]
    state.matrices[operation.result.name] = state.matrices[getattr(operation, operand).name]


def _operand_overwritten(state: State, operation: MatrixArithmetic) -> None:
    _with(lambda left, right: (left, right))(state, operation)
    state.matrices[operation.left.name] = state.matrices[operation.result.name]


def _transposed(state: State, operation: MatrixArithmetic) -> None:
    right = state.matrices[operation.right.name]
    if right.bits.shape[1] != right.bits.shape[2]:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a matrix that is not square cannot take the place of its transpose")
    transposed = MatrixValue(right.component, np.ascontiguousarray(right.bits.transpose(0, 2, 1)))
    left = state.matrices[operation.left.name]
    state.matrices[operation.result.name] = combine(operation.operator, left, transposed, modes=modes(state, left.component))


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


def _saturated(state: State, operation: MatrixArithmetic) -> None:
    component = operation.result.type.component
    x, y = (_numbers(state.matrices[m.name], component.is_signed) for m in (operation.left, operation.right))
    total = _whole(operation, x, y)
    low = -(1 << (component.bits - 1)) if component.is_signed else 0
    clipped = np.clip(total, low, low + (1 << component.bits) - 1) % (1 << component.bits)
    state.matrices[operation.result.name] = MatrixValue(component, clipped.astype(component.bits_dtype))


def _floor_divided(state: State, operation: MatrixArithmetic) -> None:
    component = operation.result.type.component
    x, y = (_numbers(state.matrices[m.name], True) for m in (operation.left, operation.right))
    state.matrices[operation.result.name] = MatrixValue(component, (x // y % (1 << component.bits)).astype(component.bits_dtype))


def _other_signedness(state: State, operation: MatrixArithmetic) -> None:
    component = operation.result.type.component
    unsigned = operation.operator == "signed_divide"
    x, y = (_numbers(state.matrices[m.name], not unsigned) for m in (operation.left, operation.right))
    quotient = _quotient(x, y)
    state.matrices[operation.result.name] = MatrixValue(component, (quotient % (1 << component.bits)).astype(component.bits_dtype))


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

    def step(state: State, operation: MatrixArithmetic) -> None:
        component = operation.result.type.component
        x, y = (narrowed(_numbers(state.matrices[m.name], component.is_signed)) for m in (operation.left, operation.right))
        if "divide" in operation.operator:
            y = np.where(y == 0, 1, y)
            result = _quotient(x, y)
        else:
            result = _whole(operation, x, y)
        bits = (narrowed(result) % (1 << component.bits)).astype(component.bits_dtype)
        state.matrices[operation.result.name] = MatrixValue(component, bits)

    return step


def _scalar_is(value: Callable[[int, ComponentType], int]) -> Substitute:
    def step(state: State, operation: MatrixTimesScalar) -> None:
        matrix = state.matrices[operation.matrix.name]
        given = state.scalar(operation.scalar)
        bits = np.array([value(int(v), matrix.component) for v in given], object).astype(matrix.component.bits_dtype)
        factor = MatrixValue(matrix.component, np.broadcast_to(bits[:, None, None], matrix.bits.shape))
        state.matrices[operation.result.name] = combine("multiply", matrix, factor, modes=modes(state, matrix.component))

    return step


def _scalar_twice(state: State, operation: MatrixTimesScalar) -> None:
    """Multiply the product by the scalar once more."""
    perform(state, operation)
    perform(state, replace(operation, matrix=operation.result))


def _narrow_scalar(narrow: ComponentType) -> Callable[[int, ComponentType], int]:
    def value(bits: int, component: ComponentType) -> int:
        number = values(np.array([bits], component.bits_dtype), component)
        return int(encode(component, nearest(narrow, number))[0])

    return value


def _of_magnitude(state: State, operation: MatrixNegate) -> None:
    operand = state.matrices[operation.operand.name]
    value = negated(operand, modes(state, operand.component))
    sign = value.component.bits_dtype.type(1 << (value.component.bits - 1))
    state.matrices[operation.result.name] = MatrixValue(value.component, value.bits | sign, computed=value.computed)


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


def _arithmetic_defects(program: Program) -> Iterator[Defect]:
    operations = every(program.operations, MatrixArithmetic)
    if not operations:
        return
    component = operations[0].result.type.component

    def of(name: str, step: Substitute, chosen: list[MatrixArithmetic] | None = None, **kinds: str | int) -> Iterator[Defect]:
        return each_and_all(operations if chosen is None else chosen, f"elementwise.{name}", "result", _result, step, None, **kinds)

    unlike = [o for o in operations if o.left != o.right]
    ordered = [o for o in unlike if o.operator not in ("add", "multiply")]
    yield from of("operands_exchanged", _with(lambda x, y: (y, x)), ordered)
    yield from of("left_twice", _with(lambda x, _: (x, x)), unlike)
    yield from of("right_twice", _with(lambda _, y: (y, y)), unlike)
    yield from of("right_transposed", _transposed, unlike)
    for right, wrong in (("add", "subtract"), ("subtract", "add"), ("multiply", "add"), ("add", "multiply"), ("divide", "multiply")):
        those = [o for o in operations if o.operator == right]
        yield from of("other_operator", _as(wrong), those, wrong=wrong, right=right)
    reused = [o for o in operations if _left_is_used_again(program, o)]
    yield from of("left_overwritten", _operand_overwritten, reused)
    if component.is_float:
        products = {o.result: o for o in operations if o.operator == "multiply"}
        for operation in operations:
            if operation.left in products and operation.operator in ("add", "subtract") and operation.no_contraction:
                step = _fused(products[operation.left])
                yield Defect("elementwise.fused", {operation: step}, {"result": _result(operation)})
        for name in ("f32", "f16", "bf16"):
            if COMPONENT_TYPES[name].precision < component.precision:
                yield from of("float_narrowed", _in_narrower(COMPONENT_TYPES[name]), type=name)
        return
    divisions = [o for o in operations if "divide" in o.operator]
    yield from of("saturates", _saturated, [o for o in operations if o not in divisions])
    yield from of("rounded_down", _floor_divided, [o for o in divisions if o.operator == "signed_divide"])
    yield from of("divided_by_other_sign", _other_signedness, divisions)
    if component.bits > 8:
        half = component.bits // 2
        for bits in (half, 24) if component.bits == 32 else (half,):
            yield from of("integer_narrowed", _through(component, bits), bits=bits)
    for name in ("f32", "f64"):
        if COMPONENT_TYPES[name].precision < component.bits - 1:
            yield from of("through_float", _through(COMPONENT_TYPES[name], 0), type=name)


@defects_of("elementwise", Elementwise)
def elementwise_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the arithmetic on elements in ``program``."""
    yield from _arithmetic_defects(program)
    negations = every(program.operations, MatrixNegate)
    yield from each_and_all(negations, "elementwise.complemented", "negation", _result, _complemented)
    yield from each_and_all(negations, "elementwise.always_negative", "negation", _result, _of_magnitude)
    scaled = every(program.operations, MatrixTimesScalar)
    unsigned = _scalar_is(lambda v, t: v & ~(1 << (t.bits - 1)))
    yield from each_and_all(scaled, "elementwise.scalar_sign_dropped", "multiple", _result, unsigned)
    yield from each_and_all(scaled, "elementwise.scalar_twice", "multiple", _result, _scalar_twice)
    for name in ("f32", "f16", "bf16"):
        narrow = [o for o in scaled if o.scalar.type.is_float and COMPONENT_TYPES[name].precision < o.scalar.type.precision]
        step = _scalar_is(_narrow_scalar(COMPONENT_TYPES[name]))
        yield from each_and_all(narrow, "elementwise.scalar_narrowed", "multiple", _result, step, type=name)
    plain: list[Elementwise] = [*every(program.operations, MatrixArithmetic), *negations, *scaled]
    yield from each_and_all(plain, "elementwise.unchanged", "result", _result, _unchanged)
