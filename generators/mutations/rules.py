"""Static rules from the YAML of a family."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from generators.message_pattern import MessagePattern, message_pattern
from generators.mutations.edits import Edits
from generators.types import ComponentType

ElementGroup = Literal["ieee", "bf16", "signed", "unsigned"]
"""Groups of rows, by the component type of A or of the input."""

ELEMENTS: tuple[ElementGroup, ...] = get_args(ElementGroup)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule and the modules that test it.

    Attributes:
        requirement: its id.
        rule: the rule in words.
        elements: the groups of rows that have it.
        common: edits of both modules.
        legal: further edits of the module that keeps the rule and must be accepted.
        broken: further edits of the module that breaks this rule and no other.
        says: the pattern of a validator's message about it, in the language of ``generators.message_pattern``.

    Raises:
        ValueError: both modules are the same.
        NotAPattern: ``says`` is not in that language.
    """

    requirement: str
    says: str | tuple[str, ...]
    broken: Edits
    rule: str = ""
    elements: frozenset[ElementGroup] = frozenset(ELEMENTS)
    common: Edits = field(default_factory=Edits)
    legal: Edits = field(default_factory=Edits)

    def __post_init__(self) -> None:
        if self.legal == self.broken:
            raise ValueError(f"the legal module and the broken one of {self.requirement} are the same")
        _ = self.message

    @cached_property
    def message(self) -> MessagePattern:
        """``says``, decoded once, when the YAML is read."""
        return message_pattern(self.says)


def element_group(component: ComponentType) -> ElementGroup:
    """Return the group of the rows whose A, or whose input, has a component type."""
    if component.is_float:
        return "bf16" if component.name == "bf16" else "ieee"
    return "signed" if component.is_signed else "unsigned"
