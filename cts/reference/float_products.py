"""Float multiply-add: the exact value where every implementation must find it, else the suite's envelope (generators.numerics)."""

from __future__ import annotations

import numpy as np

from cts.reference.values import Certain, Envelope, MatrixValue
from cts.verdict.expected import Authority, Proof
from generators.errors import GeneratorError
from generators.numerics.error_bounds import envelope
from generators.numerics.exactness import History, exactness
from generators.numerics.formats import encode, largest_finite
from generators.numerics.rounding import nearest
from generators.numerics.summation import exact_sum
from generators.types import ComponentType

PRODUCT, ROUNDED_PRODUCT = Authority("KHR-MAD-03"), Authority("KHR-MAD-04")


def multiply_add(a: MatrixValue, b: MatrixValue, c: MatrixValue, result: ComponentType) -> MatrixValue:
    """``a`` x ``b`` + ``c`` for floats (KHR-MAD-03, KHR-MAD-04).

    Raises:
        GeneratorError: an operand is not finite, or a sum within its bound may overflow: nothing is promised then (facts.md C30).
    """
    types = (a.component, b.component, c.component, result)
    left, right, addend = a.numbers, b.numbers, c.numbers
    before = c.known.bound if isinstance(c.known, Envelope) else np.zeros(addend.shape)
    proof = exactness(left, right, addend, types, c.history)
    center, lost = exact_sum(left, right, addend, proof)
    history = History(proof.quantum, proof.magnitude)
    proved = proof.exact & (before == 0)
    if proved.all():
        known = Certain(Proof(proof.precision, proof.margin_bits))
        return MatrixValue(result, encode(result, center), True, known, history, authority=PRODUCT)
    magnitude, bound = envelope(left, right, addend, proof, center, lost, before)
    if (np.maximum(magnitude, np.abs(center)) + bound > largest_finite(result)).any():
        raise GeneratorError(f"a sum of a float multiply-add may overflow {result}; make the operands smaller (facts.md C30)")
    bits = encode(result, nearest(result, center))
    return MatrixValue(result, bits, True, Envelope(center, bound, magnitude), history, authority=ROUNDED_PRODUCT)
