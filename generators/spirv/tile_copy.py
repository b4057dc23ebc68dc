"""Tiles that all invocations of a workgroup copy together."""

from __future__ import annotations

from generators.program.tile_copy import TileCopy, Window
from generators.spirv.control_flow import counting_loop
from generators.spirv.declarations import U32, constant, scalar
from generators.spirv.enumerants import BuiltIn, Op, SelectionControl
from generators.spirv.shader import Shader
from generators.spirv.workgroup import memory_operands


def emit_tile_copy(shader: Shader, copy: TileCopy) -> None:
    """Emits a loop over the elements of the tile, each invocation beginning at its own; in it a selection for each side with limits."""
    module = shader.module
    u32 = scalar(module, U32)
    index = module.new_id("element")
    columns = shader.u32(copy.columns)

    def body() -> None:
        row, column = module.value(Op.UDiv, u32, index, columns), module.value(Op.UMod, u32, index, columns)
        target = (column, row) if copy.transposed else (row, column)
        place, inside = _place(shader, copy.target, *target)
        if inside is None:
            _move(shader, copy, place, row, column)
        else:
            with shader.selection("written", inside):
                _move(shader, copy, place, row, column)

    first = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
    limit = shader.u32(copy.rows * copy.columns)
    counting_loop(shader, f"{copy.target.array.name}_copy", first, limit, shader.invocations(), index, (), body)


def _place(shader: Shader, window: Window, row: int, column: int) -> tuple[int, int | None]:
    """The element of the array, and whether it is inside of the limits."""
    module = shader.module
    u32 = scalar(module, U32)
    y = module.value(Op.IAdd, u32, shader.id(window.row), row)
    x = module.value(Op.IAdd, u32, shader.id(window.column), column)
    line = module.value(Op.IMul, u32, y, shader.id(window.stride))
    place = module.value(Op.IAdd, u32, line, x)
    if window.limits is None:
        return place, None
    boolean = module.type(Op.TypeBool)
    rows, columns = (shader.id(limit) for limit in window.limits)
    both = module.value(Op.ULessThan, boolean, y, rows), module.value(Op.ULessThan, boolean, x, columns)
    return place, module.value(Op.LogicalAnd, boolean, *both)


def _move(shader: Shader, copy: TileCopy, place: int, row: int, column: int) -> None:
    """One element, or zero in its place."""
    module = shader.module
    source, inside = _place(shader, copy.source, row, column)

    def store(value: int) -> None:
        target = copy.target.array
        module.instruction(Op.Store, shader.element(target, place), value, *memory_operands(shader, target, writes=True))

    def move() -> None:
        array = copy.source.array
        store(module.value(Op.Load, shader.pointee(array), shader.element(array, source), *memory_operands(shader, array, writes=False)))

    if inside is None:
        move()
        return
    there, beyond, merge = (module.new_id(name) for name in ("there", "beyond", "moved"))
    module.instruction(Op.SelectionMerge, merge, SelectionControl.None_)
    module.instruction(Op.BranchConditional, inside, there, beyond)
    shader.begin_block(there)
    move()
    module.instruction(Op.Branch, merge)
    shader.begin_block(beyond)
    store(constant(module, copy.target.array.pointee.component, 0))
    module.instruction(Op.Branch, merge)
    shader.begin_block(merge)
