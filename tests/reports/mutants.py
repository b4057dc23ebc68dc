"""Mutants of journals and of meta.json.

python -m tests.reports.mutants --count 3000 --seed 1
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from cts.engine.tally import Digest
from cts.journal import journal
from cts.journal.record import encode_object
from reports import write
from tests import mutants
from tests.mutants import Seed
from tests.reports.conftest import DEVICE, realistic, record

TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"9" * 6000, b"1.5"),
    *(b'{"a":' * 3000, b"[" * 5000, b'"\\ud800"', b'"\\u001b[2J"', b"\x00", b"\xff", b"\n", b"\r", b'"id":"x",', b'"verdict":"maybe"'),
    *(b'"seconds":-1,', b'"shape":[65536,65536],', b'"shape":[1,1],', b'"family":[],', b'"tries":[{}],', b'"attempt":0,', b"x" * 100_000),
    *(b'"steps":{"device":"nan"}', b'"instances":{"0":["f"]},', b'"fail"', b'"crash"', b'"dimensions":[1,1],', b"]]", b"}}"),
)

META = {
    "suite_version": "1",
    "tier": "smoke",
    "front_end": "spirv",
    "validation": False,
    "device": DEVICE,
    "command": "pytest cts",
    "started": "2027-03-01T12:00:00Z",
    "finished": "2027-03-01T12:00:14Z",
    "seconds": 14.2,
    "selected": 40,
    "findings": [{"step": "close", "what": "crashed"}],
    "resumed": [{"command": "pytest cts", "started": "later"}],
}


def _read_journal(path: Path) -> None:
    journal.write_meta(path.parent, META)
    _read(path.parent)


def _read_meta(path: Path) -> None:
    (path.parent / journal.RESULTS).write_bytes(_journal())
    _read(path.parent)


def _read(directory: Path) -> None:
    """Read everything about a run that reports and a resumed run read."""
    journal.mend(directory / journal.RESULTS)
    Digest.by_attempt(journal.read(directory / journal.RESULTS))
    write(directory / journal.RESULTS, directory)
    json.loads((directory / "summary.json").read_text(encoding="utf-8"), parse_constant=_refuse)
    ET.parse(directory / "junit.xml")
    journal.resumed_meta(directory, META)


def _refuse(name: str) -> None:
    raise AssertionError(f"summary.json has {name}")


def _journal() -> bytes:
    tries = [{"alone": alone, "verdict": "crash", "reason": "SIGSEGV", "step": "pipeline", "seconds": 1.0} for alone in (False, True)]
    records = [*realistic(120)[:30], record("a[1]", "flaky", tries=tries, step="pipeline"), record("a[2]", "fail", attempt=2)]
    return b"".join(encode_object(one) for one in records)


def seeds() -> Sequence[Seed]:
    """Return a journal with every verdict, a journal with only failures, and a meta.json."""
    failures = b"".join(line for line in b"".join(map(encode_object, realistic(120))).splitlines(True) if b'"failures":[{' in line)
    small = b"".join(sorted(failures.splitlines(True), key=len)[:4])
    return (
        Seed(journal.RESULTS, _journal(), _read_journal),
        Seed(journal.RESULTS, small, _read_journal),
        Seed(journal.META, json.dumps(META, indent=2).encode(), _read_meta),
    )


if __name__ == "__main__":
    sys.exit(mutants.main("Writes reports of randomly changed journals.", seeds(), TOKENS))
