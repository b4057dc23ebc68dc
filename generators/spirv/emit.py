"""The SPIR-V reading of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from generators.program.construction import MatrixSplat
from generators.program.control_flow import Branch, Exit, Loop, Switch
from generators.program.functions import Call
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Operation, Program
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic
from generators.program.workgroup import Barrier, Copy
from generators.spirv.construction import emit_splat
from generators.spirv.control_flow import emit_loop
from generators.spirv.functions import emit_call
from generators.spirv.load_store import emit_load, emit_store
from generators.spirv.muladd import emit_muladd
from generators.spirv.scalars import emit_arithmetic, emit_built_in_index, emit_instance_index
from generators.spirv.selections import emit_branch, emit_exit, emit_switch
from generators.spirv.shader import Shader
from generators.spirv.workgroup import emit_barrier, emit_copy

EMITTERS: Mapping[type, Callable[[Shader, Any], None]] = MappingProxyType(
    {
        MatrixLoad: emit_load,
        MatrixStore: emit_store,
        MatrixSplat: emit_splat,
        MatrixMulAdd: emit_muladd,
        InstanceIndex: emit_instance_index,
        ScalarArithmetic: emit_arithmetic,
        Loop: emit_loop,
        Copy: emit_copy,
        Barrier: emit_barrier,
        BuiltInIndex: emit_built_in_index,
        Branch: emit_branch,
        Switch: emit_switch,
        Exit: emit_exit,
        Call: emit_call,
    }
)
"""By class of operation: the function that adds its instructions to a shader."""


def emit(program: Program) -> bytes:
    """The SPIR-V 1.6 module of ``program``, little-endian words, for the Vulkan 1.3 environment.

    Raises:
        GeneratorError: the program says something that no valid module can.
    """
    shader = Shader(program, _emit_operation)
    shader.emit(program.operations)
    return shader.assemble()


def _emit_operation(shader: Shader, operation: Operation) -> None:
    EMITTERS[type(operation)](shader, operation)
