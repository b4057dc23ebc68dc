"""Judges a run on a chip that is not there by the published run of the chip: ``python -m reports.newer_driver DIR PUBLISHED``.

Distributions move on to newer drivers, which no list of known failures describes yet. With the driver of the published run, each new
failure counts. With another one only a crash counts, of a case that compiled or passed in the published run; everything else that changed
is listed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cts.engine.tally import PASSING
from cts.exit_codes import BAD_INPUT, FAILED, PASSED
from cts.journal.journal import RESULTS, journal_of, read_meta
from cts.journal.outline import Outline, read_outlines
from cts.printable import printable_line
from cts.verdict.verdict import ENDED_WELL, Verdict
from generators.errors import CtsError

_LISTED = 20
"""The most cases that are listed."""


@dataclass(frozen=True)
class Judged:
    """What a run says beside the published one.

    Attributes:
        driver, published: the drivers of both runs.
        bad: the cases that count.
        changed: cases that both runs judged, and that ended otherwise: the verdicts in both runs -> ids.
    """

    driver: str
    published: str
    bad: tuple[Outline, ...]
    changed: Mapping[tuple[Verdict, Verdict], tuple[str, ...]]

    @property
    def lines(self) -> list[str]:
        """Return the result for people."""
        found = [f"driver: {self.driver}"]
        if self.driver != self.published:
            found.append(f"notice: the published run's driver is {self.published}")
        for (was, now), ids in self.changed.items():
            found.append(f"{len(ids)} cases: {was} before, {now} now, for example {ids[0]}")
        found += [f"{one.verdict}: {one.id} ({one.reason})" for one in self.bad[:_LISTED]]
        return [*found, f"{len(self.bad)} new failures"]


def judge(run: Path, published: Path) -> Judged:
    """Compare the run in a report directory with the published run in a folder.

    Raises:
        CtsError: a journal cannot be read.
    """
    driver, other = (read_meta(folder).get("device", {}).get("driver", "") for folder in (run, published))
    now, before = (_outlines(folder) for folder in (run, published))
    known = {id_: before[id_].verdict for id_ in now if id_ in before}
    if driver == other:
        bad = [one for one in now.values() if one.verdict not in PASSING]
    else:
        bad = [one for id_, one in now.items() if one.verdict is Verdict.CRASH and known.get(id_) in ENDED_WELL]
    changed: dict[tuple[Verdict, Verdict], list[str]] = {}
    for id_, was in known.items():
        if now[id_].verdict is not was:
            changed.setdefault((was, now[id_].verdict), []).append(id_)
    return Judged(driver, other, tuple(bad), {verdicts: tuple(ids) for verdicts, ids in sorted(changed.items())})


def _outlines(folder: Path) -> dict[str, Outline]:
    if not (path := journal_of(folder)).is_file():
        raise CtsError(f"{folder} holds no {RESULTS}: name the DIR of a 'pytest cts --report-dir DIR'")
    return {one.id: one for one in read_outlines(path, lambda _: None)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what changed. Return 1 if a case counts as failed, 2 if a journal cannot be read, else 0."""
    parser = argparse.ArgumentParser(prog="python -m reports.newer_driver", description="Judges a run by the published run of its chip.")
    parser.add_argument("run", type=Path, metavar="DIR", help="the report directory of the run")
    parser.add_argument("published", type=Path, metavar="PUBLISHED", help="the folder of the published run")
    options = parser.parse_args(arguments)
    try:
        judged = judge(options.run, options.published)
    except CtsError as error:
        print(f"error: {printable_line(str(error))}", file=sys.stderr)
        return BAD_INPUT
    print("\n".join(judged.lines))
    return FAILED if judged.bad else PASSED


if __name__ == "__main__":
    sys.exit(main())
