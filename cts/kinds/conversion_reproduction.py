"""Folders that reproduce a conversion case: the matrices, the fields of each conversion, the permitted results, and a C program."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from cts.front_ends import FrontEnd
from cts.journal.atomic import write_text
from cts.kinds.conversion import MATRIX, expected_at, given, sizes
from cts.kinds.kind import Json
from cts.reference.layout_conversion import evaluate
from cts.repro import element_sets
from cts.repro.conversion_program import conversion_program
from cts.repro.folder import CONVERSIONS, README, heading, writing
from cts.repro.program_files import PROGRAM
from cts.verdict.elements import scatter
from cts.verdict.expected import Expected
from cts.verdict.poison import background
from generators.casebook import Case, build_conversion
from generators.layout_conversion import COMMANDS, LayoutConversion, MatrixForm


def write_conversion(case: Case, folder: Path, front_end: FrontEnd) -> None:  # noqa: ARG001 (there is no shader)
    """Write the given matrices, the fields of each conversion, and the expected matrices of each form that everyone can read.

    Raises:
        CtsError: the folder cannot be written.
    """
    conversion = build_conversion(case)
    elements = evaluate(conversion)
    description = {
        "case": case.id,
        "matrices": conversion.count,
        "capacity": conversion.capacity,
        "between": conversion.between,
        "steps": [_fields_of_step(conversion, *at) for at in enumerate(pairwise(conversion.forms))],
    }
    text = f"{heading(case.id)}\n\n{_README}\n\n    cts repro '{case.id}' DIR --device DEVICE\n"
    with writing(folder, case.id):
        for number, matrix in enumerate(given(conversion)):
            _write(folder / "0-given" / f"{number}.bin", matrix)
        for place, form in enumerate(conversion.forms):
            expected = expected_at(conversion, elements, place) if place else None
            for number, one in enumerate(expected.placed if expected is not None else ()):
                memory = background(form.whole_bytes(conversion.rows, conversion.columns))
                scatter(memory, one.offsets[0], one.expected.bits[0])
                _write(folder / f"{place}-expected" / f"{number}.bin", memory)
                text_of = "".join(f"{line}\n" for line in element_sets.lines(Expected((replace(one, array=MATRIX),))))
                (folder / f"{place}-expected" / f"{number}.txt").write_text(element_sets.HEADING + text_of, encoding="utf-8")
        bounds = [(0, 0), *(sizes(conversion, form) for form in conversion.forms[1:])]
        about = [
            "",
            *(
                f"{COMMANDS[command]}: {one} to {other}"
                for command, (one, other) in zip(conversion.commands, pairwise(conversion.forms), strict=True)
            ),
        ]
        (folder / PROGRAM).write_text(conversion_program(case.id, conversion, bounds, about), encoding="utf-8")
        (folder / CONVERSIONS).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        write_text(folder / README, text)


def _write(path: Path, matrix: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(matrix.tobytes())


def _fields_of_step(conversion: LayoutConversion, place: int, forms: tuple[MatrixForm, MatrixForm]) -> Json:
    """Return the fields of VkConvertCooperativeVectorMatrixInfoNV that a case decides."""
    fields: Json = {"command": COMMANDS[conversion.commands[place]], "numRows": conversion.rows, "numColumns": conversion.columns}
    for which, form in zip(("src", "dst"), forms, strict=True):
        fields |= {f"{which}ComponentType": form.component.vk, f"{which}Layout": int(form.layout), f"{which}Stride": form.stride}
    return fields


_README = """`0-given/N.bin` has matrix N as given, including the bytes between rows or columns. `conversions.json` has the fields of each
VkConvertCooperativeVectorMatrixInfoNV in the order of the conversions: the bytes that one conversion writes are the source of the next.
`K-expected/N.bin` has matrix N after conversion K (from 1 on), where its layout is row-major or column-major; bytes between rows or columns
there are only a pattern, and a conversion may leave anything in them.

`K-expected/N.txt` lists the permitted values of each element. A size query (dstData null) comes before each conversion.

`repro.c` does all that with a C compiler, Vulkan's headers and its loader. Its last line is the verdict. It ends with 0 if all is right, 1
if not, 2 if it cannot run, and 77 if no device has the extension.

    cc -o repro repro.c -lvulkan -lm && ./repro

With the suite, which shows the results:"""
