"""Scalar instructions: integers modulo two to the width, floats where they are exact."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from cts.verdict.expected import NO_AUTHORITY, Exact, one_set
from generators.errors import GeneratorError
from generators.numerics import formats
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic, ScalarConvert, ScalarLoad, ScalarStore
from generators.types import ComponentType, Scope


def instance_index(state: State, operation: InstanceIndex) -> None:
    """The number of each scope instance."""
    state.scalars[operation.result.name] = state.instances.astype(np.uint64)


def built_in_index(state: State, operation: BuiltInIndex) -> None:
    """The number of each instance's workgroup, or of the subgroup that it is.

    Raises:
        GeneratorError: a scope instance that is a workgroup has no one subgroup.
    """
    subgroups = state.program.subgroups
    if state.program.scope is Scope.SUBGROUP:
        index = state.instances // subgroups if operation.which == "workgroup" else state.instances % subgroups
    elif operation.which == "workgroup" or subgroups == 1:
        index = state.instances if operation.which == "workgroup" else np.zeros_like(state.instances)
    else:
        raise GeneratorError("a subgroup's number is not uniform over a workgroup; use it at subgroup scope (KHR-UNI-01)")
    state.scalars[operation.result.name] = index.astype(np.uint64)


def numbers(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the numbers that uint64 bits stand for: float64 for floats, and for integers their own dtype, whose arithmetic wraps as the
    specification says (facts.md C8)."""
    return formats.values(bits.astype(component.bits_dtype), component)


def bits_of(values: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the bits, uint64, of numbers that are exact in the component type."""
    return formats.encode(component, values).astype(np.uint64)


def scalar_arithmetic(state: State, operation: ScalarArithmetic) -> None:
    """Compute with integers modulo two to the width, or with floats where the result is exact, so no rounding or order decides.

    Raises:
        GeneratorError: it divides by 0, shifts by the width or more, or a float result is not exact.
    """
    component, name = operation.result.type, operation.result.name
    left, right = (numbers(state.scalar(value), component) for value in (operation.left, operation.right))
    with np.errstate(over="ignore"):
        match operation.operator:
            case "add":
                result = left + right
            case "subtract":
                result = left - right
            case "multiply":
                result = left * right
            case "and":
                result = left & right
            case "or":
                result = left | right
            case "xor":
                result = left ^ right
            case "shift_left" | "shift_right" as operator:
                if (right.astype(np.int64) < 0).any() or (right.astype(np.int64) >= component.bits).any():
                    raise GeneratorError(f"{name} shifts {component} by its width or more, which is undefined")
                result = left << right if operator == "shift_left" else left >> right
            case _ if not right.all():
                raise GeneratorError(f"{name} divides by 0, which is undefined; give another divisor")
            case "divide":
                result = left // right
            case _:
                result = left % right
    state.scalars[name] = bits_of(exact(result, component, name) if component.is_float else result, component)


def scalar_convert(state: State, operation: ScalarConvert) -> None:
    """Convert where the result is exact, or truncate an integer.

    Raises:
        GeneratorError: a float result is not exact, or an integer cannot hold the number (C11).
    """
    source, target, name = operation.value.type, operation.result.type, operation.result.name
    value = numbers(state.scalar(operation.value), source)
    if target.is_float:
        value = exact(value.astype(np.float64), target, name)
    elif source.is_float:
        limits = np.iinfo(target.dtype)
        value = np.trunc(value)
        if not ((value >= float(limits.min)) & (value <= float(limits.max))).all():
            raise GeneratorError(f"{name} converts a number to {target} that it does not hold, which is undefined (C11)")
    state.scalars[name] = bits_of(value, target)


def exact(value: np.ndarray, component: ComponentType, name: str) -> np.ndarray:
    """Return ``value``, float64.

    Raises:
        GeneratorError: the component type does not have it, or only as a denormal.
    """
    rounded = formats.values(formats.encode(component, value), component)
    if (rounded != value).any() or formats.denormals(value, component).any():
        raise GeneratorError(f"{name}: a step is not exact, or denormal, in {component}; use other data")
    return value


def scalar_load(state: State, operation: ScalarLoad) -> None:
    """Load the element that the index names.

    Raises:
        GeneratorError: it is outside of the array.
    """
    index, array = state.scalar(operation.index), operation.array
    if (index >= array.count).any():
        raise GeneratorError(f"{operation.result.name}: {array.name} has no element {int(index.max())}; make it longer")
    memory = state.memories[array.name]
    offsets = index.astype(np.int64) * array.pointee.bytes
    if memory.copies > 1:
        offsets = offsets + state.copies(memory)
    state.scalars[operation.result.name] = memory.load(offsets, operation.result.type).astype(np.uint64)


def scalar_store(state: State, operation: ScalarStore) -> None:
    """Store the value to the element that the index names.

    Raises:
        GeneratorError: it is outside of the array, or elements are stored twice.
    """
    index, array = state.scalar(operation.index), operation.array
    if (index >= array.count).any():
        raise GeneratorError(f"{array.name} has no element {int(index.max())} to store to; make it longer")
    memory, component = state.memories[array.name], array.pointee.component
    offsets = index.astype(np.int64) * array.pointee.bytes
    if memory.copies > 1:
        offsets = offsets + state.copies(memory)
    bits = state.scalar(operation.value).astype(component.bits_dtype)
    memory.store(offsets.reshape(1, 1, -1), one_set(Exact(component, bits.reshape(1, 1, -1)), NO_AUTHORITY), "single elements")
