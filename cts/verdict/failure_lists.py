"""Known failures in the format of Mesa's continuous integration: the files that deqp-runner reads.

A list of failures, ``NAME-fails.txt``, has a line for each case: its name, a comma, and a word for how it ends (``Fail``, ``Crash``).
The text after a second comma is ignored. Lists of flakes and of cases to skip, ``NAME-flakes.txt`` and ``NAME-skips.txt``, have a regular
expression in each line, which may match anywhere in a name. All three ignore empty lines and lines that begin with ``#``.

Ids of cases have neither commas nor spaces, so they need no change as names. In regular expressions, escape the brackets and points of ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cts.verdict.verdict import Verdict
from generators.bounded_files import Unreadable, read_text
from generators.casebook import Casebook, find_case
from generators.errors import CasebookError, CtsError

FAILS, FLAKES, SKIPS = "-fails.txt", "-flakes.txt", "-skips.txt"
"""The ends of the files' names."""

_ENDS: Mapping[str, tuple[Verdict, ...]] = {
    "Fail": (Verdict.FAIL,),
    "Crash": (Verdict.CRASH, Verdict.DEVICE_LOST),
    "Timeout": (Verdict.TIMEOUT,),
    "Flake": (Verdict.FLAKY,),
    "KnownFlake": (Verdict.FLAKY,),
    "ExpectedFail": (Verdict.FAIL, Verdict.CRASH, Verdict.DEVICE_LOST, Verdict.TIMEOUT),
    "Pass": (),
    "Skip": (),
    "Warn": (),
    "Missing": (),
    "UnexpectedPass": (),
}
"""How a case may end, by the words of deqp-runner. A word without verdicts occurs in results of cases that are not known to fail."""

_IMPROVED = re.compile(r"UnexpectedImprovement\((\w+)\)")

STATUS: Mapping[Verdict, str] = {
    Verdict.FAIL: "Fail",
    Verdict.CRASH: "Crash",
    Verdict.DEVICE_LOST: "Crash",
    Verdict.TIMEOUT: "Timeout",
}
"""The word for a verdict that a list of failures may have."""

MOST_BYTES = 1 << 26
"""The largest size of a file, enough for half a million lines."""


class ListError(CtsError):
    """A file of known failures cannot be used; the message names file and line."""


@dataclass(frozen=True)
class Listed:
    """A line of a list of failures.

    Attributes:
        id: the id of the case, as the suite writes it.
        status: deqp-runner's word for how the case ends.
        line: the number of the line, from 1.
    """

    id: str
    status: str
    line: int

    @property
    def ends(self) -> tuple[Verdict, ...]:
        """Return the verdicts that the case is known to have."""
        return ends_of(self.status)


def ends_of(status: str) -> tuple[Verdict, ...]:
    """Return the verdicts that a word of deqp-runner means. For a changed result, this is the verdict of the new result.

    Raises:
        KeyError: there is no such word.
    """
    improved = _IMPROVED.fullmatch(status)
    return _ENDS[improved[1] if improved else status]


@dataclass(frozen=True)
class FailureList:
    """A list of failures. Data for other processes.

    Attributes:
        name: the name of the file.
        cases: the verdicts that each listed case may have, by id. Cases that do not fail according to the list are missing.
    """

    name: str
    cases: Mapping[str, tuple[Verdict, ...]]


@dataclass(frozen=True)
class Expressions:
    """A list of flakes, or of cases to skip. Data for other processes.

    Attributes:
        name: the name of the file.
        patterns: its regular expressions.
    """

    name: str
    patterns: tuple[str, ...]

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(re.compile, self.patterns))

    def match(self, id_: str) -> bool:
        """Tell whether an expression matches anywhere in an id."""
        return any(pattern.search(id_) for pattern in self._compiled)


def read_fails(path: Path, casebook: Casebook) -> FailureList:
    """Read a list of failures, for example ``NAME-fails.txt``, or the ``failures.csv`` of deqp-runner.

    Raises:
        ListError: the file cannot be read, a line is not a name and a word, two lines name one case, or there is no such case.
    """
    cases: dict[str, tuple[Verdict, ...]] = {}
    places: dict[str, int] = {}
    for listed in listed_lines(path):
        try:
            id_ = find_case(casebook, listed.id).id
        except CasebookError as error:
            raise ListError(f"{path}:{listed.line}: {error}; fix the line, or remove it") from error
        if id_ in places:
            raise ListError(f"{path}:{listed.line}: {id_} is already listed in line {places[id_]}: remove one of the lines")
        places[id_] = listed.line
        if listed.ends:
            cases[id_] = listed.ends
    return FailureList(path.name, cases)


def listed_lines(path: Path) -> list[Listed]:
    """Return the lines of a list of failures, without a check that their cases exist.

    Raises:
        ListError: the file cannot be read, or a line is not a name and a word.
    """
    found = []
    for number, line in _lines(path):
        id_, comma, rest = line.partition(",")
        status = rest.partition(",")[0].strip()
        try:
            ends_of(status)
        except KeyError:
            known = ", ".join(_ENDS)
            problem = f"'{status}' is not one of {known}" if comma else f"expected CASE,WORD, where WORD is one of {known}"
            raise ListError(f"{path}:{number}: {problem}") from None
        found.append(Listed(id_.strip().rpartition("::")[2], status, number))
    return found


def read_expressions(path: Path) -> Expressions:
    """Read a list of flakes, or of cases to skip.

    Raises:
        ListError: the file cannot be read, or a line is not a regular expression.
    """
    patterns = []
    for number, line in _lines(path):
        try:
            re.compile(line)
        except re.error as error:
            raise ListError(f"{path}:{number}: not a regular expression: {error}; put a backslash before [ ] .") from error
        patterns.append(line)
    return Expressions(path.name, tuple(patterns))


def expression(id_: str) -> str:
    """Return the regular expression that matches exactly one id, in a syntax that Python and Rust share."""
    return f"^{re.escape(id_)}$"


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are neither empty nor comments, with their numbers."""
    try:
        text = read_text(path, MOST_BYTES)
    except Unreadable as error:
        raise ListError(f"cannot read the known failures {path}: {error}") from error
    numbered = enumerate((line.strip() for line in text.splitlines()), 1)
    return [(number, line) for number, line in numbered if line and not line.startswith("#")]
