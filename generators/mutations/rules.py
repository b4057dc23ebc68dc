"""Static rules from the YAML of a family: a module that breaks a rule, and the most similar module that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

from generators.message_pattern import MessagePattern, message_pattern
from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule
from generators.mutations.edits import Edits, edited
from generators.parameters.declaration import parameter
from generators.property_rows import PropertyRow, parse_row
from generators.spirv.assemble import assemble

ElementGroup = Literal["ieee", "bf16", "signed", "unsigned"]
"""Groups of property rows, by the component type of A."""

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


@dataclass(frozen=True, kw_only=True)
class RuleParameters:
    """The parameters that all cases of static rules have."""

    rule: Rule = parameter("the rule, and what breaks it")
    form: Literal["legal", "broken"] = parameter("whether the module keeps the rule or breaks it", default="legal")


@dataclass(frozen=True, kw_only=True)
class Parameters(RuleParameters):
    """The parameters of a case with matrices."""

    types: PropertyRow = parameter("the row of the module's multiply-add", default="16x16x16.f16.f16.f32.f32", decode=parse_row)


def element(row: PropertyRow) -> ElementGroup:
    """Return the group that the row is in."""
    if row.a.is_float:
        return "bf16" if row.a.name == "bf16" else "ieee"
    return "signed" if row.a.is_signed else "unsigned"


def checked_module(parameters: RuleParameters, base: BaseModule) -> ModuleCheck:
    """Return ``base`` with the edits of the rule, and the expected verdict of a validator."""
    rule, legal = parameters.rule, parameters.form == "legal"
    text = "\n".join(edited(base.lines, (rule.common, rule.legal if legal else rule.broken), base.aliases))
    return ModuleCheck(assemble(text), f"{rule.requirement}: {rule.rule}", None if legal else rule.message)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType(
    {"applies": lambda parameters: element(parameters.types) in parameters.rule.elements}
)
