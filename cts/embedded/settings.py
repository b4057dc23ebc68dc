"""What a device decides for all of its kernels."""

from __future__ import annotations

from dataclasses import dataclass

from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.memory.matrix_layouts import PLAIN_LAYOUTS, MatrixLayouts
from cts.embedded.observations import Observations
from cts.embedded.types.limits import LIMITS, Limits

DEFAULT_MAPPING = "interleaved"


@dataclass(frozen=True)
class Settings:
    """How a device runs kernels.

    Attributes:
        mapping: how elements of a matrix are spread over invocations, a name in ``elements.MAPPINGS``.
        strict: whether undefined behaviour raises. If not, undefined reads give zero and writes out of bounds are dropped.
        limits: the most steps and memory of a kernel.
        faults: deliberate mistakes.
        tolerated: rules that the device only warns about.
        observations: collects the mistakes of kernels, so a run goes on after each; None to stop at the first.
        choices: seed of the device's free choices: which decode function decodes which elements.
        weak: whether a read that races with a write may get an older value, one of the free choices. Otherwise a race is reported.
        matrix_layouts: the device's optimal layouts.
    """

    mapping: str = DEFAULT_MAPPING
    strict: bool = True
    limits: Limits = LIMITS
    faults: Faults = NO_FAULTS
    tolerated: frozenset[str] = frozenset()
    observations: Observations | None = None
    choices: int = 0
    weak: bool = False
    matrix_layouts: MatrixLayouts = PLAIN_LAYOUTS
