"""Code with its effect, stated once."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation


@dataclass(frozen=True)
class Effect(Operation):
    """States the effect of code on whole arrays and matrices. The reference model performs it; no emitter knows it."""


@dataclass(frozen=True)
class Stated(Operation):
    """``body``, operations that have ``effect`` together. Emitters write the body, and the reference model takes the effect: a device that
    runs the body shows that the effect is stated rightly."""

    effect: Effect
    body: tuple[Operation, ...]
