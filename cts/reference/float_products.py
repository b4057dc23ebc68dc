"""Float multiply-add: the exact value where every implementation must find it, else the suite's envelope.

The specification gives no bound for a float multiply-add (KHR-MAD-04, facts.md C1). The envelope is a policy of this suite:
|D - x| <= (K + 1) * 2**(1 - p) * S + ulp(x), plus what flushing denormals may remove; S = sum |a*b| + |c|, p the bits of the
narrowest plausible accumulation. It holds for any order, any tree, any blocked alignment and any direction of rounding with
p bits.
"""

from __future__ import annotations

import numpy as np

from cts.reference.rounding import encode, nearest, ulp
from cts.reference.summation import exact_sum
from cts.reference.values import Envelope, MatrixValue
from cts.verdict.expected import Proof
from generators.errors import GeneratorError
from generators.inputs.exactness import Exactness, History, denormals, exactness, largest_finite, smallest_normal
from generators.types import ComponentType

Types = tuple[ComponentType, ComponentType, ComponentType, ComponentType]


def _flushed(a: np.ndarray, b: np.ndarray, c: np.ndarray, types: Types, proof: Exactness) -> np.ndarray:
    """What an implementation that takes denormal operands and partial sums for zero may lose (facts.md C29), (instances, M, N)."""
    floor = max(smallest_normal(types[3]), smallest_normal(types[2]))
    reachable = np.ldexp(1.0, np.minimum(proof.quantum.astype(np.int32), 1023)) < floor
    lost = np.where(reachable, (a.shape[-1] + 1) * floor, 0.0)
    tiny_a, tiny_b, tiny_c = denormals(a, types[0]), denormals(b, types[1]), denormals(c, types[2])
    if tiny_a.any() or tiny_b.any():
        lost = lost + np.abs(a * tiny_a) @ np.abs(b) + np.abs(a) @ np.abs(b * tiny_b)
    return np.asarray(lost + np.abs(c * tiny_c))


def multiply_add(a: MatrixValue, b: MatrixValue, c: MatrixValue, result: ComponentType) -> MatrixValue:
    """``a`` x ``b`` + ``c`` for floats (KHR-MAD-03, KHR-MAD-04).

    Raises:
        GeneratorError: an operand is not finite, or a sum within its bound may overflow: nothing is promised then (facts.md C30).
    """
    types = (a.component, b.component, c.component, result)
    left, right, addend = a.numbers, b.numbers, c.numbers
    before = np.zeros(addend.shape) if c.envelope is None else c.envelope.bound
    proof = exactness(left, right, addend, types, c.history)
    center, lost = exact_sum(left, right, addend, proof)
    history = History(proof.quantum, proof.magnitude)
    proved = proof.exact & (before == 0)
    if proved.all():
        grounds = Proof(proof.precision, proof.margin_bits)
        return MatrixValue(result, encode(result, center), computed=True, history=history, proof=grounds)
    magnitude = proof.magnitude + before
    bound = before + lost + (left.shape[-1] + 1) * 2.0 ** (1 - proof.precision) * magnitude + _flushed(left, right, addend, types, proof)
    bound = bound + ulp(result, np.abs(center) + bound)
    bound = np.where(proved, 0.0, bound)
    if (np.maximum(magnitude, np.abs(center)) + bound > largest_finite(result)).any():
        raise GeneratorError(f"a sum of a float multiply-add may overflow {result}; make the operands smaller (facts.md C30)")
    return MatrixValue(
        result, encode(result, nearest(result, center)), computed=True, envelope=Envelope(center, bound, magnitude), history=history
    )
