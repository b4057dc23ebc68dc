"""Code with a stated effect."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation


@dataclass(frozen=True)
class Effect(Operation):
    """States the effect of code on whole arrays and matrices. The reference model performs it; no emitter knows it."""


@dataclass(frozen=True)
class Stated(Operation):
    """The operations of ``body``, which together have ``effect``. Emitters write the body, and the reference model performs the effect:
    running the body on a device tests whether the stated effect is right."""

    effect: Effect
    body: tuple[Operation, ...]
