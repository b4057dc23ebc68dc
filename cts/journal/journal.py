"""The crash-safe results of a run: ``results.jsonl`` with a whole line per case, and ``meta.json`` with the device and settings.

A run begins with a header line, ``{"schema": N}``; a resumed run has a header line for each part. A journal without a header line has
schema 1.

Every process that judges appends to the same file: each line is one write() to a descriptor opened with O_APPEND, so lines of
several writers never mix, and the kernel has a line when ``append`` returns. Killing a process can lose only the case that it was
judging. A line cut short by a full disk or a lost machine is not a result, and its case counts as not judged.

Readers of a journal get results that fit the schema (cts.journal.record), and a Fault for each line that does not.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Self, TypeVar, cast

from cts.devices.identity import differences, in_words
from cts.journal.atomic import check_regular, write_text
from cts.journal.record import MOST_BYTES, SCHEMA, SEVERAL_LINES, encode, encode_object, result_of
from cts.journal.run_record import PartRecord, Resumption, RunRecord, meta_of
from cts.journal.schema import WrongField
from cts.journal.strict_json import NotJson, parse
from cts.journal.written_line import written_result
from cts.printable import printable_line
from cts.verdict.verdict import CaseResult
from generators.errors import CtsError

RESULTS = "results.jsonl"
PACKED = ".gz"
META = "meta.json"
_TAIL = 1 << 16

Made = TypeVar("Made")

MOST_FAULTS = 1_000_000
"""The most lines without a result in a journal. A larger number is no journal: a small compressed file may hold billions of lines."""

MOST_IN_ALL = 1 << 34
"""The most bytes in a journal, uncompressed. A journal of the full tier has about 2 GiB."""


class JournalError(CtsError):
    """The journal cannot be written or read, or belongs to another run."""


class Journal:
    """Appends results to a file. Each process has one instance; several processes may share the file."""

    def __init__(self, path: Path) -> None:
        """Open ``path`` for appending, and create it if it does not exist.

        Raises:
            JournalError: the file cannot be opened.
        """
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"cannot write {path}: {error.strerror}; name another --report-dir") from error

    def append(self, result: CaseResult) -> None:
        """Add the line of a result; see ``append_line``."""
        self.append_line(encode(result))

    def append_line(self, line: bytes) -> None:
        """Add a line that cts.journal.record encoded. It is in the file when this returns.

        Raises:
            JournalError: the line could not be written whole (for example a full disk).
        """
        try:
            with self._alone():
                if self._is_torn():
                    line = b"\n" + line
                written = os.write(self._descriptor, line)
        except OSError as error:
            raise JournalError(f"cannot write {self.path}: {error.strerror}; free some space, then continue with --resume") from error
        if written != len(line):
            raise JournalError(
                f"cannot write {self.path}: only {written} of {len(line)} bytes; free some space, then continue with --resume"
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other writers waiting: they write nothing during the block."""
        with suppress(OSError):
            # Some network file systems have no locks. There, a line after a torn line may be lost with it.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _is_torn(self) -> bool:
        """Tell whether the last line was cut short, for example by a full disk: the next line must not become a part of it."""
        size = os.fstat(self._descriptor)
        return stat.S_ISREG(size.st_mode) and size.st_size > 0 and os.pread(self._descriptor, 1, size.st_size - 1) != b"\n"

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class Fault:
    """An unusable part of a journal.

    Attributes:
        path: the path of the file.
        line: the number of the line, from 1; 0 for the whole file.
        field: the wrong field; empty for the whole line.
        problem: what is wrong.
    """

    path: Path
    line: int
    field: str
    problem: str

    def __str__(self) -> str:
        place = f"{self.path.name}:{self.line}" if self.line else self.path.name
        return ": ".join(part for part in (place, self.field, self.problem) if part)


def _ignored(fault: Fault) -> None:
    """Drop a fault."""


Opener = Callable[[Path], BinaryIO]
"""Opens a journal."""


def opened(path: Path) -> BinaryIO:
    """Open a journal, which may be compressed, for reading.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    check_regular(path)
    return cast(BinaryIO, gzip.open(path)) if path.suffix == PACKED else path.open("rb")


def read(path: Path, wrong: Callable[[Fault], None] = _ignored, start: int = 0) -> Iterator[CaseResult]:
    """Read the results of a journal, in the order in which they were written.

    Args:
        path: the path of the file; if it ends in ``.gz``, the file is compressed.
        wrong: called with a fault for each line that holds no result. Its case counts as not judged.
        start: the byte to begin at, which must begin a line; line numbers count from there.

    Raises:
        JournalError: the file cannot be read, or a later version of the suite wrote it.
    """
    return lines(path, wrong, _result, start)


def read_with_places(path: Path, wrong: Callable[[Fault], None], opened: Opener) -> Iterator[tuple[int, CaseResult]]:
    """Read the results of a journal as ``read`` does. Yield pairs: the byte at which a line begins, and its result.

    Args:
        path, wrong: as for ``read``.
        opened: opens the file; see ``opened``.
    """
    return _placed(path, wrong, _result, opened=opened)


def read_at(path: Path, places: Iterable[int]) -> Iterator[CaseResult]:
    """Read some results of a journal, in the order of their lines, without reading the others.

    Args:
        path: as for ``read``.
        places: the byte at which each line begins, from ``read_with_places``.

    Raises:
        JournalError: the file cannot be read, or its contents have changed.
    """
    try:
        with opened(path) as file:
            for place in sorted(places):
                file.seek(place)
                yield _result(file.readline(MOST_BYTES))
    except (OSError, EOFError, zlib.error) as error:
        raise JournalError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    except (WrongField, NotJson):
        raise JournalError(f"{path} was changed while it was read: read it again when nothing writes to it") from None


def _result(line: bytes) -> CaseResult:
    return written_result(line) or result_of(parse(line, SEVERAL_LINES))


def lines(path: Path, wrong: Callable[[Fault], None], made: Callable[[bytes], Made], start: int = 0) -> Iterator[Made]:
    """Yield the value of ``made`` for each line of a journal that is not a header.

    Args:
        path, wrong, start: as for ``read``.
        made: makes a value from a line, or raises WrongField or NotJson.

    Raises:
        JournalError: as for ``read``.
    """
    return (value for _, value in _placed(path, wrong, made, start))


def _placed(
    path: Path, wrong: Callable[[Fault], None], made: Callable[[bytes], Made], start: int = 0, opened: Opener = opened
) -> Iterator[tuple[int, Made]]:
    """Yield pairs: the byte at which a line begins, and the value of ``lines`` for it."""
    try:
        with opened(path) as file:
            file.seek(start)
            number, place = 0, start
            faults = 0
            while line := file.readline(MOST_BYTES):
                number += 1
                try:
                    if not line.endswith(b"\n"):
                        _pass_over(line, file)
                    if _SCHEMA_KEY in line and _is_header(header := parse(line)):
                        _check_schema(path, header["schema"])
                        continue
                    yield place, made(line)
                except (WrongField, NotJson) as error:
                    faults += 1
                    if faults > MOST_FAULTS:
                        raise JournalError(f"{path} has more than {MOST_FAULTS:,} lines without a result: it is no journal") from None
                    wrong(Fault(path, number, getattr(error, "field", ""), error.problem))
                finally:
                    place = file.tell()
                if place > MOST_IN_ALL:
                    raise JournalError(f"{path} has more than {MOST_IN_ALL >> 30} GiB uncompressed: merge fewer runs")
    except (OSError, EOFError, zlib.error) as error:
        raise JournalError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error


def journal_of(directory: Path) -> Path:
    """Return the file with the results of a run, which may be compressed; if there is none, the name that it would have uncompressed."""
    plain = directory / RESULTS
    packed = plain.with_name(RESULTS + PACKED)
    return packed if packed.is_file() and not plain.is_file() else plain


_SCHEMA_KEY = b'"schema"'
"""A text that is in every header line, and in few other lines."""


def _is_header(record: object) -> bool:
    return isinstance(record, dict) and "schema" in record and "id" not in record


def _check_schema(path: Path, schema: object) -> None:
    """Check that this version of the suite knows the schema of a journal.

    Raises:
        JournalError: this version does not know it.
    """
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise JournalError(
            f"{path} has schema {printable_line(json.dumps(schema))[:_QUOTED]}, "
            f"and this version of the suite reads schemas 1 to {SCHEMA}: use the version of the suite that wrote it, or a later one"
        )


def _has_results(path: Path) -> bool:
    """Tell whether a journal has any line that is not a header. Such a line may be a result."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        while line := file.readline(MOST_BYTES):
            try:
                if not _is_header(parse(line)):
                    return True
            except NotJson:
                return True
    return False


def _pass_over(line: bytes, file: BinaryIO) -> NoReturn:
    """Read to the end of a line that is not whole.

    Raises:
        NotJson: always; it says what is wrong with the line.
    """
    while line and not line.endswith(b"\n"):
        short = len(line) < MOST_BYTES
        if file.tell() > MOST_IN_ALL:
            break
        line = file.readline(MOST_BYTES)
    raise NotJson("the line is cut short" if short and not line else f"the line is longer than {MOST_BYTES:,} bytes")


def mend(path: Path) -> None:
    """Cut off a last line that is not whole, so the next line begins a line. Call it before any writer opens the file."""
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


def claim(directory: Path, option: str = "--report-dir") -> int:
    """Make ``directory`` if it does not exist, and keep other runs out of it as long as the returned descriptor is open.

    Args:
        option: the option that named the directory, for messages.

    Raises:
        JournalError: the directory cannot be made or read, or another run writes to it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise JournalError(f"cannot write the report directory {directory}: {error.strerror}; name another {option}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise JournalError(f"{directory}: another run is writing to it: wait until that has ended, or name another {option}") from None
    except OSError:
        # Some network file systems have no locks: there only one process may report to a directory at a time.
        pass
    return descriptor


WRITERS = f".{RESULTS}.lock"
"""A file that each worker that may write to the journal locks as long as it lives."""

WAIT_SECONDS = 60.0
"""How long the workers of a dead run may take to notice its death."""


def join_writers(directory: Path) -> int | None:
    """Let a later run wait until this process has ended. Return the locked descriptor, or None if the file system has no locks."""
    try:
        descriptor = os.open(directory / WRITERS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        return None
    return descriptor


def await_writers(directory: Path, seconds: float = WAIT_SECONDS) -> None:
    """Wait until no worker of an earlier run can write to the journal: a controller may die before its workers.

    Raises:
        JournalError: a worker still can after ``seconds``.
    """
    try:
        descriptor = os.open(directory / WRITERS, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        end = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    raise JournalError(
                        f"{directory}: a worker of an earlier run is still judging: wait until it has ended, or end it"
                    ) from None
                time.sleep(0.05)
            except OSError:
                return
    finally:
        os.close(descriptor)


def prepare(directory: Path, resume: bool | None) -> Path:
    """Make the report directory ready for a run, begin the run's part of the journal, and return the journal's path.

    Args:
        directory: made if it does not exist.
        resume: whether to continue an existing journal; None for a command that cannot.

    Raises:
        JournalError: the directory cannot be written, or holds the results of another run and ``resume`` is false.
    """
    path = directory / RESULTS
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not resume and _has_results(path):
            rest = "" if resume is None else "add --resume to judge only the rest, or "
            raise JournalError(f"{directory} holds the results of an earlier run: {rest}name another directory")
        await_writers(directory)
        mend(path)
        # Renaming needs the same permissions as the reports at the end, so a run fails now and not after hours.
        probe = directory / f".{RESULTS}.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise JournalError(f"cannot write the report directory {directory}: {error.strerror}; name another directory") from error
    with Journal(path) as journal:
        journal.append_line(encode_object({"schema": SCHEMA}))
    return path


def write_meta(directory: Path, meta: RunRecord) -> None:
    """Write ``meta.json``, whole or not at all."""
    path = directory / META
    try:
        write_text(path, json.dumps(meta, indent=2, ensure_ascii=False, default=str) + "\n")
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}; name another --report-dir") from error


def read_meta(directory: Path, wrong: Callable[[Fault], None] = _ignored) -> RunRecord:
    """Return the contents of ``meta.json``, without the parts that do not fit its schema; empty if there is none.

    Args:
        directory: the report directory.
        wrong: called with each field that does not fit, or if the file exists and holds no object.
    """
    path = directory / META
    try:
        check_regular(path)
        with path.open("rb") as file:
            return meta_in(file.read(MOST_BYTES), path, wrong)
    except FileNotFoundError:
        pass
    except OSError as error:
        wrong(Fault(path, 0, "", f"cannot be read: {error.strerror}"))
    return {}


def meta_in(data: bytes, path: Path, wrong: Callable[[Fault], None] = _ignored) -> RunRecord:
    """Return the contents of a ``meta.json`` with these bytes, as ``read_meta`` does; ``path`` is for messages."""
    try:
        return meta_of(parse(data), lambda error: wrong(Fault(path, 0, error.field, f"{error.problem}; it is left out")))
    except (WrongField, NotJson) as error:
        wrong(Fault(path, 0, getattr(error, "field", ""), error.problem))
    return {}


MetaReader = Callable[[Path, Callable[[Fault], None]], RunRecord]
"""Returns what meta.json has; see read_meta."""


_QUOTED = 300
"""The most characters of a device's or a version's name in a message."""

_SAME = (
    ("device", "device"),
    ("front end", "front_end"),
    ("suite version", "suite_version"),
    ("choice of --validation", "validation"),
    ("--embedded-mapping", "embedded_mapping"),
    ("choice of known failures", "known_failures"),
    ("--shard", "shard"),
)
"""The values that all results of one journal must share: in words, and the key in ``meta.json``."""


def resumed_meta(directory: Path, meta: RunRecord) -> RunRecord:
    """Return the contents of ``directory``'s ``meta.json`` after the run that ``meta`` describes has continued its journal.

    Raises:
        JournalError: the journal would mix results of different devices, front ends or suite versions, or might do so.
    """
    earlier = read_meta(directory)
    if not earlier:
        raise JournalError(f"{directory / META}, which says where the results come from, is missing or damaged: name another --report-dir")
    devices: dict[str, RunRecord | PartRecord] = {_device(one): one for one in (*earlier.get("merged", ()), earlier)}
    for name, key in _SAME:
        was, now = (_device(one) if key == "device" else str(one.get(key, "")) for one in (earlier, meta))
        if key == "device" and now in devices:
            _check_described(directory, devices[now], meta)
            continue
        if was != now:
            raise JournalError(
                f"{directory} holds results of another {name} ({was[:_QUOTED]}; now {now[:_QUOTED]}): "
                "name another --report-dir, or run as before"
            )
    resumption: Resumption = {"command": meta["command"], "started": meta["started"]}
    went_on: RunRecord = {**meta, **earlier, "tier": meta["tier"], "resumed": (*earlier.get("resumed", ()), resumption)}
    went_on.pop("finished", None)
    went_on.pop("stopped", None)
    return went_on


def _device(meta: RunRecord | PartRecord) -> str:
    description = meta.get("device") or {}
    return " ".join(str(description.get(key, "")) for key in ("name", "driver", "uuid", "number")).strip()


def _check_described(directory: Path, earlier: RunRecord | PartRecord, meta: RunRecord) -> None:
    """Check that a device still describes itself as in the journal.

    Raises:
        JournalError: it does not.
    """
    was, now = earlier.get("device") or {}, meta.get("device") or {}
    # Journals of older versions of the suite have no digest.
    if was.get("digest") and was.get("digest") != now.get("digest"):
        raise JournalError(
            f"{directory}: the device no longer describes itself as when its cases were judged: {in_words(differences(was, now))}; "
            "name another --report-dir, or run as before"
        )
