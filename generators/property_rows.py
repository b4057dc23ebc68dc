"""Property rows: the combinations of sizes and component types for a multiply-add (facts.md D.1), and the combinations of types for a
matrix-vector multiply (generators.vector_rows)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from generators.errors import CasebookError
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands
from generators.vector_rows import parse_vector_row

RowKind = Literal["exact", "flexible", "vector"]
"""Rows of exact sizes, of flexible dimensions, and of cooperative vectors."""


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


@dataclass(frozen=True)
class FlexibleRow:
    """A row of flexible dimensions: any sizes that are multiples of its granularities, up to the device's largest dimension.

    Attributes:
        granularity: ``m``, ``n`` and ``k`` are the granularities.
        subgroups: at workgroup scope, the number of subgroups in a workgroup with the row's number of invocations; None at subgroup scope.
    """

    granularity: PropertyRow
    subgroups: int | None = None

    def __str__(self) -> str:
        return f"{self.granularity}.{'flex' if self.subgroups is None else f'wg{self.subgroups}'}"


_ROW = re.compile(r"(0*[1-9]\d*)x(0*[1-9]\d*)x(0*[1-9]\d*)\.(\w+)\.(\w+)\.(\w+)\.(\w+?)(\.sat)?")


@cache
def parse_row(text: str) -> PropertyRow:
    """Return the row that ``MxNxK.A.B.C.Result`` with or without ``.sat`` names.

    Raises:
        CasebookError: it names none.
    """
    match = _ROW.fullmatch(text)
    if match is None or any(name not in COMPONENT_TYPES for name in match.groups()[3:7]):
        raise CasebookError(
            f"'{text}' is not a property row: expected MxNxK.A.B.C.Result, for example 16x16x16.f16.f16.f32.f32 or ….s32.sat"
        )
    m, n, k = (int(size) for size in match.groups()[:3])
    a, b, c, result = (COMPONENT_TYPES[name] for name in match.groups()[3:7])
    return PropertyRow(m, n, k, a, b, c, result, match.group(8) is not None)


_FLEXIBLE = re.compile(r"(.+)\.(?:flex|wg(0*[1-9]\d*))")


def is_flexible(text: str) -> bool:
    """Tell whether ``text`` can only be a row of flexible dimensions."""
    return _FLEXIBLE.fullmatch(text) is not None


@cache
def parse_flexible_row(text: str) -> FlexibleRow:
    """Return the row that ``MxNxK.A.B.C.Result``, with or without ``.sat``, names with ``.flex`` (subgroup scope) or ``.wgN`` (workgroup
    scope, N subgroups) after it.

    Raises:
        CasebookError: it names none.
    """
    match = _FLEXIBLE.fullmatch(text)
    if match is None:
        raise CasebookError(f"'{text}' is not a row of flexible dimensions: expected a property row and .flex or .wgN, N subgroups")
    return FlexibleRow(parse_row(match.group(1)), None if match.group(2) is None else int(match.group(2)))


def check_property_row(label: str, flexible: bool = False) -> None:
    """Check that ``label`` is a property row, of flexible dimensions or not, in the one form that ids use.

    Raises:
        CasebookError: it is not.
    """
    row = parse_flexible_row(label) if flexible else parse_row(label)
    if str(row) != label:
        raise CasebookError(f"'{label}' must be written {row}")


def row_kind(label: str) -> RowKind:
    """Return the only kind of row that ``label`` can be: matrix rows begin with their sizes."""
    if is_flexible(label):
        return "flexible"
    return "exact" if label[:1].isdigit() else "vector"


def check_row(label: str, kind: RowKind) -> None:
    """Check that ``label`` is a row of a kind, in the one form that ids use.

    Raises:
        CasebookError: it is not.
    """
    if kind != "vector":
        check_property_row(label, flexible=kind == "flexible")
        return
    try:
        row = parse_vector_row(label)
    except ValueError as error:
        raise CasebookError(f"'{label}' is not a row of cooperative vectors: {error}") from None
    if str(row) != label:
        raise CasebookError(f"'{label}' must be written {row}")


def by_likeness(label: str, labels: Iterable[str]) -> list[str]:
    """Sort rows of one kind by similarity to the row ``label``, by these criteria: components of the same kind (floats, signed or unsigned
    integers, saturating or not, packed or not), then the same types, then the same sizes and scope. Rows without transposition come last if
    ``label`` has it."""
    wanted = _traits(label)

    def difference(other: str) -> tuple[int, ...]:
        lacks = _transposes(label) and not _transposes(other)
        return int(lacks), *(sum(a != b for a, b in zip(mine, its, strict=True)) for mine, its in zip(wanted, _traits(other), strict=True))

    return sorted(labels, key=difference)


def _traits(label: str) -> tuple[tuple[object, ...], ...]:
    if row_kind(label) == "vector":
        return _vector_traits(label)
    flexible = parse_flexible_row(label) if is_flexible(label) else None
    row = flexible.granularity if flexible else parse_row(label)
    types = (row.a, row.b, row.c, row.result)
    kinds = tuple((type_.is_float, type_.is_signed) for type_ in types)
    scope = flexible.subgroups is None if flexible else False
    return (*kinds, row.saturating), types, (row.m, row.n, row.k, scope)


def _transposes(label: str) -> bool:
    return row_kind(label) == "vector" and parse_vector_row(label).transposes


def _vector_traits(label: str) -> tuple[tuple[object, ...], ...]:
    row = parse_vector_row(label)
    types = (row.input, row.interpretation.component, row.matrix.component, row.bias.component, row.result)
    kinds = tuple((type_.is_float, type_.is_signed) for type_ in types)
    # A row with converted inputs has its own patterns.
    converts = row.input is not row.interpretation.component
    return (*kinds, row.packed), (converts, row.interpretation.component.bits), types
