"""The folder that ``cts repro`` writes: the common parts of all kinds of cases."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cts.devices.device import DeviceDescription
from cts.journal.atomic import write_text
from cts.journal.record import encode
from cts.printable import printable_path
from cts.repro.bisection import BISECTION, named, write_bisection
from cts.repro.program_files import PROGRAM
from cts.verdict.failure import explanations
from cts.verdict.verdict import CaseResult
from generators.errors import CannotWrite

README = "README.md"
DESCRIPTION = "kernel.json"
CONVERSIONS = "conversions.json"
RESULT = "result.json"
BLAME = "blame.json"

_SHADERS = ("shader.comp", "shader.frag", "shader.vert")
_FILES = (
    DESCRIPTION,
    CONVERSIONS,
    RESULT,
    BLAME,
    "module.spv",
    "module.spvasm",
    *_SHADERS,
    "no-shader.txt",
    PROGRAM,
    "repro",
    BISECTION,
    "repro.amber",
)
_TOLD_LINES, _TOLD_ELEMENTS = 12, 4
"""The most lines of a message, and the most wrong elements, in the README, which should fit on a screen."""

_SUBCASE = re.compile(r"\d+-")
_HEADING = re.compile(r"# \w+\[.*\]")


@contextmanager
def writing(folder: Path, case_id: str) -> Iterator[None]:
    """Make ``folder`` for the block to write into. First remove an earlier reproduction there, of any kind of case.

    The folder has a README.md with the heading from the start, so a folder whose writing was interrupted is still a reproduction.

    Raises:
        CannotWrite: the folder or, in the block, a file cannot be written; or the folder is a link, or holds something else.
    """
    try:
        if folder.is_symlink():
            raise CannotWrite(f"{printable_path(folder)} is a symbolic link; name the folder itself")
        folder.mkdir(parents=True, exist_ok=True)
        if not _clear(folder) and any(folder.iterdir()):
            raise CannotWrite(f"{printable_path(folder)} is not empty and holds no earlier reproduction; name another folder")
        write_text(folder / README, f"{heading(case_id)}\n")
        yield
        if (folder / PROGRAM).is_file():
            write_bisection(folder, case_id)
    except OSError as error:
        raise CannotWrite(f"cannot write {folder}: {error.strerror}; name another folder") from error


def heading(case_id: str) -> str:
    """Return the first line of README.md, which identifies a reproduction."""
    return f"# {case_id}"


def add_result(folder: Path, result: CaseResult) -> None:
    """Add a result to the folder, and its description to the README, after the heading.

    Raises:
        CannotWrite: a file cannot be written.
    """
    _add(folder, RESULT, json.dumps(json.loads(encode(result)), indent=2), f"## What happened\n\n{_told(result)}")


def add_device(folder: Path, device: DeviceDescription) -> None:
    """Make the folder run its program on a Vulkan device: ``bisect.sh``, and a command in the README, after the heading.

    Do nothing for other devices, and if the folder has no program.

    Raises:
        CannotWrite: a file cannot be written.
    """
    if device.kind != "vulkan" or device.modelled or not (folder / PROGRAM).is_file():
        return
    try:
        readme = folder / README
        first, _, rest = readme.read_text(encoding="utf-8").partition("\n")
        write_bisection(folder, first.removeprefix(heading("")), device)
        where = f"{device.name}, {device.driver}, UUID {device.uuid}"
        command = f"./repro --only {shlex.quote(named(device))}"
        write_text(readme, f"{first}\n\n## On the same device\n\n{where}:\n\n    {command}\n{rest}")
    except OSError as error:
        raise CannotWrite(f"cannot write {folder}: {error.strerror}; name another folder") from error


def add_blame(folder: Path, evidence: str, section: str) -> None:
    """Add evidence of whose fault the failure is: as JSON, and a section of the README, after the heading.

    Raises:
        CannotWrite: a file cannot be written.
    """
    _add(folder, BLAME, evidence, f"{section}\nAll of it is in `{BLAME}`.\n")


def _add(folder: Path, file: str, document: str, section: str) -> None:
    try:
        (folder / file).write_text(f"{document}\n", encoding="utf-8")
        readme = folder / README
        first, _, rest = readme.read_text(encoding="utf-8").partition("\n")
        write_text(readme, f"{first}\n\n{section}{rest}")
    except OSError as error:
        raise CannotWrite(f"cannot write {folder}: {error.strerror}; name another folder") from error


def _told(result: CaseResult) -> str:
    """Return the result in Markdown."""
    code = f" ({result.code})" if result.code else ""
    head = f"**{result.verdict}**{code} on {result.device}, {result.driver}, with the front end {result.front_end}."
    if result.failures:
        first = result.failures[0]
        mismatch = first.mismatch
        lines = [f"subcase {first.subcase}: {mismatch.summary}"]
        lines += [
            f"  ({one.row}, {one.column}) at byte {one.offset}: {one.described(mismatch.kind)}"
            for one in mismatch.elements[:_TOLD_ELEMENTS]
        ]
        lines += [f"  matches: {sentence}" for sentence in explanations(first.matches)]
    else:
        lines = (result.message or result.reason).splitlines()[:_TOLD_LINES]
    shown = "".join(f"    {line}\n" for line in lines)
    return f"{head}\n\n{shown}\nAll of it is in `{RESULT}`.\n" if lines else f"{head}\n"


def _clear(folder: Path) -> bool:
    """Remove an earlier reproduction from ``folder``, except its README.md. Return whether there is one.

    Links are removed, not followed.
    """
    readme = folder / README
    if not readme.is_file() or not _HEADING.fullmatch(readme.read_text(encoding="utf-8", errors="replace").partition("\n")[0]):
        return False
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink() and _SUBCASE.match(entry.name):
            shutil.rmtree(entry)
        elif entry.name in _FILES or _SUBCASE.match(entry.name):
            entry.unlink()
    return True
