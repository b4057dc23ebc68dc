"""The placements, and the kinds of defects that each shows: ``generators/placements/kinds.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from generators.document import read_document

FILE = Path(__file__).parents[1] / "placements" / "kinds.yaml"


@dataclass(frozen=True)
class Kinds:
    """What ``kinds.yaml`` declares.

    Attributes:
        shown: placement -> ids of the defects that it shows.
        families: the families that take part.
        unplaced: one case in so many keeps its own addresses.
        most_bytes: maximum size of an array with a wide stride.
    """

    shown: Mapping[str, tuple[str, ...]]
    families: frozenset[str]
    unplaced: int
    most_bytes: int

    @property
    def defects(self) -> tuple[str, ...]:
        """Ids of all these defects."""
        return tuple(id_ for ids in self.shown.values() for id_ in ids)


@cache
def load_kinds() -> Kinds:
    """Return the placements.

    Raises:
        CasebookError: the file is malformed.
    """
    fields = read_document(FILE).fields(("placements", "families", "unplaced", "most_bytes"))
    shown = {
        name: tuple(item.text("the id of a defect") for item in element.items("ids of defects"))
        for name, element in fields["placements"].entries("a mapping from placement to defects").items()
    }
    families = frozenset(item.text("the name of a family") for item in fields["families"].items("names of families"))
    return Kinds(shown, families, fields["unplaced"].integer(2, 100), fields["most_bytes"].integer(1, 1 << 24))
