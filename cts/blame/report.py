"""The evidence and the conclusion: for people, and as a record for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cts.blame.evidence import Evidence, Facts, Found, Step
from cts.blame.rules import Conclusion, conclude
from cts.verdict.verdict import CaseResult
from generators.errors import CannotWrite

FILE = "blame.jsonl"
"""The file of records in a report directory."""

_TOLD = 110
"""The most characters of details in a table."""


@dataclass(frozen=True)
class Blame:
    """The record of an investigation.

    Attributes:
        id, device, driver: of the failure.
    """

    id: str
    device: str
    driver: str
    facts: Facts
    conclusion: Conclusion

    @property
    def headline(self) -> str:
        """Return the conclusion in a sentence."""
        return f"{self.conclusion.party.words}, {self.conclusion.confidence}: {self.conclusion.sentence}"

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what each step did, and what it found."""
        failure = next((one for one in self.facts.evidence if one.found is Found.SAME), None)
        for one in self.facts.evidence:
            what = one.device or one.step.words.format(front_end=self.facts.front_end, other=self.facts.other)
            yield what, f"fails: {_cut(one.told)}" if one is failure else _ended(one)


def blame(result: CaseResult, facts: Facts) -> Blame:
    """Return the record of a failure, with the conclusion from its facts."""
    return Blame(result.id, result.device, result.driver, facts, conclude(facts))


def lines(record: Blame) -> Iterator[str]:
    """Yield the conclusion, then a line for each piece of evidence."""
    yield record.headline
    yield from (f"  less sure because {doubt.text}" for doubt in record.conclusion.doubts)
    yield ""
    width = max(len(what) for what, _ in record.rows())
    yield from (f"  {what:{width}}  {found}" for what, found in record.rows())


def document(record: Blame) -> str:
    """Return the same as JSON."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode()


def markdown(record: Blame) -> str:
    """Return the same as a section of a README."""
    doubts = "".join(f"* less sure because {doubt.text}\n" for doubt in record.conclusion.doubts)
    rows = "".join(f"| {' | '.join(one.replace('|', chr(92) + '|') for one in row)} |\n" for row in record.rows())
    return f"## Whose fault it is\n\n{record.headline}\n\n{doubts}\n| evidence | |\n|---|---|\n{rows}"


def add(folder: Path, record: Blame) -> None:
    """Add a record to the file of a report directory.

    Raises:
        CannotWrite: the file cannot be written.
    """
    try:
        with (folder / FILE).open("ab") as file:
            # A full disk may have torn the line before.
            file.write(b"\n" + msgspec.json.encode(record) + b"\n")
    except OSError as error:
        raise CannotWrite(f"cannot write {folder / FILE}: {error.strerror}; name the report directory of a run") from error


def read(folder: Path) -> Iterator[Blame]:
    """Yield the records of a report directory, oldest first, except lines that this version cannot read."""
    path = folder / FILE
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        try:
            yield msgspec.json.decode(line, type=Blame)
        except (msgspec.DecodeError, ValueError):
            continue


def _ended(one: Evidence) -> str:
    """Return what a step found, in words; details are left out if they are those of the failure."""
    if one.step is Step.EXPLANATION:
        return _cut(one.told)
    return f"{one.found.words}: {_cut(one.told)}" if one.told and one.found is not Found.SAME else one.found.words


def _cut(told: str) -> str:
    return told if len(told) <= _TOLD else told[: _TOLD - 1] + "…"
