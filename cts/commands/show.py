"""Shows one case: its axis values, what it covers, and on demand its shader, its inputs and what is expected of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from cts.commands.context import casebook, print_json
from cts.elements import values
from cts.expected import Expected
from cts.runner import arrange, compile_module
from generators.casebook import build_program, find_case
from generators.errors import NotExpressible
from generators.program.program import Program, Subcase
from generators.types import ComponentType

NAME = "show"
HELP = "show one case"

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("case", metavar="CASE", help="id, as pytest prints it (quote it for the shell)")
    parser.add_argument("--glsl", action="store_true", help="the shader in GLSL")
    parser.add_argument("--spirv", action="store_true", help="the disassembly of the module that the suite assembles")
    parser.add_argument("--inputs", action="store_true", help="operands and input data of every subcase")
    parser.add_argument("--expected", action="store_true", help="what every subcase may leave in memory")
    parser.add_argument("--json", action="store_true", help="one object")


def run(options: argparse.Namespace) -> int:
    """Prints the case."""
    case = find_case(casebook(options), options.case)
    family = case.definition
    program = build_program(case)
    shown: Json = {
        "id": case.id,
        "family": family.name,
        "values": dict(case.values),
        "covers": list(family.covers),
        "arrays": [
            {"name": a.name, "pointee": str(a.pointee), "length": a.count, "storage": a.storage.value, "role": a.role}
            for a in program.arrays
        ],
    }
    if program.others:
        shown["pipelines"] = [one.label for one in program.all]
    if program.policy:
        shown["policy"] = program.policy
    if options.glsl:
        shown["glsl"] = glsl(program)
    if options.spirv:
        from generators.spirv.disassemble import disassemble

        shown["spirv"] = disassemble(compile_module(program, "spirv"))
    if options.inputs or options.expected:
        plan = arrange(case, program)
        if options.inputs:
            shown["inputs"] = [_inputs(one, subcase) for one, subcase in zip(plan.programs, plan.subcases, strict=True)]
        if options.expected:
            shown["expected"] = [_expected(subcase, want) for subcase, want in zip(plan.subcases, plan.expected, strict=True)]
    if options.json:
        print_json(shown)
    else:
        for line in _lines(shown):
            print(line)
    return 0


def glsl(program: Program) -> str:
    """The shader, or a comment that says why GLSL cannot say it."""
    from generators.glsl.emit import emit

    try:
        return emit(program)
    except NotExpressible as error:
        return f"// GLSL cannot say: {error}\n"


def _numbers(data: np.ndarray, component: ComponentType) -> list[Any]:
    numbers: list[Any] = values(data, component).tolist()
    return numbers


def _inputs(program: Program, subcase: Subcase) -> Json:
    arrays = {}
    for name, data in subcase.inputs.items():
        component = program.array(name).pointee.component
        arrays[name] = _numbers(data.view(component.bits_dtype), component)
    return {"subcase": subcase.name, "operands": dict(subcase.operands), "properties": dict(subcase.properties), "arrays": arrays}


def _expected(subcase: Subcase, want: Expected) -> Json:
    stores = []
    for placed in want.placed:
        allowed = placed.allowed
        store: Json = {"array": placed.array, "what": placed.what, "kind": allowed.kind, "component": allowed.component.name}
        store["values"] = _numbers(allowed.bits, allowed.component)
        if allowed.low is not None and allowed.high is not None:
            store["low"], store["high"] = allowed.low.tolist(), allowed.high.tolist()
        if allowed.proof is not None:
            margin = float(allowed.proof.margin_bits.min())
            store["proof"] = str(allowed.proof)
            store["accumulation_bits"], store["margin_bits"] = allowed.proof.precision, margin if np.isfinite(margin) else None
        stores.append(store)
    return {"subcase": subcase.name, "notes": list(want.notes), "stores": stores}


def _lines(shown: Json) -> Iterator[str]:
    yield shown["id"]
    yield "  " + ", ".join(f"{axis} {value}" for axis, value in shown["values"].items())
    yield "  covers " + ", ".join(shown["covers"])
    if "pipelines" in shown:
        yield "  one module, a pipeline each for " + "; ".join(shown["pipelines"])
    if "policy" in shown:
        yield f"  policy: {shown['policy']}"
    for array in shown["arrays"]:
        yield f"  {array['role']:8s} {array['name']}: {array['length']} x {array['pointee']} in {array['storage']}"
    for name in ("glsl", "spirv"):
        if name in shown:
            yield ""
            yield from shown[name].splitlines()
    for subcase in shown.get("inputs", ()):
        yield f"\ninputs of subcase {subcase['subcase']}: {subcase['operands'] or 'no operands'} {subcase['properties'] or ''}".rstrip()
        for name, numbers in subcase["arrays"].items():
            yield f"  {name}: {' '.join(f'{number:g}' for number in numbers)}"
    for subcase in shown.get("expected", ()):
        yield f"\nexpected of subcase {subcase['subcase']}"
        for store in subcase["stores"]:
            yield f"  {store['what']} in {store['array']} ({store['kind']}, {store['component']}):"
            if "proof" in store:
                yield f"   {store['proof']}"
            for instance, matrix in enumerate(store["values"]):
                yield f"   instance {instance}"
                for row in matrix:
                    yield "    " + " ".join(f"{number:g}" for number in row)
