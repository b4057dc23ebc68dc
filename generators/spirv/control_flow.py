"""Loops: structured control flow with OpPhi for the values that an iteration passes to the next."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.program.control_flow import Exit, Loop
from generators.program.operation import Hint
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import LoopControl, Op
from generators.spirv.shader import LoopBlocks, Shader
from generators.spirv.variables import type_id

_CONTROLS: Mapping[Hint, LoopControl] = MappingProxyType(
    {"none": LoopControl.None_, "for": LoopControl.Unroll, "against": LoopControl.DontUnroll}
)


def emit_loop(shader: Shader, loop: Loop) -> None:
    """Emit a loop that carries matrices and scalars.

    The header holds the phis and the condition, so its values are known after the loop, even after zero iterations or an exit in the body.
    With ``continue``, the continue target has its own phis, since more than one block leads there.
    """
    module = shader.module
    phis = [(type_id(shader, one.current.type), *map(shader.id, (one.current, one.initial, one.next))) for one in loop.carried]
    limit, start, step, index = shader.id(loop.limit), shader.id(loop.start), shader.id(loop.step), shader.define(loop.index)
    u32 = scalar(module, U32)
    has_continue = any(isinstance(operation, Exit) and operation.kind == "continue" for operation in loop.body)
    header, inside, proceed, merge = (module.new_id(f"{loop.index.name}_{part}") for part in ("header", "body", "continue", "merge"))
    before, after = shader.block, module.new_id(f"{loop.index.name}_next")
    handed = [module.new_id() if has_continue else following for _, _, _, following in phis]
    module.instruction(Op.Branch, header)
    shader.begin_block(header)
    module.value(Op.Phi, u32, start, before, after, proceed, result=index)
    for (type_, result, initial, _), following in zip(phis, handed, strict=True):
        module.value(Op.Phi, type_, initial, before, following, proceed, result=result)
    more = module.value(Op.ULessThan, module.type(Op.TypeBool), index, limit)
    module.instruction(Op.LoopMerge, merge, proceed, _CONTROLS[loop.hint])
    module.instruction(Op.BranchConditional, more, inside, merge)
    shader.begin_block(inside)
    blocks = LoopBlocks(merge, proceed)
    shader.loops.append(blocks)
    shader.emit(loop.body)
    shader.loops.pop()
    last = shader.block
    module.instruction(Op.Branch, proceed)
    shader.begin_block(proceed)
    if has_continue:
        for (type_, current, _, following), result in zip(phis, handed, strict=True):
            unchanged = [word for label in blocks.skipped for word in (current, label)]
            module.value(Op.Phi, type_, following, last, *unchanged, result=result)
    module.value(Op.IAdd, u32, index, step, result=after)
    module.instruction(Op.Branch, header)
    shader.begin_block(merge)
