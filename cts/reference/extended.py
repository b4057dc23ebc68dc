"""Extended instructions: chosen results are operands, and computed results are exact or have Vulkan's bounds."""

from __future__ import annotations

import numpy as np

from cts.reference.scalar_ranges import bounded, chosen, has_range
from cts.reference.scalars import bits_of, exact, numbers
from cts.reference.state import State, evaluates
from generators.errors import GeneratorError, Rule
from generators.program.extended import BOUNDED, Extended, check_extended


@evaluates(Extended)
def extended(state: State, operation: Extended) -> None:
    """Compute the result.

    Raises:
        GeneratorError: a clamp has a lower bound above the upper one, a float is NaN, a float result is not exact, or an absolute value
            does not fit its type.
    """
    check_extended(operation)
    component, name = operation.result.type, operation.result.name
    if operation.which in BOUNDED:
        bounded(state, operation.result, BOUNDED[operation.which], operation.operands)
        return
    if has_range(state, *operation.operands):
        chosen(state, operation.result, operation.which, operation.operands)
        return
    given = [numbers(state.scalar(operand), component) for operand in operation.operands]
    if component.is_float and any(np.isnan(one).any() for one in given):
        raise GeneratorError(Rule.NAN_OPERAND, f"{name}: an operand is NaN; use other data")
    match operation.which:
        case "minimum":
            result = np.minimum(*given)
        case "maximum":
            result = np.maximum(*given)
        case "clamp":
            value, least, greatest = given
            if (least > greatest).any():
                raise GeneratorError(Rule.CLAMP_BOUNDS, f"{name}: a clamp whose lower bound is above the upper one is undefined")
            result = np.minimum(np.maximum(value, least), greatest)
        case "absolute":
            if not component.is_float and (given[0] == np.iinfo(component.dtype).min).any():
                raise GeneratorError(Rule.ABSOLUTE_VALUE, f"{name}: the absolute value of the lowest integer does not fit {component}")
            result = np.abs(given[0])
        case "floor":
            result = np.floor(given[0])
        case "fused":
            # Fma may be executed as a multiplication and an addition, so both must be exact.
            product = exact(given[0] * given[1], component, name)
            result = product + given[2]
    state.scalars[name] = bits_of(exact(result, component, name) if component.is_float else result, component)
