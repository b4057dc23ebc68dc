"""The sentences at the top of a case's page: what is wrong, who is probably at fault, and how sure that is.

They follow from the result alone, by the rules of this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.verdict.codes import Code, is_within
from cts.verdict.failure import UNWRITTEN, EnvelopeBounds, Mismatch, WrongElement
from cts.verdict.fault import Confidence, Party
from cts.verdict.verdict import CaseResult, Verdict
from reports.formats import count
from reports.summary import COMPILING


@dataclass(frozen=True)
class Assessment:
    """What a reader should know first.

    Attributes:
        what: what is wrong, one sentence.
        party, confidence: who is probably at fault, and how sure that is.
        because: why, one sentence.
        requirement, position: ids of the requirement that the first failure breaks, and of the position on which it depends; may be empty.
    """

    what: str
    party: Party
    confidence: Confidence
    because: str
    requirement: str = ""
    position: str = ""


_FAR = 4
"""How many error bounds away from the true value a result shows a mistake, whatever the bound."""

_ONE_JUDGE = "nothing outside of this suite was asked whether the answer is right"

_CERTAIN, _LIKELY, _POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE

_OTHERS: Mapping[Verdict, tuple[Party, Confidence, str]] = MappingProxyType(
    {
        Verdict.CRASH: (Party.DRIVER, _LIKELY, "no valid shader may crash its driver"),
        Verdict.DEVICE_LOST: (Party.DRIVER, _LIKELY, "no valid shader may lose its device"),
        Verdict.TIMEOUT: (Party.DRIVER, _POSSIBLE, "the kernel ends on a correct device; a longer --step-timeout tells slow from stuck"),
        Verdict.FLAKY: (Party.UNKNOWN, _POSSIBLE, "two runs alone, with the same module and data, ended differently"),
        Verdict.RESOURCE_ERROR: (Party.NOBODY, _LIKELY, "a device may have too little memory for a case"),
        Verdict.ERROR: (Party.SUITE, _LIKELY, "the suite failed before or after the device did its part"),
        Verdict.UNEXPECTED_PASS: (Party.SUITE, _LIKELY, "the list of known failures says that this case fails"),
        Verdict.QUALITY_WARNING: (Party.NOBODY, _CERTAIN, "the specification permits what came back"),
    }
)


def assessment(result: CaseResult) -> Assessment:
    """Return what is wrong in a case that neither passed nor lacked support."""
    first = result.failures[0].mismatch if result.failures else None
    what = _what(result, first) if first is not None else result.reason or "The journal gives no reason"
    party, confidence, because = _fault(result, first)
    return Assessment(what, party, confidence, because, first.requirement if first else "", first.position if first else "")


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


def _fault(result: CaseResult, first: Mismatch | None) -> tuple[Party, Confidence, str]:
    if result.verdict is Verdict.KNOWN_FAIL:
        party = Party.VALIDATOR if is_of_a_validator(result) else _driver(result)
        return party, _CERTAIN, f"its list of known failures explains it: {result.known}"
    if result.verdict is Verdict.TIMEOUT and result.step == COMPILING:
        return Party.COMPILER, _POSSIBLE, "it does not finish within the limit; no rule bounds this time"
    if result.verdict in (Verdict.CRASH, Verdict.DEVICE_LOST):
        return _driver(result), *_OTHERS[result.verdict][1:]
    if result.verdict is not Verdict.FAIL:
        return _OTHERS.get(result.verdict, (Party.UNKNOWN, _POSSIBLE, "this version of the suite does not know the verdict"))
    if is_within(result.code, Code.FAIL_MESSAGE):
        return Party.UNKNOWN, _POSSIBLE, "the validator rejects the module for another rule, or its message has changed"
    if is_of_a_validator(result):
        return Party.VALIDATOR, _POSSIBLE, _ONE_JUDGE
    confidence, because = _sure(result, first)
    if result.front_end == "glsl":
        return _driver(result), _POSSIBLE, f"{because}; but glslang made the module, and may have made it wrongly"
    return _driver(result), confidence, because


def _driver(result: CaseResult) -> Party:
    return Party.COMPILER if result.step == COMPILING else Party.DRIVER


def _sure(result: CaseResult, first: Mismatch | None) -> tuple[Confidence, str]:
    """Return how sure it is that a driver is at fault that failed a call or gave wrong results, and why."""
    if is_within(result.code, Code.FAIL_CALL):
        return _LIKELY, "a valid call must succeed"
    if first is None:
        return _POSSIBLE, _ONE_JUDGE
    if first.kind == UNWRITTEN:
        return _LIKELY, "the shader stores there, and the bits are still the ones from before"
    bounded = [element for element in first.elements if isinstance(element.bounds, EnvelopeBounds)]
    if bounded and any(map(_is_far, bounded)):
        return _LIKELY, f"some values are off by more than {_FAR} times the suite's error bound"
    if bounded:
        return _POSSIBLE, "the specification gives no bound for the error of these values"
    if first.position:
        return _POSSIBLE, f"{first.position} chooses between readings of the text"
    if first.matrix is None:
        return _LIKELY, "no instruction of the shader writes there"
    return _LIKELY, "these values are exact: neither rounding nor the order of operations can change them"


def _is_far(element: WrongElement) -> bool:
    """Tell whether a value is so far from the true one that the choice of the bound does not matter."""
    bounds, got = element.bounds, element.got
    assert isinstance(bounds, EnvelopeBounds), "only elements with a bound are asked about"
    return isinstance(got, str) or abs(got - bounds.center) > _FAR * bounds.bound


def is_of_a_validator(result: CaseResult) -> bool:
    """Tell whether a validator's answer about a module was judged."""
    return any(is_within(result.code, code) for code in (Code.FAIL_ACCEPTED, Code.FAIL_REJECTED, Code.FAIL_MESSAGE))
