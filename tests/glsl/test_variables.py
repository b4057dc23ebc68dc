"""Variables, arrays and structs as a programmer writes them."""

import pytest

from generators.errors import Lack
from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Pointee
from generators.program.values import ArrayType, MatrixType, StructType, Value
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use
from tests.lacks import lacks

F32 = COMPONENT_TYPES["f32"]
TYPE = MatrixType(F32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
SPELLED = "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>"


def program():
    builder = ProgramBuilder(Scope.SUBGROUP)
    index = builder.operand("index", U32, "push_constant")
    array = builder.array("source", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "output")
    inner = StructType("Inner", (TYPE, U32))
    outer = StructType("Outer", (ArrayType(ArrayType(inner, 2), 3), F32))
    local, module_wide = builder.variable("local", outer), builder.variable("module_wide", outer, "private")
    place = (builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    builder.set(local, (0, index, 1, 0), builder.load("matrix", TYPE, array, *place))
    builder.set(local, (0, 2, 1, 1), builder.literal(7))
    builder.set(module_wide, (0,), builder.get("all", local, 0))
    builder.get("number", module_wide, 0, 2, 1, 1)
    builder.store(builder.get_matrix("out", module_wide, 0, index, 1, 0), target, *place)
    return builder.build()


def test_a_load_writes_the_part_of_a_variable_that_alone_gets_the_matrix():
    text = emit(program())
    assert "coopMatLoad(local.member0[index][1].member0, source, 0u, 8u, gl_CooperativeMatrixLayoutRowMajor);" in text
    assert " matrix;" not in text


@pytest.mark.parametrize("again", [False, True])
def test_a_matrix_that_is_read_again_has_a_name(again):
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("source", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "output")
    variable = builder.variable("matrices", ArrayType(TYPE, 2))
    place = (builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    matrix = builder.load("matrix", TYPE, array, *place)
    builder.set(variable, (1,), matrix)
    builder.store(matrix if again else builder.get_matrix("out", variable, 1), target, *place)
    text = emit(builder.build())
    assert ("coopMatLoad(matrices[1]," in text) is not again
    assert ("matrices[1] = matrix;" in text) is again


def test_structs_come_before_their_users_and_private_variables_before_main():
    before, main = emit(program()).split("void main() {")
    assert before.index(f"struct Inner {{\n    {SPELLED} member0;\n    uint member1;\n}};") < before.index(
        "struct Outer {\n    Inner[3][2] member0;\n    float member1;\n};"
    )
    assert "\nOuter module_wide;\n" in before
    assert [line.strip() for line in main.splitlines() if "coopMat" not in line][1:-1] == [
        "Outer local;",
        "local.member0[2][1].member1 = 7u;",
        "Inner[3][2] all = local.member0;",
        "module_wide.member0 = all;",
        "uint number = module_wide.member0[2][1].member1;",
        f"{SPELLED} out_ = module_wide.member0[index][1].member0;",
    ]


def test_variables_compile(module):
    module(program())


def sized(whole):
    """Build an array whose length is a specialization constant; it is written and read in parts or as a whole."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    variable = builder.variable("matrices", ArrayType(TYPE, builder.operand("count", U32, "specialization", 3, 5)))
    array = builder.array("target", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "output")
    builder.set(variable, (2,), builder.splat("matrix", TYPE, builder.literal(0, F32)))
    builder.store(builder.get_matrix("out", variable, 2), array, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    if whole:
        builder.get("all", variable)
    return builder.build()


def test_an_array_is_as_long_as_a_specialization_constant_says(module):
    assert f"{SPELLED}[count] matrices;" in emit(sized(whole=False))
    module(sized(whole=False))


def test_an_array_of_a_specialized_length_is_not_assigned_whole():
    with lacks(Lack.WHOLE_ARRAY):
        emit(sized(whole=True))


def test_a_carried_matrix_that_a_variable_takes_later_keeps_its_value():
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("source", Pointee(F32), 256, StorageClass.STORAGE_BUFFER, "input")
    place = (builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    variable, current, carried = builder.variable("kept", TYPE), Value("current", TYPE), []
    first = builder.load("first", TYPE, array, *place)
    with builder.loop(Value("step", U32), builder.literal(3), carried):
        carried.append(Carried(first, current, builder.load("following", TYPE, array, *place)))
        builder.set(variable, (), current)
    text = emit(builder.build())
    assert text.index("kept = current;") < text.index("current = following;")
