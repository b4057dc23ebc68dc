"""Waivers: known failures of a driver on which a conformance package may rest.

An entry of a file of known failures is a waiver if it names the first and the last version of the driver that have it, a public reference
and its last day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cts.conformance.package import WAIVER, WAIVERS, Members
from cts.conformance.refusal import Check, Refusal, refusal
from cts.conformance.suite import Suite
from cts.verdict.failure_lists import ListError
from cts.verdict.known_failures import FOLDER, NONE_KNOWN, File, KnownFailure, KnownFailures, known_failures, load_file, with_files
from generators.errors import CasebookError

_PUBLIC = re.compile(r"https://[\w-]+(\.[\w-]+)+/\S+")


@dataclass(frozen=True)
class Waiver:
    """A known failure that owed cases showed.

    Attributes:
        id: the id of the entry.
        entry: the entry; None if no file has it.
        file: the file that has the entry.
        cases: the owed cases that ended as it says.
    """

    id: str
    entry: KnownFailure | None
    file: File | None
    cases: tuple[str, ...]

    @property
    def record(self) -> dict[str, Any]:
        """Return the waiver for the statement."""
        facts = {"id": self.id, "cases": len(self.cases)}
        if self.entry is None or self.file is None:
            return facts
        bounds = {name: ".".join(map(str, getattr(self.entry, name))) for name in ("since", "until")}
        about = {"what": self.entry.what, "reference": self.entry.link, "expires": self.entry.expires}
        return facts | {"file": self.file.path.name} | bounds | about

    def refusals(self, driver: str, day: str) -> Iterator[Refusal]:
        """Yield why a package may not rest on it.

        Args:
            driver: the driver's name and version, as in results.
            day: the day on which the run ended, as ``2027-03-31``.
        """
        if self.entry is None or self.file is None:
            yield refusal(Check.NO_ENTRY, self.id)
            return
        version = self.file.version(driver)
        if not (version and self.entry.since and self.entry.until and self.entry.concerns(version)):
            yield refusal(Check.DRIVER, self.id)
        if not _PUBLIC.fullmatch(self.entry.link):
            yield refusal(Check.REFERENCE, self.id)
        if not day or self.entry.expires < day:
            yield refusal(Check.EXPIRED, self.id)


@dataclass(frozen=True)
class Files:
    """The files of known failures that a run used.

    Attributes:
        known: what they say of the driver.
        files: their entries, of all versions of the driver.
    """

    known: KnownFailures = NONE_KNOWN
    files: tuple[File, ...] = ()

    def waivers(self, shown: Mapping[str, Sequence[str]]) -> list[Waiver]:
        """Return the waivers of a run; ``shown`` has the owed cases by the id of the known failure that they showed."""
        entries = {entry.id: (entry, file) for file in self.files for entry in file.entries}
        found = ((id_, *(entries.get(id_) or (None, None)), tuple(cases)) for id_, cases in sorted(shown.items()))
        return [Waiver(*one) for one in found]


def files_of(suite: Suite, names: Iterable[str], driver: str, members: Members) -> Files:
    """Return the files that a run used: the suite's own for the driver, and further ones in the package.

    Args:
        names: the names of the files, from ``meta.json``.

    Raises:
        CasebookError, ListError: a file is missing or one too many, or is malformed.
    """
    golden = known_failures(suite.root, suite.casebook, driver)
    given = {name.removeprefix(WAIVERS): contents for name, contents in members.items() if name.startswith(WAIVERS)}
    if wrong := [name for name in given if not WAIVER.fullmatch(WAIVERS + name)]:
        raise ListError(
            f"a package has no file of the name {wrong[0]!r}: rename it to letters and digits with .yaml at the end, and run again"
        )
    wanted = list(names)
    own = golden.file if golden.file in wanted else ""
    if sorted(given) != sorted(name for name in wanted if name != own):
        raise ListError(f"the run used the files {', '.join(wanted) or 'none'}, and the package has {', '.join(given) or 'none'}")
    known = golden if own else NONE_KNOWN
    files = [load_file(suite.root / FOLDER / own, suite.casebook)] if own else []
    with TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in wanted if name != own]
        for path in paths:
            path.write_bytes(given[path.name])
        known = with_files(known, paths, suite.casebook, driver)
        files += [load_file(path, suite.casebook) for path in paths]
    return Files(known, tuple(files))


UNUSABLE = (CasebookError, ListError, OSError)
"""The errors of ``files_of``."""
