"""The parts of a result that comparisons and counts need: read from a line in a tenth of the time that the whole result takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cts.journal.journal import Fault, lines
from cts.journal.record import result_of
from cts.journal.strict_json import parse
from cts.verdict.sizes import Ordinal, Seconds, Statistic
from cts.verdict.verdict import CaseResult, Verdict


class Match(msgspec.Struct, frozen=True):
    """The id of a defect that explains a failing array; empty in journals of older versions of the suite."""

    id: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of a failing array."""

    matches: tuple[Match, ...] = ()


class Outline(msgspec.Struct, frozen=True):
    """A result without the parts that only its own page shows. The fields are those of cts.verdict.verdict.CaseResult."""

    id: str
    family: str
    verdict: Verdict
    reason: str = ""
    code: str = ""
    known: str = ""
    failures: tuple[Explanation, ...] = ()
    parameters: dict[str, str] = {}
    requirements: tuple[str, ...] = ()
    seconds: Seconds = 0.0
    steps: dict[str, Seconds] = {}
    step: str = ""
    attempt: Ordinal = 1
    device: str = ""
    driver: str = ""
    front_end: str = ""
    tier: str = ""
    statistics: dict[str, dict[str, Statistic]] = {}
    module: str = ""
    outputs: str = ""

    @property
    def defects(self) -> tuple[str, ...]:
        """Return the ids of the defects that explain the first failing array with an explanation."""
        first = next((failure.matches for failure in self.failures if failure.matches), ())
        return tuple(dict.fromkeys(match.id for match in first if match.id))


def outline_of(result: CaseResult) -> Outline:
    """Return the outline of a result."""
    return msgspec.convert(result, Outline, from_attributes=True)


def read_outlines(path: Path, wrong: Callable[[Fault], None]) -> Iterator[Outline]:
    """Read the outlines of a journal's results, in the order in which they were written.

    A line with a whole result gives the outline of that result. A line also gives an outline if only parts that no outline has are wrong.

    Args:
        path: the path of the file; if it ends in ``.gz``, the file is compressed.
        wrong: called with a fault for each line that holds no result.

    Raises:
        JournalError: the file cannot be read, or a later version of the suite wrote it.
    """
    return lines(path, wrong, _outline)


_DECODER = msgspec.json.Decoder(Outline)


def _outline(line: bytes) -> Outline:
    """Return the outline of a line of a journal.

    Raises:
        WrongField, NotJson: the line holds no result.
    """
    try:
        found = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # The line has an older schema or is wrong: the complete reader tells which.
        return outline_of(result_of(parse(line)))
    if found.id and (_is_plain(line) or _is_printable(found)):
        return found
    return outline_of(result_of(parse(line)))


def _is_plain(line: bytes) -> bool:
    """Tell whether a line of JSON can hold only characters that can be printed."""
    return line.isascii() and b"\\" not in line and b"\x7f" not in line


def _is_printable(found: Outline) -> bool:
    texts = (found.id, found.family, found.reason, found.code, found.known, found.step, found.device, found.driver, found.front_end)
    names = (*found.statistics, *(name for values in found.statistics.values() for name in values))
    lists = (*found.requirements, *found.parameters, *found.parameters.values(), *found.steps, *found.defects, *names)
    return "".join((*texts, found.tier, *lists)).isprintable()
