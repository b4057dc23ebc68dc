"""Shows one case: its parameters and requirements, and on demand its shader, its inputs and its expected results. Shows a family: its plan
and the labels of its parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from textwrap import fill, indent

from cts.commands.context import casebook, print_json, root
from cts.commands.options import add
from cts.kinds.showing import lines, shown
from generators.casebook import Family, load_case
from generators.casebook.parameters import Parameter
from generators.errors import CtsError

_SECTIONS = ("glsl", "spirv", "inputs", "expected")
_OF_ELEMENTS = ("subcase", "instance", "array", "device", "front_end")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "case", "id, as 'cts list' prints it (quote it for the shell), or the name of a family")
    parser.add_argument("--glsl", action="store_true", help="the shader in GLSL")
    parser.add_argument("--spirv", action="store_true", help="the disassembly of the module that the suite assembles")
    parser.add_argument("--inputs", action="store_true", help="operands and input data of every subcase")
    parser.add_argument("--expected", action="store_true", help="the permitted contents of memory after every subcase")
    element = parser.add_argument_group("one element, followed back from its store to the bytes that it was made from")
    element.add_argument("--element", metavar="ROW,COL", help="the element of a matrix that a subcase stores")
    element.add_argument("--subcase", metavar="N", help="number or name of the subcase (default: the first, or the first that fails)")
    element.add_argument(
        "--instance", metavar="N", type=int, help="number of the scope instance or invocation (default: 0, or the first wrong one)"
    )
    element.add_argument("--array", metavar="NAME", help="the array that holds it (default: the first that the subcase writes)")
    add(parser, "--device", "run the case on this device, and show what came back and the first step that the suspected defect changes")
    add(
        parser, "--front-end", "which module the device runs: spirv (assembled by the suite) or glsl (compiled by glslang) (default: spirv)"
    )
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Print the case or the family."""
    given = [f"--{name.replace('_', '-')}" for name in _OF_ELEMENTS if getattr(options, name) is not None]
    if given and options.element is None:
        raise CtsError(f"{', '.join(given)} is about one element: add --element ROW,COL")
    if options.element is None and "[" not in options.case and (family := casebook(options).families.get(options.case)) is not None:
        _show_family(family, options.json)
        return 0
    case = load_case(root(options), options.case)
    if options.element is not None:
        from cts.commands.show_element import show_element

        return show_element(case, options)
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
