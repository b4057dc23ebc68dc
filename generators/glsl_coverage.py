"""Which cases GLSL can say, and why it cannot say the others: every program of a tier is printed, and nothing is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from generators.casebook import Case, CaseKind, Family, Tier, build, expand
from generators.errors import NotExpressible
from generators.glsl.emit import emit
from generators.types import COMPONENT_TYPES

_NAMED = re.compile(rf"(?<!\w)'[^']*'|\b0x[0-9a-f]+\b|\b(?:{'|'.join(COMPONENT_TYPES)})\b|\bOp\w+|(?<= )\d+(?= bytes|$)")
"""What a reason says of its case alone."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason why GLSL cannot say some cases of a family.

    Attributes:
        reason: with `…` for what differs from case to case.
        cases: how many there are.
        example: the first one.
        types: component types that stand for the only `…`, if that is what differs; else empty.
    """

    reason: str
    cases: int
    example: Case
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyInGlsl:
    """What GLSL says of a family.

    Attributes:
        family: whose cases they are.
        cases: how many the tier has.
        said: how many of them GLSL can say; 0 for families that run no shaders.
        refusals: the others by reason, the most frequent first.
    """

    family: Family
    cases: int
    said: int
    refusals: tuple[Refusal, ...]


def glsl_coverage(families: Iterable[Family], tier: Tier) -> tuple[FamilyInGlsl, ...]:
    """Return what GLSL says of each family's cases of ``tier``."""
    return tuple(_family(family, expand(family, tier)) for family in families)


def refusal(case: Case) -> str:
    """Tell why GLSL cannot say a case that runs a shader; empty if it can."""
    try:
        for program in build(case).program.all:
            emit(program)
    except NotExpressible as why:
        return str(why)
    return ""


def generalized(reason: str) -> str:
    """Return a reason with `…` for the names, numbers and types of its case."""
    return _NAMED.sub("…", reason)


def _family(family: Family, cases: Sequence[Case]) -> FamilyInGlsl:
    if family.kind is not CaseKind.KERNEL:
        return FamilyInGlsl(family, len(cases), 0, ())
    found: dict[str, list[tuple[Case, str]]] = {}
    for case in cases:
        reason = refusal(case)
        if reason:
            found.setdefault(generalized(reason), []).append((case, reason))
    refused = sorted(found.items(), key=lambda item: -len(item[1]))
    refusals = tuple(Refusal(general, len(those), those[0][0], _types(general, (why for _, why in those))) for general, those in refused)
    return FamilyInGlsl(family, len(cases), len(cases) - sum(entry.cases for entry in refusals), refusals)


def _types(general: str, reasons: Iterable[str]) -> tuple[str, ...]:
    if general.count("…") != 1:
        return ()
    words = {word for reason in reasons for word in _NAMED.findall(reason)}
    return tuple(name for name in COMPONENT_TYPES if name in words) if words <= set(COMPONENT_TYPES) else ()
