"""Loads what pages need before their results are known: processes that this one forks then need not load it each for itself."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from cts.defects.known import known_defects
from cts.element_walk.of_case import subcase_of
from cts.element_walk.recording import recorded
from cts.kinds import showing
from generators.casebook import Case, Casebook, CaseKind, expand, load_families
from generators.errors import CtsError
from reports.page_template import compile_templates


def prepare_pages(book: Casebook | None) -> None:
    """Compile the templates, and load all families, and the modules that show a shader and its walk, by showing one of a casebook."""
    compile_templates()
    if book is not None:
        load_families(book)
        family = next((one for one in book if one.kind is CaseKind.KERNEL), None)
        if family is not None:
            with suppress(CtsError):
                _show(expand(family, "smoke")[0])


def _show(case: Case) -> None:
    showing.shown(case, ("glsl", "spirv"))
    program, subcase = subcase_of(case, "")
    recorded(program, subcase)
    deque(known_defects(program), maxlen=0)
