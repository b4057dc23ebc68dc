"""Measures whole runs of the suite: what the user waits for, and which processes use the processors.

    python -m benchmarks.whole_run [--tree NAME=FOLDER ...] [--times N] [--json FILE] -n N [ARGUMENT ...]

Runs ``pytest cts -n N ARGUMENT ...`` in each checkout (default: this one as ``now``), as often as --times says, in turns. Prints a row
for each number: its median for each checkout, and the ratio to the first checkout. Compare only what one call measured, since clocks and
neighbours change. --json keeps the numbers of each run, and ``python -m benchmarks.ratios OLD NEW`` compares two such files.

The limit is the time that the driver's compiler would need if it kept N processes busy and nothing else took any time. Processor times of a
process miss what it did in its last tenth of a second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ratios import Numbers, save, table
from cts.journal.journal import RESULTS
from cts.journal.record import SEVERAL_LINES
from cts.journal.strict_json import parse

ROOT = Path(__file__).resolve().parent.parent
_LOOK_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


class Watch:
    """Follows a command and its descendants.

    Attributes:
        cpu: kind of process -> process -> its seconds of processor time.
        memory: kind of process -> the most bytes that one such process had, in MiB.
    """

    def __init__(self, pid: int) -> None:
        self._main = pid
        self.cpu: dict[str, dict[int, float]] = defaultdict(dict)
        self.memory: dict[str, float] = defaultdict(float)

    def look(self) -> None:
        """Read the processes of the moment."""
        fields = dict(_fields())
        for pid, own in fields.items():
            ancestors = [pid]
            while (parent := int(fields[ancestors[-1]][1])) in fields:
                ancestors.append(parent)
            if self._main in ancestors:
                self._read(pid, own)

    def _read(self, pid: int, fields: list[str]) -> None:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        if not command:
            # A process that is ending has no command line any more.
            return
        # The fork server forks processes that hold devices, too. Such a process leads its own session.
        device = b"cts.device_process" in command or (b"cts.run.fork_server" in command and fields[3] == str(pid))
        kind = "main" if pid == self._main else "device" if device else "worker"
        self.cpu[kind][pid] = (int(fields[11]) + int(fields[12])) / _TICKS
        peak = next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0.0)
        self.memory[kind] = max(self.memory[kind], peak)


def _fields() -> Iterator[tuple[int, list[str]]]:
    """Yield each process with the fields of its /proc/PID/stat after the name: state, parent, …"""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text().rpartition(")")[2].split()
        except OSError:
            continue


def run(tree: Path, processes: int, arguments: list[str], folder: Path) -> Numbers:
    """Run the suite once, and return its numbers: name -> value. The unit is the last word of a name.

    Args:
        folder: a folder for the report, which does not exist yet.
    """
    command = [sys.executable, "-m", "pytest", "cts", "-q", "-p", "no:cacheprovider", "-n", str(processes), *arguments]
    begin = time.monotonic()
    child = subprocess.Popen([*command, "--report-dir", str(folder)], cwd=tree, stdout=subprocess.DEVNULL)
    watch = Watch(child.pid)
    size, first, last = 0, 0.0, 0.0
    while child.poll() is None:
        watch.look()
        with open(folder / RESULTS, "rb") if (folder / RESULTS).exists() else open(os.devnull, "rb") as journal:
            journal.seek(size)
            new = journal.read()
        size += len(new)
        now = time.monotonic() - begin
        # Only a case that a device has judged has this step.
        if not first and b'"device":' in new.replace(b'"device":"', b""):
            first = now
        last = now if new else last
        time.sleep(_LOOK_SECONDS)
    whole = time.monotonic() - begin
    steps: dict[str, float] = defaultdict(float)
    pipelines = dispatches = cases = 0
    for line in (folder / RESULTS).read_bytes().splitlines()[1:]:
        record = parse(line, SEVERAL_LINES)
        assert isinstance(record, dict), "a line of a journal is an object"
        cases += 1
        pipelines += "pipeline" in record.get("steps", ())
        dispatches += record.get("subcases", 0)
        for step, seconds in record.get("steps", {}).items():
            steps[step] += seconds
    limit = steps["pipeline"] / processes
    return {
        "whole command, s": whole,
        "first verdict of the device, s": first,
        "after the last verdict, s": whole - last,
        "limit of the compiler, s": limit,
        "whole command / limit": whole / limit if limit else 0.0,
        "cases": cases,
        "pipelines per s": pipelines / whole,
        "compared dispatches per s": dispatches / whole,
        **{f"CPU of {kind}, s": sum(found.values()) for kind, found in sorted(watch.cpu.items())},
        **{f"peak memory of {kind}, MiB": most for kind, most in sorted(watch.memory.items())},
        **{f"step {step}, summed s": seconds for step, seconds in steps.items()},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", action="append", metavar="NAME=FOLDER", help="a checkout; may be given several times")
    parser.add_argument("--times", type=int, default=1, help="how often each checkout runs (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the numbers")
    parser.add_argument("-n", dest="processes", type=int, required=True, help="the number of processes")
    options, arguments = parser.parse_known_args()
    trees = dict(one.split("=", 1) for one in options.tree or [f"now={ROOT}"])
    found: dict[str, list[Numbers]] = {name: [] for name in trees}
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.times):
            for tree, folder in trees.items():
                found[tree].append(run(Path(folder), options.processes, arguments, Path(name, f"{tree}-{number}")))
                print(f"{tree}: {found[tree][-1]['whole command, s']:.1f} s", file=sys.stderr, flush=True)
                if options.json:
                    save(options.json, found)
    print(table(found))


if __name__ == "__main__":
    main()
