"""The sentences that state the deciding conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cts.verdict.verdict import Verdict
from reports.causes.boxes import Inside, phrase

_DO: Mapping[Verdict, tuple[str, str]] = {
    Verdict.COMPILED: ("compiles", "compile"),
    Verdict.QUALITY_WARNING: ("is a quality warning", "are quality warnings"),
    Verdict.UNEXPECTED_PASS: ("passes unexpectedly", "pass unexpectedly"),
    Verdict.RESOURCE_ERROR: ("runs out of memory", "run out of memory"),
    Verdict.ERROR: ("ends in an error of the suite", "end in errors of the suite"),
}
"""The verb for cases of a verdict; cases of all other verdicts "fail"."""


def decided(inside: Sequence[Inside], outside: int, verdict: Verdict, families: int) -> tuple[str, ...]:
    """Return a sentence for each box, one for cases in none, and one if boxes may be accidental.

    Args:
        inside: the boxes of a cause.
        outside: number of the cause's cases in none of them.
        verdict: the cause's verdict.
        families: number of its families.
    """
    if not inside:
        return ()
    sentences = [_sentence(one, verdict, families > 1) for one in inside]
    if outside:
        sentences.append(f"{outside:,} more {'is in no such box' if outside == 1 else 'are in no such box'}")
    if all(one.tentative for one in inside):
        sentences.append("So few cases may share these conditions by chance.")
    elif any(one.tentative for one in inside):
        sentences.append("Some of these conditions may be chance, because few cases fail.")
    return tuple(sentences)


def _sentence(one: Inside, verdict: Verdict, names_family: bool) -> str:
    single, several = _DO.get(verdict, ("fails", "fail"))
    where = f" of {one.family}" if names_family else ""
    what = f"with {phrase(one.box)}" if one.box else "that ran"
    rest = f"{one.passing:,} pass{'es' if one.passing == 1 else ''}"
    if one.other:
        rest += f", {one.other:,} end{'s' if one.other == 1 else ''} in other ways"
    cases = f"case{where} {what}" if one.ran == 1 else f"cases{where} {what}"
    return f"{one.failing:,} of {one.ran:,} {cases} {single if one.failing == 1 else several}; {rest}"
