"""Pictures of cases, and the pages that show them.

A page has ``<!-- picture: FILE.svg CASE -->`` before each picture of ``docs/pictures/``; ``cts pages`` draws them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cts.pictures.drawing import NotDrawable, draw
from cts.pictures.tracing import tensor_maps
from generators.casebook import Case, CaseKind, build

_SHOWN = re.compile(r"<!-- picture: (?P<file>[\w-]+\.svg) (?P<case>\S+) -->")


def picture_of_case(case: Case, access: int = 0, instance: int = 0) -> str:
    """Draw the picture of one tensor load or store of a case's first subcase: an SVG document.

    Args:
        case: the case.
        access: number of the load or store, in the order in which they run.
        instance: number of the scope instance.

    Raises:
        CtsError: there is no such load, store or scope instance, or the tensor is too large.
    """
    if case.definition.kind is not CaseKind.KERNEL:
        raise NotDrawable("shader", f"{case.id} runs no shader; choose a case that loads or stores by tensor addressing")
    built = build(case)
    program = built.program
    if not 0 <= instance < program.instances:
        raise NotDrawable("instance", f"{case.id} has {program.instances} scope instances; --instance counts from 0")
    found = tensor_maps(program, built.subcases()[0], instance)
    if not found:
        raise NotDrawable("tensor", f"{case.id} addresses no tensor; choose a case that does, for example one of tensor_view")
    if not 0 <= access < len(found):
        raise NotDrawable("access", f"{case.id} has {len(found)} tensor loads and stores; --access counts from 0")
    return draw(found[access])


def shown_pictures(page: str) -> Mapping[str, str]:
    """Return the case of each picture that a page shows, by file name."""
    return {match["file"]: match["case"] for match in _SHOWN.finditer(page)}
