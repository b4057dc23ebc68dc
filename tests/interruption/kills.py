"""Kills runs at random moments, resumes them, and checks that every case has exactly one whole line in the journal.

    python -m tests.interruption.kills --count 100 --seed 1

A run judges some kernels in two workers of pytest-xdist. Child processes hold the embedded device. The victim is the main process, a
worker, a child, or a process that forks workers or children, in turn. It is killed when the journal has a random number of lines, while
cases are being judged. The exit code is 1 if a line is lost, broken or doubled, or if a verdict differs from the one without the kill.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VICTIMS = ("main", "worker", "child", "server", "spawner")
FAMILIES = ("load_store", "muladd", "elementwise", "conversion", "construction", "reduce", "tensor_layout", "tensor_view")
CASES_OF_EACH = 12
HANG_SECONDS = 600


class Broken(Exception):
    """A run left a wrong journal."""


@dataclass(frozen=True)
class Process:
    """A process of a run, as /proc describes it."""

    pid: int
    parent: int
    command: str


def processes_below(pid: int) -> Iterator[Process]:
    """Yield the descendants of a process."""
    known: dict[int, list[Process]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            known.setdefault(parent, []).append(Process(int(folder.name), parent, command))
    waiting = [pid]
    while waiting:
        for process in known.get(waiting.pop(), []):
            yield process
            waiting.append(process.pid)


def choose_victim(kind: str, main: int, rng: random.Random) -> int | None:
    """Return the process to kill; None if there is no such process at this moment."""
    if kind == "main":
        return main
    below = list(processes_below(main))
    devices = [process for process in below if "cts.device_process" in process.command]
    children = [process for process in devices if process.parent in {one.pid for one in devices}]
    spawners = [process for process in devices if process not in children]
    servers = [process for process in below if process.parent == main and "cts.run.fork_server" in process.command]
    workers = [process for process in below if process.parent in {server.pid for server in servers}]
    found = {"child": children, "server": servers, "spawner": spawners, "worker": workers}[kind]
    return rng.choice(found).pid if found else None


def lines_of(journal: Path) -> list[bytes]:
    """Return the lines of results, without the lines that begin a run."""
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return [line for line in lines if not line.startswith(b'{"schema"')]


def command(cases: Path, reports: Path, *more: str) -> list[str]:
    pytest = [sys.executable, "-m", "pytest", "cts", "-q", "-p", "no:cacheprovider", "-n", "2"]
    return [*pytest, "--device", "embedded", "--isolation", "on", "--case-list", str(cases), "--report-dir", str(reports), *more]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


def killed_run(kind: str, cases: Path, reports: Path, at: int, rng: random.Random) -> bool:
    """Start a run and kill its victim once ``at`` lines are written; return whether cases were still being judged then."""
    journal = reports / "results.jsonl"
    with (reports.parent / f"{reports.name}.log").open("wb") as log:
        main = subprocess.Popen(command(cases, reports), cwd=ROOT, stdout=log, stderr=log)
        try:
            begin = time.monotonic()
            while len(lines_of(journal)) < at and main.poll() is None:
                if time.monotonic() - begin > HANG_SECONDS:
                    raise Broken(f"the run did not write {at} lines")
                time.sleep(0.002)
            time.sleep(rng.random() * 0.03)
            victim = choose_victim(kind, main.pid, rng) if main.poll() is None else None
            before = len(lines_of(journal))
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
            main.wait(HANG_SECONDS)
        finally:
            main.kill()
            main.wait()
    return victim is not None and before < len(cases.read_text(encoding="utf-8").splitlines())


def check(journal: Path, expected: dict[str, str]) -> None:
    """Check that the journal has each case once.

    Raises:
        Broken: the journal is wrong.
    """
    lines = lines_of(journal)
    try:
        records = [json.loads(line) for line in lines]
    except ValueError as error:
        raise Broken(f"a broken line: {error}") from error
    if lines and not lines[-1].endswith(b"\n"):
        raise Broken("the last line is cut short")
    counts = Counter(record["id"] for record in records)
    doubled = [id_ for id_, count in counts.items() if count > 1]
    if doubled or set(counts) != set(expected):
        raise Broken(f"doubled: {doubled}; lost: {sorted(set(expected) - set(counts))}; foreign: {sorted(set(counts) - set(expected))}")
    wrong = {record["id"]: record["verdict"] for record in records if record["verdict"] != expected[record["id"]]}
    if wrong:
        raise Broken(f"other verdicts than without a kill: {wrong}")


def verdicts(journal: Path) -> dict[str, str]:
    return {record["id"]: record["verdict"] for record in map(json.loads, lines_of(journal))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10, help="number of runs to kill (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments (default: 1)")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    failures, hit = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        listed = run(sys.executable, "-m", "cts", "list", "--tier", "smoke").stdout.splitlines()
        chosen = [id_ for family in FAMILIES for id_ in [line for line in listed if line.startswith(f"{family}[")][:CASES_OF_EACH]]
        cases = base / "cases.txt"
        cases.write_text("\n".join(chosen) + "\n", encoding="utf-8")
        whole = run(*command(cases, base / "whole"))
        expected = verdicts(base / "whole" / "results.jsonl")
        if set(expected) != set(chosen):
            print(whole.stdout, whole.stderr)
            raise Broken(f"without a kill {len(expected)} of {len(chosen)} cases were judged")
        for number in range(options.count):
            kind = VICTIMS[number % len(VICTIMS)]
            at = rng.randrange(1, len(chosen) * 3 // 4)
            reports = base / f"{number}"
            try:
                judging = killed_run(kind, cases, reports, at, rng)
                resumed = run(*command(cases, reports, "--resume"))
                if resumed.returncode not in (0, 1):
                    raise Broken(f"--resume ended with {resumed.returncode}: {resumed.stdout[-500:]}{resumed.stderr[-500:]}")
                check(reports / "results.jsonl", expected)
            except Broken as broken:
                failures += 1
                print(f"run {number}, {kind} killed after {at} lines: {broken}", flush=True)
                continue
            hit[kind] += judging
            print(f"run {number}, {kind} killed after {at} lines: right{'' if judging else ', but nothing was being judged'}", flush=True)
    print(f"{options.count} runs, {failures} wrong; killed while cases were being judged: {dict(hit)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
