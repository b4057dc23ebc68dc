"""Draws random programs from a seed, runs them on a device and compares the results with the reference model; each difference is shrunk,
printed and written as a folder that reproduces it. Draw number N of a seed is always the same program: --from N --count 1 runs it alone."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cts.commands.context import print_json
from cts.commands.fuzzing import (
    ARRAY_CONVERSION,
    DECODE_VECTOR,
    MAINTENANCE1,
    TENSOR_ADDRESSING,
    Difference,
    DrawCounts,
    Fuzzer,
    Subject,
    check_known,
)
from cts.commands.options import add
from cts.devices.spec import DeviceSpec
from cts.engine.plan import at_least_one, checked_settings, one_of
from cts.engine.progress import LOG_SECONDS, TERMINAL_SECONDS
from cts.engine.session import Settings, open_holder
from cts.exit_codes import BAD_INPUT, interrupted
from cts.kinds.kernel_reproduction import Again, write_arrangement
from cts.output import complain
from generators.errors import CtsError, NotExpressible
from generators.program.program import Program

SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        "tensor_addressing": TENSOR_ADDRESSING,
        "decode_vector": DECODE_VECTOR,
        "array_conversion": ARRAY_CONVERSION,
        "maintenance1": MAINTENANCE1,
    }
)
"""The subjects that can be drawn."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("subject", metavar="SUBJECT", help=f"what to draw: {', '.join(SUBJECTS)}")
    add(parser, "--device", "the device (see 'cts devices'; default: as in a run)")
    parser.add_argument("--seed", metavar="S", default="0", help="seed of all draws, an integer (default: 0)")
    parser.add_argument("--count", metavar="N", default="1000", help="how many draws (default: 1000)")
    parser.add_argument("--from", dest="first", metavar="N", default="0", help="number of the first draw (default: 0)")
    parser.add_argument("--maxfail", metavar="N", default="1", help="stop once this many draws differ (default: 1)")
    add(parser, "--out", "write a folder for each draw that differs into DIR", metavar="DIR")
    parser.add_argument("--no-shrink", action="store_true", help="report differing draws as they were drawn, not shrunk")
    for option in ("--front-end", "--validation", "--embedded-mapping", "--step-timeout"):
        add(parser, option)
    parser.add_argument(
        "--known",
        metavar="ID",
        action="append",
        default=[],
        help="count separately the differences that this known defect explains, for example tensor_layout.block_strides_rounded_down (see "
        "cts/defects/glossary.yaml), and do not run what it makes undefined; may be repeated",
    )
    add(parser, "--json", "print one document of JSON: counts, rate, and the differences")


@dataclass(frozen=True)
class _Run:
    """The options of the search."""

    subject: str
    seed: int
    settings: Settings
    reports: Path | None

    @property
    def of(self) -> Subject:
        """Return the subject of the draws."""
        return SUBJECTS[self.subject]

    def again(self, index: int, device: str = "") -> str:
        """Return the command that runs one draw, on ``device``, or by default on the device of this search."""
        place = device or shlex.quote(self.settings.spec.selector)
        return f"cts fuzz {self.subject} --seed {self.seed} --from {index} --count 1 --front-end {self.settings.front_end} --device {place}"


def run(options: argparse.Namespace) -> int:
    """Run the draws; exit code 1 if any differs, 2 if none could be run."""
    subject = one_of("SUBJECT", options.subject, tuple(SUBJECTS))
    seed, first = (_whole(option, text) for option, text in (("--seed", options.seed), ("--from", options.first)))
    count, most = at_least_one("--count", options.count), at_least_one("--maxfail", options.maxfail)
    settings = checked_settings({**vars(options), "tier": None, "isolation": None})
    if not isinstance(settings.spec, DeviceSpec) or settings.spec.compiles_only:
        raise CtsError(f"fuzz runs shaders, and {settings.description.name} does not run any: choose another --device")
    asked = _Run(subject, seed, settings, options.out)
    _check(asked.reports)
    check_known(SUBJECTS[subject].draw, seed, options.known, SUBJECTS[subject])
    holder = open_holder(settings)
    fuzzer = Fuzzer(seed, holder, settings.front_end, options.known, SUBJECTS[subject])
    progress = _Progress(SUBJECTS[subject], count, most, quiet=options.json)
    # Show the findings even if the search ends early: it may have taken hours.
    tally, stopped, interrupt = DrawCounts(), None, None
    try:
        try:
            for tally in fuzzer.run(SUBJECTS[subject].draw, first, count, most):
                progress.show(tally)
        except KeyboardInterrupt as signalled:
            interrupt = signalled
        except CtsError as error:
            stopped = error
        seconds = progress.finish(tally)
        found = tally.differences[:most]
        if interrupt is not None:
            progress.announce("interrupted before all draws were run; differing draws are shown as they were drawn")
        elif stopped is None and not options.no_shrink:
            found, stopped = _shrunk(fuzzer, found, progress)
    finally:
        holder.discard()
    folders = [_written(asked, fuzzer, one) for one in found]
    if options.json:
        print_json(_document(asked, tally, seconds, found, folders))
    else:
        _print(asked, tally, seconds, found, folders)
    if stopped is not None:
        _complain(stopped)
    if found:
        return 1
    if interrupt is not None:
        return interrupted(interrupt)
    if stopped is None and not tally.judged:
        stopped = CtsError(f"nothing was tested: {_untested(asked, tally)}")
        _complain(stopped)
    return 0 if stopped is None else BAD_INPUT


def _complain(error: CtsError) -> None:
    complain(str(error))


def _untested(asked: _Run, tally: DrawCounts) -> str:
    if not tally.unsupported:
        return f"known defects make all of {_draws(tally.left_out)} undefined: name fewer with --known, or draw more with --count"
    return f"{asked.settings.description.name} supports none of {_draws(sum(tally.unsupported.values()))}: choose another --device"


def _shrunk(fuzzer: Fuzzer, found: Sequence[Difference], progress: _Progress) -> tuple[list[Difference], CtsError | None]:
    """Return the simplest draws that fail in the same way, and the error that ended the search. An interrupt ends the shrinking."""
    best = list(found)
    for place, one in enumerate(found):
        try:
            progress.announce(f"draw {one.index}: shrinking; Ctrl-C keeps the simplest so far")
            for best[place] in fuzzer.shrink(one):
                progress.shrinking(best[place])
        except KeyboardInterrupt:
            # Do not shrink the remaining draws either: the user need not interrupt each.
            progress.announce(f"draw {one.index}: interrupted, not all simpler programs were tried")
            break
        except CtsError as error:
            return best, error
    return best, None


def _check(reports: Path | None) -> None:
    """Check that folders can be written in ``reports`` before the search: otherwise its findings would be lost."""
    if reports is None:
        return
    try:
        reports.mkdir(parents=True, exist_ok=True)
        probe = reports / f".{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CtsError(f"--out {reports}: cannot write it: {error.strerror}; name another folder") from error


def _whole(option: str, text: str) -> int:
    if not text.isdecimal():
        raise CtsError(f"{option} {text}: must be an integer of 0 or more")
    return int(text)


class _Progress:
    """Progress on standard error: one line that is rewritten on a terminal, and an occasional line in a log."""

    def __init__(self, subject: Subject, count: int, most: int, quiet: bool) -> None:
        self._subject = subject
        self._count, self._most, self._quiet = count, most, quiet
        self._terminal = sys.stderr.isatty()
        self._start = self._shown = time.monotonic()
        self._announced = 0

    def show(self, tally: DrawCounts) -> None:
        """Show how far the run is, and which draws differ."""
        for one in tally.differences[self._announced : self._most]:
            self.announce(f"draw {one.index}: {one.verdict}: {one.message.splitlines()[0]}")
        self._announced = len(tally.differences)
        now = time.monotonic()
        if not self._is_due(now):
            return
        done = tally.judged + tally.left_out + sum(tally.unsupported.values())
        self._write(f"{done} of {self._count} draws, {tally.judged / (now - self._start):.0f}/s, {len(tally.differences)} differ")

    def shrinking(self, best: Difference) -> None:
        """Show the simplest form of a draw so far."""
        if self._is_due(time.monotonic()):
            self._write(f"draw {best.index}: as simple as {self._subject.describe(best.addressing)}".replace("\n", "; "))

    def announce(self, text: str) -> None:
        """Print a line that is not overwritten."""
        if not self._quiet:
            print(f"\r\033[K{text}" if self._terminal else text, file=sys.stderr, flush=True)

    def _is_due(self, now: float) -> bool:
        if self._quiet or now - self._shown < (TERMINAL_SECONDS if self._terminal else LOG_SECONDS):
            return False
        self._shown = now
        return True

    def _write(self, text: str) -> None:
        if self._terminal:
            text = f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}"
        print(text, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def finish(self, tally: DrawCounts) -> float:
        """Return the seconds since the start."""
        seconds = time.monotonic() - self._start
        if self._terminal and not self._quiet:
            self._shown = 0.0
            self.show(tally)
            print(file=sys.stderr)
        return seconds


def _name(asked: _Run, index: int) -> str:
    """Name a draw in the form of a case's id."""
    return f"{asked.subject}[{asked.seed}-{index}]"


def _written(asked: _Run, fuzzer: Fuzzer, found: Difference) -> Path | None:
    """Write the folder of a draw that differs; return None if no folder is asked for, or it cannot be written."""
    if asked.reports is None:
        return None
    folder = asked.reports / f"{asked.subject}-{asked.seed}-{found.index}"
    try:
        plan = fuzzer.arrange(found.index, found.addressing)
        device, message = asked.settings.description, found.message.replace("\n", "\n    ")
        again = Again(
            asked.again(found.index, "DEVICE"),
            "running the draw that this program came from, and shrinking it again",
            f"{found.verdict} on {device.name}, driver {device.driver}:\n\n    {message}\n",
        )
        write_arrangement(_name(asked, found.index), again, plan.programs[0], plan, folder, asked.settings.front_end)
    except CtsError as error:
        _complain(error)
        return None
    return folder


def _glsl(program: Program) -> str:
    from generators.glsl.emit import emit

    try:
        return emit(program)
    except NotExpressible as why:
        return f"GLSL cannot express it: {why}"


def _draws(number: int) -> str:
    return "1 draw" if number == 1 else f"{number} draws"


def _print(asked: _Run, tally: DrawCounts, seconds: float, found: list[Difference], folders: list[Path | None]) -> None:
    shown: dict[Any, str] = {}
    for one, folder in zip(found, folders, strict=True):
        name = _name(asked, one.index)
        if one.addressing in shown:
            # One defect often makes many draws differ, and all of them shrink to this program.
            print(f"{name}: {one.verdict}, shrunk to the same program as {shown[one.addressing]}")
        else:
            shown[one.addressing] = name
            operands = ", ".join(f"{name} = {value}" for name, value in asked.of.write(one.addressing).operands.items())
            print(f"{name}: {one.verdict}\n{asked.of.describe(one.addressing)}\n{one.message}\n")
            print(f"{_glsl(asked.of.write(one.addressing).program)}\noperands: {operands}")
        print(f"reproduce: {asked.again(one.index)}")
        print(f"folder: {folder}\n" if folder else "")
    for why, draws in sorted(tally.unsupported.items(), key=lambda item: -item[1]):
        print(f"{_draws(draws)} not supported: {why}")
    rate = tally.judged / seconds if seconds else 0.0
    if tally.left_out:
        print(f"{_draws(tally.left_out)} not run: a known defect makes them undefined")
    known = f", {tally.known} more differ as known defects do" if tally.known else ""
    differ = "1 differs" if len(tally.differences) == 1 else f"{len(tally.differences)} differ"
    print(
        f"{_draws(tally.judged)} on {asked.settings.description.name}, seed {asked.seed}: {differ}{known} "
        f"({seconds:.1f} s, {rate:.0f} draws/s)"
    )


def _document(asked: _Run, tally: DrawCounts, seconds: float, found: list[Difference], folders: list[Path | None]) -> dict[str, object]:
    return {
        "subject": asked.subject,
        "seed": asked.seed,
        "device": asked.settings.description.name,
        "driver": asked.settings.description.driver,
        "front_end": asked.settings.front_end,
        "judged": tally.judged,
        "known": tally.known,
        "left_out": tally.left_out,
        "not_supported": tally.unsupported,
        "differ": len(tally.differences),
        "seconds": round(seconds, 3),
        "differences": [
            {
                "index": one.index,
                "verdict": one.verdict,
                "message": one.message,
                "addressing": asked.of.describe(one.addressing),
                "operands": dict(asked.of.write(one.addressing).operands),
                "glsl": _glsl(asked.of.write(one.addressing).program),
                "reproduce": asked.again(one.index),
                "folder": str(folder) if folder else "",
            }
            for one, folder in zip(found, folders, strict=True)
        ],
    }
