"""Shows how one element of a case was computed: ``cts show CASE --element ROW,COL``."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import asdict

from cts.commands.context import print_json
from cts.element_walk.of_case import lines, subcase_of, suspected, walked
from cts.element_walk.recording import recorded
from cts.element_walk.steps import Place
from cts.engine.plan import checked_settings
from cts.engine.runner import judge
from cts.engine.session import open_holder
from cts.verdict.elements import words
from cts.verdict.failure import UNWRITTEN, Failure
from generators.casebook import Case, CaseKind
from generators.errors import CtsError
from generators.types import COMPONENT_TYPES

_ELEMENT = re.compile(r"(\d+),(\d+)")


def show_element(case: Case, options: argparse.Namespace) -> int:
    """Print how an element was computed, and with a device what came back.

    Raises:
        CtsError: the case has no such element.
    """
    wanted = _ELEMENT.fullmatch(options.element)
    if wanted is None:
        raise CtsError(f"--element {options.element}: give row and column, for example --element 3,5")
    if case.definition.kind is not CaseKind.KERNEL:
        raise CtsError(f"{case.id} runs no shader, so it has no elements")
    row, column = map(int, wanted.groups())
    failure = _failure(case, options) if options.device else None
    program, subcase = subcase_of(case, options.subcase or (failure.subcase if failure else ""))
    instance = options.instance if options.instance is not None else failure.mismatch.instance if failure else 0
    array = options.array or (failure.mismatch.array if failure else recorded(program, subcase)[1].placed[0].array)
    match = suspected(failure.matches) if failure is not None else None
    got = "" if failure is None else _got(failure, instance, row, column)
    found = walked(program, subcase, Place(array, instance, row, column), match, got)
    suspect = match.text if match is not None and found.departure is not None else ""
    if options.json:
        print_json({"case": case.id, "subcase": subcase.name, **asdict(found), "got": got, "suspect": suspect})
        return 0
    print(f"{case.id}\nsubcase {subcase.name}")
    for line in lines(found, got, suspect):
        print(line)
    return 0


def _failure(case: Case, options: argparse.Namespace) -> Failure | None:
    """Run the case, say how it ended, and return its first failure in the wanted subcase and array; None if it does not fail there."""
    of_a_run = ("tier", "validation", "embedded_mapping", "isolation", "step_timeout", "time_limit")
    settings = checked_settings({**vars(options), **dict.fromkeys(of_a_run)})
    holder = open_holder(settings)
    try:
        result = judge(case, holder, settings.front_end, settings.tier)
    finally:
        holder.close()
    print(f"{result.verdict} on {result.device}{': ' if result.reason else ''}{result.reason}", file=sys.stderr)
    names = {options.subcase, subcase_of(case, options.subcase)[1].name} if options.subcase else set()
    fitting = (one for one in result.failures if (not names or one.subcase in names) and options.array in (None, one.mismatch.array))
    return next((one for one in fitting if one.mismatch.matrix is not None), None)


def _got(failure: Failure, instance: int, row: int, column: int) -> str:
    """Return what came back for an element, in words; empty if the result does not tell."""
    mismatch, matrix = failure.mismatch, failure.mismatch.matrix
    for element in mismatch.elements:
        if (element.instance, element.row, element.column) == (instance, row, column):
            return UNWRITTEN if mismatch.kind == UNWRITTEN else element.returned
    if matrix is None or instance != mismatch.instance:
        return ""
    index = row * matrix.shape[1] + column
    return words(int(matrix.got[index], 16), COMPONENT_TYPES[matrix.component]) if index < len(matrix.got) else ""
