"""Arrays and structs as values in GLSL."""

from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.memory import Pointee
from generators.program.values import ArrayType, MatrixType, StructType, Value
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

F32 = COMPONENT_TYPES["f32"]
TYPE = MatrixType(F32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
SPELLED = "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>"


def program():
    builder = ProgramBuilder(Scope.SUBGROUP)
    pair = StructType("Pair", (ArrayType(TYPE, 2), U32))
    one, two = builder.variable("one", pair), builder.variable("two", pair)
    matrix = builder.splat("m", TYPE, builder.literal(0, F32))
    array, struct = Value("a", ArrayType(TYPE, 2)), Value("s", pair)
    builder.add(CompositeConstruct(array, (matrix, matrix)))
    builder.add(CompositeConstruct(struct, (array, builder.literal(5))))
    builder.add(CopyObject(Value("c", pair), struct))
    builder.add(CompositeInsert(Value("i", pair), matrix, Value("c", pair), (0, 1)))
    builder.set(one, (), Value("i", pair))
    builder.add(CopyMemory(two, (), one, ()))
    builder.add(CompositeExtract(Value("e", TYPE), Value("i", pair), (0, 1)))
    target = builder.array("target", Pointee(F32), 64, StorageClass.STORAGE_BUFFER, "output")
    builder.store(Value("e", TYPE), target, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    return builder.build()


def test_each_operation_is_an_assignment():
    main = emit(program()).split("void main() {")[1]
    assert [line.strip() for line in main.splitlines()][4:-2] == [
        f"{SPELLED}[2] a = {{m, m}};",
        "Pair s = {a, 5u};",
        "Pair c = s;",
        "Pair i = c;",
        "i.member0[1] = m;",
        "one = i;",
        "two = one;",
        f"{SPELLED} e = i.member0[1];",
    ]


def test_composites_compile(module):
    module(program())
