"""Whose fault a failure is, and how sure that is: the words of an investigation and of a first assessment."""

from __future__ import annotations

from enum import StrEnum

from cts.worded import Worded


class Party(Worded):
    """Who may be at fault."""

    DRIVER = "driver", "driver"
    COMPILER = "compiler", "driver's compiler"
    SUITE = "suite", "suite"
    FRONT_END = "front_end", "glslang"
    VALIDATOR = "validator", "validator"
    NOBODY = "nobody", "nobody"
    UNKNOWN = "unknown", "unknown"


class Confidence(StrEnum):
    """How sure a conclusion is, the least sure first."""

    POSSIBLE = "possible"
    LIKELY = "likely"
    CERTAIN = "certain"

    def lowered(self, levels: int) -> Confidence:
        """Return the confidence that is so many levels lower, or the lowest."""
        order = list(Confidence)
        return order[max(0, order.index(self) - levels)]
