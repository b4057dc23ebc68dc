"""Shows one case: its parameters and requirements, and on demand its shader, its inputs and its expected results."""

from __future__ import annotations

import argparse

from cts.commands.context import casebook, print_json
from cts.kinds.table import KINDS
from generators.casebook import find_case

NAME = "show"
HELP = "show one case"

_SECTIONS = ("glsl", "spirv", "inputs", "expected")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("case", metavar="CASE", help="id, as pytest prints it (quote it for the shell)")
    parser.add_argument("--glsl", action="store_true", help="the shader in GLSL")
    parser.add_argument("--spirv", action="store_true", help="the disassembly of the module that the suite assembles")
    parser.add_argument("--inputs", action="store_true", help="operands and input data of every subcase")
    parser.add_argument("--expected", action="store_true", help="the permitted contents of memory after every subcase")
    parser.add_argument("--json", action="store_true", help="print one object")


def run(options: argparse.Namespace) -> int:
    """Print the case."""
    case = find_case(casebook(options), options.case)
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
