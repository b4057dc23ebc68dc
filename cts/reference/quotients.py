"""Bounds of the quotients of float divisions (facts.md C6; Vulkan, "Precision of Core SPIR-V Instructions")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import quotient_bounds
from generators.numerics.formats import largest_finite
from generators.types import ComponentType

DIVISION_ULP = 2.5


@dataclass(frozen=True)
class Quotients:
    """Bounds of quotients, float64 arrays of one shape.

    Attributes:
        rounded: the quotient in float64.
        low, high: the bounds.
    """

    rounded: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The smaller magnitude of the two bounds."""
        return np.asarray(np.minimum(np.abs(self.low), np.abs(self.high)))

    @property
    def most(self) -> np.ndarray:
        """The larger magnitude of the two bounds."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))


def check_divisors(component: ComponentType, y: np.ndarray) -> None:
    """Raise GeneratorError if a divisor is outside the range of the bound."""
    exponent = 14 if component.bits == 16 else 126
    if not ((np.abs(y) >= 2.0**-exponent) & (np.abs(y) <= 2.0**exponent)).all():
        raise GeneratorError(
            Rule.DIVISOR_RANGE,
            f"a divisor's magnitude is outside of [2^-{exponent}, 2^{exponent}], where nothing is promised (facts.md C6)",
        )


def quotients(component: ComponentType, x: np.ndarray, y: np.ndarray) -> Quotients:
    """Return the bounds of ``x`` / ``y``: within 2.5 ULP of ``component``.

    Args:
        component: the type of the operation.
        x: finite dividends, float64.
        y: divisors, float64, which ``check_divisors`` accepts.

    Raises:
        GeneratorError: a quotient may overflow.
    """
    found = Quotients(x / y, *quotient_bounds(component, x, y, DIVISION_ULP))
    if (found.most > largest_finite(component)).any():
        raise GeneratorError(Rule.OVERFLOW, f"a quotient may overflow {component}; make the dividend smaller (facts.md C30)")
    return found
