"""Cooperative matrices in the assembly of tests.embedded.assembly: a type, a load from the input and a store to the output."""

from __future__ import annotations

from tests.embedded.assembly import words

ROW, COLUMN = "%u32_0", "%u32_1"


def matrix(name: str, component: str, rows: int, columns: int, use: int, scope: int = 3) -> str:
    return f"%{name} = OpTypeCooperativeMatrixKHR %{component} %u32_{scope} %u32_{rows} %u32_{columns} %u32_{use}\n"


def load(type_: str, name: str = "m", at: str = "%u32_0", layout: str = ROW, stride: str = "%u32_4", operands: str = "") -> str:
    place = f"%{name}_from = OpAccessChain %ptr_in %input %s32_0 {at}\n"
    return place + f"%{name} = OpCooperativeMatrixLoadKHR %{type_} %{name}_from {layout} {stride} {operands}\n"


def store(name: str = "m", at: str = "%u32_0", layout: str = ROW, stride: str = "%u32_4", operands: str = "") -> str:
    place = f"%{name}_to = OpAccessChain %ptr_out %output %s32_0 {at}\n"
    return place + f"OpCooperativeMatrixStoreKHR %{name}_to %{name} {layout} {stride} {operands}\n"


def divergent(body: str) -> str:
    """Return ``body``, executed by two invocations of each subgroup."""
    return f"""
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %some %merge
%some = OpLabel
{body}
OpBranch %merge
%merge = OpLabel
"""


SQUARE = matrix("square", "u32", 4, 4, 2)
NUMBERS = words(*range(100, 116))
