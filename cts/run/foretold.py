"""Which cases of a run get no item of their own, since their device is known not to support them."""

from __future__ import annotations

from collections.abc import Mapping

from cts.kinds.foretelling import Foreteller
from cts.run.selection import Selection
from cts.run.session import Settings


def foretold(selection: Selection, settings: Settings) -> Mapping[str, bytes]:
    """Return, for each family, whether each of its cases is known not to be supported (1) or not (0), in the order of ``selection``.

    One process finds out, and tells the others.
    """
    foreteller = Foreteller(settings.spec, settings.description, settings.front_end)
    return {family.name: bytes(foreteller.missing(case) is not None for case in selection.cases(family)) for family in selection.casebook}
