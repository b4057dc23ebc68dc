"""Loops: structured control flow with OpPhi for what an iteration hands to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from generators.program.control_flow import Carried, Exit, Loop
from generators.program.operation import Hint
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import LoopControl, Op
from generators.spirv.shader import LoopBlocks, Shader
from generators.spirv.variables import type_id

Phi = tuple[int, int, int, int]
"""Type, result, value before the first iteration, value after each iteration."""

_CONTROLS: Mapping[Hint, LoopControl] = MappingProxyType(
    {"none": LoopControl.None_, "for": LoopControl.Unroll, "against": LoopControl.DontUnroll}
)


def counting_loop(
    shader: Shader,
    name: str,
    start: int,
    limit: int,
    step: int,
    index: int,
    phis: Sequence[Phi],
    body: Callable[[], None],
    control: LoopControl = LoopControl.None_,
    has_continue: bool = False,
) -> None:
    """Emits ``for (index = start; index < limit; index += step) body``, all of them ids of u32; ``name`` begins the labels' names.

    The header holds the phis and decides, so that what it defines is known after the loop, also of zero iterations and where the body
    leaves the loop. With ``has_continue`` the continue target has phis of its own, since more than one block leads there.
    """
    module, u32 = shader.module, scalar(shader.module, U32)
    header, inside, proceed, merge = (module.new_id(f"{name}_{part}") for part in ("header", "body", "continue", "merge"))
    before, after = shader.block, module.new_id(f"{name}_next")
    handed = [module.new_id() if has_continue else following for _, _, _, following in phis]
    module.instruction(Op.Branch, header)
    shader.begin_block(header)
    module.value(Op.Phi, u32, start, before, after, proceed, result=index)
    for (type_, result, initial, _), following in zip(phis, handed, strict=True):
        module.value(Op.Phi, type_, initial, before, following, proceed, result=result)
    more = module.value(Op.ULessThan, module.type(Op.TypeBool), index, limit)
    module.instruction(Op.LoopMerge, merge, proceed, control)
    module.instruction(Op.BranchConditional, more, inside, merge)
    shader.begin_block(inside)
    blocks = LoopBlocks(merge, proceed)
    shader.loops.append(blocks)
    body()
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


def _phi(shader: Shader, carried: Carried) -> Phi:
    type_ = type_id(shader, carried.current.type)
    return type_, shader.define(carried.current), shader.id(carried.initial), shader.id(carried.next)


def emit_loop(shader: Shader, loop: Loop) -> None:
    """Emit a loop that carries matrices and scalars."""
    phis = [_phi(shader, carried) for carried in loop.carried]
    limit = shader.id(loop.limit)
    has_continue = any(isinstance(operation, Exit) and operation.kind == "continue" for operation in loop.body)
    counting_loop(
        shader,
        loop.index.name,
        shader.id(loop.start),
        limit,
        shader.id(loop.step),
        shader.define(loop.index),
        phis,
        lambda: shader.emit(loop.body),
        _CONTROLS[loop.hint],
        has_continue,
    )
