"""Each instruction of the suite's modules has one handler, and instructions that no case has are in a room of their own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import generators.spirv
from cts.embedded.instructions import further
from cts.embedded.instructions.registry import TwoHandlers, executes, handlers, only_computes
from cts.embedded.module.references import UNDERSTOOD
from generators.program.conversion import Conversion
from generators.spirv.enumerants import Op

READERS = {"disassemble", "enumerants", "friendly_names", "operands", "reader", "registry", "versions"}
"""The modules of ``generators.spirv`` that read modules. All others write them."""


def _named(source: str) -> set[str]:
    """Return the opcodes that a Python module names."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Op" and node.attr in Op.__members__
    }


def written() -> set[Op]:
    """Return the instructions that the suite's SPIR-V may have. A conversion names its instruction by its value."""
    writers = [path for path in Path(generators.spirv.__path__[0]).glob("*.py") if path.stem not in READERS]
    names = set().union(*(_named(path.read_text()) for path in writers)) | {conversion.value for conversion in Conversion}
    return {Op.named(name) for name in names}


def test_the_instructions_of_the_suite_are_found():
    assert {Op.CooperativeMatrixMulAddKHR, Op.Load, Op.ConvertFToS, Op.ControlBarrier} < written()


def test_every_instruction_that_the_suite_writes_has_a_handler_or_needs_none():
    lacking = {op.name for op in written() if op not in handlers() and op not in UNDERSTOOD}
    assert {name for name in lacking if not name.startswith("Type")} == set()


def test_the_suite_writes_no_instruction_of_the_room_of_further_ones():
    assert {op.name for op in written() if op in handlers() and handlers()[op].__module__.startswith(f"{further.__name__}.")} == set()


def test_a_second_handler_is_refused_and_the_first_stays():
    first = handlers()[Op.IAdd]
    with pytest.raises(TwoHandlers):
        executes(Op.IAdd)(lambda translation, words: lambda: 0)
    assert handlers()[Op.IAdd] is first


def test_arithmetic_only_computes_and_a_load_does_not():
    assert only_computes(Op.IAdd)
    assert only_computes(Op.CompositeExtract)
    assert not only_computes(Op.Load)
    assert not only_computes(Op.GroupNonUniformShuffle)
