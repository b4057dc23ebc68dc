"""Defects of multiply-adds: a flag ignored, an operand dropped or exchanged, a sum kept in a narrower type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named, result_of
from cts.defects.edits import Edit, exchanged, instead, of_first, part, then, transposed, zeroed
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
from generators.program.walking import flattened, results
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands

Operands = tuple[MatrixValue, MatrixValue, MatrixValue]


def _operands(state: State, operation: MatrixMulAdd) -> Operands:
    return state.matrices[operation.a.name], state.matrices[operation.b.name], state.matrices[operation.c.name]


def _with(**edits: Edit) -> Substitute:
    """Build a step that edits the operands ``a``, ``b`` and ``c`` that are named."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (
            edits[letter](value) if letter in edits else value for letter, value in zip("abc", _operands(state, operation), strict=True)
        )
        state.matrices[operation.result.name] = multiply_add(a, b, c, operation.result.type.component, operation.operands)

    return step


def _flags(operation: MatrixMulAdd) -> MatrixOperands:
    return operation.operands or MatrixOperands.NONE


def _toggled(flag: MatrixOperands) -> Substitute:
    return instead(lambda operation: replace(operation, operands=_flags(operation) ^ flag))


def _only(kept: MatrixOperands) -> Substitute:
    """Build a step that ignores all other flags."""
    return instead(lambda operation: replace(operation, operands=_flags(operation) & kept))


def _factors_exchanged(state: State, operation: MatrixMulAdd) -> None:
    a, b, _ = _operands(state, operation)
    if a.component != b.component:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "operands of different types cannot be exchanged")
    exchanged("a", "b")(state, operation)


def _twice(value: MatrixValue) -> MatrixValue:
    component = value.component
    doubled = encode(component, nearest(component, 2 * value.numbers)) if component.is_float else value.bits + value.bits
    return MatrixValue(component, doubled)


def _turned(value: MatrixValue) -> MatrixValue:
    """Return the transpose, which is not known of sums that an envelope bounds."""
    if isinstance(value.known, Envelope):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a matrix that is not square cannot take the place of its transpose")
    return transposed(value)


def _half(axis: int, first: bool) -> Edit:
    """Return a function that keeps the first or the second half along an axis."""

    def edit(value: MatrixValue) -> MatrixValue:
        half = value.bits.shape[axis] // 2
        return part(axis, slice(half) if first else slice(half, None))(value)

    return edit


def _of_first_instance(value: MatrixValue) -> MatrixValue:
    return MatrixValue(value.component, np.ascontiguousarray(of_first(value.bits)))


def _flushed(value: MatrixValue) -> MatrixValue:
    tiny = denormals(value.numbers, value.component)
    return MatrixValue(value.component, np.where(tiny, value.component.bits_dtype.type(0), value.bits))


def _c_only_first(operation: MatrixMulAdd) -> Substitute:
    """Take C in the first iteration of a loop and zero in the others."""
    done = False

    def step(state: State, _: MatrixMulAdd) -> None:
        nonlocal done
        (_with(c=zeroed) if done else _with())(state, operation)
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


def _narrowed(narrow: ComponentType) -> Edit:
    return lambda value: MatrixValue(value.component, encode(value.component, nearest(narrow, value.numbers)))


def _to_bits(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Round to ``bits`` bits of significand, ties to even."""
    significand, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits))


def _rounded(bits: int) -> Edit:
    return lambda value: MatrixValue(value.component, encode(value.component, _to_bits(value.numbers, bits)))


def _of_exact(change: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    """Build a step that changes the sum without any rounding."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (value.numbers for value in _operands(state, operation))
        state.matrices[operation.result.name] = _stored_float(operation.result.type.component, change(a @ b + c))

    return step


def _narrow_integer(bits: int, signed: bool) -> Substitute:
    """Build a step that keeps the sum in an integer of ``bits``, then extends it."""

    def edit(value: MatrixValue) -> MatrixValue:
        low = value.bits.astype(np.uint64) & np.uint64((1 << bits) - 1)
        if signed:
            # The highest of the kept bits is the sign: extend it.
            sign = np.uint64(1 << (bits - 1))
            low = (low ^ sign) - sign
        return MatrixValue(value.component, low.astype(value.component.bits_dtype))

    return then(edit)


def _flag_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    for letter, flag in (("A", MatrixOperands.A_SIGNED), ("B", MatrixOperands.B_SIGNED), ("C", MatrixOperands.C_SIGNED)):

        def name(operation: MatrixMulAdd, operand: str = letter.lower()) -> str:
            return named(getattr(operation, operand))

        read = [o for o in operations if letter != "C" or _reads_sign_of_c(o)]
        signed = [o for o in read if _flags(o) & flag]
        unsigned = [o for o in read if not _flags(o) & flag]
        yield from each_and_all(signed, "multiply_add.sign_ignored", "factor", _toggled(flag), name, operand=letter)
        yield from each_and_all(unsigned, "multiply_add.sign_assumed", "factor", _toggled(flag), name, operand=letter)
    factors, saturation = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED, MatrixOperands.SATURATING_ACCUMULATION
    yield Defect("multiply_add.factor_signs_ignored", dict.fromkeys(operations, _only(~factors)))
    yield Defect("multiply_add.signs_ignored", dict.fromkeys(operations, _only(saturation)))
    saturating = [o for o in operations if _flags(o) & saturation]
    wrapping = [o for o in operations if not _flags(o) & saturation]
    for chosen, name_, toggled in (
        (saturating, "saturates_by_other_sign", MatrixOperands.RESULT_SIGNED),
        (saturating, "saturation_ignored", saturation),
        (wrapping, "saturation_assumed", saturation),
    ):
        yield from each_and_all(chosen, f"multiply_add.{name_}", "sum", _toggled(toggled))


def _reads_sign_of_c(operation: MatrixMulAdd) -> bool:
    """Tell whether the sum depends on the sign of C: a sum that wraps around in the bits of C does not."""
    wider = operation.result.type.component.bits > operation.c.type.component.bits
    return wider or bool(_flags(operation) & MatrixOperands.SATURATING_ACCUMULATION)


_OPERANDS: tuple[tuple[str, Substitute], ...] = (
    ("multiply_add.without_c", _with(c=zeroed)),
    ("multiply_add.c_twice", _with(c=_twice)),
    ("multiply_add.without_product", _with(a=zeroed)),
    ("multiply_add.factors_exchanged", _factors_exchanged),
    ("multiply_add.a_transposed", _with(a=_turned)),
    ("multiply_add.b_transposed", _with(b=_turned)),
    ("multiply_add.factors_transposed", _with(a=_turned, b=_turned)),
    ("multiply_add.c_transposed", _with(c=_turned)),
    ("multiply_add.first_half_of_k", _with(a=_half(2, True), b=_half(1, True))),
    ("multiply_add.second_half_of_k", _with(a=_half(2, False), b=_half(1, False))),
)

_INSTANCES: tuple[tuple[str, Substitute], ...] = (
    ("multiply_add.a_of_first_instance", _with(a=_of_first_instance)),
    ("multiply_add.b_of_first_instance", _with(b=_of_first_instance)),
    ("multiply_add.c_of_first_instance", _with(c=_of_first_instance)),
)


def _bit_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    """Yield defects: operands or sums keep a number of bits that no type has."""
    first = operations[0]
    for letter, matrix in (("a", first.a), ("b", first.b)):
        for bits in (8, 10):
            if bits < matrix.type.component.precision:
                steps: dict[Operation, Substitute] = dict.fromkeys(operations, _with(**{letter: _rounded(bits)}))
                yield Defect("multiply_add.factor_rounded", steps, {"operand": letter.upper(), "bits": bits})
    if first.c.type.component.precision > _C_BITS:
        yield Defect("multiply_add.c_in_bits", dict.fromkeys(operations, _with(c=_rounded(_C_BITS))), {"bits": _C_BITS})
    precision = first.result.type.component.precision
    if precision > _SUM_BITS:
        step = _of_exact(lambda numbers: _to_bits(numbers, _SUM_BITS))
        yield Defect("multiply_add.sum_in_bits", dict.fromkeys(operations, step), {"bits": _SUM_BITS})
    for bits in (8, 12, 16, 20):
        if bits < precision:
            step = _of_exact(partial(np.multiply, 1 + 2.0**-bits))
            yield Defect("multiply_add.relative_error", dict.fromkeys(operations, step), {"bits": bits})


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
            yield Defect("multiply_add.c_rounded", dict.fromkeys(operations, _with(c=_narrowed(narrow))), {"type": name})
    yield from _bit_defects(operations)
    for letter in "abc":
        steps: dict[Operation, Substitute] = dict.fromkeys(operations, _with(**{letter: _flushed}))
        yield Defect("multiply_add.denormals_flushed", steps, {"operand": letter.upper()})


def _stale(earlier: MatrixMulAdd, operand: str) -> Substitute:
    """Build a step that takes an operand of an earlier multiply-add."""

    def step(state: State, operation: MatrixMulAdd) -> None:
        old = state.matrices[getattr(earlier, operand).name]
        _with(**{operand: lambda _: old})(state, operation)

    return step


def _stale_defects(operations: list[MatrixMulAdd]) -> Iterator[Defect]:
    """Yield defects: a multiply-add takes A or B of the multiply-add before it, if both have the same type."""
    for earlier, operation in pairwise(operations):
        for operand, id_ in (("a", "multiply_add.stale_a"), ("b", "multiply_add.stale_b")):
            old, own = getattr(earlier, operand), getattr(operation, operand)
            if old != own and old.type == own.type:
                yield Defect(id_, {operation: _stale(earlier, operand)}, {"sum": result_of(operation)})


def _one_late(operation: MatrixMulAdd, operand: str, kept: dict[str, MatrixValue]) -> Substitute:
    """Build a step that takes the operand of the previous iteration; in the first iteration, the right operand."""

    def step(state: State, _: MatrixMulAdd) -> None:
        own = _operands(state, operation)[operand == "b"]
        old = kept.get(operand, own)
        if old.bits.shape != own.bits.shape:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "other scope instances execute this iteration")
        kept[operand] = own
        _with(**{operand: lambda _: old})(state, operation)

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

            yield Defect(id_, {around: late}, {"sum": result_of(operation)})


@defects_of("multiply_add", MatrixMulAdd)
def product_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the multiply-adds of ``program``."""
    operations = every(program.operations, MatrixMulAdd)
    if not operations:
        return
    integers = not operations[0].result.type.component.is_float
    if integers:
        yield from _flag_defects(operations)
    for id_, step in _OPERANDS + (_INSTANCES if program.instances > 1 else ()):
        yield from each_and_all(operations, id_, "sum", step)
    yield from each_and_all(operations, "multiply_add.result_transposed", "sum", then(_turned))
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
