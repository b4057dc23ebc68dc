"""Functions that reductions and operations on elements call: arithmetic of every component type, computed in a type that supports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.numerics.formats import bits_of
from generators.program.expressions import Binary, BinaryOperator, Called, Choose, Converted, Expression, constant, element_function
from generators.program.functions import Function
from generators.program.operation import Hint
from generators.program.values import Value
from generators.types import COMPONENT_TYPES, ComponentType

Combination = Literal["add", "minimum", "maximum", "multiply", "and", "or", "xor", "circle", "magnitude"]
"""How reductions combine two elements. ``circle`` is (a + 1) * (b + 1) - 1 on wrapping integers. ``magnitude`` is the number farther from
zero; of two that are equally far, the greater one."""


@dataclass(frozen=True)
class Arithmetic:
    """Makes expressions of one component type, computed in another type if it has no arithmetic."""

    component: ComponentType

    @property
    def type(self) -> ComponentType:
        """The type in which expressions compute."""
        return self.component if self.component.has_arithmetic else COMPONENT_TYPES["f32"]

    def raised(self, value: Expression) -> Expression:
        """Convert ``value``, of any type, to the computing type."""
        return value if value.type is self.type else Converted(self.type, value)

    def lowered(self, value: Expression) -> Expression:
        """Convert ``value`` to the component type."""
        return value if value.type is self.component else Converted(self.component, value)

    def constant(self, number: float) -> Expression:
        """Return a literal of the computing type."""
        return constant(self.type, bits_of(self.type, number))

    def binary(self, operator: BinaryOperator, left: Expression, right: Expression) -> Expression:
        """Return ``left`` (operator) ``right`` in the computing type."""
        return Binary(operator, left, right)

    def weighted(self, terms: Sequence[tuple[float, Expression]]) -> Expression:
        """Return the sum of the terms, each times its weight, in the computing type."""
        total: Expression | None = None
        for weight, term in terms:
            product = self.raised(term)
            if weight != 1:
                product = Binary("multiply", product, self.constant(weight))
            total = product if total is None else Binary("add", total, product)
        assert total is not None, "a sum has terms"
        return total


def _combined(arithmetic: Arithmetic, kind: Combination, a: Expression, b: Expression) -> Expression:
    match kind:
        case "add":
            return Binary("add", a, b)
        case "minimum":
            return Choose(Binary("less", b, a), b, a)
        case "maximum":
            return Choose(Binary("less", a, b), b, a)
        case "multiply":
            return Binary("multiply", a, b)
        case "and":
            return Binary("and", a, b)
        case "or":
            return Binary("or", a, b)
        case "xor":
            return Binary("xor", a, b)
        case "circle":
            one = arithmetic.constant(1)
            return Binary("subtract", Binary("multiply", Binary("add", a, one), Binary("add", b, one)), one)
        case _:
            far_a, far_b = (Binary("maximum", x, Binary("multiply", x, arithmetic.constant(-1))) for x in (a, b))
            return Choose(Binary("less", far_a, far_b), b, Choose(Binary("less", far_b, far_a), a, Binary("maximum", a, b)))


def combining(name: str, component: ComponentType, kind: Combination, nesting: int = 0, control: Hint = "none") -> Function:
    """Build the function of two components that a reduction by ``kind`` calls; it calls another function, nested ``nesting`` deep, and
    passes the parameters in the other order."""
    arithmetic = Arithmetic(component)
    a, b = Value("a", component), Value("b", component)
    inner = arithmetic.lowered(_combined(arithmetic, kind, arithmetic.raised(a), arithmetic.raised(b)))
    function = element_function(name if not nesting else f"{name}_innermost", (a, b), inner, control)
    for depth in range(nesting, 0, -1):
        own = name if depth == 1 else f"{name}_{depth}"
        function = element_function(own, (a, b), Called(function, (b, a)), control)
    return function
