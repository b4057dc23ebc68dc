"""Runs the suite once for each of several chips whose drivers compile without them. Each run has its own process and report directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cts.devices.spec import COMPILE_ONLY
from cts.exit_codes import FAILED, INCOMPLETE, NOTHING_TESTED, PASSED
from cts.signals import ending
from generators.errors import CtsError

_ALL = "all"
_DEVICE, _REPORTS = "--device", "--report-dir"
_JUNIT = ("--junitxml", "--junit-xml")
_MILDEST_FIRST = (PASSED, NOTHING_TESTED, FAILED)


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


def check_named(devices: Sequence[str], arguments: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the arguments as text, if they name all devices: the run of each chip would read the others again, and start all of them.

    Raises:
        OtherDevices: a device is named elsewhere.
    """
    texts = [os.fspath(argument) for argument in arguments]
    given = [value for name, value in _options(texts) if name == _DEVICE]
    if given != list(devices):
        raise OtherDevices(f"{_DEVICE}: name several chips on the command line, not in PYTEST_ADDOPTS, an @FILE or pytest's configuration")
    return texts


def run_each(chips: Sequence[str], arguments: Sequence[str], reports: Path | None, cache: str, stops: bool = False) -> int:
    """Run pytest for each chip, and print a table of the results if they are kept.

    Args:
        arguments: the arguments of the command line.
        reports: the report directory, in which each chip gets a folder; None if results are not kept.
        cache: pytest's cache folder, in which each chip gets one: another chip's failures are not the last ones of this chip.
            Empty without a cache (``-p no:cacheprovider``).
        stops: whether the first chip with a failed case is the last (``-x``).

    Returns:
        the worst exit code of the runs: first no case failed, then nothing was tested, then a case failed, then all others.

    Raises:
        KeyboardInterrupt: a signal asked the program to end, and the run that got it has ended.
    """
    codes: dict[str, int] = {}
    for chip in chips:
        print(f"== {COMPILE_ONLY}:{chip}", flush=True)
        own = [f"{_DEVICE}={COMPILE_ONLY}:{chip}", *([f"--override-ini=cache_dir={cache}/{chip}"] if cache else [])]
        own += [] if reports is None else [f"{_REPORTS}={reports / chip}"]
        codes[chip] = _run([sys.executable, "-m", "pytest", *_of_chip(arguments, chip), *own])
        if codes[chip] < 0:
            print(f"the run of {COMPILE_ONLY}:{chip} was killed by signal {-codes[chip]}: --resume continues it", flush=True)
            codes[chip] = INCOMPLETE
        if stops and codes[chip] == FAILED:
            break
    if reports is not None:
        print("\n".join(_table([_row(chip, code, reports / chip) for chip, code in codes.items()])))
    return max(codes.values(), key=lambda code: (_MILDEST_FIRST.index(code) if code in _MILDEST_FIRST else len(_MILDEST_FIRST), code))


def _run(command: Sequence[str]) -> int:
    """Run a command, and return its exit code, or the negative number of the signal that killed it.

    Raises:
        KeyboardInterrupt: this process got a signal; the command has got it too, and has ended.
    """
    interrupt: KeyboardInterrupt | None = None
    # Ctrl-C reaches a whole process group. In its own group the command gets each signal once, from here: the second ends it at once.
    process = subprocess.Popen(command, process_group=0)
    while process.returncode is None:
        try:
            with ending():
                process.wait()
        except KeyboardInterrupt as raised:
            interrupt = raised
            process.send_signal(getattr(raised, "number", signal.SIGINT))
    if interrupt is not None:
        raise interrupt
    return process.returncode


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each argument: the name and value of an option that each run gets itself, or another argument and None."""
    left = iter(arguments)
    for argument in left:
        name, joint, value = argument.partition("=")
        if name in (_DEVICE, _REPORTS, *_JUNIT):
            yield name, value if joint else next(left, "")
        else:
            yield argument, None


def _of_chip(arguments: Sequence[str], chip: str) -> Iterator[str]:
    """Yield the arguments without devices and report directory, with a JUnit file for this chip alone."""
    for name, value in _options(arguments):
        if value is None:
            yield name
        elif name in _JUNIT:
            yield f"{name}={Path(value).with_suffix(f'.{chip}{Path(value).suffix}')}"


_HEADINGS = ("chip", "rows", "supported", "compiled", "passed", "known", "refused", "crashed", "other", "seconds", "exit code")


def _row(chip: str, code: int, folder: Path) -> tuple[str, ...]:
    """Return the cells of a chip from the exit code of its run and its report directory."""
    from cts.engine.tally import Digest, Tally
    from cts.journal.journal import RESULTS, read, read_meta
    from cts.verdict.verdict import Verdict

    if not (folder / RESULTS).is_file():
        return (chip, *("-" * (len(_HEADINGS) - 2)), str(code))
    tally, meta = Tally(), read_meta(folder)
    for digest in Digest.by_attempt(read(folder / RESULTS)).values():
        tally.add(digest)
    counts = tally.verdicts
    supported = tally.total - counts[Verdict.NOT_SUPPORTED]
    told = (counts[Verdict.COMPILED], counts[Verdict.PASS], counts[Verdict.KNOWN_FAIL], counts[Verdict.FAIL], counts[Verdict.CRASH])
    numbers = (meta.get("device", {}).get("property_rows", 0), supported, *told, supported - sum(told))
    return (chip, *(f"{number:,}" for number in numbers), f"{meta.get('seconds', 0.0):.1f}", str(code))


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    return [
        "  ".join([cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))])
        for cells in (_HEADINGS, *rows)
    ]
