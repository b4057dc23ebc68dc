"""The must-pass lists: the cases that a device owes, pinned for each version of the suite in ``golden/must_pass/<version>.txt``.

A device owes the cases of the nightly tier, except those that no specification binds it to pass (cts.kinds.kernel_digests.only_positions)
and those that validators judge. The file has a line for each family, with a digest of the family's lines in ``golden/tiers``, and a line
for each case that is left out. Cases on rows that only the device has are in no file: they take the pinned cases of a listed row, and each
is owed unless only positions decide it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cts.checkout import suite_version
from cts.kinds.kernel_digests import only_positions
from generators.casebook import Case, Casebook, CaseKind, Family, Tier, expand
from generators.casebook.tiers import home, pinned_digests
from generators.digests import digest
from generators.errors import CasebookError

FOLDER = Path("golden", "must_pass")
_HEAD = (
    "# specification, family, cases that a device owes, digest of their lines in golden/tiers; then '-', a case that it does not owe, why"
)
_LEFT_OUT = "-"


@dataclass(frozen=True)
class FamilyOwed:
    """The cases of a family that a device owes.

    Attributes:
        specification: the specification of the family.
        count: how many cases of the nightly tier it owes.
        digest: a digest of their ids and pinned digests.
        left_out: id of each other case of the nightly tier -> the positions that alone decide it, or ``policy``.
    """

    specification: str
    count: int
    digest: str
    left_out: Mapping[str, str] = field(default_factory=dict)

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the file for the family of that name."""
        yield "\t".join((self.specification, name, str(self.count), self.digest))
        yield from ("\t".join((_LEFT_OUT, id_, why)) for id_, why in self.left_out.items())


def must_pass_file(root: Path) -> Path:
    """Return the file of this version of the suite in a checkout."""
    return root / FOLDER / f"{suite_version().partition('+')[0]}.txt"


def is_owed(family: Family) -> bool:
    """Tell whether a device owes cases of a family: validators judge static rules."""
    return family.kind is not CaseKind.STATIC


def owed_of(family: Family, digests: Mapping[str, Sequence[str]], positions: Mapping[str, Collection[str]]) -> FamilyOwed:
    """Return what a device owes of a family.

    Args:
        family: the family.
        digests: id of each case of the nightly tier -> its digests.
        positions: id of a case -> what ``only_positions`` returns for it; cases with none may be missing.
    """
    left_out = {id_: ",".join(why) for id_ in digests if (why := positions.get(id_))}
    owed = [id_ for id_ in digests if id_ not in left_out]
    parts = ("\t".join((id_, *digests[id_])).encode() for id_ in owed)
    return FamilyOwed(family.specification, len(owed), digest(parts), left_out)


def read_must_pass(path: Path) -> dict[str, FamilyOwed]:
    """Return what a file pins, by family; nothing if it does not exist.

    Raises:
        CasebookError: a line is malformed.
    """
    found: dict[str, FamilyOwed] = {}
    left_out: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else (), 1):
        match line.split("\t"):
            case [_, id_, why] if line.startswith(f"{_LEFT_OUT}\t"):
                left_out[id_] = why
            case [specification, name, count, digest_] if count.isdecimal():
                left_out = {}
                found[name] = FamilyOwed(specification, int(count), digest_, left_out)
            case _ if not line.startswith("#"):
                raise CasebookError(f"{path}:{number}: expected four words, or '-', a case and why: write it with 'cts golden --update'")
    return found


def write_must_pass(path: Path, families: Iterable[tuple[str, FamilyOwed]]) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([_HEAD, *(line for name, owed in families for line in owed.lines(name))]) + "\n", encoding="utf-8")


@cache
def _pinned(root: Path) -> Mapping[str, FamilyOwed]:
    return read_must_pass(must_pass_file(root))


def check_must_pass(casebook: Casebook) -> None:
    """Check that the must-pass list is of the pinned tiers.

    Raises:
        CasebookError: a family is missing, or its cases have changed.
    """
    for family in filter(is_owed, casebook):
        pinned = _pinned(home(family)).get(family.name)
        if pinned != (now := owed_of(family, pinned_digests(family), {id_: (why,) for id_, why in left_out(family).items()})):
            raise CasebookError(
                f"{must_pass_file(home(family))}: '{family.name}' has {now.count} cases other than the pinned ones: "
                f"run 'cts golden --update --family {family.name}'"
            )


def left_out(family: Family) -> Mapping[str, str]:
    """Return the pinned cases of a family that a device does not owe, with the positions that alone decide each."""
    pinned = _pinned(home(family)).get(family.name)
    return {} if pinned is None else pinned.left_out


def cases_of(family: Family, rows: Sequence[str]) -> list[Case]:
    """Return the cases of a conformance run: the nightly tier, with rows that only the device has.

    Args:
        family: the family.
        rows: the rows of the device, from cts.engine.selection.device_rows.
    """
    return expand(family, Tier.NIGHTLY, rows)


def why_not_owed(case: Case) -> str:
    """Return why a device does not owe a case of ``cases_of``: the positions that alone decide it, ``policy``, or ``validator``.

    The text is empty if it owes the case.
    """
    family = case.definition
    if not is_owed(family):
        return "validator"
    if case.id in pinned_digests(family):
        return left_out(family).get(case.id, "")
    return ",".join(only_positions(case))
