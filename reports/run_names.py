"""Short names of runs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cts.printable import printable_line


def run_names(folders: Sequence[str]) -> list[str]:
    """Return a name for each run, without control characters: its folder, with as many parent folders as distinguish the runs, or a number.

    Args:
        folders: the absolute path of the folder of each run.
    """
    parts = [printable_line(folder).split(os.sep) for folder in folders]
    for length in range(1, max(map(len, parts), default=0) + 1):
        found = ["/".join(those[-length:]) for those in parts]
        if len(set(found)) == len(found):
            return found
    return [f"{those[-1]} ({number})" for number, those in enumerate(parts, 1)]
