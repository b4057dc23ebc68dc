"""Scalar instructions: exact modulo two to the width."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.scalars import InstanceIndex, ScalarArithmetic, ScalarLoad


def instance_index(state: State, operation: InstanceIndex) -> None:
    """The number of each scope instance."""
    state.scalars[operation.result.name] = np.arange(state.program.instances, dtype=np.uint64)


def scalar_arithmetic(state: State, operation: ScalarArithmetic) -> None:
    """Sum or product, wrapped to the width of the type."""
    left, right = state.scalar(operation.left), state.scalar(operation.right)
    result = left + right if operation.operator == "add" else left * right
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
