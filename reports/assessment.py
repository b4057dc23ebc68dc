"""The sentences at the top of a case's page: what is wrong, who is probably at fault, and how sure that is.

They follow from the result alone, by the rules of this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from cts.verdict.codes import Code, is_within
from cts.verdict.failure import UNWRITTEN, EnvelopeBounds, Mismatch, WrongElement
from cts.verdict.verdict import CaseResult, Verdict
from reports.formats import count
from reports.summary import COMPILING


class Party(StrEnum):
    """Who is probably at fault."""

    DRIVER = "the driver or its device"
    VALIDATOR = "the validator"
    COMPILERS = "the driver, or the compiler of GLSL that made the module"
    SUITE = "this suite"
    NOBODY = "nobody: no rule is broken"
    UNKNOWN = "not known"


class Sure(StrEnum):
    """How sure that is."""

    PROVED = "shown before"
    LIKELY = "likely"
    READING = "depends on this suite's reading of the text"
    POLICY = "depends on this suite's error bound"
    OPEN = "open"


@dataclass(frozen=True)
class Assessment:
    """What a reader should know first.

    Attributes:
        what: what is wrong, one sentence.
        party, sure: who is probably at fault, and how sure that is.
        because: why, one sentence.
        requirement, position: ids of the requirement that the first failure breaks, and of the position on which it depends; may be empty.
    """

    what: str
    party: Party
    sure: Sure
    because: str
    requirement: str = ""
    position: str = ""


_FAR = 4
"""How many error bounds away from the true value a result shows a mistake, whatever the bound."""

_ONE_JUDGE = "nothing outside of this suite was asked whether the answer is right"

_OTHERS: Mapping[Verdict, tuple[Party, Sure, str]] = MappingProxyType(
    {
        Verdict.CRASH: (Party.DRIVER, Sure.LIKELY, "no valid shader may crash its driver"),
        Verdict.DEVICE_LOST: (Party.DRIVER, Sure.LIKELY, "no valid shader may lose its device"),
        Verdict.TIMEOUT: (Party.DRIVER, Sure.OPEN, "the kernel ends on a correct device; a longer --step-timeout tells slow from stuck"),
        Verdict.FLAKY: (Party.UNKNOWN, Sure.OPEN, "two runs alone, with the same module and data, ended differently"),
        Verdict.RESOURCE_ERROR: (Party.NOBODY, Sure.OPEN, "a device may have too little memory for a case"),
        Verdict.ERROR: (Party.SUITE, Sure.LIKELY, "the suite failed before or after the device did its part"),
        Verdict.UNEXPECTED_PASS: (Party.SUITE, Sure.LIKELY, "the list of known failures says that this case fails"),
        Verdict.QUALITY_WARNING: (Party.NOBODY, Sure.READING, "the specification permits what came back"),
    }
)


def assessment(result: CaseResult) -> Assessment:
    """Return what is wrong in a case that neither passed nor lacked support."""
    first = result.failures[0].mismatch if result.failures else None
    what = _what(result, first) if first is not None else result.reason or "The journal gives no reason"
    party, sure, because = _fault(result, first)
    return Assessment(what, party, sure, because, first.requirement if first else "", first.position if first else "")


def _what(result: CaseResult, first: Mismatch) -> str:
    some = f"{first.count:,} of {first.total:,}" if first.total > first.count else f"all {first.total:,}"
    named = first.what.isidentifier() and first.matrix is not None and first.what != first.array
    place = f"`{first.what}` in `{first.array}`" if named else f"`{first.array}`"
    subcases = len({failure.subcase for failure in result.failures})
    often = f" in {subcases} of {count(result.subcases, 'subcase')}" if result.subcases > 1 else ""
    match first.kind:
        case "not written":
            said = f"{some} elements of {place} were not written{often}: {first.pattern}"
        case "padding overwritten":
            said = f"{count(first.count, 'byte')} of {place} that no store may touch were overwritten{often}: {first.pattern}"
        case "stray write":
            said = f"{count(first.count, 'byte')} outside of the arrays were overwritten{often}: {first.pattern}"
        case "permitted, not expected":
            said = f"{some} elements of {place} have permitted values that this suite does not expect{often}: {first.pattern}"
        case _:
            said = f"{some} elements of {place} have a wrong value{often}: {first.pattern}"
    return said


def _fault(result: CaseResult, first: Mismatch | None) -> tuple[Party, Sure, str]:
    if result.verdict is Verdict.TIMEOUT and result.step == COMPILING:
        return Party.NOBODY, Sure.OPEN, "a driver may take long to compile; no rule limits it"
    if result.verdict is Verdict.KNOWN_FAIL:
        party = Party.VALIDATOR if is_of_a_validator(result) else Party.DRIVER
        return party, Sure.PROVED, f"its list of known failures explains it: {result.known}"
    if result.verdict is not Verdict.FAIL:
        return _OTHERS.get(result.verdict, (Party.UNKNOWN, Sure.OPEN, "this version of the suite does not know the verdict"))
    if is_within(result.code, Code.FAIL_MESSAGE):
        return (
            Party.UNKNOWN,
            Sure.OPEN,
            "the validator rejects the module for another rule, or its message has changed",
        )
    if is_of_a_validator(result):
        return Party.VALIDATOR, Sure.READING, _ONE_JUDGE
    party = Party.DRIVER if result.front_end in ("", "spirv") else Party.COMPILERS
    if is_within(result.code, Code.FAIL_CALL):
        return party, Sure.LIKELY, "a valid call must succeed"
    if first is None:
        return party, Sure.READING, _ONE_JUDGE
    if first.kind == UNWRITTEN:
        return party, Sure.LIKELY, "the shader stores there, and the bits are still the ones from before"
    bounded = [element for element in first.elements if isinstance(element.bounds, EnvelopeBounds)]
    if bounded and any(map(_is_far, bounded)):
        return party, Sure.LIKELY, f"some values are off by more than {_FAR} times the suite's error bound"
    if bounded:
        return party, Sure.POLICY, "the specification gives no bound for the error of these values"
    if first.position:
        return party, Sure.READING, f"{first.position} chooses between readings of the text"
    if first.matrix is None:
        return party, Sure.LIKELY, "no instruction of the shader writes there"
    return party, Sure.LIKELY, "these values are exact: neither rounding nor the order of operations can change them"


def _is_far(element: WrongElement) -> bool:
    """Tell whether a value is so far from the true one that the choice of the bound does not matter."""
    bounds, got = element.bounds, element.got
    assert isinstance(bounds, EnvelopeBounds), "only elements with a bound are asked about"
    return isinstance(got, str) or abs(got - bounds.center) > _FAR * bounds.bound


def is_of_a_validator(result: CaseResult) -> bool:
    """Tell whether a validator's answer about a module was judged."""
    return any(is_within(result.code, code) for code in (Code.FAIL_ACCEPTED, Code.FAIL_REJECTED, Code.FAIL_MESSAGE))
