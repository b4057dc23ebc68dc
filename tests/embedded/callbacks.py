"""Modules in the assembly of tests.embedded.assembly whose functions are called for the elements of a matrix."""

from __future__ import annotations

import numpy as np

from tests.embedded.assembly import shader
from tests.embedded.matrices import SQUARE, load, store

CAPABILITIES = (
    "CooperativeMatrixKHR",
    "CooperativeMatrixPerElementOperationsEXT",
    "CooperativeMatrixReductionsEXT",
    "CooperativeMatrixConversionsNV",
)
GIVEN = np.arange(100, 116).reshape(4, 4)
APPLY = "%r = OpCooperativeMatrixPerElementOpEXT %square %m %f {}\n"


def function(body: str, parameters: str = "", name: str = "f", result: str = "u32", first: str = "u32 u32 u32") -> str:
    """Return a function of row %row, column %column, element %x (of ``first``'s types) and ``parameters``, each "type:name"."""
    given = [p.split(":") for p in parameters.split()]
    types = [*first.split(), *(type_ for type_, _ in given)]
    names = [f"{n}_{name}" if name != "f" else n for n in ("row", "column", "x")][: len(first.split())] + [n for _, n in given]
    declared = "\n".join(f"%{n} = OpFunctionParameter %{t}" for t, n in zip(types, names, strict=True))
    return f"""
%type_{name} = OpTypeFunction %{result} {" ".join("%" + t for t in types)}
%{name} = OpFunction %{result} None %type_{name}
{declared}
%{name}_entry = OpLabel
{body}
OpFunctionEnd
"""


def per_element(functions: str, operands: str = "", before: str = "", declarations: str = "", **options: object) -> bytes:
    """Return lines that apply %f to a square of numbers; ``before`` precedes it, and ``operands`` follow the function."""
    body = load("square") + before + APPLY.format(operands) + store("r")
    types = [line for line in functions.splitlines() if "OpType" in line]
    rest = [line for line in functions.splitlines() if line not in types]
    declared = SQUARE + declarations + "\n".join(types)
    return shader(body, declared, functions="\n".join(rest), capabilities=CAPABILITIES, **options)  # type: ignore[arg-type]


ENCODE = """
%tens = OpIMul %u32 %row %u32_10
%place = OpIAdd %u32 %tens %column
%scaled = OpIMul %u32 %x %u32_1000
%sum = OpIAdd %u32 %scaled %place
OpReturnValue %sum
"""
