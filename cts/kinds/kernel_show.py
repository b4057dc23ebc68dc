"""The output of ``cts show`` for a kernel case."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from cts.kinds.kind import Json
from cts.verdict.expected import Exact, Expected, Interval
from generators.casebook import Case, build
from generators.errors import NotExpressible
from generators.numerics.formats import values
from generators.program.program import Program, Subcase
from generators.types import ComponentType


def show(case: Case, wanted: Collection[str]) -> Json:
    """Show the case's arrays and policy, and the requested parts."""
    built = build(case)
    program = built.program
    shown: Json = {
        "arrays": [
            {"name": a.name, "pointee": str(a.pointee), "length": a.count, "storage": a.storage.value, "role": a.role}
            for a in program.arrays
        ]
    }
    if program.others:
        shown["pipelines"] = [one.label for one in program.all]
    if program.policy:
        shown["policy"] = program.policy
    if "glsl" in wanted:
        shown["glsl"] = glsl(program)
    if "spirv" in wanted:
        from cts.kinds.kernel import compile_module
        from generators.spirv.disassemble import disassemble

        shown["spirv"] = disassemble(compile_module(program, "spirv"))
    if "inputs" in wanted or "expected" in wanted:
        from cts.kinds.kernel import arrange

        plan = arrange(built)
        if "inputs" in wanted:
            shown["inputs"] = [_inputs(one, subcase) for one, subcase in zip(plan.programs, plan.subcases, strict=True)]
        if "expected" in wanted:
            shown["expected"] = [_expected(subcase, want) for subcase, want in zip(plan.subcases, plan.expected, strict=True)]
    return shown


def glsl(program: Program) -> str:
    """Return the shader, or a comment that says why GLSL cannot express it."""
    from generators.glsl.emit import emit

    try:
        return emit(program)
    except NotExpressible as error:
        return f"// GLSL cannot express: {error}\n"


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
        allowed = placed.expected
        store: Json = {"array": placed.array, "what": placed.what, "kind": allowed.KIND, "component": allowed.component.name}
        store["values"] = _numbers(allowed.bits, allowed.component)
        if isinstance(allowed, Interval):
            store["low"], store["high"] = allowed.low.tolist(), allowed.high.tolist()
        if isinstance(allowed, Exact) and allowed.proof is not None:
            margin = float(allowed.proof.margin_bits.min())
            store["proof"] = str(allowed.proof)
            store["accumulation_bits"], store["margin_bits"] = allowed.proof.precision, margin if np.isfinite(margin) else None
        store["authority"] = str(placed.expectation.authority)
        stores.append(store)
    return {"subcase": subcase.name, "notes": list(want.notes), "stores": stores}


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of ``show``, for people."""
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
