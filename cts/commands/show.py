"""Shows one case: its parameters and requirements, and on demand its shader, its inputs and its expected results."""

from __future__ import annotations

import argparse

from cts.commands.context import print_json, root
from cts.commands.options import add
from cts.kinds.showing import lines, shown
from generators.casebook import load_case

_SECTIONS = ("glsl", "spirv", "inputs", "expected")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "case")
    parser.add_argument("--glsl", action="store_true", help="the shader in GLSL")
    parser.add_argument("--spirv", action="store_true", help="the disassembly of the module that the suite assembles")
    parser.add_argument("--inputs", action="store_true", help="operands and input data of every subcase")
    parser.add_argument("--expected", action="store_true", help="the permitted contents of memory after every subcase")
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Print the case."""
    case = load_case(root(options), options.case)
    details = shown(case, [name for name in _SECTIONS if getattr(options, name)])
    if options.json:
        head = {"id": case.id, "family": case.family, "parameters": case.named, "requirements": case.requirements}
        print_json(head | details)
        return 0
    print(case.id)
    print("  " + ", ".join(f"{name}:{label}" for name, label in case.named.items()))
    print("  covers " + ", ".join(case.requirements))
    for line in lines(case, details):
        print(line)
    return 0
