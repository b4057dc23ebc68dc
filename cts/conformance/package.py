"""The archive of a submission: a zip file with a few members, always the same bytes for the same run and the same zlib.

SHA256SUMS has a line for each other member, as ``sha256sum`` writes and checks it.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from cts.conformance.refusal import Check, Refused, refusal
from cts.journal.atomic import check_regular, write_bytes
from cts.journal.journal import META, RESULTS
from generators.errors import CtsError

STATEMENT, SUMS, WAIVERS = "statement.json", "SHA256SUMS", "waivers/"
_ALWAYS = frozenset({STATEMENT, META, RESULTS, SUMS})
WAIVER = re.compile(r"waivers/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}\.yaml")
_MOST_MEMBERS = 100

MOST_BYTES = 1 << 30
"""The most bytes of the journal."""

_MOST_OF_OTHERS = 16 << 20
"""The most bytes of another member: JSON needs up to 25 times its size in memory."""

Members = Mapping[str, bytes]
"""The contents of each member by its name."""


def checksums(members: Members) -> bytes:
    """Return SHA256SUMS for the members; itself, if it is there, is left out."""
    return "".join(f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in sorted(members) if name != SUMS).encode()


def write_package(path: Path, members: Members) -> None:
    """Write an archive.

    Raises:
        CtsError: the file cannot be written.
    """
    contents = BytesIO()
    with zipfile.ZipFile(contents, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name)
            member.compress_type, member.create_system, member.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(member, members[name])
    try:
        write_bytes(path, contents.getvalue())
    except OSError as error:
        raise CtsError(f"cannot write {path}: {error.strerror}; give --to another PACKAGE") from error


def read_package(path: Path) -> Members:
    """Return the members of an archive. Nothing is written to the disk.

    Raises:
        Refused: it is not an archive, or has other members than a package.
        CtsError: the file cannot be read.
    """
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            wrong = sorted({name for name in names if name not in _ALWAYS and not WAIVER.fullmatch(name)} | (_ALWAYS - set(names)))
            if wrong or len(set(names)) != len(names) or len(names) > _MOST_MEMBERS:
                raise Refused(refusal(Check.MEMBERS, ", ".join(map(repr, wrong[:3]))))
            if any(info.file_size > (MOST_BYTES if info.filename == RESULTS else _MOST_OF_OTHERS) for info in infos):
                raise Refused(refusal(Check.SIZE, path.name))
            return {info.filename: _contents(archive, info) for info in infos}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise Refused(refusal(Check.ARCHIVE, path.name, error)) from error
    except OSError as error:
        raise CtsError(f"cannot read {path}: {error.strerror}") from error


def _contents(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member. Its size in the archive's directory may be a lie."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{info.filename} is compressed in another way than a package's members")
    with archive.open(info) as file:
        found = file.read(info.file_size + 1)
    if len(found) != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename} has another size than the archive says")
    return found
