"""The evidence and the conclusion, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.blame.evidence import Evidence, Facts, Found, Step
from cts.blame.gathering import Investigation
from cts.blame.rules import Conclusion

_TOLD = 110
"""The most characters of details in a table."""


def document(investigation: Investigation, conclusion: Conclusion) -> dict[str, Any]:
    """Return everything as one object."""
    result, facts = investigation.result, investigation.facts
    return {
        "id": result.id,
        "device": result.device,
        "driver": result.driver,
        "front_end": facts.front_end,
        "verdict": facts.verdict,
        "code": facts.code,
        "party": conclusion.party.name.lower(),
        "confidence": conclusion.confidence.name.lower(),
        "rule": conclusion.rule,
        "sentence": conclusion.sentence,
        "doubts": [{"id": doubt.id, "sentence": doubt.sentence} for doubt in conclusion.doubts],
        "evidence": [
            {"step": one.step, "what": _what(facts, one), "found": one.found.name.lower(), "code": one.code, "told": one.told}
            | ({"device": one.device, "origin": one.origin} if one.device else {})
            for one in facts.evidence
        ],
    }


def lines(facts: Facts, conclusion: Conclusion) -> Iterator[str]:
    """Yield the conclusion, then a line for each piece of evidence."""
    yield from _concluded(conclusion)
    yield ""
    width = max(len(_what(facts, one)) for one in facts.evidence)
    for one in facts.evidence:
        yield f"  {_what(facts, one):{width}}  {_ended(one)}"


def markdown(facts: Facts, conclusion: Conclusion) -> str:
    """Return the same as a section of a README."""
    first, *rest = _concluded(conclusion)
    rows = "".join(f"| {_what(facts, one)} | {_ended(one).replace('|', chr(92) + '|')} |\n" for one in facts.evidence)
    doubts = "".join(f"* {line.strip()}\n" for line in rest)
    return f"## Whose fault it is\n\n{first}\n\n{doubts}\n| evidence | |\n|---|---|\n{rows}"


def _concluded(conclusion: Conclusion) -> Iterator[str]:
    yield f"{conclusion.party}, {conclusion.confidence.name.lower()}: {conclusion.sentence}"
    for doubt in conclusion.doubts:
        yield f"  less sure because {doubt.sentence}"


def _what(facts: Facts, one: Evidence) -> str:
    return one.device or one.step.what.format(front_end=facts.front_end, other=facts.other)


def _ended(one: Evidence) -> str:
    """Return what a step found, in words; details are left out if they are those of the first run."""
    if one.step is Step.EXPLANATION:
        return _cut(one.told)
    repeats = one.found is Found.SAME and one.step is not Step.FIRST
    return f"{one.found}: {_cut(one.told)}" if one.told and not repeats else one.found


def _cut(told: str) -> str:
    return told if len(told) <= _TOLD else told[: _TOLD - 1] + "…"
