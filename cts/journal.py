"""What was judged, crash-safe: ``results.jsonl``, a whole line per case, and ``meta.json`` beside it, which says by what.

Every process that judges appends to the same file: each line is one write() to a descriptor opened with O_APPEND, so lines of
several writers never mix and a line is in the kernel's hands when ``append`` returns. Killing any process can lose only the
case that it was judging; a line cut short by a full disk or a lost machine is not a result, and its case counts as not judged.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from cts.atomic import write_text
from generators.errors import CtsError

RESULTS = "results.jsonl"
META = "meta.json"
_TAIL = 1 << 16


class JournalError(CtsError):
    """The journal cannot be written or read, or belongs to another run."""


class Journal:
    """Appends results to a file. One instance per process; several processes may share the file."""

    def __init__(self, path: Path) -> None:
        """Opens ``path`` for appending, creating it if need be.

        Raises:
            JournalError: it cannot be opened.
        """
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"cannot write {path}: {error.strerror}; name another --report-dir") from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds one line, in the file when this returns.

        Raises:
            JournalError: the line could not be written whole (for example a full disk).
        """
        self.append_line(encode(record))

    def append_line(self, line: bytes) -> None:
        """Adds a line that ``encode`` made; otherwise as ``append``."""
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}; free some space, then go on with --resume") from error
        if written != len(line):
            raise JournalError(f"cannot write {self.path}: only {written} of {len(line)} bytes; free some space, then go on with --resume")

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def encode(record: Mapping[str, Any]) -> bytes:
    """The line of ``record``: strict JSON in UTF-8 and a newline. NaN and infinities, which JSON lacks, become strings."""
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(_finite(record), ensure_ascii=False, separators=(",", ":"), default=_plain)
    return (text + "\n").encode("utf-8", "backslashreplace")


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, np.ndarray):
        return _finite(value.tolist())
    return str(value)


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal, in the order in which they were written. Lines that are not whole are left out.

    Raises:
        JournalError: the file cannot be read.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from error
    with file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("id"), str) and isinstance(record.get("verdict"), str):
                yield record


def judged_ids(path: Path) -> set[str]:
    """Ids of the cases that have a verdict; empty if there is no such file."""
    return {record["id"] for record in read(path)} if path.exists() else set()


def mend(path: Path) -> None:
    """Cuts off a last line that is not whole, so that the next line begins a line. Call it before any writer opens the file."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _TAIL)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            file.truncate(end)


def claim(directory: Path) -> int:
    """Makes ``directory`` if need be, and keeps other runs out of it as long as the descriptor that this returns is open.

    Raises:
        JournalError: it cannot be made or read, or another run writes to it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise JournalError(f"cannot write the report directory {directory}: {error.strerror}; name another --report-dir") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise JournalError(f"{directory}: another run is writing to it: wait until that has ended, or name another --report-dir") from None
    except OSError:
        # Some network file systems have no locks: whoever reports there sees to it himself.
        pass
    return descriptor


def prepare(directory: Path, resume: bool) -> Path:
    """Makes the report directory ready for a run and returns the path of its journal.

    Args:
        directory: made if it does not exist.
        resume: go on with the journal that is there, if any.

    Raises:
        JournalError: the directory cannot be written, or holds the results of another run and ``resume`` is false.
    """
    path = directory / RESULTS
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size and not resume:
            raise JournalError(
                f"{directory} holds the results of an earlier run: add --resume to judge only the rest, or name another directory"
            )
        mend(path)
        # Renaming needs what reports need at the end: better to learn it now than after hours.
        probe = directory / f".{RESULTS}.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise JournalError(f"cannot write the report directory {directory}: {error.strerror}; name another --report-dir") from error
    Journal(path).close()
    return path


def write_meta(directory: Path, meta: Mapping[str, Any]) -> None:
    """Writes ``meta.json``, whole or not at all."""
    path = directory / META
    try:
        write_text(path, json.dumps(meta, indent=2, ensure_ascii=False, default=_plain) + "\n")
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}; name another --report-dir") from error


def read_meta(directory: Path) -> dict[str, Any]:
    """What ``meta.json`` says; empty if there is none."""
    try:
        meta = json.loads((directory / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return meta if isinstance(meta, dict) else {}


_SAME = (
    ("device", "device"),
    ("front end", "front_end"),
    ("suite version", "suite_version"),
    ("choice of --validation", "validation"),
    ("--embedded-mapping", "embedded_mapping"),
)
"""What all results of one journal have in common: in words, and the key in ``meta.json``."""


def resumed_meta(directory: Path, meta: Mapping[str, Any]) -> dict[str, Any]:
    """What ``meta.json`` of ``directory`` says once the run that ``meta`` describes goes on with its journal.

    Raises:
        JournalError: that would mix results of different devices, front ends or suite versions in one journal, or nobody knows.
    """
    earlier = read_meta(directory)
    if not earlier:
        raise JournalError(
            f"{directory / META}, which says what the results there are of, is missing or damaged: name another --report-dir"
        )
    for name, key in _SAME:
        was, now = (_device(one) if key == "device" else str(one.get(key, "")) for one in (earlier, meta))
        if was != now:
            raise JournalError(
                f"{directory} holds results of another {name} ({was}; now {now}): name another --report-dir, or run as before"
            )
    resumption = {"command": meta["command"], "started": meta["started"]}
    return {key: value for key, value in (dict(meta) | earlier).items() if key != "finished"} | {
        "tier": meta["tier"],
        "resumed": [*earlier.get("resumed", []), resumption],
    }


def _device(meta: Mapping[str, Any]) -> str:
    description = meta.get("device") or {}
    return " ".join(str(description.get(key, "")) for key in ("name", "driver", "uuid")).strip()
