"""The task of a validator in a static case: a module, and whether the validator must accept it."""

from __future__ import annotations

from dataclasses import dataclass

from generators.message_pattern import MessagePattern


@dataclass(frozen=True)
class ModuleCheck:
    """A module and the expected verdict of a validator.

    Attributes:
        module: SPIR-V words, little-endian.
        rule: the rule that the module breaks or just keeps; one line.
        says: the pattern of the validator's message about an invalid module, so the rejection is for this rule and not for another; the
            VUID if the message has one. None for a valid module.
    """

    module: bytes
    rule: str
    says: MessagePattern | None = None

    @property
    def accepted(self) -> bool:
        """Whether the module is valid."""
        return self.says is None
