"""Scalar instructions: exact modulo two to the width."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic, ScalarLoad
from generators.types import Scope


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


def scalar_arithmetic(state: State, operation: ScalarArithmetic) -> None:
    """Sum or product, wrapped to the width of the type; or quotient or remainder of unsigned integers.

    Raises:
        GeneratorError: it divides by 0.
    """
    left, right = state.scalar(operation.left), state.scalar(operation.right)
    match operation.operator:
        case "add":
            result = left + right
        case "multiply":
            result = left * right
        case _ if not right.all():
            raise GeneratorError(f"{operation.result.name} divides by 0, which is undefined; give another divisor")
        case "divide":
            result = left // right
        case _:
            result = left % right
    state.scalars[operation.result.name] = result & np.uint64((1 << operation.result.component.bits) - 1)


def scalar_load(state: State, operation: ScalarLoad) -> None:
    """The element that the index names.

    Raises:
        GeneratorError: it lies outside of the array.
    """
    index = state.scalar(operation.index)
    if (index >= operation.array.length).any():
        raise GeneratorError(f"{operation.result.name}: {operation.array.name} has no element {int(index.max())}; make it longer")
    offsets = index.astype(np.int64) * operation.array.pointee.bytes
    bits = state.memories[operation.array.name].load(offsets, operation.result.component)
    state.scalars[operation.result.name] = bits.astype(np.uint64)
