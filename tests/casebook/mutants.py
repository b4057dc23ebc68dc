"""Makes random changes to YAML of every kind that users write, and to case lists.

python -m tests.casebook.mutants --count 3000 --seed 1
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cts.embedded.profile import PROFILES, load_profile
from cts.engine.case_list import read_case_list
from generators.bug_classes import load_bug_classes
from generators.casebook import load_casebook, load_family
from generators.casebook.positions import load_positions
from generators.casebook.requirements import load_requirements
from tests import mutants
from tests.mutants import Seed

ROOT = Path(__file__).resolve().parents[2]

LAUGHS = (
    b"&a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]"
)

TOKENS = (
    *(
        b"&a ",
        b"*a",
        b"- ",
        b": ",
        b"[",
        b"]",
        b"{",
        b"}",
        b"? ",
        b"!!int ",
        b"!!set ",
        b"!!binary ",
        b"!!python/name:os.system ",
        b"<<: *a",
    ),
    *(b"|\n", b"---\n", b"...\n", b"%YAML 9.9\n", b"\t", b"\x00", b"\x1b[2J", b"\xff", b"\xed\xa0\x80", b'"\\uD800"', b"# ", b"'", b'"'),
    *(b"null", b"true", b".nan", b"-.inf", b"1e999", b"0x" + b"f" * 400, b"9" * 6000, b"-1", b"[" * 5000, b"x" * 100_000, b"\n\n"),
    *(b"all", b"family: x\n", b"parameters: {}\n", b"..", b"/dev/zero", b"other.txt\n", LAUGHS, LAUGHS.replace(b"*c", b"*d")),
)


def seeds() -> Sequence[Seed]:
    """Return the files of the suite."""
    book, positions = load_casebook(ROOT), load_positions(ROOT)

    def read_bug_classes(path: Path) -> object:
        # The file must be next to the families that it names.
        original = book.root
        (path.parents[1] / "tests").symlink_to(ROOT / "tests")
        try:
            object.__setattr__(book, "root", path.parent)
            return load_bug_classes(book)
        finally:
            object.__setattr__(book, "root", original)

    def read_family(path: Path) -> object:
        return load_family(path, book.requirements, positions)

    def data(path: Path) -> bytes:
        return path.read_bytes()

    cases = ROOT / "cases"
    families = sorted(path for path in cases.glob("*/*.yaml") if path.parent.name != "requirements")
    ids = b"".join(f"{name}[x]\n".encode() for name in book.families)
    return (
        *(Seed(f"cases/{path.parent.name}/{path.name}", data(path), read_family) for path in families),
        *(Seed(path.name, data(path), lambda path: load_profile.__wrapped__(str(path))) for path in sorted(PROFILES.glob("*.yaml"))),
        *(
            Seed(f"cases/requirements/{path.name}", data(path), lambda path: load_requirements(path.parents[2]))
            for path in sorted((cases / "requirements").glob("*.yaml"))
        ),
        Seed("cases/positions.yaml", data(cases / "positions.yaml"), lambda path: load_positions(path.parents[1])),
        Seed("cases/bug_classes.yaml", data(cases / "bug_classes.yaml"), read_bug_classes),
        Seed("list.txt", b"# a list\n" + ids, read_case_list),
    )


if __name__ == "__main__":
    sys.exit(mutants.main("Makes the suite read YAML with random changes.", seeds(), TOKENS))
