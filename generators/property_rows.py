"""Property rows: the combinations of sizes and component types that a multiply-add may have (facts.md D.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from generators.errors import CasebookError
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands


@dataclass(frozen=True)
class PropertyRow:
    """One row: an ``m`` x ``n`` x ``k`` multiply-add of these component types."""

    m: int
    n: int
    k: int
    a: ComponentType
    b: ComponentType
    c: ComponentType
    result: ComponentType
    saturating: bool

    def __str__(self) -> str:
        types = ".".join(t.name for t in (self.a, self.b, self.c, self.result))
        return f"{self.m}x{self.n}x{self.k}.{types}" + (".sat" if self.saturating else "")

    @property
    def operands(self) -> MatrixOperands:
        """The flags that Vulkan asks for with this row (KHR-MAD-14): signed if and only if the row's type is, saturating if and only
        if the row says so."""
        flags = MatrixOperands.SATURATING_ACCUMULATION if self.saturating else MatrixOperands.NONE
        for component, flag in (
            (self.a, MatrixOperands.A_SIGNED),
            (self.b, MatrixOperands.B_SIGNED),
            (self.c, MatrixOperands.C_SIGNED),
            (self.result, MatrixOperands.RESULT_SIGNED),
        ):
            if component.is_signed:
                flags |= flag
        return flags


_ROW = re.compile(r"(\d+)x(\d+)x(\d+)\.(\w+)\.(\w+)\.(\w+)\.(\w+?)(\.sat)?")


@cache
def parse_row(text: str) -> PropertyRow:
    """The row that ``MxNxK.A.B.C.Result`` with or without ``.sat`` names.

    Raises:
        CasebookError: it names none.
    """
    match = _ROW.fullmatch(text)
    if match is None or any(name not in COMPONENT_TYPES for name in match.groups()[3:7]):
        raise CasebookError(f"'{text}' is no property row: expected MxNxK.A.B.C.Result, for example 16x16x16.f16.f16.f32.f32 or ….s32.sat")
    m, n, k = (int(size) for size in match.groups()[:3])
    a, b, c, result = (COMPONENT_TYPES[name] for name in match.groups()[3:7])
    return PropertyRow(m, n, k, a, b, c, result, match.group(8) is not None)
