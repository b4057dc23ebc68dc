"""Define the functions of an attention block: masks, a maximum, and powers of two made by shifts, all of which are exact."""

from __future__ import annotations

from generators.engine_kernels.parts import constant_of
from generators.program.builder import U32
from generators.program.expressions import Binary, Choose, Converted, Expression, constant, element_function
from generators.program.functions import Function
from generators.program.values import Scalar, Value
from generators.types import COMPONENT_TYPES, ComponentType

S32 = COMPONENT_TYPES["s32"]

LOWEST = -512.0
"""The score of a masked key, below every other score."""

SCALE = 2
"""Queries are this many times too large, and scores of floats are divided by it."""


def powers_kept(component: ComponentType) -> int:
    """Return the greatest n for which a weight of 2^-n times the largest one is kept; smaller weights are zero."""
    return 4 if component.precision > 11 else 2


class SpreadFunctions:
    """Functions on elements of ``component``.

    Attributes:
        mask: gives LOWEST for missing keys and, if ``causal``, for keys after the query.
        larger: gives the larger of an element and the corresponding element of another matrix.
        most, sum: reduce rows.
        power: gives 2^(x - m) times the factor that makes it a whole number; m is the element of another matrix.
        decay: gives 2^(x - m) for floats, and the number of bits to shift for integers.
        rescale: applies a result of ``decay`` to an element.
    """

    def __init__(self, component: ComponentType, causal: bool) -> None:
        self.component = component
        self.causal = causal
        x, other = Value("x", component), Value("other", component)
        self.row, self.column = Value("row", U32), Value("column", U32)
        self.mask = self._mask(x)
        self.larger = element_function("larger", (self.row, self.column, x, other), Binary("maximum", x, other))
        self.most = element_function("most", (x, other), Binary("maximum", x, other))
        self.sum = element_function("sum", (x, other), Binary("add", x, other))
        places = (self.row, self.column, x, other)
        difference = Binary("subtract", x, other)
        self.power = element_function("power", places, self._power(difference))
        if component.is_float:
            fraction = Binary("multiply", self._power(difference), constant_of(2.0 ** -powers_kept(component), component))
            self.decay = element_function("decay", places, fraction)
            self.rescale = element_function("rescale", places, Binary("multiply", x, other))
        else:
            shift = Binary("minimum", Binary("subtract", other, x), constant_of(31, component))
            self.decay = element_function("decay", places, shift)
            self.rescale = element_function("rescale", places, Binary("shift_right", x, other))

    def _mask(self, x: Scalar) -> Function:
        begin, keys, query0 = (Value(name, U32) for name in ("begin", "keys", "query0"))
        key = Binary("add", begin, self.column)
        lowest = constant_of(LOWEST, self.component)
        result: Expression = Choose(Binary("less", key, keys), x, lowest)
        parameters = (self.row, self.column, x, begin, keys)
        if not self.causal:
            return element_function("mask", parameters, result)
        later = Binary("less", Binary("add", query0, self.row), key)
        return element_function("mask", (*parameters, query0), Choose(later, lowest, result))

    def _power(self, difference: Binary) -> Expression:
        """Return 2^(n + powers_kept), which is 0 for n below -powers_kept."""
        component, kept = self.component, powers_kept(self.component)
        least = constant_of(-kept, component)
        bounded = Converted(S32, Binary("maximum", difference, least))
        shift = Binary("add", bounded, constant(S32, kept))
        power = Converted(component, Binary("shift_left", constant(S32, 1), shift))
        return Choose(Binary("less", difference, least), constant_of(0, component), power)
