"""Changes files at random. Their reader must accept them, or refuse them in one line; anything else is a defect."""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from generators.errors import CtsError

MOST_MEMORY = 1 << 30
MOST_CPU_SECONDS = 30.0
"""Seconds of CPU time for one mutant, so a busy machine does not count as a hang."""

MOST_MESSAGE = 6_000


@dataclass(frozen=True)
class Seed:
    """A valid file, and its reader."""

    name: str
    data: bytes
    read: Callable[[Path], object]


@dataclass(frozen=True)
class Defect:
    """A defect that a mutant shows."""

    seed: str
    number: int
    what: str


class Hung(BaseException):
    """A mutant took too long."""


def mutated(data: bytes, tokens: Sequence[bytes], draw: random.Random) -> bytes:
    """Return ``data`` after one to six changes."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        data = _changed(data, tokens, draw)
    return data


def _changed(data: bytes, tokens: Sequence[bytes], draw: random.Random) -> bytes:
    start = draw.randrange(len(data) + 1)
    end = min(len(data), start + draw.choice((1, 1, 2, 8, 40, 400)))
    lines = data.splitlines(keepends=True) or [b""]
    line = draw.randrange(len(lines))
    match draw.randrange(9):
        case 0:
            return data[:start] + bytes([draw.randrange(256)]) + data[start + 1 :]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + data[start:end] * draw.choice((1, 2, 50)) + data[end:]
        case 3 | 4:
            return data[:start] + draw.choice(tokens) + data[end if draw.random() < 0.5 else start :]
        case 5:
            return b"".join(lines[:line] + lines[line + 1 :])
        case 6:
            other = draw.randrange(len(lines))
            lines[line], lines[other] = lines[other], lines[line]
            return b"".join(lines)
        case 7:
            return b"".join([*lines[:line], b" " * draw.randrange(1, 9) + lines[line], *lines[line + 1 :]])
        case _:
            return data[:start]


def judged(seed: Seed, number: int, data: bytes, folder: Path) -> str | Defect:
    """Return ``accepted`` or ``refused``, or the defect that a mutant shows."""
    path = folder / seed.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_SECONDS)
    try:
        seed.read(path)
    except CtsError as error:
        message = str(error)
        if "\n" in message.strip() or len(message) > MOST_MESSAGE:
            return Defect(seed.name, number, f"not one line of {MOST_MESSAGE} characters: {message[:200]!r}")
        return "refused"
    except Hung:
        return Defect(seed.name, number, f"more than {MOST_CPU_SECONDS:g} s of the processor's time")
    except (Exception, SystemExit):
        return Defect(seed.name, number, traceback.format_exc(limit=-4))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "accepted"


def run(
    seeds: Sequence[Seed], tokens: Sequence[bytes], count: int, seed: int, keep: Path | None = None
) -> tuple[Counter[str], list[Defect]]:
    """Judge ``count`` mutants, spread over the seeds."""
    before = signal.signal(signal.SIGVTALRM, _hung)
    outcomes: Counter[str] = Counter()
    defects: list[Defect] = []
    try:
        for number in range(count):
            draw = random.Random(f"{seed}-{number}")
            chosen = seeds[number % len(seeds)]
            data = mutated(chosen.data, tokens, draw)
            with tempfile.TemporaryDirectory() as folder:
                outcome = judged(chosen, number, data, Path(folder))
            if isinstance(outcome, Defect):
                defects.append(outcome)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{number}-{Path(chosen.name).name}").write_bytes(data)
            outcomes["defect" if isinstance(outcome, Defect) else outcome] += 1
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return outcomes, defects


def _hung(number: int, frame: FrameType | None) -> None:
    raise Hung


def _address_space() -> int:
    """Return the bytes of address space of this process. Libraries reserve much of it for the threads of a machine with many cores."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(title: str, seeds: Sequence[Seed], tokens: Sequence[bytes], arguments: Sequence[str] | None = None) -> int:
    """Run from the command line, with bounded memory; exit code 1 if a mutant shows a defect."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to write mutants that show defects")
    options = parser.parse_args(arguments)
    most = _address_space() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    begin = time.monotonic()
    outcomes, defects = run(seeds, tokens, options.count, options.seed, options.keep)
    for defect in defects[:20]:
        print(f"{defect.seed}, mutant {defect.number}: {defect.what}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    counts = ", ".join(f"{outcomes[name]:,} {name}" for name in ("accepted", "refused", "defect"))
    print(f"{options.count:,} mutants, seed {options.seed}: {counts}; {time.monotonic() - begin:.0f} s, {peak} MB at most")
    return 1 if defects else 0
