"""Tiles that all invocations of a workgroup copy together, with bounds."""

from __future__ import annotations

from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition, Select
from generators.program.scalars import ScalarOperator
from generators.program.values import Scalar, ScalarValue, Value
from generators.program.workgroup import TileCopied, Window
from generators.routines.workgroup import Numbering, shared_out


def tile_copy(
    builder: ProgramBuilder,
    target: Window,
    source: Window,
    rows: int,
    columns: int,
    transposed: bool = False,
    numbering: Numbering = "local",
) -> None:
    """Copy a tile, as TileCopied describes. The elements are counted along the source's rows."""
    with builder.stated(TileCopied(target, source, rows, columns, transposed)):
        name = f"{target.array.name}_tile"
        with shared_out(builder, f"{name}_element", rows * columns, numbering) as element:
            row = _computed(builder, f"{name}_row", "divide", element, builder.literal(columns))
            column = _computed(builder, f"{name}_column", "modulo", element, builder.literal(columns))
            place, written = _place(builder, f"{name}_target", target, *((column, row) if transposed else (row, column)))
            found, there = _place(builder, f"{name}_source", source, row, column)
            with builder.arm() as load:
                builder.write(target.array, place, builder.read(builder.fresh(f"{name}_copied"), source.array, found))
            with builder.arm() as move:
                if there is None:
                    builder.extend(load)
                else:
                    with builder.arm() as clear:
                        builder.write(target.array, place, builder.literal(0, target.array.pointee.component))
                    builder.branch(there, load, clear)
            if written is None:
                builder.extend(move)
            else:
                builder.branch(written, move)


def _place(
    builder: ProgramBuilder, name: str, window: Window, row: ScalarValue, column: ScalarValue
) -> tuple[ScalarValue, Condition | None]:
    """Return the element of the array, and the condition that it is inside the limits; None without limits."""
    y = _computed(builder, f"{name}_y", "add", window.row, row)
    x = _computed(builder, f"{name}_x", "add", window.column, column)
    line = _computed(builder, f"{name}_line", "multiply", y, window.stride)
    place = _computed(builder, f"{name}_place", "add", line, x)
    if window.limits is None:
        return place, None
    rows, columns = window.limits
    zero, one = builder.literal(0), builder.literal(1)
    inside, both = (Value(builder.fresh(f"{name}_{what}"), U32) for what in ("in_rows", "inside"))
    builder.add(Select(inside, Condition(y, "less", rows), one, zero))
    builder.add(Select(both, Condition(x, "less", columns), inside, zero))
    return place, Condition(both, "not_equal", zero)


def _computed(builder: ProgramBuilder, name: str, operator: ScalarOperator, left: ScalarValue, right: ScalarValue) -> Scalar:
    return builder.arithmetic(builder.fresh(name), operator, left, right)
