"""Which known defects no case of a family shows.

    python -m tests.families.blind_spots [--tier smoke|nightly] [--jobs N] [FAMILY ...]

For each family of kernel cases and each defect of cts/defects that can occur in it, looks for a case whose expected result the defect
changes, and prints the defects for which there is none, with the number of cases in which they can occur and one of them. Defects are
told apart by their words, without names and numbers of values.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path

import numpy as np

import cts.defects
from cts.defects.defect import Defect
from cts.diagnose import gives, known_defects
from cts.expected import Expected
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import CaseKind, Tier, build_program, build_subcases, expand
from generators.errors import GeneratorError
from generators.program.control_flow import flattened
from generators.program.program import Program, Subcase
from tests.families.evidence import BEYOND, casebook, outcome_of
from tests.families.unseen_defects import why_unseen

_MATRIX = re.compile(r"every (\w+ )?matrix|the matrix \(use \w+\)|matrix \w+|all tiles")
_NUMBER = re.compile(r"-?\b\d+\b(?! (?:bits|bytes))")
_WORD = re.compile(r"\w+")
_RESULT = re.compile(r"(the sum|operand C of|_ for) (?!kept|rounded|truncated|over)\w+")
_REPEATED = re.compile(r"_( and|,) _|every _|\bthe _\b")


@cache
def _own_words() -> frozenset[str]:
    """The words of the catalogue itself, some of which are names in some programs."""
    found: set[str] = set()
    for path in Path(cts.defects.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(_WORD.findall(node.value.lower()))
    return frozenset(found)


@dataclass(frozen=True)
class Blind:
    """A defect that no case of ``family`` shows: its ``words``, the ``cases`` in which it can occur, and the first of them."""

    family: str
    words: str
    cases: int
    example: str


def names_of(program: Program) -> frozenset[str]:
    """What the program calls its values, in lower case."""
    operations = flattened(program.operations)
    values = [getattr(operation, field.name) for operation in operations for field in fields(operation)]
    values += [*program.arrays, *program.operands, *program.variables]
    found = {value.name.lower() for value in values if isinstance(getattr(value, "name", None), str)}
    found |= {name.removeprefix("matrix").strip("_") for name in found}
    return frozenset(found - _own_words())


def kind_of(words: str, names: frozenset[str]) -> str:
    """The words of a defect without names of values and without numbers, which differ from program to program; a defect in every
    matrix counts as one in a matrix."""
    words = _MATRIX.sub("_", words)
    words = _WORD.sub(lambda word: "_" if word[0].lower() in names else word[0], words)
    words = _RESULT.sub(r"\1 _", _NUMBER.sub("_", words))
    return _REPEATED.sub("_", words)


Prepared = tuple[Program, Subcase, Expected, dict[str, np.ndarray]]


def _prepared(case, program) -> list[Prepared]:
    found = []
    for one in program.all:
        for subcase in build_subcases(case, one):
            expected = evaluate(one, subcase)
            found.append((one, subcase, expected, initial_contents(one, subcase, expected)))
    return found


def _is_shown(defect: Defect, at: Prepared) -> bool:
    program, subcase, expected, before = at
    try:
        with np.errstate(all="ignore"):
            broken = evaluate(program, subcase, defect.substitutes, beyond=BEYOND)
    except (GeneratorError, LookupError, ValueError):
        return True
    outputs = {**before, **outcome_of(program, broken, before).outputs}
    return not gives(program, expected, before, outputs)


def blind_spots(name: str, tier: Tier) -> list[Blind]:
    """Those of the family ``name`` in ``tier``. A defect that the reference model refuses to evaluate with the data of a case is not one:
    it stores where it must not, or its sums are not exact, which a device would show."""
    shown: set[str] = set()
    hidden: dict[str, Blind] = {}
    for case in expand(casebook().family(name), tier):
        program = build_program(case)
        names = names_of(program)
        prepared: list[Prepared] = []
        for defect in known_defects(program):
            kind = kind_of(defect.words, names)
            if kind in shown or why_unseen(name, kind):
                continue
            prepared = prepared or _prepared(case, program)
            if any(_is_shown(defect, at) for at in prepared):
                shown.add(kind)
                hidden.pop(kind, None)
            else:
                old = hidden.get(kind)
                hidden[kind] = Blind(name, kind, old.cases + 1 if old else 1, old.example if old else case.id)
    return list(hidden.values())


def main() -> int:
    """Searches and prints; 1 if a family is blind for a defect that it must show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="of the cases (default: smoke)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("family", nargs="*", help="only these")
    arguments = parser.parse_args()
    names = arguments.family or [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
    found = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for blind in pool.map(partial(blind_spots, tier=arguments.tier), names):
            for one in blind:
                print(f"{one.family}: {one.words}: {one.cases} cases, the first {one.example}", flush=True)
            found += len(blind)
    print(f"{found} blind spots in {len(names)} families")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
