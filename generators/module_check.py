"""What a static case asks of a validator: a module, and whether it is to be accepted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModuleCheck:
    """A module and what a validator must make of it.

    Attributes:
        module: SPIR-V words, little-endian.
        rule: the rule that the module breaks, or to the letter still keeps; one line.
        accepted: whether the module is valid.
        says: regular expression for the validator's message about an invalid module, so it is rejected for this rule and no other;
            empty for a valid module. It has the VUID where the message has one.
    """

    module: bytes
    rule: str
    accepted: bool
    says: str = ""
