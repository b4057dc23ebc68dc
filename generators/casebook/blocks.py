"""Blocks of the full tier: groups of cases whose ids begin with the same labels.

The full tier has millions of cases. ``golden/full/<family>.tsv`` names the blocks of a family and counts their cases. With it a run can
count the tier, divide it into shards and start at once: it enumerates only the blocks that it judges. The first line names the outline of
the family (generators.casebook.tiers) for which the cases were counted. Each further line is a block: its count, then the labels that its
cases begin with. Blocks are in the order of the full tier, and together contain all of its cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from generators.casebook.cases import Case, cases_on_row, labelled_rows, product_choices
from generators.casebook.constraints import Row, rows
from generators.casebook.family import Family
from generators.casebook.tiers import home, outline, remedy
from generators.errors import CasebookError

FOLDER = Path("golden", "full")
"""Folder of the files in a checkout."""

MOST = 1000
"""Maximum number of cases in a block, unless no parameter is left to divide them by."""

_OUTLINE = "outline"


@dataclass(frozen=True, slots=True)
class Block:
    """Some cases of the full tier of a family.

    Attributes:
        family: its name.
        labels: the labels of the first parameters, as ``name:label``; empty for the whole family.
        count: number of its cases.
        row: a property row that only a device lists; the block then has all cases on that row, and no other labels.
    """

    family: str
    labels: tuple[str, ...]
    count: int
    row: str = ""

    @property
    def name(self) -> str:
        """Name the block in node ids and messages. The name is the same in every process and is never the id of a case."""
        return f"{self.family}{{{self.row or '/'.join(self.labels)}}}"


def block_file(root: Path, name: str) -> Path:
    """Return the file that pins the blocks of the family ``name`` in the checkout ``root``."""
    return root / FOLDER / f"{name}.tsv"


def divided(family: Family, full: Sequence[Row], most: int = MOST) -> tuple[Block, ...]:
    """Return the blocks of the family.

    Args:
        family: the family.
        full: its cases by label number, in order, each once.
        most: the maximum number of cases in a block.
    """
    return tuple(_divided(family, full, (), most))


def _divided(family: Family, full: Sequence[Row], labels: tuple[str, ...], most: int) -> Iterator[Block]:
    depth = len(labels)
    if len(full) <= most or depth == len(family.parameters):
        yield Block(family.name, labels, len(full))
        return
    parameter = family.parameters[depth]
    for number, part in groupby(full, key=lambda row: row[depth]):
        yield from _divided(family, tuple(part), (*labels, f"{parameter.name}:{parameter.labels[number]}"), most)


def blocks_text(family: Family, blocks: Sequence[Block]) -> str:
    """Return the file that pins ``blocks``."""
    lines = ["# cases\tlabels", f"{_OUTLINE}\t{outline(family)}"]
    return "\n".join([*lines, *(f"{block.count}\t{'/'.join(block.labels)}" for block in blocks)]) + "\n"


@cache
def pinned_blocks(family: Family) -> tuple[Block, ...] | None:
    """Return the pinned blocks of a family; None if there are none.

    Raises:
        CasebookError: they were counted for another outline, or a line is malformed; the message says which command to run.
    """
    path = block_file(home(family), family.name)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        first, tab, rest = line.partition("\t")
        if first == _OUTLINE:
            if rest != outline(family):
                raise CasebookError(
                    f"{path}: parameters, constraints or products of '{family.name}' have changed since its cases were counted: "
                    f"{remedy(family)}"
                )
        elif tab and first.isdecimal():
            found.append(Block(family.name, tuple(rest.split("/")) if rest else (), int(first)))
        else:
            raise CasebookError(f"{path}:{number}: expected a number of cases, and labels: {remedy(family)}")
    return tuple(found)


def block_cases(family: Family, block: Block) -> list[Case]:
    """Return the cases of a block, in the order of the full tier.

    Raises:
        CasebookError: the number of cases differs from the block's count, or the family lacks one of its labels.
    """
    found = cases_on_row(family, block.row) if block.row else _begun(family, block)
    if len(found) != block.count:
        raise CasebookError(f"{family.path}: {block.name} has {len(found)} cases, and {block.count} are pinned: {remedy(family)}")
    return found


def _begun(family: Family, block: Block) -> list[Case]:
    numbers = []
    for parameter, label in zip(family.parameters, block.labels, strict=False):
        name, _, value = label.partition(":")
        if name != parameter.name or value not in parameter.numbers:
            raise CasebookError(f"{family.path}: '{family.name}' has no label '{label}' of parameter '{parameter.name}': {remedy(family)}")
        numbers.append(parameter.numbers[value])
    found: set[Row] = set()
    for product in family.products:
        choices = product_choices(family, product)
        if all(number in choices[place] for place, number in enumerate(numbers)):
            choices[: len(numbers)] = [(number,) for number in numbers]
            found.update(rows(family.rules_of(product), choices))
    return labelled_rows(family, sorted(found))
