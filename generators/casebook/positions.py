"""The positions that the suite takes where the specifications are ambiguous, from ``cases/positions.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from generators.casebook.requirements import cases_folder
from generators.document import read_document

FILE = "positions.yaml"

_ID = re.compile(r"F-[A-Z0-9]+-[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Position:
    """The suite's answer to a question that the specifications leave open or answer unclearly.

    Attributes:
        id: its id, for example ``F-KHR-3``.
        question: the question that the specifications leave open.
        position: this suite's answer.
        because: the reason; a verdict that depends on the position is disputed here.
    """

    id: str
    question: str
    position: str
    because: str

    @property
    def words(self) -> str:
        """Return the question, answer and reason in one sentence."""
        between = "" if self.question.endswith("?") else ":"
        return f"{self.question}{between} {self.position}, because {self.because}"


def load_positions(root: Path) -> Mapping[str, Position]:
    """Return every position by its id, in file order; none if there is no file.

    Args:
        root: the checkout, or its folder ``cases``.

    Raises:
        CasebookError: the file is malformed.
    """
    path = cases_folder(root) / FILE
    if not path.exists():
        return MappingProxyType({})
    positions: dict[str, Position] = {}
    for id_, element in read_document(path).entries("a mapping from position id to question, position and because").items():
        if not _ID.fullmatch(id_):
            raise element.error(f"'{id_}' is not the id of a position; expected one like F-KHR-3")
        fields = element.fields(("question", "position", "because"))
        question, position, because = (fields[name].text("one line") for name in ("question", "position", "because"))
        positions[id_] = Position(id_, question, position, because)
    return MappingProxyType(positions)
