"""Barriers."""

from __future__ import annotations

from generators.program.workgroup import Barrier
from generators.spirv.enumerants import MemorySemantics, Op
from generators.spirv.shader import Shader

_ORDER = MemorySemantics.AcquireRelease | MemorySemantics.UniformMemory | MemorySemantics.WorkgroupMemory
_HAND_OVER = MemorySemantics.MakeAvailable | MemorySemantics.MakeVisible


def emit_barrier(shader: Shader, barrier: Barrier) -> None:
    """Emits a control barrier."""
    semantics = int(_ORDER | _HAND_OVER if barrier.handover == "barrier" else _ORDER)
    scope = shader.u32(barrier.scope)
    shader.module.instruction(Op.ControlBarrier, scope, scope, shader.u32(semantics))
