"""The names from SPIR-V's grammar that the suite uses, as classes of named numbers: ``Op.Load``, ``Capability.Shader``.

They are made from the grammar's data when this module is imported. Type checkers read ``enumerants.pyi`` instead, which ``registry`` writes
from the same data.
"""

from __future__ import annotations

import keyword

from generators.spirv.grammar import GRAMMAR
from generators.spirv.named_number import named_numbers

ENUMERATIONS = (
    "AddressingModel",
    "BuiltIn",
    "Capability",
    "CooperativeMatrixOperands",
    "CooperativeMatrixReduce",
    "Decoration",
    "ExecutionMode",
    "ExecutionModel",
    "FPEncoding",
    "FunctionControl",
    "GlslStd450",
    "GroupOperation",
    "LoopControl",
    "MemoryAccess",
    "MemoryModel",
    "MemorySemantics",
    "Op",
    "Scope",
    "SelectionControl",
    "StorageClass",
    "TensorAddressingOperands",
    "TensorClampMode",
)
"""The kinds that the suite's code names. Add further kinds here."""


def members_of(kind: str) -> dict[str, int]:
    """Return the members of an enumeration, aliases included, by names that Python takes: ``None_`` for None, ``_2x2`` for 2x2."""
    if kind == "Op":
        names = GRAMMAR.opcodes
    elif kind == "GlslStd450":
        names = GRAMMAR.instruction_sets["GLSL.std.450"]
    else:
        names = {name: enumerant.value for name, enumerant in GRAMMAR.kinds[kind].by_name.items()}
    return {f"{'_' * name[0].isdigit()}{name}{'_' * keyword.iskeyword(name)}": value for name, value in names.items()}


MAGIC = GRAMMAR.magic
globals().update({kind: named_numbers(kind, members_of(kind), __name__) for kind in ENUMERATIONS})
