"""Defects of multiply-adds: a flag ignored, an operand dropped or exchanged, a sum kept in a narrower type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute, substituting
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.control_flow import loop
from cts.reference.muladd import multiply_add
from cts.reference.state import State
from cts.reference.values import Envelope, MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import denormals, encode
from generators.numerics.rounding import nearest, toward_zero
from generators.program.control_flow import Loop
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import Matrix
from generators.program.walking import flattened, results
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands

Operands = tuple[MatrixValue, MatrixValue, MatrixValue]
Exchange = Callable[[MatrixValue, MatrixValue, MatrixValue], Operands]
"""Takes A, B and C, and returns other operands."""


def _operands(state: State, operation: MatrixMulAdd) -> Operands:
    return state.matrices[operation.a.name], state.matrices[operation.b.name], state.matrices[operation.c.name]


def _with_flags(flags: Callable[[MatrixOperands], MatrixOperands]) -> Substitute:
    def step(state: State, operation: MatrixMulAdd) -> None:
        given = operation.operands or MatrixOperands.NONE
        state.matrices[operation.result.name] = multiply_add(*_operands(state, operation), operation.result.type.component, flags(given))

    return step


def _exchanged(exchange: Exchange) -> Substitute:
    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = exchange(*_operands(state, operation))
        value = multiply_add(a, b, c, operation.result.type.component, operation.operands)
        if value.bits.shape[1:] != operation.result.type.shape:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the exchanged operands give a result of another shape")
        state.matrices[operation.result.name] = value

    return step


def _zero(value: MatrixValue) -> MatrixValue:
    return MatrixValue(value.component, np.zeros_like(value.bits))


def _transpose(value: MatrixValue) -> MatrixValue:
    return MatrixValue(value.component, np.ascontiguousarray(value.bits.transpose(0, 2, 1)))


def _square(*values: MatrixValue) -> bool:
    return all(value.bits.shape[1] == value.bits.shape[2] and not isinstance(value.known, Envelope) for value in values)


def _require_square(*values: MatrixValue) -> None:
    if not _square(*values):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a matrix that is not square cannot take the place of its transpose")


def _without_c(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    return a, b, _zero(c)


def _c_twice(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    component = c.component
    doubled = encode(component, nearest(component, 2 * c.numbers)) if component.is_float else c.bits + c.bits
    return a, b, MatrixValue(component, doubled)


def _without_product(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    return _zero(a), b, c


def _swapped(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    if a.component != b.component:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "operands of different types cannot be exchanged")
    return b, a, c


def _a_transposed(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    _require_square(a)
    return _transpose(a), b, c


def _b_transposed(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    _require_square(b)
    return a, _transpose(b), c


def _both_transposed(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    _require_square(a, b)
    return _transpose(a), _transpose(b), c


def _c_transposed(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
    _require_square(c)
    return a, b, _transpose(c)


def _half(first: bool) -> Exchange:
    def exchange(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
        half = a.bits.shape[2] // 2
        part = slice(0, half) if first else slice(half, None)
        return (
            MatrixValue(a.component, np.ascontiguousarray(a.bits[:, :, part])),
            MatrixValue(b.component, np.ascontiguousarray(b.bits[:, part, :])),
            c,
        )

    return exchange


def _of_first_instance(value: MatrixValue) -> MatrixValue:
    return MatrixValue(value.component, np.ascontiguousarray(np.broadcast_to(value.bits[:1], value.bits.shape)))


def _flushed(value: MatrixValue) -> MatrixValue:
    tiny = denormals(value.numbers, value.component)
    return MatrixValue(value.component, np.where(tiny, value.component.bits_dtype.type(0), value.bits))


def _result_transposed(state: State, operation: MatrixMulAdd) -> None:
    value = multiply_add(*_operands(state, operation), operation.result.type.component, operation.operands)
    _require_square(value)
    state.matrices[operation.result.name] = replace(_transpose(value), computed=value.computed)


def _c_only_first(operation: MatrixMulAdd) -> Substitute:
    """Take C in the first iteration of a loop and zero in the others."""
    done = False

    def step(state: State, _: MatrixMulAdd) -> None:
        nonlocal done
        a, b, c = _operands(state, operation)
        state.matrices[operation.result.name] = multiply_add(
            a, b, _zero(c) if done else c, operation.result.type.component, operation.operands
        )
        done = True

    return step


def _stored_float(component: ComponentType, sums: np.ndarray) -> MatrixValue:
    return MatrixValue(component, encode(component, nearest(component, sums)), computed=True)


def _narrow_float(narrow: ComponentType, order: str, truncating: bool) -> Substitute:
    """Build a step that keeps the sum in ``narrow``: ``"c first"``, ``"c last"`` (term by term) or ``"once"`` (rounded at the end only)."""
    rounded = toward_zero if truncating else nearest

    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (value.numbers for value in _operands(state, operation))
        if order == "once":
            total = rounded(narrow, a @ b + c)
        else:
            total = rounded(narrow, c) if order == "c first" else np.zeros(c.shape)
            for k in range(a.shape[2]):
                total = rounded(narrow, total + a[:, :, k, None] * b[:, None, k, :])
            if order == "c last":
                total = rounded(narrow, total + c)
        state.matrices[operation.result.name] = _stored_float(operation.result.type.component, total)

    return step


def _narrow_c(narrow: ComponentType) -> Exchange:
    def exchange(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
        return a, b, MatrixValue(c.component, encode(c.component, nearest(narrow, c.numbers)))

    return exchange


def _to_bits(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Round to ``bits`` bits of significand, ties to even."""
    significand, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits))


def _rounded_value(value: MatrixValue, bits: int) -> MatrixValue:
    return MatrixValue(value.component, encode(value.component, _to_bits(value.numbers, bits)))


def _of_exact(change: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    """Build a step that changes the sum without any rounding."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (value.numbers for value in _operands(state, operation))
        state.matrices[operation.result.name] = _stored_float(operation.result.type.component, change(a @ b + c))

    return step


def _narrow_integer(bits: int, signed: bool) -> Substitute:
    """Build a step that keeps the sum in an integer of ``bits``, then extends it."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        result = operation.result.type.component
        value = multiply_add(*_operands(state, operation), result, operation.operands)
        low = value.bits.astype(np.uint64) & np.uint64((1 << bits) - 1)
        if signed:
            # The highest of the kept bits is the sign: extend it.
            sign = np.uint64(1 << (bits - 1))
            low = (low ^ sign) - sign
        state.matrices[operation.result.name] = MatrixValue(result, low.astype(result.bits_dtype))

    return step


def _sum(operation: MatrixMulAdd) -> str:
    return operation.result.name


def _flag_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    sides: tuple[tuple[MatrixOperands, Callable[[MatrixMulAdd], Matrix], str], ...] = (
        (MatrixOperands.A_SIGNED, lambda o: o.a, "A"),
        (MatrixOperands.B_SIGNED, lambda o: o.b, "B"),
        (MatrixOperands.C_SIGNED, lambda o: o.c, "C"),
    )
    for flag, matrix, letter in sides:
        signed = [o for o in operations if (o.operands or MatrixOperands.NONE) & flag]
        unsigned = [o for o in operations if not (o.operands or MatrixOperands.NONE) & flag]

        def name(operation: MatrixMulAdd, matrix: Callable[[MatrixMulAdd], Matrix] = matrix) -> str:
            return named(matrix(operation))

        def cleared(flags: MatrixOperands, flag: MatrixOperands = flag) -> MatrixOperands:
            return flags & ~flag

        def added(flags: MatrixOperands, flag: MatrixOperands = flag) -> MatrixOperands:
            return flags | flag

        yield from each_and_all(signed, "multiply_add.sign_ignored", "factor", name, _with_flags(cleared), operand=letter)
        yield from each_and_all(unsigned, "multiply_add.sign_assumed", "factor", name, _with_flags(added), operand=letter)
    inputs = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED
    saturation_only = _with_flags(lambda f: f & MatrixOperands.SATURATING_ACCUMULATION)
    yield Defect("multiply_add.factor_signs_ignored", dict.fromkeys(operations, _with_flags(lambda f: f & ~inputs)))
    yield Defect("multiply_add.signs_ignored", dict.fromkeys(operations, saturation_only))
    other_sign = _with_flags(lambda f: f ^ MatrixOperands.RESULT_SIGNED)
    yield from each_and_all(operations, "multiply_add.saturates_by_other_sign", "sum", _sum, other_sign)
    saturating = [o for o in operations if (o.operands or MatrixOperands.NONE) & MatrixOperands.SATURATING_ACCUMULATION]
    wrapping = [o for o in operations if o not in saturating]
    toggled = _with_flags(lambda f: f ^ MatrixOperands.SATURATING_ACCUMULATION)
    yield from each_and_all(saturating, "multiply_add.saturation_ignored", "sum", _sum, toggled)
    yield from each_and_all(wrapping, "multiply_add.saturation_assumed", "sum", _sum, toggled)


_EXCHANGES: tuple[tuple[str, Exchange], ...] = (
    ("multiply_add.without_c", _without_c),
    ("multiply_add.c_twice", _c_twice),
    ("multiply_add.without_product", _without_product),
    ("multiply_add.factors_exchanged", _swapped),
    ("multiply_add.a_transposed", _a_transposed),
    ("multiply_add.b_transposed", _b_transposed),
    ("multiply_add.factors_transposed", _both_transposed),
    ("multiply_add.c_transposed", _c_transposed),
    ("multiply_add.first_half_of_k", _half(True)),
    ("multiply_add.second_half_of_k", _half(False)),
)

_INSTANCE_EXCHANGES: tuple[tuple[str, Exchange], ...] = (
    ("multiply_add.a_of_first_instance", lambda a, b, c: (_of_first_instance(a), b, c)),
    ("multiply_add.b_of_first_instance", lambda a, b, c: (a, _of_first_instance(b), c)),
    ("multiply_add.c_of_first_instance", lambda a, b, c: (a, b, _of_first_instance(c))),
)


def _bit_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    """Yield defects: operands or sums keep a number of bits that no type has."""
    first = operations[0]
    factors: tuple[tuple[str, Matrix, Callable[[int], Exchange]], ...] = (
        ("A", first.a, lambda bits: lambda a, b, c: (_rounded_value(a, bits), b, c)),
        ("B", first.b, lambda bits: lambda a, b, c: (a, _rounded_value(b, bits), c)),
    )
    for letter, matrix, exchange in factors:
        for bits in (8, 10):
            if bits < matrix.type.component.precision:
                parameters: dict[str, ParameterValue] = {"operand": letter, "bits": bits}
                yield Defect("multiply_add.factor_rounded", dict.fromkeys(operations, _exchanged(exchange(bits))), parameters)
    if first.c.type.component.precision > _C_BITS:

        def narrow(a: MatrixValue, b: MatrixValue, c: MatrixValue) -> Operands:
            return a, b, _rounded_value(c, _C_BITS)

        yield Defect("multiply_add.c_in_bits", dict.fromkeys(operations, _exchanged(narrow)), {"bits": _C_BITS})
    precision = first.result.type.component.precision
    if precision > _SUM_BITS:
        step = _of_exact(lambda numbers: _to_bits(numbers, _SUM_BITS))
        yield Defect("multiply_add.sum_in_bits", dict.fromkeys(operations, step), {"bits": _SUM_BITS})
    for bits in (8, 12, 16, 20):
        if bits < precision:
            step = _of_exact(partial(_scaled, 1 + 2.0**-bits))
            yield Defect("multiply_add.relative_error", dict.fromkeys(operations, step), {"bits": bits})


def _scaled(factor: float, numbers: np.ndarray) -> np.ndarray:
    return numbers * factor


_C_BITS, _SUM_BITS = 14, 20
"""Bits of significand that real devices keep."""


def _float_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    result = operations[0].result.type.component
    for name in ("f32", "f16", "bf16", "e4m3", "e5m2"):
        narrow = COMPONENT_TYPES[name]
        if narrow.precision >= result.precision:
            continue
        for truncating in (False, True):
            how = "truncated" if truncating else "rounded"
            for order, id_ in (
                ("once", "multiply_add.sum_rounded"),
                ("c first", "multiply_add.sum_narrowed"),
                ("c last", "multiply_add.sum_narrowed_c_last"),
            ):
                step = _narrow_float(narrow, order, truncating)
                yield Defect(id_, dict.fromkeys(operations, step), {"type": name, "rounding": how})
        if narrow.precision < operations[0].c.type.component.precision:
            yield Defect("multiply_add.c_rounded", dict.fromkeys(operations, _exchanged(_narrow_c(narrow))), {"type": name})
    yield from _bit_defects(operations)
    flushes: tuple[tuple[str, Exchange], ...] = (
        ("A", lambda a, b, c: (_flushed(a), b, c)),
        ("B", lambda a, b, c: (a, _flushed(b), c)),
        ("C", lambda a, b, c: (a, b, _flushed(c))),
    )
    for letter, exchange in flushes:
        yield Defect("multiply_add.denormals_flushed", dict.fromkeys(operations, _exchanged(exchange)), {"operand": letter})


def _stale(earlier: MatrixMulAdd, operand: str) -> Substitute:
    """Build a step that takes an operand of an earlier multiply-add."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        old = state.matrices[getattr(earlier, operand).name]
        _exchanged(lambda a, b, c: (old, b, c) if operand == "a" else (a, old, c))(state, operation)

    return step


def _stale_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    """Yield defects: a multiply-add takes A or B of the multiply-add before it, if both have the same type."""
    for earlier, operation in pairwise(operations):
        for operand, id_ in (("a", "multiply_add.stale_a"), ("b", "multiply_add.stale_b")):
            old, own = getattr(earlier, operand), getattr(operation, operand)
            if old != own and old.type == own.type:
                yield Defect(id_, {operation: _stale(earlier, operand)}, {"sum": _sum(operation)})


def _one_late(operation: MatrixMulAdd, operand: str, kept: dict[str, MatrixValue]) -> Substitute:
    """Build a step that takes the operand of the previous iteration; in the first iteration, the right operand."""

    def step(state: State, _: MatrixMulAdd) -> None:
        own = _operands(state, operation)[operand == "b"]
        old = kept.get(operand, own)
        if old.bits.shape != own.bits.shape:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "other scope instances execute this iteration")
        kept[operand] = own
        _exchanged(lambda a, b, c: (old, b, c) if operand == "a" else (a, old, c))(state, operation)

    return step


def _late_defects(around: Loop) -> Iterator[Defect]:
    """Yield defects: a multiply-add in a loop takes A or B of the previous iteration, if the loop makes that operand."""
    made = {value.name for one in flattened(around.body) for value in results(one)}
    for operation in every(around.body, MatrixMulAdd):
        for operand, id_ in (("a", "multiply_add.a_of_last_iteration"), ("b", "multiply_add.b_of_last_iteration")):
            if getattr(operation, operand).name not in made:
                continue

            def late(state: State, loop_: Loop, operation: MatrixMulAdd = operation, operand: str = operand) -> None:
                steps: dict[Operation, Substitute] = {operation: _one_late(operation, operand, {})}
                before, state.perform = state.perform, substituting(steps, state.perform)
                loop(state, loop_)
                state.perform = before

            yield Defect(id_, {around: late}, {"sum": _sum(operation)})


@defects_of("multiply_add", MatrixMulAdd)
def product_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the multiply-adds of ``program``."""
    operations = every(program.operations, MatrixMulAdd)
    if not operations:
        return
    integers = not operations[0].result.type.component.is_float
    if integers:
        yield from _flag_defects(operations)
    for id_, exchange in _EXCHANGES + (_INSTANCE_EXCHANGES if program.instances > 1 else ()):
        yield from each_and_all(operations, id_, "sum", _sum, _exchanged(exchange))
    yield from each_and_all(operations, "multiply_add.result_transposed", "sum", _sum, _result_transposed)
    for around in every(program.operations, Loop):
        inside = every(around.body, MatrixMulAdd)

        def fresh(state: State, operation: Loop, inside: list[MatrixMulAdd] = inside) -> None:
            steps: dict[Operation, Substitute] = {one: _c_only_first(one) for one in inside}
            kept, state.perform = state.perform, substituting(steps, state.perform)
            loop(state, operation)
            state.perform = kept

        yield Defect("multiply_add.c_in_first_iteration", {around: fresh})
        yield from _late_defects(around)
    yield from _stale_defects(operations)
    if integers:
        for bits in (8, 16, 24, 32):
            if bits < operations[0].result.type.component.bits:
                for signed in (True, False):
                    parameters: dict[str, ParameterValue] = {"bits": bits, "extension": "sign" if signed else "zero"}
                    steps: dict[Operation, Substitute] = dict.fromkeys(operations, _narrow_integer(bits, signed))
                    yield Defect("multiply_add.integer_sum_narrowed", steps, parameters)
    else:
        yield from _float_defects(operations)
