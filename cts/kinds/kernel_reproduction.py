"""A folder that reproduces a kernel case without the suite: the module, every buffer before and after, and how to connect them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from cts.front_ends import FrontEnd
from cts.journal.atomic import write_text
from cts.kinds.authorities import quoted
from cts.kinds.kernel import Arrangement, arrange, compile_module
from cts.printable import portable_name
from cts.repro import element_sets
from cts.repro.amber import SCRIPT, SUBGROUP_SIZE, amber_script
from cts.repro.c_program import PROGRAM, Run, c_program
from cts.repro.folder import DESCRIPTION, README, heading, writing
from cts.verdict.elements import scatter
from cts.verdict.expected import Expected, Interval, OneOf, ValueSet
from generators.casebook import Case, build
from generators.dispatch import kernel
from generators.errors import Lack, NotExpressible
from generators.glsl.compile import FILE_ENDINGS
from generators.kernel import Kernel, OpaqueSlot, Outcome
from generators.numerics.formats import values
from generators.program.program import Program
from generators.stages import DrawnStage, ShaderObject, Stage
from generators.windows import Windows

_COMMENT_WIDTH = 130
"""The most characters of a line in the program's first comment."""


def write_reproduction(case: Case, folder: Path, front_end: FrontEnd) -> None:
    """Write ``folder``. Create it if it does not exist, and first remove an earlier reproduction in it.

    Raises:
        CtsError: the folder cannot be written, or ``front_end`` is GLSL, which cannot express the case.
    """
    built = build(case)
    program = built.program
    command = f"cts repro '{case.id}' DIR --front-end {front_end} --device DEVICE"
    again = Again(command, "adding the results as `got/`")
    plan = arrange(built)
    write_arrangement(case.id, again, program, plan, folder, front_end, Grounds(rules(case, plan), case.disputed))


def rules(case: Case, plan: Arrangement) -> tuple[str, ...]:
    """Return the requirements and positions on which the expectations of a case depend, with their texts and places, one line each."""
    authorities = dict.fromkeys(placed.expectation.authority for expected in plan.expected for placed in expected.placed)
    lines = [line for one in authorities for line in quoted(one.requirement, tuple(filter(None, (one.position, one.quality))), case)]
    return tuple(dict.fromkeys(lines))


@dataclass(frozen=True)
class Grounds:
    """The grounds of an expectation.

    Attributes:
        rules: requirements and positions with their texts, one line each.
        disputed: ids of the positions without which the text may forbid the module.
    """

    rules: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()


NO_GROUNDS = Grounds()


@dataclass(frozen=True)
class Again:
    """How a reproduction is run with the suite.

    Attributes:
        command: a line of the shell.
        what: the effect of the command, in words that end a sentence.
        found: earlier results, in Markdown; empty if nothing was run.
    """

    command: str
    what: str
    found: str = ""


def write_arrangement(
    id_: str, again: Again, program: Program, plan: Arrangement, folder: Path, front_end: FrontEnd, grounds: Grounds = NO_GROUNDS
) -> None:
    """Write ``folder`` for any dispatches of ``program``.

    Args:
        id_: names the dispatches. It has the form of a case's id, and identifies the folder when it is written again.
        again: how the dispatches are run with the suite.
        grounds: the grounds of the expectations.

    Raises:
        CtsError: see write_reproduction.
    """
    built = kernel(program, compile_module(program, front_end))
    with writing(folder, id_):
        _write_module(folder, program, built)
        for index, name in enumerate(names(plan)):
            _write_subcase(folder / name, kernel(plan.programs[index], built.spirv), plan, index)
        description = describe(id_, built, plan)
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        without = _write_program(id_, grounds, plan, built.spirv, folder)
        amber = _write_script(id_, plan, built.spirv, folder)
        write_text(folder / README, _readme(id_, again, front_end, description, grounds, without, amber))


def _runs(plan: Arrangement, spirv: bytes) -> list[Run]:
    """Return the runs of a program that repeats the case.

    Raises:
        NotExpressible: the case has one submission with several pipelines.
    """
    if plan.programs[0].in_turn:
        raise NotExpressible(Lack.PROGRAM_PIPELINE, "its pipelines run their dispatches in turn, in one submission")
    return [Run(name, kernel(program, spirv), one) for name, program, one in zip(names(plan), plan.programs, plan.dispatches, strict=True)]


def _write_program(id_: str, grounds: Grounds, plan: Arrangement, spirv: bytes, folder: Path) -> str:
    """Write the C program. Return why there is none; empty if there is one."""
    about = [part for line in grounds.rules for part in ("", *wrap(line, _COMMENT_WIDTH))]
    try:
        for name, expected in zip(names(plan), plan.expected, strict=True):
            text = element_sets.HEADING + "".join(f"{line}\n" for line in element_sets.lines(expected))
            (folder / name / "expected" / element_sets.FILE).write_text(text, encoding="utf-8")
        (folder / PROGRAM).write_text(c_program(id_, about, _runs(plan, spirv), grounds.disputed), encoding="utf-8")
    except NotExpressible as why:
        return str(why)
    return ""


def _write_script(id_: str, plan: Arrangement, spirv: bytes, folder: Path) -> str:
    """Write the AmberScript. Return why there is none; empty if there is one."""
    try:
        expected = [element_sets.lines(one) for one in plan.expected]
        (folder / SCRIPT).write_text(amber_script(id_, _runs(plan, spirv), expected), encoding="utf-8")
    except NotExpressible as why:
        return str(why)
    return ""


def names(plan: Arrangement) -> list[str]:
    """Return the folder of each subcase."""
    return [f"{index}-{portable_name(subcase.name)}" for index, subcase in enumerate(plan.subcases)]


def write_outcomes(folder: Path, plan: Arrangement, outcomes: Sequence[Outcome]) -> None:
    """Add the contents of the written buffers after a run on a device."""
    for name, outcome in zip(names(plan), outcomes, strict=False):
        place = folder / name / "got"
        place.mkdir(parents=True, exist_ok=True)
        for buffer, contents in outcome.outputs.items():
            (place / f"{buffer}.bin").write_bytes(contents.tobytes())


def _write_module(folder: Path, program: Program, built: Kernel) -> None:
    from generators.glsl.emit import emit
    from generators.spirv.disassemble import disassemble

    (folder / "module.spv").write_bytes(built.spirv)
    (folder / "module.spvasm").write_text(disassemble(built.spirv), encoding="utf-8")
    shader = folder / f"shader.{FILE_ENDINGS[program.shape.stage]}"
    try:
        shader.write_text(emit(program), encoding="utf-8")
    except NotExpressible as error:
        (folder / "no-shader.txt").write_text(f"GLSL cannot express this case: {error}\n", encoding="utf-8")


def _write_subcase(folder: Path, built: Kernel, plan: Arrangement, index: int) -> None:
    for part in ("before", "expected"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for slot, contents in zip(built.buffers, plan.dispatches[index].contents, strict=True):
        (folder / "before" / f"{slot.name}.bin").write_bytes(contents.tobytes())
    for name, contents in after(plan.expected[index], plan.before[index]).items():
        if any(slot.name == name and slot.written for slot in built.buffers):
            (folder / "expected" / f"{name}.bin").write_bytes(contents.tobytes())
    with (folder / "expected" / "elements.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(
            ("array", "what", "instance", "row", "column", "byte", "kind", "type", "bits", "value", "others", "low", "high", "nan")
        )
        table.writerows(_elements(plan.expected[index]))


def after(expected: Expected, before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the contents of each array after the run if every element has the first of its allowed values."""
    contents = {name: array.copy() for name, array in before.items()}
    for placed in expected.placed:
        scatter(contents[placed.array], placed.offsets, placed.expected.bits)
    return contents


def _elements(expected: Expected) -> Iterator[tuple[object, ...]]:
    for placed in expected.placed:
        allowed = placed.permitted
        digits = 2 * allowed.component.bytes
        numbers = values(allowed.bits, allowed.component)
        nan = allowed.any_nan
        further = allowed.choices[1:] if isinstance(allowed, OneOf) else ()
        for at in np.ndindex(*allowed.bits.shape):
            others = " ".join(f"0x{int(other[at]):0{digits}x}" for other in further)
            low, high = _bounds(allowed, at)
            yield (
                placed.array,
                placed.what,
                *placed.cell((at[0], at[1], at[2])),
                int(placed.offsets[at]),
                allowed.KIND,
                allowed.component.name,
                f"0x{int(allowed.bits[at]):0{digits}x}",
                numbers[at],
                others,
                low,
                high,
                "any NaN" if nan[at] else "",
            )


def _bounds(allowed: ValueSet, at: tuple[int, ...]) -> tuple[object, object]:
    return (float(allowed.low[at]), float(allowed.high[at])) if isinstance(allowed, Interval) else ("", "")


def describe(id_: str, built: Kernel, plan: Arrangement) -> dict[str, Any]:
    """Describe how to create the pipeline, connect it and dispatch it.

    File names are relative to the folder. A dispatch of another pipeline of the module has its own ``pipeline``.
    """
    return {
        "case": id_,
        "module": "module.spv",
        "entry_point": built.entry_point,
        **_pipeline(built),
        **({"submission": _IN_TURN} if plan.programs[0].in_turn else {}),
        "dispatches": [
            {
                "subcase": subcase.name,
                "operands": dict(subcase.operands),
                "workgroups": list(one.workgroups),
                "push_constants": one.push_constants.hex(),
                "before": {slot.name: f"{name}/before/{slot.name}.bin" for slot in built.buffers},
                "expected": {slot.name: f"{name}/expected/{slot.name}.bin" for slot in built.buffers if slot.written},
                "allowed": f"{name}/expected/elements.csv",
            }
            | ({"pipeline": _pipeline(kernel(program, built.spirv))} if program is not plan.programs[0] else {})
            for subcase, one, name, program in zip(plan.subcases, plan.dispatches, names(plan), plan.programs, strict=True)
        ],
    }


def _pipeline(built: Kernel) -> dict[str, Any]:
    """Describe how to create and connect one pipeline."""
    return {
        **_invocations(built),
        "specialization": [
            {
                "constant_id": constant.constant_id,
                "type": constant.component.name,
                "bytes": constant.component.bytes,
                "value": constant.value,
            }
            for constant in built.specialization
        ],
        "robust_buffer_access_2": built.robust,
        "push_constant_bytes": built.push_constant_bytes,
        "buffers": [
            {
                "name": slot.name,
                "bytes": slot.bytes,
                "written": slot.written,
                "descriptor_set": None if slot.binding is None else 0,
                "binding": slot.binding,
                "array_element": slot.element,
                "device_address_at_push_constant_byte": slot.address_offset,
                **({} if slot.opaque is None else {"matrices": _matrices(slot.opaque)}),
                **({} if slot.windows is None else {"windows": _windows(slot.windows)}),
            }
            for slot in built.buffers
        ],
        **({"spare_descriptors": built.spare_descriptors} if built.spare_descriptors else {}),
        **({} if built.shader_object is None else {"shader_object": _SHADER_OBJECTS[built.shader_object]}),
        **(
            {"pipeline_cache": "make the pipeline a second time, with a cache that has the first one's data, and run that"}
            if built.pipeline_cache
            else {}
        ),
    }


def _invocations(built: Kernel) -> dict[str, Any]:
    """Describe how many invocations run, and in which stage."""
    if built.draw is not None:
        return {"draw": {"how": _DRAWS[built.draw.stage], **asdict(built.draw)}}
    return {
        "local_size": {
            "constant_id": built.local_size_constant_id,
            "x": f"{built.subgroups} * subgroup size of the pipeline (require full subgroups, unless stated otherwise)"
            if built.invocations is None
            else f"{built.invocations}",
            "subgroups": built.subgroups,
            "required_subgroup_size": built.required_subgroup_size,
            "require_full_subgroups": built.full_subgroups is not False,
        }
    }


_IN_TURN = "record the first dispatch of each pipeline, then the second of each, and so on in one command buffer; submit it once"

_SHADER_OBJECTS: Mapping[ShaderObject, str] = {
    "spirv": "make a shader object instead of the pipeline (vkCreateShadersEXT), and bind that",
    "binary": "make a shader object and, from its binary code (vkGetShaderBinaryDataEXT), another one; bind that instead of a pipeline",
    "in_turn": "also make a shader object; bind it for the first dispatch, the pipeline for the second, and so on in one command buffer",
}

_DRAWS: Mapping[DrawnStage, str] = {
    "fragment": "draw one triangle that covers a viewport of this size, in a render pass without attachments",
    "vertex": "draw a list of this many points with rasterizerDiscardEnable",
    "raygen": "trace this many rays (vkCmdTraceRaysKHR) with a pipeline whose only shader is the ray generation shader",
}


def _windows(windows: Windows) -> dict[str, Any]:
    """Describe how to fill a large buffer. Its files have its windows one after the other."""
    return {
        "how": "make a buffer of this size; copy each window of the file to its place before the dispatch, and back after it",
        "buffer_bytes": windows.span,
        "parts": [{"first": part.first, "bytes": part.bytes} for part in windows.parts],
    }


def _matrices(opaque: OpaqueSlot) -> dict[str, Any]:
    """Describe how to fill a buffer of matrices in a layout that the device decides; the files have them row-major and without padding."""
    return {
        "how": "convert each matrix by vkConvertCooperativeVectorMatrixNV before the dispatch, and back after it",
        "component": opaque.component.name,
        "rows": opaque.rows,
        "columns": opaque.columns,
        "layout": opaque.layout.name,
        "count": opaque.count,
        "pitch_at_push_constant_byte": opaque.pitch_offset,
    }


_README = """{heading}

## What must happen

{rules}

## Run it

{program}
With the suite, on any device, {again_what}:

    {again}

## What is here

| file | contents |
|---|---|
| `{shader}` | the shader in GLSL; missing if GLSL cannot express it |
| `module.spv`, `module.spvasm` | the module that runs, from the front end {front_end}; and its disassembly |
| `N-NAME/before/` | the contents of each buffer before dispatch N; bytes that no store covers are poison, and must not change |
| `N-NAME/expected/elements.txt` | the permitted values of each element after it; `elements.csv` has the same in columns, and
`*.bin` has one allowed result |
| `kernel.json` | how to {make} and connect it, for a program of your own |

| subcase | operands | workgroups |
|---|---|---|
"""

_PROGRAM = """`repro.c` needs a C compiler, Vulkan's headers and its loader. It prints the wrong elements, with their permitted and
received values; its last line is the verdict. It ends with 0 if all is right, 1 if not, 2 if it cannot run, and 77 if no device
supports the shader.

    cc -o repro repro.c -lvulkan -lm && ./repro
"""

_NO_PROGRAM = """There is no `repro.c`: {without}. `kernel.json` says how to write one.
"""

_SCRIPT = f"""
`repro.amber` has the same for Amber, for subgroups of {SUBGROUP_SIZE}: its constants are in the module. It checks elements, but not stray
writes. Amber must enable the features that `repro.c` enables.
"""

_NO_SCRIPT = """
Amber cannot express the case: {amber}.
"""

_LISTED_SUBCASES = 8
"""The most subcases in the README, which should fit on a screen."""


def _readme(id_: str, again: Again, front_end: FrontEnd, description: dict[str, Any], grounds: Grounds, without: str, amber: str) -> str:
    stage: Stage = description["draw"]["stage"] if "draw" in description else "compute"
    text = _README.format(
        heading=heading(id_),
        rules="\n".join(f"* {line}" for line in grounds.rules) or "Every element must be as `expected/` says.",
        program=(_NO_PROGRAM.format(without=without) if without else _PROGRAM) + (_NO_SCRIPT.format(amber=amber) if amber else _SCRIPT),
        again=again.command,
        again_what=again.what,
        front_end=front_end,
        shader=f"shader.{FILE_ENDINGS[stage]}",
        make="create the pipeline" if stage == "compute" else f"create the pipeline, whose {stage} stage the module is,",
    )
    dispatches = description["dispatches"]
    for one in dispatches[:_LISTED_SUBCASES]:
        operands = ", ".join(f"{name} = {value}" for name, value in one["operands"].items()) or "none"
        text += f"| {one['subcase']} | {operands} | {'x'.join(str(n) for n in one['workgroups'])} |\n"
    if len(dispatches) > _LISTED_SUBCASES:
        text += f"\n{len(dispatches) - _LISTED_SUBCASES} more are in `kernel.json`.\n"
    return f"{text}\n{again.found}" if again.found else text
