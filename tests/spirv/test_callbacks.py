"""Functions that matrix instructions call, as instructions and as GLSL."""

from __future__ import annotations

import pytest

from generators.errors import Lack
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.expressions import Binary, ElementRead, element_function
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType, Value
from generators.routines.workgroup import copy
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, ReduceMode, Scope, StorageClass, Use
from tests.lacks import lacks

TYPE = MatrixType(U32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)


def _reading(storage: StorageClass, row: str = "u32") -> Program:
    """Build a function that adds an element of an array to each element."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("table", Pointee(U32), 64, StorageClass.STORAGE_BUFFER, "input")
    if storage is StorageClass.WORKGROUP:
        shared = builder.array("shared", Pointee(U32), 64, storage, "scratch")
        copy(builder, shared, array)
        builder.barrier()
        array = shared
    elif storage is StorageClass.PHYSICAL_STORAGE_BUFFER:
        array = builder.array("elsewhere", Pointee(U32), 64, storage, "input")
    column, x = Value("column", U32), Value("x", U32)
    parameters = (Value("row", COMPONENT_TYPES[row]), column, x)
    function = element_function("read", parameters, Binary("add", x, ElementRead(array, column)))
    matrix = builder.splat("m", TYPE, builder.literal(1))
    builder.add(PerElement(Value("r", TYPE), matrix, function))
    return builder.build()


def test_workgroup_arrays_are_read_non_privately() -> None:
    """A barrier makes the writes of other invocations visible only to accesses that are not private."""
    text = disassemble(emit(_reading(StorageClass.WORKGROUP)))
    function = text[text.rindex("OpFunctionParameter") :]
    assert "NonPrivatePointer" in next(line for line in function.splitlines() if "OpLoad" in line)


def test_inputs_in_buffers_are_read_plainly() -> None:
    text = disassemble(emit(_reading(StorageClass.STORAGE_BUFFER)))
    function = text[text.rindex("OpFunctionParameter") :]
    assert next(line for line in function.splitlines() if "OpLoad" in line).count("%") == 3


def test_a_function_loads_the_address_of_an_array_for_itself() -> None:
    """A function cannot use ids of its caller, so it loads the address from the push constants."""
    text = disassemble(emit(_reading(StorageClass.PHYSICAL_STORAGE_BUFFER)))
    function = text[text.rindex("OpFunctionParameter") :]
    loads = [line for line in function.splitlines() if "OpLoad" in line]
    assert len(loads) == 2
    assert "Aligned 4" in loads[1]


def test_glsl_has_no_signed_rows() -> None:
    """F-CM2-11."""
    with lacks(Lack.COORDINATE_TYPE):
        emit_glsl(_reading(StorageClass.STORAGE_BUFFER, row="s32"))


@pytest.mark.parametrize(
    ("mode", "spirv", "glsl"),
    [
        (ReduceMode.ROW, " Row ", "ReduceRowNV"),
        (ReduceMode.COLUMN, " Column ", "ReduceColumnNV"),
        (ReduceMode.ROW_AND_COLUMN, " Row|Column ", "ReduceRowAndColumnNV"),
    ],
)
def test_two_reductions_by_one_function_declare_it_once(mode: ReduceMode, spirv: str, glsl: str) -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    a, b = Value("a", U32), Value("b", U32)
    function = element_function("combine", (a, b), Binary("add", a, b))
    matrix = builder.splat("m", TYPE, builder.literal(1))
    for name in ("first", "second"):
        builder.add(Reduce(Value(name, TYPE), matrix, mode, function))
    program = builder.build()
    text, shader = disassemble(emit(program)), emit_glsl(program)
    assert text.count("OpFunctionParameter") == 2
    assert text.count(spirv) == 2
    assert shader.count("uint combine(") == 1
    assert shader.count(glsl) == 2
