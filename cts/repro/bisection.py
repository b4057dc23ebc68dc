"""The script of a folder that ``git bisect run`` calls for each commit of a driver."""

from __future__ import annotations

from pathlib import Path

from cts.repro.program_files import COMPILE, PROGRAM, template

BISECTION = "bisect.sh"


def write_bisection(folder: Path, id_: str) -> None:
    """Write the script beside the C program of a folder, executable.

    Raises:
        OSError: it cannot be written.
    """
    loops = "--loop" in (folder / PROGRAM).read_text(encoding="utf-8")
    script = folder / BISECTION
    script.write_text(template("bisect.sh.jinja").render(id=id_, loops=loops, compile=COMPILE), encoding="utf-8")
    script.chmod(0o755)
