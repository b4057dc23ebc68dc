"""Barriers."""

from __future__ import annotations

from generators.program.workgroup import Barrier
from generators.spirv.enumerants import MemorySemantics, Op
from generators.spirv.shader import Shader, emits

_ORDER = MemorySemantics.AcquireRelease | MemorySemantics.UniformMemory | MemorySemantics.WorkgroupMemory
_HAND_OVER = MemorySemantics.MakeAvailable | MemorySemantics.MakeVisible


@emits(Barrier)
def emit_barrier(shader: Shader, barrier: Barrier) -> None:
    """Emit a control barrier, with a memory barrier on each side if these order memory."""
    scope, instruction = shader.u32(barrier.scope), shader.module.instruction
    semantics = shader.u32(int(_ORDER if barrier.handover == "access" else _ORDER | _HAND_OVER))
    if barrier.handover != "fences":
        instruction(Op.ControlBarrier, scope, scope, semantics)
        return
    instruction(Op.MemoryBarrier, scope, semantics)
    instruction(Op.ControlBarrier, scope, scope, shader.u32(0))
    instruction(Op.MemoryBarrier, scope, semantics)
