"""What all instructions have in common."""

from __future__ import annotations

from collections.abc import Callable

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.wave import Wave

Step = Callable[[Wave], None]
"""Executes one instruction."""

Meaning = Callable[[Instruction], Step]
"""What instructions with one mnemonic do: prepares one of them. It raises NotModelled for a modifier that is not modelled."""
