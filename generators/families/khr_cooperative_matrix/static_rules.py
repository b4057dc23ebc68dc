"""Static rules: a module that breaks one rule, and the nearest that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from generators.errors import GeneratorError
from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule, base_module
from generators.mutations.edits import Edits, edited, read_edits
from generators.parameters.vocabulary import TakenValues, Values
from generators.property_rows import PropertyRow, parse_row
from generators.spirv.assemble import assemble

FORMS = ("legal", "broken")
AXES: TakenValues = MappingProxyType({"rule": None, "form": FORMS, "types": None})

ELEMENTS = ("ieee", "bf16", "signed", "unsigned")
"""Groups of property rows, by the component type of A: a rule may be one of some of them alone."""

_REQUIRED = ("requirement", "says", "broken")
_OPTIONAL = ("rule", "elements", "common", "legal", "gap", "legal_gap")


@dataclass(frozen=True)
class Rule:
    """A rule as the YAML of a family gives it.

    Attributes:
        requirement: its id.
        text: the rule in words.
        elements: those of ELEMENTS for which it is asked.
        common: edits of both modules.
        legal: further edits of the look-alike, which must be accepted.
        broken: further edits of the module that breaks the rule, and nothing else.
        says: regular expression for what a validator says of it.
        gap: why the validators that we know accept the broken module; empty if they do not.
        legal_gap: why the validators that we know reject the look-alike; empty if they do not.
    """

    requirement: str
    text: str
    elements: frozenset[str]
    common: Edits
    legal: Edits
    broken: Edits
    says: str
    gap: str
    legal_gap: str


def read_rule(data: Mapping[str, Any]) -> Rule:
    """The rule that a value of the axis ``rule`` describes.

    Raises:
        GeneratorError: a key is missing or unknown.
    """
    what = f"the rule of {data.get('requirement', '(no requirement)')}"
    for key in _REQUIRED:
        if key not in data:
            raise GeneratorError(f"{what}: key '{key}' is missing; expected {', '.join(_REQUIRED)}")
    for key in data:
        if key not in (*_REQUIRED, *_OPTIONAL):
            raise GeneratorError(f"{what}: unknown key '{key}'; expected some of {', '.join((*_REQUIRED, *_OPTIONAL))}")
    elements = frozenset(data.get("elements", ELEMENTS))
    if not elements <= set(ELEMENTS):
        raise GeneratorError(f"{what}: elements are some of {', '.join(ELEMENTS)}, not {', '.join(sorted(elements - set(ELEMENTS)))}")
    common, legal, broken = (read_edits(data.get(key, {}), what) for key in ("common", "legal", "broken"))
    if legal == broken:
        raise GeneratorError(f"{what}: the legal module and the broken one are the same")
    return Rule(
        requirement=data["requirement"],
        text=data.get("rule", ""),
        elements=elements,
        common=common,
        legal=legal,
        broken=broken,
        says=data["says"],
        gap=data.get("gap", ""),
        legal_gap=data.get("legal_gap", ""),
    )


def element(row: PropertyRow) -> str:
    """The group of ELEMENTS that the row is in."""
    if row.a.is_float:
        return "bf16" if row.a.name == "bf16" else "ieee"
    return row.a.kind


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return base_module(row)


def module(values: Values) -> ModuleCheck:
    """The good module of the row, with the edits of the rule."""
    return checked_module(values, _base(parse_row(values["types"])))


def checked_module(values: Values, base: BaseModule) -> ModuleCheck:
    """``base`` with the edits of the rule, in the form that ``values`` have."""
    rule = read_rule(values["rule"])
    legal = values["form"] == "legal"
    text = "\n".join(edited(base.lines, (rule.common, rule.legal if legal else rule.broken), base.aliases))
    said = f"{rule.requirement}: {rule.text}"
    if legal:
        return ModuleCheck(assemble(text), said, accepted=True, gap=rule.legal_gap)
    return ModuleCheck(assemble(text), said, accepted=False, says=rule.says, gap=rule.gap)


def _applies(values: Values) -> bool:
    return element(parse_row(values["types"])) in values["rule"].get("elements", ELEMENTS)


PREDICATES: Mapping[str, Callable[[Values], bool]] = MappingProxyType({"applies": _applies})
