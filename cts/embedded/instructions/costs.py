"""Counts the steps of an instruction: one, and more if it computes with many numbers."""

from __future__ import annotations

import math

from cts.embedded.module.translation import RESULT_OPS, Translation, Words
from cts.embedded.types.limits import ELEMENTS_A_STEP
from cts.embedded.types.spirv_types import CooperativeVector, MatrixType
from generators.spirv.enumerants import Capability, Op

_PRODUCTS = frozenset({Op.CooperativeVectorMatrixMulNV, Op.CooperativeVectorMatrixMulAddNV, Op.CooperativeVectorOuterProductAccumulateNV})
"""Instructions that multiply two vectors, or a matrix and a vector."""

_TURNS = frozenset(op for op in Op if op.name.startswith(("Atomic", "GroupNonUniform")))

_LANES_A_STEP = 16
"""How many invocations execute in one step, for an instruction that they execute one after another."""


def _component_counts(translation: Translation, op: Op, words: Words) -> list[int]:
    """Return the number of components of each cooperative vector among an instruction's result and operands."""
    if Capability.CooperativeVectorNV not in translation.capabilities:
        return []
    typed = op in RESULT_OPS
    types = [translation.types[words[0]]] if typed else []
    types += [translation.type_of[id_] for id_ in words[2 if typed else 0 :] if id_ in translation.type_of]
    return [type_.count for type_ in types if isinstance(type_, CooperativeVector)]


def cost(translation: Translation, op: Op, words: Words, size: int) -> int:
    """Return the steps that an instruction takes if its result has ``size`` bytes."""
    if op in _TURNS:
        return 1 + translation.machine.lanes // _LANES_A_STEP
    steps = 1
    if op is Op.CooperativeMatrixMulAddKHR:
        a, result = translation.type_of[words[2]], translation.types[words[0]]
        if isinstance(a, MatrixType) and isinstance(result, MatrixType):
            products = result.rows * result.columns * a.columns * translation.machine.instances(result.scope)
            steps += products // (8 * ELEMENTS_A_STEP)
    counts = _component_counts(translation, op, words)
    if counts:
        # Components are computed one after another, for all invocations at once.
        steps += max(counts)
    if op in _PRODUCTS:
        steps += math.prod(counts) * translation.machine.lanes // (8 * ELEMENTS_A_STEP)
    return steps + size // (8 * ELEMENTS_A_STEP)
