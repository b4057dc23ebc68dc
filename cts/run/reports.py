"""Reports of pytest that carry what the engine says, also from a worker to the process that hands out the cases."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec
import pytest

from cts.engine.judging import Contents, Judged
from cts.engine.neighbours import Claim, Stretch
from cts.engine.set_aside import SetAside
from cts.engine.summary import failure_text
from cts.engine.tally import Digest
from cts.journal.journal import JournalError
from cts.verdict.verdict import Verdict

_CONTENTS = "cts"
"""The attribute of a report that has its contents as MessagePack: pytest-xdist sends one value faster than many."""


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Contents).decode


@contextmanager
def ended_without_journal() -> Iterator[None]:
    """End the run, in the block, if the journal cannot be written."""
    try:
        yield
    except JournalError as error:
        raise pytest.Session.Interrupted(str(error)) from None


def contents(report: pytest.TestReport) -> Contents | None:
    """Return what the engine says in a report; None if the report is not the suite's."""
    packed = getattr(report, _CONTENTS, None)
    return None if packed is None else _unpack(packed)


def put(report: pytest.TestReport, said: Contents) -> pytest.TestReport:
    """Put contents into a report, and return it."""
    setattr(report, _CONTENTS, _pack(said))
    return report


def verdict_report(
    nodeid: str, judged: Judged, passing: Collection[Verdict], record: bytes = b"", stretch: Stretch | None = None
) -> pytest.TestReport:
    """Return the one report of a judgement. Messages have no traceback: the suite's code does not explain a device's failure.

    Args:
        nodeid: the node id of the case, or of its block.
        passing: the verdicts that do not make the run fail.
        record, stretch: see Contents.
    """
    result = judged.result
    path = nodeid.partition("::")[0]
    longrepr: str | tuple[str, int, str] | None = None
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    if result.verdict in (Verdict.NOT_SUPPORTED, Verdict.KNOWN_FAIL, Verdict.RESOURCE_ERROR):
        outcome, longrepr = "skipped", (path, 0, result.reason)
    elif result.verdict not in passing:
        outcome, longrepr = "failed", failure_text(result)
    location = (path, None, result.id)
    stop = time.time()
    report = pytest.TestReport(nodeid, location, {}, outcome, longrepr, "call", duration=result.seconds, start=judged.start, stop=stop)
    return put(report, Contents(result.id, Digest.of(result), record, stretch=stretch))


def unjudged_report(
    nodeid: str, asides: Iterable[SetAside] = (), claim: Claim | None = None, stretch: Stretch | None = None
) -> pytest.TestReport:
    """Return a report without a verdict. To pytest and its plugins it is a successful set-up, after which the test is still to come."""
    path, _, id_ = nodeid.partition("::")
    report = pytest.TestReport(nodeid, (path, None, id_), {}, "passed", None, "setup")
    return put(report, Contents(asides=tuple(asides), claim=claim, stretch=stretch))
