"""Runs the suite once for each of several chips whose drivers compile without them. Each run has its own process and report directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cts.devices.spec import COMPILE_ONLY
from generators.errors import CtsError

_ALL = "all"
_DEVICE, _REPORTS = "--device", "--report-dir"


class OtherDevices(CtsError):
    """Other devices are named beside chips that are judged one after another."""


def chips_of(devices: Sequence[str]) -> tuple[str, ...]:
    """Return the chips to run one after another; empty if the devices of ``--device`` need no such runs.

    Raises:
        OtherDevices: other devices are named beside chips.
        DeviceError: there is no such chip, or no driver of a chip is installed.
    """
    names = [device.removeprefix(f"{COMPILE_ONLY}:") for device in devices if device.startswith(f"{COMPILE_ONLY}:")]
    if len(names) < 2 and _ALL not in names:
        return ()
    if len(names) < len(devices):
        raise OtherDevices(f"{_DEVICE}: chips of {COMPILE_ONLY} are judged one after another, so name no other device beside them")
    # Other runs need no chips.
    from cts.devices.compile_only.chips import chip_named, find, installed, load_chips

    if _ALL not in names:
        return tuple(dict.fromkeys(chip_named(name).name for name in names))
    found = tuple(chip.name for chip in installed())
    if not found:
        # It says what to install.
        find(next(iter(load_chips().values())))
    return found


def run_each(chips: Sequence[str], arguments: Sequence[str], reports: Path | None) -> int:
    """Run pytest for each chip, and print a table of the results if they are kept.

    Args:
        arguments: the arguments of the command line.
        reports: the report directory, in which each chip gets a folder; None if results are not kept.

    Returns:
        the largest exit code of the runs.
    """
    codes = []
    for chip in chips:
        print(f"== {COMPILE_ONLY}:{chip}", flush=True)
        own = [] if reports is None else [f"{_REPORTS}={reports / chip}"]
        command = [sys.executable, "-m", "pytest", *_others(arguments), f"{_DEVICE}={COMPILE_ONLY}:{chip}", *own]
        codes.append(subprocess.run(command, check=False).returncode)
    if reports is not None:
        print("\n".join(_table([_row(chip, reports / chip) for chip in chips])))
    return max(codes)


def _others(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, except the options that each run gets itself, and their values."""
    left = iter(map(os.fspath, arguments))
    for argument in left:
        name, joint, _ = argument.partition("=")
        if name not in (_DEVICE, _REPORTS):
            yield argument
        elif not joint:
            next(left, None)


_HEADINGS = ("chip", "rows", "supported", "compiled", "passed", "known", "refused", "crashed", "other", "seconds")


def _row(chip: str, folder: Path) -> tuple[str, ...]:
    """Return the cells of a chip from its report directory."""
    from cts.engine.tally import Digest, Tally
    from cts.journal.journal import RESULTS, read, read_meta
    from cts.verdict.verdict import Verdict

    if not (folder / RESULTS).is_file():
        return (chip, *("-" * (len(_HEADINGS) - 1)))
    tally, meta = Tally(), read_meta(folder)
    for digest in Digest.by_attempt(read(folder / RESULTS)).values():
        tally.add(digest)
    counts = tally.verdicts
    supported = tally.total - counts[Verdict.NOT_SUPPORTED]
    told = (counts[Verdict.COMPILED], counts[Verdict.PASS], counts[Verdict.KNOWN_FAIL], counts[Verdict.FAIL], counts[Verdict.CRASH])
    numbers = (meta.get("device", {}).get("property_rows", 0), supported, *told, supported - sum(told))
    return (chip, *(f"{number:,}" for number in numbers), f"{meta.get('seconds', 0.0):.1f}")


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    return [
        "  ".join([cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
        for cells in (_HEADINGS, *rows)
    ]
