"""Pinned facts of GLSL: which cases of each family it cannot express, and why.

To find them, every program of the nightly tier is printed. ``golden/glsl.tsv`` keeps them with a digest of the family's pinned cases and of
the sources that print programs. They are found again only when that digest changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import generators
from generators.casebook import Casebook, CaseKind, Family, Tier, find_case
from generators.casebook.tiers import pinned_file
from generators.digests import digest
from generators.glsl_coverage import FamilyInGlsl, Refusal, glsl_coverage

FILE = Path("golden", "glsl.tsv")
"""In a checkout. A line for each family: name, digest, cases, cases in GLSL; then a line for each reason: nothing, reason, cases, example,
component types."""

_SOURCES = ("glsl_coverage.py", "glsl/**/*.py", "program/**/*.py")


def current(root: Path, casebook: Casebook, anew: bool = False) -> tuple[FamilyInGlsl, ...]:
    """Return the GLSL coverage of the nightly tier: pinned facts, and what has changed since.

    Args:
        root: the checkout.
        casebook: its families.
        anew: whether to find all facts, also those that are pinned.
    """
    pinned = {} if anew else _pinned(root, casebook)
    return tuple(pinned.get((family.name, key)) or glsl_coverage([family], Tier.NIGHTLY)[0] for family, key in _keys(root, casebook))


def text(root: Path, casebook: Casebook, found: Sequence[FamilyInGlsl]) -> str:
    """Return the text of the file."""
    keys = {family.name: key for family, key in _keys(root, casebook)}
    lines = []
    for one in found:
        if one.family.kind is CaseKind.KERNEL:
            lines.append("\t".join((one.family.name, keys[one.family.name], str(one.cases), str(one.said))))
            lines += ["\t".join(("", why.reason, str(why.cases), why.example.id, ",".join(why.types))) for why in one.refusals]
    return "".join(f"{line}\n" for line in ("# written by 'cts pages'", *lines))


def _keys(root: Path, casebook: Casebook) -> Iterator[tuple[Family, str]]:
    """Yield each family with the digest of what its facts follow from."""
    folder = Path(generators.__file__).parent
    sources = digest(path.read_bytes() for pattern in _SOURCES for path in sorted(folder.glob(pattern)))
    for family in casebook:
        path = pinned_file(root, family.name)
        yield family, digest((sources.encode(), path.read_bytes() if path.exists() else b""))


def _pinned(root: Path, casebook: Casebook) -> dict[tuple[str, str], FamilyInGlsl]:
    """Return the pinned facts, by family and digest."""
    found: dict[tuple[str, str], FamilyInGlsl] = {}
    path, keys = root / FILE, {family.name: key for family, key in _keys(root, casebook)}
    last = ("", "")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        first, *words = line.split("\t")
        if first in casebook.families:
            last = (first, words[0])
            found[last] = FamilyInGlsl(casebook.families[first], int(words[1]), int(words[2]), ())
        elif not first and last in found and keys[last[0]] == last[1]:
            reason, cases, example, types = words
            why = Refusal(reason, int(cases), find_case(casebook, example), tuple(filter(None, types.split(","))))
            one = found[last]
            found[last] = FamilyInGlsl(one.family, one.cases, one.said, (*one.refusals, why))
    return found
