"""What a static case asks of a validator: a module, and whether it must accept the module."""

from __future__ import annotations

from dataclasses import dataclass

from generators.message_pattern import MessagePattern


@dataclass(frozen=True)
class ModuleCheck:
    """A module and what a validator must make of it.

    Attributes:
        module: SPIR-V words, little-endian.
        rule: the rule that the module breaks, or to the letter still keeps; one line.
        says: what the validator's message about an invalid module must have, so it is rejected for this rule and not for another: the
            VUID where the message has one. None for a valid module.
    """

    module: bytes
    rule: str
    says: MessagePattern | None = None

    @property
    def accepted(self) -> bool:
        """Whether the module is valid."""
        return self.says is None
