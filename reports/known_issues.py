"""Details of a driver's known failures beyond the journal's sentence: versions, evidence, references."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cts.verdict.known_failures import KnownFailure, load_files
from generators.casebook import Casebook
from generators.errors import CtsError


def known_issues(ids: Collection[str], drivers: Collection[str], book: Casebook | None) -> Mapping[str, KnownFailure]:
    """Return the entries of ``golden/known_failures`` with these ids, by id. A report works without them, so unreadable entries are left
    out.

    Args:
        ids: ids of known failures in results.
        drivers: names and versions of the judged drivers; entries of other drivers are ignored.
        book: the casebook of the checkout with the entries; None if there is none.
    """
    if book is None or not ids:
        return {}
    try:
        files = load_files(book.root.parent, book)
    except CtsError:
        return {}
    concerned = [file for file in files.values() if any(file.version(driver) is not None for driver in drivers)]
    return {entry.id: entry for file in concerned for entry in file.entries if entry.id in ids}


def versions(entry: KnownFailure) -> str:
    """Return the versions of the driver that have a known failure, for people."""
    since, until = (".".join(map(str, version)) for version in (entry.since, entry.until))
    if since and until:
        return f"versions {since} to {until}"
    if since:
        return f"since version {since}"
    return f"until version {until}" if until else "every version so far"
