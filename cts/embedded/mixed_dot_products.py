"""Dot products of narrow floats that are added to an accumulator (SPV_VALVE_mixed_float_dot_product).

The products are added as 64-bit floats, and the sum is rounded to the type of the result. This is a choice: no text at hand says how the
sum is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import need
from cts.embedded.machine import Run
from cts.embedded.spirv_types import Number, Vector, type_text
from cts.embedded.translation import Handler, Translation, Words
from cts.embedded.values import Value
from generators.spirv.enumerants import Op

_HALVES, _QUARTERS = frozenset({"f16", "bf16"}), frozenset({"e4m3", "e5m2"})


def _checked(translation: Translation, words: Words, factors: frozenset[str], count: int, is_wide: bool) -> Number:
    """Return the type of the result, if the operands have types that fit."""
    vector, result = translation.type_of[words[2]], translation.types[words[0]]
    narrow = vector.element if isinstance(vector, Vector) and vector.count == count else None
    need(isinstance(narrow, Number) and narrow.component.name in factors, f"a mixed dot product of a {type_text(vector)}")
    need(translation.type_of[words[3]] == vector, "a mixed dot product of vectors of two types")
    assert isinstance(narrow, Number)
    wanted = "f32" if is_wide else narrow.component.name
    need(isinstance(result, Number) and result.component.name == wanted, f"the result is a {type_text(result)}, not a {wanted}")
    need(translation.type_of[words[4]] == result, "the accumulator does not have the type of the result")
    return translation.number_of(result)


def _dot(factors: frozenset[str], count: int, is_wide: bool) -> Handler:
    """Return the handler of a dot product of ``count`` components of a type in ``factors``; its result is f32 if it ``is_wide``."""

    def handler(translation: Translation, words: Words) -> Run:
        result = _checked(translation, words, factors, count, is_wide)
        values, (a, b, accumulator) = translation.values, words[2:5]

        def run() -> Value:
            total = np.asarray(values[accumulator]).astype(np.float64)
            for x, y in zip(values[a], values[b], strict=True):
                total = total + np.asarray(x).astype(np.float64) * np.asarray(y).astype(np.float64)
            return total.astype(result.dtype)[()]

        return run

    return handler


HANDLERS: Mapping[Op, Handler] = MappingProxyType(
    {
        Op.FDot2MixAcc32VALVE: _dot(_HALVES, 2, True),
        Op.FDot2MixAcc16VALVE: _dot(_HALVES, 2, False),
        Op.FDot4MixAcc32VALVE: _dot(_QUARTERS, 4, True),
    }
)
"""Handlers of mixed dot products."""
