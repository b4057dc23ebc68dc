"""The progress of a run: one line that is rewritten on a terminal, and an occasional line in a log."""

from __future__ import annotations

import shutil
import time
from typing import Protocol

from cts.engine.set_aside import SetAside
from cts.engine.tally import Digest, Tally, phrase
from cts.verdict.verdict import Verdict

TERMINAL_SECONDS = 0.2
LOG_SECONDS = 10.0


CATEGORIES = {
    Verdict.PASS: "passed",
    Verdict.COMPILED: "compiled",
    Verdict.QUALITY_WARNING: "quality warnings",
    Verdict.KNOWN_FAIL: "known failures",
    Verdict.NOT_SUPPORTED: "not supported",
    Verdict.RESOURCE_ERROR: "out of memory",
}
"""The categories in which pytest counts verdicts that do not make the run fail. Verdicts that are counted by reason have categories of
their own, so ``-ra`` does not list them again."""


class Terminal(Protocol):
    """The output of a run: pytest.TerminalReporter."""

    def write(self, content: str) -> None: ...
    def write_line(self, line: str, **markup: bool) -> None: ...
    def rewrite(self, line: str, **markup: bool) -> None: ...
    def ensure_newline(self) -> None: ...
    def flush(self) -> None: ...


class Progress:
    """Prints while cases are judged, unless pytest itself prints a line per case (``-v``) or is asked to be quiet (``-q``).

    Args:
        most: how many failures are announced as they occur, in a line each, and how many cases that are set aside. Messages of failures are
            printed at the end.
    """

    def __init__(self, terminal: Terminal, most: int, silent: bool = False) -> None:
        self._most = most
        self._reporter = terminal
        self._silent = silent
        self._terminal = bool(getattr(terminal, "isatty", False))
        self._every = TERMINAL_SECONDS if self._terminal else LOG_SECONDS
        self._start = time.monotonic()
        self._printed = self._start
        self._announced = self._set_aside = 0
        self._rewriting = False
        self.total = 0

    @property
    def elapsed(self) -> float:
        """Seconds since judging began."""
        return time.monotonic() - self._start

    def begin(self, total: int) -> None:
        """Begin judging; ``total`` cases are to be judged."""
        self.total = total
        self._start = self._printed = time.monotonic()

    def judged(self, nodeid: str, digest: Digest, bad: bool, tally: Tally) -> None:
        """Show one more verdict."""
        if self._silent:
            return
        if bad and self._announced <= self._most:
            self._announced += 1
            self._end_line()
            if self._announced <= self._most:
                self._reporter.write_line(f"{word(digest.verdict)} {nodeid}", red=True)
            else:
                self._reporter.write_line("further failures are not announced, but they are counted and reported", red=True)
            self._reporter.flush()
        if time.monotonic() - self._printed >= self._every:
            self._print(tally)

    def set_aside(self, nodeid: str, aside: SetAside) -> None:
        """Show a case that has no verdict yet."""
        if not self._silent and aside.first is not None and self._set_aside <= self._most:
            self._set_aside += 1
            self._end_line()
            if self._set_aside > self._most:
                self._reporter.write_line("further cases that are set aside are not announced", yellow=True)
                return
            first = aside.first
            self._reporter.write_line(f"SET ASIDE {nodeid}: {word(first.verdict).lower()}: {first.reason}", yellow=True)

    def finish(self, tally: Tally) -> None:
        """Print the last line."""
        if not self._silent and tally.total:
            self._print(tally)
            self._end_line()

    def _print(self, tally: Tally) -> None:
        self._printed = time.monotonic()
        rate = tally.total / self.elapsed if self.elapsed > 0 else 0.0
        total = max(self.total, tally.total)
        text = f"[{100 * tally.total // total:3d}%] {tally.total:,} of {total:,} cases: {phrase(tally.verdicts)}; {rate:,.0f} cases/s"
        if rate and tally.total < total:
            text += f", about {_duration((total - tally.total) / rate)} left"
        if self._terminal:
            self._reporter.rewrite(text[: shutil.get_terminal_size().columns - 1], erase=True)
            self._rewriting = True
        else:
            self._reporter.ensure_newline()
            self._reporter.write_line(text)
            # Otherwise a file would show nothing for minutes.
            self._reporter.flush()

    def _end_line(self) -> None:
        if self._rewriting:
            self._reporter.write("\n")
            self._rewriting = False
        else:
            self._reporter.ensure_newline()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def word(verdict: Verdict) -> str:
    """Return the word for a verdict in pytest's lines."""
    return "SUITE ERROR" if verdict is Verdict.ERROR else verdict.value.upper().replace("_", " ")
