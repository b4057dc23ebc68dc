"""Defects of execution modes: another rounding, denormals flushed or kept, special values lost, NaN changed by moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, Each, each_and_all, every, named
from cts.defects.edits import then
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import CERTAIN, MatrixValue
from generators.numerics.formats import denormals, encode, is_nan, largest_finite, sign_bit, values
from generators.program.composites import CompositeConstruct
from generators.program.conversion import Conversion, MatrixConvert
from generators.program.cooperative_vectors import CooperativeVectorLoad
from generators.program.elementwise import (
    CooperativeVectorArithmetic,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorTimesScalar,
    MatrixArithmetic,
    MatrixNegate,
    MatrixTimesScalar,
)
from generators.program.float_controls import FloatControl, FloatMode, Modes, modes_of
from generators.program.load_store import MatrixLoad
from generators.program.program import Program
from generators.program.values import is_cooperative_vector, is_matrix
from generators.types import ComponentType

Arithmetic = MatrixArithmetic | CooperativeVectorArithmetic
OnVectors = CooperativeVectorNegate | CooperativeVectorTimesScalar | CooperativeVectorConvert | CooperativeVectorFunction
Computation = MatrixNegate | MatrixTimesScalar | MatrixConvert | Arithmetic | OnVectors
Move = MatrixLoad | CooperativeVectorLoad | CompositeConstruct
Bits = Callable[[np.ndarray, ComponentType], np.ndarray]

_RTE, _RTZ = FloatMode.ROUNDING_MODE_RTE, FloatMode.ROUNDING_MODE_RTZ
_PRESERVE, _FLUSH = FloatMode.DENORM_PRESERVE, FloatMode.DENORM_FLUSH_TO_ZERO


def _result(operation: Computation | Move) -> str:
    return named(operation.result) if is_matrix(operation.result) else operation.result.name


def _with_modes(exchanged: Mapping[FloatMode, FloatMode]) -> Substitute:
    """Perform the operation under other modes, with special values, which another direction of rounding may give."""

    def step(state: State, operation: Computation) -> None:
        controls = [replace(control, mode=exchanged.get(control.mode, control.mode)) for control in state.program.float_controls]
        special = (FloatControl(FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE, control.width) for control in state.program.float_controls)
        program = replace(state.program, float_controls=tuple(dict.fromkeys((*controls, *special))))
        perform(replace(state, program=program), operation)

    return step


def _quotients_kept(state: State, operation: Arithmetic) -> None:
    component = operation.result.type.component
    left, right = (values(state.matrices[matrix.name].bits, component) for matrix in (operation.left, operation.right))
    with np.errstate(all="ignore"):
        quotient = encode(component, left / right)
    state.matrices[operation.result.name] = MatrixValue(component, quotient)


def _then(changed: Bits) -> Substitute:
    """Perform the operation and change the bits of its result."""

    def edit(value: MatrixValue) -> MatrixValue:
        bits = changed(value.bits, value.component)
        return replace(value, bits=bits, known=CERTAIN, computed=False, nan_kept=False, permitted=None)

    return then(edit)


def _zeros_positive(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    return np.where(bits == sign_bit(component), component.bits_dtype.type(0), bits)


def _infinities_clamped(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    numbers = values(bits, component)
    return np.where(np.isinf(numbers), encode(component, np.copysign(largest_finite(component), numbers)), bits)


def _nan_is(number: float) -> Bits:
    return lambda bits, component: np.where(is_nan(bits, component), encode(component, np.array(number)), bits)


def _nan_quiet(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    quiet = component.bits_dtype.type(1 << component.precision - 2)
    return np.where(is_nan(bits, component), bits | quiet, bits)


def _denormals_zero(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    sign = component.bits_dtype.type(sign_bit(component))
    return np.where(denormals(values(bits, component), component), bits & sign, bits)


_LOST: Mapping[str, Bits] = {
    "zero_sign_dropped": _zeros_positive,
    "infinity_clamped": _infinities_clamped,
    "nan_as_zero": _nan_is(0.0),
    "nan_as_infinity": _nan_is(np.inf),
}
"""How a defect, by its name, changes the special values that SignedZeroInfNanPreserve protects."""

_MOVED: Mapping[str, Bits] = {
    "moved_zero_sign_dropped": _zeros_positive,
    "moved_infinity_clamped": _infinities_clamped,
    "moved_nan_as_zero": _nan_is(0.0),
    "moved_nan_quieted": _nan_quiet,
    "moved_nan_replaced": _nan_is(np.nan),
}


_ON_MATRICES = (MatrixNegate, MatrixArithmetic, MatrixTimesScalar)
_ON_VECTORS = (CooperativeVectorNegate, CooperativeVectorArithmetic, CooperativeVectorTimesScalar, CooperativeVectorFunction)


def _computations(program: Program) -> list[Computation]:
    found: list[Computation] = every(program.operations, *_ON_MATRICES, *_ON_VECTORS)
    conversions: list[MatrixConvert | CooperativeVectorConvert] = every(program.operations, MatrixConvert, CooperativeVectorConvert)
    found += [each for each in conversions if each.conversion is Conversion.F_TO_F]
    return [each for each in found if each.result.type.component.is_float]


def _moves(program: Program) -> list[Move]:
    """Return the operations that move floats and must preserve them: loads of matrices, and vectors that are made of components."""
    loads: list[Move] = every(program.operations, MatrixLoad, CooperativeVectorLoad)
    made = [each for each in every(program.operations, CompositeConstruct) if is_cooperative_vector(each.result)]
    return [each for each in [*loads, *made] if _component(each).is_float]


def _component(move: Move) -> ComponentType:
    assert is_matrix(move.result) or is_cooperative_vector(move.result)
    return move.result.type.component


_of = Each("float_modes", "result", _result)


@defects_of("float_modes", Computation, Move)
def float_control_defects(program: Program) -> Iterator[Defect]:
    """Yield the defects of execution modes of float arithmetic in ``program``."""
    if not program.float_controls:
        return
    modes = {each: modes_of(program.float_controls, each.result.type.component) for each in _computations(program)}

    def those(holds: Callable[[Modes], bool], but: str = "") -> list[Computation]:
        return [each for each, found in modes.items() if holds(found) and getattr(each, "operator", "none") != but]

    def listed(holds: Callable[[Modes], bool], but: str = "") -> list[Computation]:
        """Return operations other than functions, to which only the modes for denormals apply."""
        return [each for each in those(holds, but) if not isinstance(each, CooperativeVectorFunction)]

    yield from _of(listed(lambda m: m.rounding == "nearest", "divide"), "rounded_toward_zero", _with_modes({_RTE: _RTZ, _RTZ: _RTE}))
    yield from _of(listed(lambda m: m.rounding == "toward_zero", "divide"), "rounded_to_nearest", _with_modes({_RTE: _RTZ, _RTZ: _RTE}))
    exchanged = _with_modes({_PRESERVE: _FLUSH, _FLUSH: _PRESERVE})
    yield from _of(those(lambda m: m.denormals == "kept", "divide"), "denormals_flushed", exchanged)
    yield from _of(those(lambda m: m.denormals == "flushed", "divide"), "denormals_kept", exchanged)
    quotients = [each for each in those(lambda m: m.denormals == "flushed") if getattr(each, "operator", "none") == "divide"]
    yield from _of(quotients, "denormals_kept", _quotients_kept)
    for name, changed in _LOST.items():
        yield from _of(listed(lambda m: m.special), name, _then(changed))
    moves = _moves(program)
    yield from each_and_all(moves, "float_modes.moved_denormals_flushed", "moved", _then(_denormals_zero), _result)
    special = [each for each in moves if modes_of(program.float_controls, _component(each)).special]
    for name, changed in _MOVED.items():
        yield from each_and_all(special, f"float_modes.{name}", "moved", _then(changed), _result)
