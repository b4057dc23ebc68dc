"""What a comparison of runs needs of a result: read from a line in a tenth of the time that the whole result takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import msgspec

from cts.journal.journal import Fault, lines
from cts.journal.record import result_of
from cts.journal.strict_json import parse
from cts.verdict.sizes import Ordinal, Seconds
from cts.verdict.verdict import CaseResult, Verdict

_NO_LABELS: Mapping[str, str] = MappingProxyType({})
_NO_STEPS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Outline:
    """A result without what only its own page shows. The fields are those of cts.verdict.verdict.CaseResult.

    Attributes:
        defects: ids of what explains the first failing array that anything explains.
        steps: seconds by step.
    """

    id: str
    family: str
    verdict: Verdict
    reason: str
    code: str
    known: str
    defects: tuple[str, ...]
    parameters: Mapping[str, str]
    seconds: float
    steps: Mapping[str, float]
    step: str
    attempt: int
    device: str
    driver: str
    front_end: str
    tier: str


def outline_of(result: CaseResult) -> Outline:
    """Return the outline of a result."""
    return Outline(
        id=result.id,
        family=result.family,
        verdict=result.verdict,
        reason=result.reason,
        code=result.code,
        known=result.known,
        defects=result.defects,
        parameters=result.parameters,
        seconds=result.seconds,
        steps=result.steps,
        step=result.step,
        attempt=result.attempt,
        device=result.device,
        driver=result.driver,
        front_end=result.front_end,
        tier=result.tier,
    )


def read_outlines(path: Path, wrong: Callable[[Fault], None]) -> Iterator[Outline]:
    """Read the outlines of a journal's results, in the order in which they were written.

    A line that would make a whole result makes the same outline here. Lines of which only parts that no outline has are wrong are taken.

    Args:
        path: of the file; one that ends in ``.gz`` is compressed.
        wrong: called with each line that holds no result.

    Raises:
        JournalError: the file cannot be read, or a later version of the suite wrote it.
    """
    return lines(path, wrong, _outline)


class _Match(msgspec.Struct):
    id: str = ""


class _Failure(msgspec.Struct):
    matches: list[_Match] = []  # noqa: RUF012 - msgspec copies it


class _Line(msgspec.Struct):
    """The fields of a line that an outline has. Values are shared by many lines, so few of them are objects of their own."""

    id: str
    family: str
    verdict: Verdict
    reason: str = ""
    code: str = ""
    known: str = ""
    failures: list[_Failure] = []  # noqa: RUF012 - msgspec copies it
    parameters: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    seconds: Seconds = 0.0
    steps: dict[str, Seconds] = {}  # noqa: RUF012 - msgspec copies it
    step: str = ""
    attempt: Ordinal = 1
    device: str = ""
    driver: str = ""
    front_end: str = ""
    tier: str = ""


_DECODER = msgspec.json.Decoder(_Line)


def _outline(line: bytes) -> Outline:
    """Return the outline of a line of a journal.

    Raises:
        WrongField, NotJson: the line holds no result.
    """
    try:
        found = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # A line of an older schema, or one that is wrong: the whole reading knows which.
        return outline_of(result_of(parse(line)))
    defects = next((failure.matches for failure in found.failures if failure.matches), [])
    texts = (found.id, found.reason, found.code, found.known, found.device, found.driver, *found.parameters.values())
    if not found.id or not "".join(texts).isprintable():
        return outline_of(result_of(parse(line)))
    return Outline(
        id=found.id,
        family=found.family,
        verdict=found.verdict,
        reason=found.reason,
        code=found.code,
        known=found.known,
        defects=tuple(dict.fromkeys(match.id for match in defects if match.id)),
        parameters=found.parameters or _NO_LABELS,
        seconds=found.seconds,
        steps=found.steps or _NO_STEPS,
        step=found.step,
        attempt=found.attempt,
        device=found.device,
        driver=found.driver,
        front_end=found.front_end,
        tier=found.tier,
    )
