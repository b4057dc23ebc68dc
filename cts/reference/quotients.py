"""Bounds of the quotients of float divisions (facts.md C6; Vulkan, "Precision of Core SPIR-V Instructions")."""

from __future__ import annotations

import numpy as np

from cts.reference.values import Range
from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import quotient_bounds
from generators.numerics.formats import largest_finite
from generators.types import ComponentType

DIVISION_ULP = 2.5


def check_divisors(component: ComponentType, y: np.ndarray) -> None:
    """Raise GeneratorError if a divisor is outside the range of the bound."""
    exponent = 14 if component.bits == 16 else 126
    if not ((np.abs(y) >= 2.0**-exponent) & (np.abs(y) <= 2.0**exponent)).all():
        raise GeneratorError(
            Rule.DIVISOR_RANGE,
            f"a divisor's magnitude is outside of [2^-{exponent}, 2^{exponent}], where nothing is promised (facts.md C6)",
        )


def quotients(component: ComponentType, x: np.ndarray, y: np.ndarray) -> Range:
    """Return the range of ``x`` / ``y``: within 2.5 ULP of ``component``, around the quotients in float64.

    Args:
        component: the type of the operation.
        x: finite dividends, float64.
        y: divisors, float64, which ``check_divisors`` accepts.

    Raises:
        GeneratorError: a quotient may overflow.
    """
    found = Range(*quotient_bounds(component, x, y, DIVISION_ULP), x / y)
    if (found.most > largest_finite(component)).any():
        raise GeneratorError(Rule.OVERFLOW, f"a quotient may overflow {component}; make the dividend smaller (facts.md C30)")
    return found
