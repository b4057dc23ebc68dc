"""The SPIR-V reading of a program."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program.program import Program
from generators.spirv.module import Module
from generators.spirv.pointers import require_variable_pointers
from generators.spirv.shader import Shader
from generators.spirv.variables import declare_variables


def emit(program: Program) -> bytes:
    """Return the SPIR-V 1.6 module of ``program``, little-endian words, for the Vulkan 1.3 environment.

    Raises:
        GeneratorError: no valid module can express the program.
    """
    module = Module(program.shape.version, program.maintenance1)
    entries = _entry_points(program)
    for name, one, literal_size in entries:
        require_variable_pointers(module, one)
        shader = Shader(one, declare_variables, module, literal_size)
        shader.emit(one.operations)
        shader.end_entry_point(name)
    return module.assemble()


def _entry_points(program: Program) -> list[tuple[str, Program, tuple[int, int, int] | None]]:
    """Return the entry points of the module in their order: its name, its program, and its local size if that is literal."""
    further = [(each.name, each.program, each.local_size) for each in program.further]
    first = sum(each.is_first for each in program.further)
    if not all(each.is_first for each in program.further[:first]):
        raise GeneratorError(Rule.ENTRY_POINTS, "list the entry points that come first before the others")
    return [*further[:first], (program.entry_point, program, None), *further[first:]]
