"""Scalars and arrays of scalars as matrices of one row, so the way of an element goes on through them."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from cts.reference.trees import Partial
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.program.values import AnyValue, ArrayType, CooperativeVectorType, Operand, VectorType
from generators.types import ComponentType


def as_row(state: State, value: AnyValue | Operand) -> MatrixValue | None:
    """Return a scalar, or an array or vector of scalars, in the lanes of a state: (lanes, 1, elements), zero where it is undefined.

    Return None for any other value, and for one that the state does not have.
    """
    component = _component(value)
    if component is None:
        return None
    if isinstance(value, Operand):
        try:
            parts: tuple[object, ...] = (np.full(len(state.instances), state.operand(value), np.uint64),)
        except GeneratorError:
            return None
    elif value.name in state.scalars:
        parts = (state.scalars[value.name],)
    else:
        tree = state.aggregates.get(value.name)
        if not isinstance(tree, tuple):
            return None
        parts = tree
    bits = np.zeros((len(state.instances), 1, len(parts)), component.bits_dtype)
    for i, part in enumerate(parts):
        if isinstance(part, Partial) and isinstance(part.value, np.ndarray):
            bits[part.defined, 0, i] = part.value.astype(component.bits_dtype)
        elif isinstance(part, np.ndarray):
            bits[:, 0, i] = part.astype(component.bits_dtype)
        elif part is not None:
            return None
    return MatrixValue(component, bits)


def _component(value: AnyValue | Operand) -> ComponentType | None:
    match value.type:
        case ComponentType() as component:
            return component
        case VectorType(component=component) | CooperativeVectorType(component=component):
            return component
        case ArrayType(element=ComponentType() as component):
            return component
        case _:
            return None
