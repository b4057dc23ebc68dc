"""Defects of tiles that a workgroup copies: limits are ignored, a transposition is missing, or the tile begins elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.edits import given, instead
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from generators.program.program import Program
from generators.program.values import Operand
from generators.program.workgroup import TileCopied
from generators.types import COMPONENT_TYPES

_EVERYWHERE = Operand("everywhere", COMPONENT_TYPES["u32"], "literal", 0xFFFFFFFF)
_ZERO = Operand("zero", COMPONENT_TYPES["u32"], "literal", 0)


def _from(**fields: object) -> Substitute:
    """Build a copy from another tile."""
    return instead(lambda operation: replace(operation, source=replace(operation.source, **fields)))


def _one_limit(which: int) -> Substitute:
    """Build a copy without the limit of rows (0) or of columns (1): memory after a line, or after the last line, is copied as elements."""

    def change(operation: TileCopied) -> TileCopied:
        limits = operation.source.limits
        assert limits is not None, "the defect is only for copies with limits"
        left = (_EVERYWHERE, limits[1]) if which == 0 else (limits[0], _EVERYWHERE)
        return replace(operation, source=replace(operation.source, limits=left))

    return instead(change)


def _what(operation: TileCopied) -> str:
    return operation.source.array.name


@defects_of("tile", TileCopied)
def tile_copy_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the tile copies of ``program``."""
    copies = every(program.operations, TileCopied)
    bounded = [copy for copy in copies if copy.source.limits is not None]
    yield from each_and_all(bounded, "tile.row_limit_ignored", "tile", _one_limit(0), _what)
    yield from each_and_all(bounded, "tile.column_limit_ignored", "tile", _one_limit(1), _what)
    transposed = [copy for copy in copies if copy.transposed]
    yield from each_and_all(transposed, "tile.not_transposed", "tile", given(transposed=False), _what)
    yield from each_and_all(bounded, "tile.from_first_row", "tile", _from(row=_ZERO), _what)
    yield from each_and_all(bounded, "tile.from_first_column", "tile", _from(column=_ZERO), _what)
