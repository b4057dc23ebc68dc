"""Carried matrices become variables: assigned in place if nothing else needs the old value, otherwise all at once."""

from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

TYPE = MatrixType(COMPONENT_TYPES["f32"], Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)


def loop_text(body):
    """Return the lines of a loop whose two carried matrices ``left`` and ``right`` get the values that ``body(builder, load)`` returns."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("source", Pointee(TYPE.component), 256, StorageClass.STORAGE_BUFFER, "input")

    def load(name):
        return builder.load(name, TYPE, array, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)

    initial = [load("first"), load("second")]
    current = [Value("left", TYPE), Value("right", TYPE)]
    carried = []
    with builder.loop(Value("step", U32), builder.literal(3), carried):
        following = body(load, *current)
        carried += [Carried(*matrices) for matrices in zip(initial, current, following, strict=True)]
    text = emit(builder.build())
    return [line.strip() for line in text[text.index("for (uint step") :].splitlines()[1:-2] if "coopMatLoad" in line or "=" in line]


def test_a_value_computed_in_the_body_goes_straight_into_the_variable():
    lines = loop_text(lambda load, left, right: (load("next_left"), right))
    assert lines == ["coopMatLoad(left, source, 0u, 8u, gl_CooperativeMatrixLayoutRowMajor);"]


def test_matrices_that_change_places_go_through_a_third():
    lines = loop_text(lambda load, left, right: (right, left))
    declared = "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>"
    assert lines == [f"{declared} left_next = right;", f"{declared} right_next = left;", "left = left_next;", "right = right_next;"]


def test_an_old_value_that_another_takes_over_is_not_overwritten_early():
    lines = loop_text(lambda load, left, right: (load("next_left"), left))
    assert lines == [
        "coopMatLoad(next_left, source, 0u, 8u, gl_CooperativeMatrixLayoutRowMajor);",
        "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> right_next = left;",
        "left = next_left;",
        "right = right_next;",
    ]


def test_one_value_for_two_matrices_is_computed_once():
    def body(load, left, right):
        following = load("following")
        return following, following

    lines = loop_text(body)
    assert lines[1:] == ["left = following;", "right = following;"]


def test_a_carried_matrix_that_the_rest_of_the_body_reads_keeps_its_value():
    builder = ProgramBuilder(Scope.SUBGROUP)
    array = builder.array("source", Pointee(TYPE.component), 256, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(TYPE.component), 256, StorageClass.STORAGE_BUFFER, "output")
    places = (builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    current = Value("current", TYPE)
    carried = []
    first = builder.load("first", TYPE, array, *places)
    with builder.loop(Value("step", U32), builder.literal(3), carried):
        carried.append(Carried(first, current, builder.load("following", TYPE, array, *places)))
        builder.store(current, target, *places)
    text = emit(builder.build())
    assert "coopMatLoad(following" in text
    assert text.index("coopMatStore(current") < text.index("current = following;")
