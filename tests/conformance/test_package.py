"""The archive: the same bytes for the same members, and nothing in it that no package has."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from cts.cli import main
from cts.commands import submit, verify
from cts.conformance.package import MOST_BYTES, STATEMENT, SUMS, checksums, read_package, write_package
from cts.conformance.refusal import Refused
from cts.conformance.suite import Suite, is_same_version
from cts.journal.journal import META, RESULTS
from generators.errors import CtsError
from tests.conformance.forging import WAIVERS, Forgery

MEMBERS = {STATEMENT: b"{}", META: b"{}", RESULTS: b"", SUMS: b""}


class Interrupted(dict[str, bytes]):
    """Members of which the last cannot be read."""

    def __getitem__(self, name: str) -> bytes:
        if name == max(self):
            raise KeyboardInterrupt
        return super().__getitem__(name)


def refused(path: Path) -> str:
    with pytest.raises(Refused) as caught:
        read_package(path)
    return caught.value.refusal.id


def test_an_archive_has_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("one.zip", "other.zip"):
        write_package(tmp_path / name, dict(reversed(MEMBERS.items())) if name == "other.zip" else MEMBERS)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()
    assert read_package(tmp_path / "one.zip") == MEMBERS


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "waivers/../../x.yaml", "waivers/.x.yaml", "C:\\x.yaml", "notes.txt"])
def test_a_member_with_a_name_that_no_package_has(tmp_path: Path, name: str) -> None:
    write_package(tmp_path / "p.zip", {**MEMBERS, name: b""})
    assert refused(tmp_path / "p.zip") == "package.members"


@pytest.mark.parametrize("name", MEMBERS)
def test_a_missing_member(tmp_path: Path, name: str) -> None:
    write_package(tmp_path / "p.zip", {one: contents for one, contents in MEMBERS.items() if one != name})
    assert refused(tmp_path / "p.zip") == "package.members"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    write_package(tmp_path / "p.zip", MEMBERS)
    with zipfile.ZipFile(tmp_path / "p.zip", "a") as archive:
        archive.writestr(RESULTS, b"other")
    assert refused(tmp_path / "p.zip") == "package.members"


def test_a_member_that_claims_to_be_huge(tmp_path: Path) -> None:
    write_package(tmp_path / "p.zip", MEMBERS)
    contents = bytearray((tmp_path / "p.zip").read_bytes())
    place = contents.rindex(b"PK\x01\x02")
    contents[place + 24 : place + 28] = MOST_BYTES.to_bytes(4, "little")
    (tmp_path / "p.zip").write_bytes(contents)
    assert refused(tmp_path / "p.zip") in {"package.size", "package.archive"}


def test_a_member_that_is_larger_than_the_archive_says(tmp_path: Path) -> None:
    write_package(tmp_path / "p.zip", {**MEMBERS, STATEMENT: b"0" * 1000})
    contents = bytearray((tmp_path / "p.zip").read_bytes())
    place = contents.rindex(b"PK\x01\x02")
    contents[place + 24 : place + 28] = (10).to_bytes(4, "little")
    (tmp_path / "p.zip").write_bytes(contents)
    assert refused(tmp_path / "p.zip") == "package.archive"


def test_a_description_that_fills_memory_when_it_is_read(tmp_path: Path) -> None:
    write_package(tmp_path / "p.zip", {**MEMBERS, META: b"[" * (17 << 20)})
    assert refused(tmp_path / "p.zip") == "package.size"


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_compressed_in_another_way(tmp_path: Path, compression: int) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w", compression) as archive:
        for name, contents in MEMBERS.items():
            archive.writestr(name, contents)
    contents = (tmp_path / "p.zip").read_bytes()
    (tmp_path / "p.zip").write_bytes(contents.replace(b"{}", b"[]"))
    assert refused(tmp_path / "p.zip") == "package.archive"


def test_a_package_that_cannot_be_written_whole_leaves_the_old_one(tmp_path: Path) -> None:
    write_package(tmp_path / "p.zip", MEMBERS)
    before = (tmp_path / "p.zip").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_package(tmp_path / "p.zip", Interrupted(MEMBERS))
    assert (tmp_path / "p.zip").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["p.zip"]


@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_file_that_is_no_archive(tmp_path: Path, keep: int) -> None:
    write_package(tmp_path / "p.zip", MEMBERS)
    (tmp_path / "p.zip").write_bytes((tmp_path / "p.zip").read_bytes()[:keep])
    assert refused(tmp_path / "p.zip") == "package.archive"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.zip")
    with pytest.raises(CtsError):
        read_package(tmp_path / "p.zip")


def test_checksums_are_those_of_sha256sum() -> None:
    assert checksums({"b": b"", "a": b"x", SUMS: b"old"}).splitlines() == [
        b"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a",
        b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b",
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.1.0+1a2b3c4d", "0.1.0+1a2b3c4", True),
        ("0.1.0+1a2b3c4d", "0.1.0+1a2b3c5", False),
        ("0.1.0", "0.1.0+1a2b3c4", False),
        ("0.1.0", "0.1.0", True),
        ("0.1.0+1a2b3c4", "0.2.0+1a2b3c4", False),
        ("0.1.0+1", "0.1.0+1a2b3c4d", False),
        ("0.1.0+1a2b3c4d-dirty.", "0.1.0+1a2b3c4d", False),
    ],
)
def test_versions_of_one_commit_are_the_same(one: str, other: str, same: bool) -> None:
    assert is_same_version(one, other) is same


@pytest.fixture
def clean(folder: Path, suite: Suite, package: Forgery, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the report directory of the run as a clean checkout wrote it, which is also the one that checks."""
    for module in (submit, verify):
        monkeypatch.setattr(module, "this_suite", lambda root: suite)
    monkeypatch.chdir(folder)
    (tmp_path / META).write_bytes(package.members[META])
    (tmp_path / RESULTS).write_bytes((folder / "out" / RESULTS).read_bytes())
    return tmp_path


def test_a_submission_is_made_and_verified(clean: Path, package: Forgery, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["submit", str(clean), "--waivers", WAIVERS[1], "--to"]
    assert main([*arguments, str(clean / "one.zip")]) == 0
    assert main([*arguments, str(clean / "other.zip")]) == 0
    assert (clean / "one.zip").read_bytes() == (clean / "other.zip").read_bytes()
    assert read_package(clean / "one.zip") == package.members
    assert main(["verify", str(clean / "one.zip")]) == 0
    assert "https://example.org/issues/1" in capsys.readouterr().out


def test_a_run_that_is_not_whole_makes_no_package(clean: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (clean / RESULTS).read_bytes().splitlines(keepends=True)
    (clean / RESULTS).write_bytes(b"".join(lines[:-1]))
    assert main(["submit", str(clean), "--to", str(clean / "p.zip")]) == 1
    said = capsys.readouterr().err
    assert "case.missing" in said
    assert "waiver.files" in said
    assert not (clean / "p.zip").exists()


@pytest.mark.parametrize("name", ["my list.yaml", "list.yml"])
def test_a_waiver_with_a_name_that_no_package_has(clean: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (clean / META).write_text((clean / META).read_text(encoding="utf-8").replace(WAIVERS[1], name), encoding="utf-8")
    (clean / name).write_text(WAIVERS[0], encoding="utf-8")
    assert main(["submit", str(clean), "--to", str(clean / "p.zip"), "--waivers", str(clean / name)]) == 1
    assert "waiver.files" in capsys.readouterr().err


def test_a_forged_package_ends_with_1_and_no_package_with_2(clean: Path, package: Forgery, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(clean / "p.zip", {**package.members, SUMS: b""})
    assert main(["verify", str(clean / "p.zip"), "--json"]) == 1
    assert '"id": "package.checksum"' in capsys.readouterr().out
    assert main(["verify", str(clean / "absent.zip")]) == 2
