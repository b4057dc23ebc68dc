"""The cases that GLSL can express, and the reasons for the others. This prints every program of a tier and compiles none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from generators.casebook import Case, CaseKind, Family, Tier, build, expand
from generators.errors import NotExpressible
from generators.glsl.emit import emit
from generators.types import COMPONENT_TYPES

_NAMED = re.compile(rf"(?<!\w)'[^']*'|\b0x[0-9a-f]+\b|\b(?:{'|'.join(COMPONENT_TYPES)})\b|\bOp\w+|(?<= )\d+(?= bytes|$)")
"""The parts of a reason that are specific to its case."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason why GLSL cannot express some cases of a family.

    Attributes:
        reason: the reason, with `…` for the parts that differ from case to case.
        cases: their number.
        example: the first case.
        types: the component types that the only `…` replaces, if they are the difference; otherwise empty.
    """

    reason: str
    cases: int
    example: Case
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyInGlsl:
    """The part of a family that GLSL can express.

    Attributes:
        family: the name of the family.
        cases: the number of its cases in the tier.
        said: the number of cases that GLSL can express; 0 for families that run no shaders.
        refusals: the others by reason, the most frequent first.
    """

    family: Family
    cases: int
    said: int
    refusals: tuple[Refusal, ...]


def glsl_coverage(families: Iterable[Family], tier: Tier) -> tuple[FamilyInGlsl, ...]:
    """Return the GLSL coverage of each family's cases in ``tier``."""
    return tuple(_family(family, expand(family, tier)) for family in families)


def refusal(case: Case) -> str:
    """Tell why GLSL cannot express a case that runs a shader; empty if it can."""
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
