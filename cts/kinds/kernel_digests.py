"""What ``cts golden`` pins of a kernel case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cts.kinds.kernel import arrange, compile_module
from cts.verdict.expected import Allowed, Expected
from generators.casebook import Case, build
from generators.digests import array_bytes, digest, digest_inputs
from generators.numerics.rounding import to_bits

_SIGNIFICANT_BITS = 20


def digests(case: Case) -> tuple[str, str, str]:
    """Of the module that the suite assembles, of the inputs and of the expected results."""
    built = build(case)
    program = built.program
    plan = arrange(built)
    return digest([compile_module(program, "spirv")]), digest_inputs(plan.subcases), digest_expected(plan.expected)


def digest_expected(expected: Iterable[Expected]) -> str:
    """Of what a case's subcases may leave. Bounds of intervals are taken to 20 significant bits: sums in float64 may differ in their last
    bit between machines."""

    def parts() -> Iterator[bytes]:
        for want in expected:
            for placed in want.placed:
                yield f"{placed.array} {placed.allowed.kind} {placed.allowed.component.name} {placed.allowed.either_zero}".encode()
                yield array_bytes(placed.offsets)
                yield from _allowed(placed.allowed)

    return digest(parts())


def _allowed(allowed: Allowed) -> Iterator[bytes]:
    yield array_bytes(np.broadcast_to(np.asarray(allowed.nan), allowed.bits.shape))
    if allowed.low is not None and allowed.high is not None:
        yield array_bytes(to_bits(allowed.low, _SIGNIFICANT_BITS))
        yield array_bytes(to_bits(allowed.high, _SIGNIFICANT_BITS))
        return
    yield array_bytes(allowed.bits)
    for other in allowed.others:
        yield array_bytes(other)
