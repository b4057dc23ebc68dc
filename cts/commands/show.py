"""Shows one case: its parameters and requirements, and on demand its shader, its inputs and its expected results. Shows a family: its plan
and the labels of its parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from textwrap import fill, indent

from cts.commands.context import casebook, print_json
from cts.kinds.table import KINDS
from generators.casebook import Family, find_case
from generators.casebook.parameters import Parameter

NAME = "show"
HELP = "show one case, or one family"

_SECTIONS = ("glsl", "spirv", "inputs", "expected")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("case", metavar="CASE", help="id, as pytest prints it (quote it for the shell), or the name of a family")
    parser.add_argument("--glsl", action="store_true", help="the shader in GLSL")
    parser.add_argument("--spirv", action="store_true", help="the disassembly of the module that the suite assembles")
    parser.add_argument("--inputs", action="store_true", help="operands and input data of every subcase")
    parser.add_argument("--expected", action="store_true", help="the permitted contents of memory after every subcase")
    parser.add_argument("--json", action="store_true", help="print one object")


def run(options: argparse.Namespace) -> int:
    """Print the case or the family."""
    book = casebook(options)
    if options.case in book.families:
        _show_family(book.families[options.case], options.json)
        return 0
    case = find_case(book, options.case)
    family = case.definition
    kind = KINDS[family.kind]
    details = kind.show(case, [name for name in _SECTIONS if getattr(options, name)])
    if options.json:
        head = {"id": case.id, "family": family.name, "parameters": case.named, "requirements": case.requirements}
        print_json(head | details)
        return 0
    print(case.id)
    print("  " + ", ".join(f"{name}:{label}" for name, label in case.named.items()))
    print("  covers " + ", ".join(case.requirements))
    for line in kind.lines(details):
        print(line)
    return 0


def _show_family(family: Family, as_json: bool) -> None:
    parts = {"parameters": family.parameters, "subcases": family.subcase_parameters}
    if as_json:
        described = {name: [_described(one) for one in parameters] for name, parameters in parts.items()}
        print_json({"family": family.name, "specification": family.specification, "plan": family.plan} | described)
        return
    print(f"{family.name}: {family.specification}\n\n{indent(family.plan, '  ')}")
    for name, parameters in parts.items():
        if parameters:
            print(f"\n{name}:")
        for one in parameters:
            print("\n".join(_lines(one)))


def _described(parameter: Parameter) -> dict[str, object]:
    return {"name": parameter.name, "means": parameter.declaration.means, "labels": parameter.labels, "default": parameter.default}


def _lines(parameter: Parameter) -> Iterator[str]:
    default = f" (default: {parameter.default})" if parameter.default is not None else ""
    yield f"  {parameter.name}: {parameter.declaration.means}{default}"
    yield fill(", ".join(parameter.labels), 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
