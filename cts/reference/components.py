"""Components of cooperative vectors, which are scalars of single invocations (CV-COMP-01, CV-COMP-02)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cts.reference.values import CERTAIN, Choice, MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import sign_bit
from generators.types import ComponentType


def component_bits(vector: MatrixValue, at: np.ndarray | int) -> np.ndarray:
    """Return component ``at`` of each invocation's vector, uint64, (invocations,).

    Args:
        vector: a value of shape (invocations, 1, components).
        at: one index, or one for each invocation.

    Raises:
        GeneratorError: the specification allows several values of the vector.
    """
    if not vector.is_certain:
        raise GeneratorError(
            Rule.SEVERAL_VALUES, "a component is extracted from a vector that may have several values; use exact data, or store the vector"
        )
    return np.asarray(vector.bits[np.arange(len(vector.bits)), 0, at].astype(np.uint64))


def check_signs(vector: MatrixValue, bits: np.ndarray) -> None:
    """Refuse uses that reveal the undetermined sign of a zero (facts.md C7).

    Args:
        vector: the source of the bits.
        bits: bits of its component type, for a use that distinguishes -0 from +0.

    Raises:
        GeneratorError: one of them is a computed zero.
    """
    magnitude = sign_bit(vector.component) - 1
    if vector.component.is_float and vector.computed and ((bits.astype(np.uint64) & np.uint64(magnitude)) == 0).any():
        raise GeneratorError(
            Rule.SIGNED_ZERO,
            "the bits of a computed zero are used, and its sign is free (facts.md C7); use other data, or store the vector",
        )


def extracted(vector: MatrixValue, at: np.ndarray) -> np.ndarray:
    """Return component ``at`` (int64, (invocations,)) as a scalar, uint64.

    Raises:
        GeneratorError: a vector has no such component, or several values are allowed.
    """
    check_index(vector, at)
    bits = component_bits(vector, at)
    check_signs(vector, bits)
    return bits


def check_index(vector: MatrixValue, at: np.ndarray) -> None:
    """Raise GeneratorError if a vector does not have component ``at``: the result is undefined then (SPIR-V, OpVectorExtractDynamic)."""
    if (at < 0).any() or (at >= vector.bits.shape[2]).any():
        raise GeneratorError(Rule.INDEX, f"component {int(at.max())} of a vector that has {vector.bits.shape[2]}; give a smaller index")


def inserted(vector: MatrixValue, at: np.ndarray, part: np.ndarray) -> MatrixValue:
    """Return the vectors with ``part`` (uint64, (invocations,)) as component ``at`` (int64, (invocations,)).

    Raises:
        GeneratorError: a vector has no such component, or a range of values is allowed.
    """
    check_index(vector, at)
    new = part.astype(vector.component.bits_dtype)
    lanes = np.arange(len(vector.bits))

    def changed(bits: np.ndarray) -> np.ndarray:
        result = bits.copy()
        result[lanes, 0, at] = new
        return result

    every = tuple(map(changed, vector.every_bits))
    known = Choice(every[1:]) if len(every) > 1 else CERTAIN
    return replace(vector, bits=every[0], computed=vector.component.is_float, known=known, history=None, origins=())


def assembled(component: ComponentType, parts: Sequence[np.ndarray]) -> MatrixValue:
    """Return vectors from components, each uint64, (invocations,). The sign of a zero counts as free, since a scalar may have been
    computed."""
    bits = np.stack([part.astype(component.bits_dtype) for part in parts], axis=-1)[:, None, :]
    return MatrixValue(component, bits, computed=component.is_float)
