"""Scalar instructions: integers modulo two to the width, and floats if they are exact. Extended instructions also have results with
Vulkan's bounds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.reference.scalar_ranges import bounded, chosen, combined, has_range
from cts.reference.state import State, evaluates
from generators.errors import GeneratorError, Rule
from generators.numerics import formats
from generators.program import scalars as language
from generators.types import ComponentType, Scope


@evaluates(language.InstanceIndex)
def instance_index(state: State, operation: language.InstanceIndex) -> None:
    """Give each scope instance its index."""
    state.scalars[operation.result.name] = state.scope_instances.astype(np.uint64)


@evaluates(language.BuiltInScalar)
def built_in(state: State, operation: language.BuiltInScalar) -> None:
    """Read a number that the environment supplies to each scope instance, or to each invocation if the lanes are invocations.

    Raises:
        GeneratorError: the specification leaves the number open.
    """
    found = _built_in(state, operation.which)
    if found is None:
        raise GeneratorError(
            Rule.BUILT_IN,
            f"{operation.result.name}: the value of the built-in {operation.which} is unspecified here; state the effect instead",
        )
    state.scalars[operation.result.name] = np.broadcast_to(np.asarray(found, np.uint64), state.instances.shape)


def _built_in(state: State, which: language.BuiltInName) -> np.ndarray | int | None:
    program, instances = state.program, state.scope_instances
    subgroups, size, of_subgroups = program.subgroups, program.shape.subgroup_size, program.scope is Scope.SUBGROUP
    workgroup = instances // subgroups if of_subgroups else instances
    x, y, _ = program.workgroups
    invocations = program.shape.invocations
    if invocations is None and size is not None:
        invocations = size * subgroups
    own = None
    if state.owners is not None:
        within = size if of_subgroups else invocations
        own = None if within is None else state.instances % within
    match which:
        case "workgroup":
            return workgroup % x
        case "workgroup_y":
            return workgroup // x % y
        case "workgroup_z":
            return workgroup // (x * y)
        case "workgroups_x" | "workgroups_y":
            return x if which == "workgroups_x" else y
        case "subgroups":
            return subgroups
        case "subgroup" if of_subgroups or subgroups == 1:
            return instances % subgroups
        case "subgroup_size":
            return size
        case "workgroup_invocations":
            return invocations
        case "subgroup_invocation" if of_subgroups:
            return own
        case "local_invocation" if not of_subgroups:
            return own
        case "draw_invocation" if program.shape.draw is not None:
            return state.instances
    return None


def numbers(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the numbers that uint64 bits represent: float64 for floats, and for integers their own dtype, whose arithmetic wraps as the
    specification says (facts.md C8)."""
    return formats.values(bits.astype(component.bits_dtype), component) if component.is_float else bits.astype(component.dtype)


def bits_of(values: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the bits, uint64, of numbers that are exact in the component type."""
    if values.dtype == component.dtype:
        return values.view(component.bits_dtype).astype(np.uint64)
    return formats.encode(component, values).astype(np.uint64)


_DIRECT: Mapping[language.ScalarOperator, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
    }
)
"""The operators that are defined for all operands."""


@evaluates(language.ScalarArithmetic)
def scalar_arithmetic(state: State, operation: language.ScalarArithmetic) -> None:
    """Compute with integers modulo two to the width, with floats if the result is exact, so rounding and order have no effect, or with
    floats that have a range of values.

    Raises:
        GeneratorError: it divides by 0, takes the remainder of a negative number, shifts by the width or more, or a float result is not
            exact.
    """
    component, name = operation.result.type, operation.result.name
    if operation.operator in _DIRECT and not component.is_float:
        # The low bits of these results depend on the low bits of the operands alone.
        wide = _DIRECT[operation.operator](state.scalar(operation.left), state.scalar(operation.right))
        state.scalars[name] = wide & ((1 << component.bits) - 1)
        return
    if has_range(state, operation.left, operation.right):
        combined(state, operation.result, operation.operator, operation.left, operation.right)
        return
    left, right = (numbers(state.scalar(value), component) for value in (operation.left, operation.right))
    with np.errstate(over="ignore"):
        match operation.operator:
            case each if each in _DIRECT:
                result = _DIRECT[each](left, right)
            case "shift_left" | "shift_right" as shift:
                if (right.astype(np.int64) < 0).any() or (right.astype(np.int64) >= component.bits).any():
                    raise GeneratorError(Rule.SHIFT, f"{name} shifts {component} by its width or more, which is undefined")
                result = left << right if shift == "shift_left" else left >> right
            case _ if not right.all():
                raise GeneratorError(Rule.DIVISION_BY_ZERO, f"{name} divides by 0, which is undefined; give another divisor")
            case "divide":
                if component.is_signed and ((left == np.iinfo(component.dtype).min) & (right == -1)).any():
                    raise GeneratorError(Rule.DIVISION_OVERFLOW, f"{name} divides the least number by -1, which is undefined")
                result = (left - np.fmod(left, right)) // right
            case _:
                if (left < 0).any() or (right < 0).any():
                    raise GeneratorError(
                        Rule.NEGATIVE_REMAINDER,
                        f"{name} takes the remainder of a negative number, which is undefined in Vulkan; use others",
                    )
                result = left % right
    state.scalars[name] = bits_of(exact(state, result, component, name) if component.is_float else result, component)


@evaluates(language.ScalarConvert)
def scalar_convert(state: State, operation: language.ScalarConvert) -> None:
    """Convert if the result is exact, or truncate an integer.

    Raises:
        GeneratorError: a float result is not exact, or an integer cannot hold the number (C11).
    """
    source, target, name = operation.value.type, operation.result.type, operation.result.name
    value = numbers(state.scalar(operation.value), source)
    if target.is_float:
        value = exact(state, value.astype(np.float64), target, name)
    elif source.is_float:
        limits = np.iinfo(target.dtype)
        value = np.trunc(value)
        if not ((value >= float(limits.min)) & (value <= float(limits.max))).all():
            raise GeneratorError(Rule.CONVERSION_RANGE, f"{name} converts a number that does not fit {target}, which is undefined (C11)")
    state.scalars[name] = bits_of(value, target)


def exact(state: State, value: np.ndarray, component: ComponentType, name: str) -> np.ndarray:
    """Return ``value``, float64, rounded to the component type if the state goes on with that.

    Raises:
        GeneratorError: the component type does not have it, or only as a denormal.
    """
    rounded = formats.values(formats.encode(component, value), component)
    if (rounded != value).any() or formats.denormals(value, component).any():
        state.undefined(Rule.INEXACT, f"{name}: a step is not exact in {component}, or denormal; use other data")
    return rounded


@evaluates(language.Extended)
def extended(state: State, operation: language.Extended) -> None:
    """Compute the result.

    Raises:
        GeneratorError: a clamp has a lower bound above the upper one, a float is NaN, a float result is not exact, or an absolute value
            does not fit its type.
    """
    language.check_extended(operation)
    component, name = operation.result.type, operation.result.name
    if operation.which in language.BOUNDED:
        bounded(state, operation.result, language.BOUNDED[operation.which], operation.operands)
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
            product = exact(state, given[0] * given[1], component, name)
            result = product + given[2]
    state.scalars[name] = bits_of(exact(state, result, component, name) if component.is_float else result, component)
