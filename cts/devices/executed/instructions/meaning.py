"""What all instructions have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.wave import Wave

Step = Callable[[Wave], None]
"""Executes one instruction."""


class Meaning(Protocol):
    """What instructions with one mnemonic do."""

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction.

        Raises:
            NotModelled: it has a modifier that is not modelled.
        """
        ...
