"""Finds the requirements that published runs have judged, with the devices, from their journals, which may be compressed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cts.journal.journal import journal_of, read_meta
from cts.journal.outline import read_outlines
from cts.verdict.verdict import Verdict

FOLDER = Path("reports") / "published"
"""The place of published runs in a checkout, with a folder for each run."""

_NOT_JUDGED = frozenset({Verdict.COMPILED, Verdict.NOT_SUPPORTED, Verdict.RESOURCE_ERROR, Verdict.ERROR})
"""Verdicts that do not tell whether a device is correct."""


@dataclass(frozen=True)
class PublishedRun:
    """The results of one published run.

    Attributes:
        name: the name of its folder.
        device, driver: the device and driver that were judged; empty if the journal has no results.
        kind: the kind of the device (see cts.devices.device.DeviceDescription); empty if the run does not name it.
        cases: requirement -> how many cases that exercise it have a verdict about the device.
        lacking: requirement -> feature, in words, that the device lacks for other cases -> how many cases need it.
        unread: lines that hold no result.
    """

    name: str
    device: str
    driver: str
    cases: Mapping[str, int]
    lacking: Mapping[str, Mapping[str, int]]
    unread: int = 0
    kind: str = ""


def published_runs(root: Path) -> tuple[PublishedRun, ...]:
    """Return the published runs of a checkout, by name.

    A result names the requirements that its case exercised when it ran, whatever the schema of the journal, so it does not matter if the
    case's id has changed since.

    Raises:
        JournalError: a journal cannot be read.
    """
    folders = sorted(path for path in (root / FOLDER).glob("*") if path.is_dir())
    return tuple(run for folder in folders if (run := _run(folder)) is not None)


def _run(folder: Path) -> PublishedRun | None:
    path = journal_of(folder)
    if not path.is_file():
        return None
    faults: list[object] = []
    device = driver = ""
    cases: Counter[str] = Counter()
    lacking: dict[str, Counter[str]] = {}
    for result in read_outlines(path, faults.append):
        device, driver = result.device or device, result.driver or driver
        if result.verdict not in _NOT_JUDGED:
            cases.update(result.requirements)
        elif result.verdict is Verdict.NOT_SUPPORTED:
            for requirement in result.requirements:
                lacking.setdefault(requirement, Counter())[result.reason] += 1
    kind = read_meta(folder).get("device", {}).get("kind", "")
    return PublishedRun(folder.name, device, driver, cases, lacking, len(faults), kind)
