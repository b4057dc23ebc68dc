"""Joins the report directories of all shards of one run to the directory of a whole run, which can be reported and resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from cts.journal.journal import JournalError, journal_of, opened, prepare, read, read_meta, write_meta
from cts.journal.record import MOST_BYTES
from cts.journal.run_record import PartRecord, RunRecord
from generators.digests import digest
from generators.errors import CtsError

SAME = ("suite_version", "tier", "front_end", "validation", "embedded_mapping", "known_failures", "selection", "repeat", "rounds")
"""Keys of ``meta.json`` that all shards of a run have in common."""


class MergeError(CtsError):
    """Directories are not the shards of one run.

    Attributes:
        code: ``merge.not_a_shard``, ``merge.foreign.KEY`` with a key of ``meta.json``, ``merge.missing_shard``,
            ``merge.doubled_shard``, ``merge.doubled_case``, or ``merge.no_shards``.
        shards: the numbers of missing or doubled shards, or of the first foreign shard.
        directories: the wrong directories.
    """

    def __init__(self, code: str, message: str, shards: Sequence[int] = (), directories: Sequence[Path] = ()) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.shards = tuple(shards)
        self.directories = tuple(directories)


@dataclass(frozen=True)
class ShardFolder:
    """A report directory of one shard.

    Attributes:
        number, count: the number of the shard, and how many shards there are.
        meta: the ``meta.json`` of its run.
    """

    directory: Path
    number: int
    count: int
    meta: RunRecord


def merge(directories: Sequence[Path], to: Path) -> RunRecord:
    """Join shards, and return the contents of ``meta.json`` for the whole run. If a shard did not finish, the whole run has no end.

    Args:
        directories: report directories, in any order.
        to: directory for journal and meta; made if it does not exist.

    Raises:
        MergeError: they are not all shards of one run, each once.
        JournalError: a journal cannot be read, or ``to`` cannot be written or holds another run's results.
    """
    shards = checked(directories)
    _check_cases(shards)
    path = prepare(to, resume=False)
    try:
        with path.open("ab") as file:
            for shard in shards:
                _copy(journal_of(shard.directory), file)
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}; free some space, or name another --out") from error
    meta = whole([shard.meta for shard in shards])
    write_meta(to, meta)
    return meta


def checked(directories: Sequence[Path]) -> list[ShardFolder]:
    """Return the shards of one run, by number.

    Raises:
        MergeError: the directories are not the shards of one run.
    """
    if not directories:
        raise MergeError("merge.no_shards", "nothing to merge: name the report directories of all shards")
    shards = sorted((_shard(directory) for directory in directories), key=lambda shard: shard.number)
    first = shards[0]
    for shard in shards[1:]:
        _check_same(first, shard)
    numbers = [shard.number for shard in shards]
    if doubled := sorted({number for number in numbers if numbers.count(number) > 1}):
        where = [shard.directory for shard in shards if shard.number in doubled]
        raise MergeError(
            "merge.doubled_shard", f"shard {_named(doubled, first.count)} is given twice: {_listed(where)}: leave one out", doubled, where
        )
    if missing := [number for number in range(1, first.count + 1) if number not in numbers]:
        raise MergeError(
            "merge.missing_shard", f"shard {_named(missing, first.count)} is missing: judge it, or name its report directory", missing
        )
    return shards


def _shard(directory: Path) -> ShardFolder:
    meta = read_meta(directory)
    number, _, count = meta.get("shard", "").partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)) or not journal_of(directory).is_file():
        raise MergeError(
            "merge.not_a_shard",
            f"{directory} is not the report directory of a shard: name the DIR of a run with --shard K/N --report-dir DIR",
            directories=[directory],
        )
    return ShardFolder(directory, int(number), int(count), meta)


def _check_same(first: ShardFolder, other: ShardFolder) -> None:
    """Check that two shards belong to one run. Their devices may be different ones of one model: name and driver are equal."""

    def facts(shard: ShardFolder) -> Iterator[tuple[str, str]]:
        device = shard.meta.get("device") or {}
        yield "device", f"{device.get('name', '')}, {device.get('driver', '')}"
        yield from ((key, str(shard.meta.get(key, ""))) for key in SAME)
        yield "shard", f"one of {shard.count}"

    for (key, was), (_, found) in zip(facts(first), facts(other), strict=True):
        if was != found:
            raise MergeError(
                f"merge.foreign.{key}",
                f"{other.directory} is a shard of a different run from {first.directory}: {key.replace('_', ' ')} is "
                f"{found or 'unknown'} there, and {was or 'unknown'} here",
                [other.number],
                [other.directory],
            )


def _check_cases(shards: Sequence[ShardFolder]) -> None:
    """Check that no two shards have judged the same case."""
    seen: dict[str, int] = {}
    for shard in shards:
        for result in read(journal_of(shard.directory)):
            # The ids of millions of cases would fill the memory.
            before = seen.setdefault(digest([result.id.encode("utf-8", "replace")]), shard.number)
            if before != shard.number:
                where = [one.directory for one in shards if one.number in (before, shard.number)]
                raise MergeError(
                    "merge.doubled_case",
                    f"{result.id} was judged in {_listed(where)}: they are not shards of one selection, so judge them again",
                    [before, shard.number],
                    where,
                )


def _copy(path: Path, to: BinaryIO) -> None:
    """Copy the lines of a journal. If its last line was cut short, end it, so the next journal begins a new line."""
    with opened(path) as file:
        line = b"\n"
        while line:
            last, line = line, file.readline(MOST_BYTES)
            to.write(line)
        if not last.endswith(b"\n"):
            to.write(b"\n")


def whole(metas: Sequence[RunRecord]) -> RunRecord:
    """Return the description of the whole run, from its shards in order."""
    first = metas[0]
    parts = tuple(cast(PartRecord, {key: meta[key] for key in PartRecord.__annotations__ if key in meta}) for meta in metas)  # type: ignore[literal-required]
    merged: RunRecord = {**first, "merged": parts, "findings": tuple(one for meta in metas for one in meta.get("findings", ()))}
    for key in ("shard", "finished", "stopped", "resumed", "seconds", "selected"):
        merged.pop(key, None)  # type: ignore[misc]
    merged["started"] = min(meta.get("started", "") for meta in metas)
    merged["selected"] = sum(int(meta.get("selected") or 0) for meta in metas)
    if all("finished" in meta for meta in metas):
        merged["finished"] = max(meta["finished"] for meta in metas)
    if stopped := "; ".join(text for meta in metas if (text := meta.get("stopped", ""))):
        merged["stopped"] = stopped
    return merged


def _named(numbers: Sequence[int], count: int) -> str:
    return ", ".join(f"{number}/{count}" for number in numbers)


def _listed(directories: Sequence[Path]) -> str:
    return ", ".join(map(str, directories))
