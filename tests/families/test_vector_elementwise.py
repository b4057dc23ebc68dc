"""vector_elementwise and vector_conversion show devices that compute the components of the invocations' vectors wrongly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cts.embedded.faults import Fault, Faults
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.verdict.verdict import Verdict
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, verdict_on

Components = tuple[np.ndarray, ...]


def after(change: Callable[[Components], Components]) -> Fault:
    """Return a fault that changes the result of an instruction, if it is a vector."""

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            run = handler(translation, words)

            def execute():
                found = run()
                return change(found) if isinstance(found, tuple) else found

            return execute

        return broken

    return fault


def computing(function: Callable[..., np.ndarray], first: int = 2) -> Fault:
    """Return a fault that makes an instruction compute ``function`` of each component instead of its own result.

    Args:
        first: index of its first operand, counted from Result Type.
    """

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            run = handler(translation, words)

            def execute():
                right = run()
                operands = [translation.values[id_] for id_ in words[first:]]
                if not isinstance(right, tuple):
                    return right
                columns = zip(right, *[one if isinstance(one, tuple) else (one,) * len(right) for one in operands], strict=True)
                with np.errstate(all="ignore"):
                    return tuple(function(*map(np.asarray, given)).astype(np.asarray(result).dtype) for result, *given in columns)

            return execute

        return broken

    return fault


def function_of(function: Callable[..., np.ndarray]) -> Fault:
    """Return a fault that replaces every function of GLSL.std.450."""
    return computing(function, first=4)


def first_four(components: Components) -> Components:
    return tuple(components[i % 4] for i in range(len(components)))


def whole_groups(components: Components) -> Components:
    """Set the components after the last whole group of four to zero."""
    whole = len(components) // 4 * 4
    return tuple(one if i < whole else np.zeros_like(one) for i, one in enumerate(components))


def of_first_lane(components: Components) -> Components:
    return tuple(np.broadcast_to(np.asarray(one).reshape(-1)[:1], np.shape(one)) for one in components)


def in_half(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda *given: function(*[one.astype(np.float16) for one in given])


def sixteen_bits(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x.astype(np.int64) + y.astype(np.int64)) & 0xFFFF


def saturated_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    limits = np.iinfo(x.dtype)
    return np.clip(x.astype(np.int64) + y.astype(np.int64), limits.min, limits.max)


def floored(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = f"i{x.dtype.itemsize}"
    return np.where(y == 0, 0, x.view(kind).astype(np.int64) // np.where(y == 0, 1, y.view(kind)).astype(np.int64))


def nearest(x: np.ndarray) -> np.ndarray:
    return np.rint(x.astype(np.float64)).astype(np.int64)


def in_bytes(x: np.ndarray) -> np.ndarray:
    return np.clip(np.trunc(x.astype(np.float64)), -128, 127)


ELEMENTWISE = {
    "vectors have four components": (Op.FAdd, after(first_four), ["add", "add/length:5", "add/length:17"]),
    "the rest after groups of four is lost": (Op.FAdd, after(whole_groups), ["add/length:5", "add/length:1", "add/length:97"]),
    "one invocation computes for all": (
        Op.FAdd,
        after(of_first_lane),
        ["add", "add/control:branches", "add/invocations:7", "add/length:1"],
    ),
    "f32 is added in f16": (Op.FAdd, computing(in_half(np.add)), ["f32/add", "f32/add/length:3"]),
    "f32 is multiplied in f16": (Op.VectorTimesScalar, computing(in_half(np.multiply)), ["f32/times_scalar"]),
    "f32 is divided in f16": (Op.FDiv, computing(in_half(np.divide)), ["f32/divide"]),
    "s32 is added in 16 bits": (Op.IAdd, computing(sixteen_bits), ["s32/add", "u32/add/length:3"]),
    "sums saturate": (Op.IAdd, computing(saturated_sum), ["s8/add", "u8/add", "s32/add"]),
    "division rounds down": (Op.SDiv, computing(floored), ["s8/signed_divide", "s32/signed_divide/length:17"]),
    "Exp has base 2": (Op.ExtInst, function_of(np.exp2), ["Exp", "f32/Exp"]),
    "Log has base 2": (Op.ExtInst, function_of(lambda x: np.log2(np.abs(x) + (x == 0))), ["Log", "f32/Log"]),
    "Exp is a polynomial": (Op.ExtInst, function_of(lambda x: 1 + x + x * x / 2 + x**3 / 6), ["Exp", "f32/Exp"]),
    "Tanh is clamped": (Op.ExtInst, function_of(lambda x: np.clip(x, -1, 1)), ["Tanh", "f32/Tanh"]),
    "Tanh has no sign": (Op.ExtInst, function_of(lambda x: np.tanh(np.abs(x))), ["Tanh", "f32/Tanh"]),
    "Atan is Tanh": (Op.ExtInst, function_of(np.tanh), ["Atan", "f32/Atan"]),
    "Exp of f32 is computed in f16": (Op.ExtInst, function_of(in_half(np.exp)), ["f32/Exp"]),
    "Step is 0 at its edge": (Op.ExtInst, function_of(lambda edge, x: x > edge), ["Step", "f32/Step"]),
    "Fma has no addend": (Op.ExtInst, function_of(lambda a, b, c: a * b), ["Fma", "f32/Fma"]),
    "Fma of f32 is computed in f16": (Op.ExtInst, function_of(in_half(lambda a, b, c: a * b + c)), ["f32/Fma"]),
    "clamp has no minimum": (Op.ExtInst, function_of(lambda x, low, high: np.minimum(x, high)), ["FClamp", "NClamp", "s8/SClamp"]),
    "clamp has no maximum": (Op.ExtInst, function_of(lambda x, low, high: np.maximum(x, low)), ["FClamp", "NClamp", "s8/SClamp"]),
    "minimum is below the smaller one": (Op.ExtInst, function_of(lambda x, y: np.nextafter(np.minimum(x, y), x - 1)), ["FMin", "NMin"]),
}

CONVERSION = {
    "floats round to the nearest integer": (Op.ConvertFToS, computing(nearest), ["f32/s32", "f16/s8", "f32/s32/control:loop"]),
    "integers have 8 bits": (Op.ConvertFToS, computing(in_bytes), ["f32/s32"]),
    "four components are converted": (Op.FConvert, after(first_four), ["f16/f32", "f32/f16/length:5"]),
    "the rest after groups of four is lost": (Op.SConvert, after(whole_groups), ["s8/s32/length:5", "s32/s8/length:3"]),
    "one invocation converts for all": (
        Op.FConvert,
        after(of_first_lane),
        ["f16/f32", "f16/f32/control:branches", "f16/f32/invocations:7"],
    ),
    "narrow integers saturate": (Op.SConvert, computing(lambda x: np.clip(x.view("i4"), -128, 127)), ["s32/s8"]),
}


def elementwise(parameters: str) -> str:
    """Return an id, given a component type (default: f16), an operation, and other parameters."""
    component, _, rest = parameters.partition("/")
    if component not in ("f32", "s8", "u8", "s32", "u32"):
        component, rest = "f16", parameters
    operation, _, others = rest.partition("/")
    return f"vector_elementwise[component:{component}/operation:{operation}{others and '/' + others}]"


def conversion(parameters: str) -> str:
    """Return an id, given two component types and other parameters."""
    source, target, *others = parameters.split("/")
    return f"vector_conversion[{'/'.join([f'from:{source}', f'to:{target}', *others])}]"


CASES = {
    **{f"{what} (elementwise)": (op, fault, [*map(elementwise, ids)]) for what, (op, fault, ids) in ELEMENTWISE.items()},
    **{f"{what} (conversion)": (op, fault, [*map(conversion, ids)]) for what, (op, fault, ids) in CONVERSION.items()},
}


@pytest.mark.parametrize("what", list(CASES))
def test_a_wrong_device_fails(what: str) -> None:
    op, fault, ids = CASES[what]
    for id_ in ids:
        assert verdict_on(id_, Broken(faults=Faults({op: fault}))) is Verdict.FAIL, id_


def test_the_right_device_passes() -> None:
    for id_ in {id_ for _, _, ids in CASES.values() for id_ in ids}:
        assert verdict_on(id_, Broken()) is Verdict.PASS, id_
