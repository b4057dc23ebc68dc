"""Updates of the invocation's components: a loop over the length of the matrix type, with paths that lead into matrices."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.arrays import AtomicAdd
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeExtract, CompositeInsert
from generators.program.control_flow import Condition
from generators.program.elements import (
    COORDINATE,
    ComponentsPlaced,
    ComponentsUpdated,
    MatrixCoordinate,
    MatrixLength,
    OthersCounted,
    RepeatsCounted,
)
from generators.program.scalars import ScalarConvert
from generators.program.values import MatrixType, Scalar, ScalarValue, Value


def update_components(builder: ProgramBuilder, update: ComponentsUpdated) -> None:
    """Update the leading components, each if its index is less than the length, and then the others in a loop.

    Raises:
        GeneratorError: whole matrices would be accessed in divergent control flow (KHR-UNI-01).
    """
    if update.leading_form == "composite" and update.condition != "always":
        raise GeneratorError(
            "KHR-UNI-01", "composite instructions take whole matrices, where invocations must not diverge: use pointers (KHR-UNI-01)"
        )
    with builder.stated(update):
        length = Value(builder.fresh("components"), U32)
        builder.add(MatrixLength(length, update.type))
        for k in range(update.leading):
            with builder.arm() as there:
                if update.leading_form == "composite":
                    _insert(builder, update, k)
                else:
                    _update(builder, update, k)
            builder.branch(Condition(builder.literal(k), "less", length), there)
        component = Value(builder.fresh("component"), U32)
        with builder.loop(component, length, [], start=builder.literal(update.leading)):
            _update(builder, update, component)


def count_others(builder: ProgramBuilder, counted: OthersCounted) -> None:
    """Count the components below the length of their type that are not as expected: if the length is too large, there are some."""
    type_ = counted.variable.type
    assert isinstance(type_, MatrixType), "the variable holds a matrix"
    with builder.stated(counted):
        length, component = Value(builder.fresh("length"), U32), Value(builder.fresh("counted"), U32)
        builder.add(MatrixLength(length, type_))
        with builder.loop(component, length, []):
            value = builder.get_scalar(builder.fresh("seen"), counted.variable, component)
            with builder.arm() as other:
                before = Value(builder.fresh("others"), U32)
                builder.add(AtomicAdd(before, counted.counter, builder.literal(counted.index), builder.literal(1)))
            builder.branch(Condition(value, "equal", counted.expected), (), other)


def count_repeats(builder: ProgramBuilder, counted: RepeatsCounted) -> None:
    """Count the pairs of equal components below the length of their type: an index that is too large finds a component again."""
    type_ = counted.variable.type
    assert isinstance(type_, MatrixType), "the variable holds a matrix"
    with builder.stated(counted):
        length, first, second = (Value(builder.fresh(name), U32) for name in ("length", "first", "second"))
        builder.add(MatrixLength(length, type_))
        with builder.loop(first, length, []):
            value = builder.get_scalar(builder.fresh("value"), counted.variable, first)
            with builder.loop(second, first, []):
                with builder.arm() as equal:
                    before = Value(builder.fresh("repeats"), U32)
                    builder.add(AtomicAdd(before, counted.counter, builder.literal(counted.index), builder.literal(1)))
                other = builder.get_scalar(builder.fresh("other"), counted.variable, second)
                builder.branch(Condition(value, "equal", other), equal)


def place_components(builder: ProgramBuilder, placed: ComponentsPlaced) -> None:
    """Set the components by their coordinates: the leading ones, each if its index is less than the length, and then the others in a
    loop."""
    with builder.stated(placed):
        length = Value(builder.fresh("components"), U32)
        builder.add(MatrixLength(length, placed.matrix.type))
        for k in range(placed.leading):
            with builder.arm() as there:
                _place(builder, placed, builder.literal(k), k)
            builder.branch(Condition(builder.literal(k), "less", length), there)
        component = Value(builder.fresh("component"), U32)
        with builder.loop(component, length, [], start=builder.literal(placed.leading)):
            _place(builder, placed, component, component)


def _place(builder: ProgramBuilder, placed: ComponentsPlaced, index: ScalarValue, step: int | Scalar) -> None:
    """Set one component, to which ``step`` leads."""
    coordinate = Value(builder.fresh("coordinate"), COORDINATE)
    builder.add(MatrixCoordinate(coordinate, placed.matrix, index))
    row, column = Value(builder.fresh("row"), U32), Value(builder.fresh("column"), U32)
    builder.add(CompositeExtract(row, coordinate, (0,)))
    builder.add(CompositeExtract(column, coordinate, (1,)))
    component = placed.matrix.type.component
    if placed.what == "mask":
        with builder.arm() as above:
            builder.set(placed.target, (step,), builder.literal(0, component))
        builder.branch(Condition(row, "less", column), above)
        return
    first = builder.arithmetic(builder.fresh("row_first"), "multiply", row, builder.literal(placed.matrix.type.shape[1] + 1))
    number = builder.arithmetic(builder.fresh("number"), "add", first, column)
    if component is not U32:
        number, whole = Value(builder.fresh("converted"), component), number
        builder.add(ScalarConvert(number, whole))
    builder.set(placed.target, (step,), number)


def _update(builder: ProgramBuilder, update: ComponentsUpdated, index: int | Scalar) -> None:
    """Update a component through pointers."""
    value = builder.get_scalar(builder.fresh("before"), update.source, *update.source_path, index)

    def store(exchanged: bool = False) -> None:
        builder.set(update.target, (*update.target_path, index), _applied(builder, update, value, exchanged))

    match update.condition:
        case "always":
            store()
        case "below":
            assert update.threshold is not None, "a comparison has a threshold"
            with builder.arm() as below:
                store()
            builder.branch(Condition(value, "less", update.threshold), below)
        case _:
            lane = builder.built_in(builder.fresh("lane"), "local_invocation")
            odd = builder.arithmetic(builder.fresh("odd"), "and", lane, builder.literal(1))
            with builder.arm() as then:
                store()
            with builder.arm() as otherwise:
                store(exchanged=True)
            builder.branch(Condition(odd, "not_equal", builder.literal(0)), then, otherwise)


def _insert(builder: ProgramBuilder, update: ComponentsUpdated, index: int) -> None:
    """Update a component by composite instructions on whole matrices."""
    source = builder.get_matrix(builder.fresh("from"), update.source, *update.source_path)
    value = Value(builder.fresh("before"), update.type.component)
    builder.add(CompositeExtract(value, source, (index,)))
    target = builder.get_matrix(builder.fresh("into"), update.target, *update.target_path)
    changed = Value(builder.fresh("inserted"), update.type)
    builder.add(CompositeInsert(changed, _applied(builder, update, value), target, (index,)))
    builder.set(update.target, update.target_path, changed)
    if update.kept is not None and index == 0:
        builder.set(update.kept, (), target)


def _applied(builder: ProgramBuilder, update: ComponentsUpdated, value: ScalarValue, exchanged: bool = False) -> ScalarValue:
    """Compute the function of a component; ``exchanged`` has the operands in the other order."""
    if update.function.factor is not None:
        pair = (value, update.function.factor)
        value = builder.arithmetic(builder.fresh("scaled"), "multiply", *(pair[::-1] if exchanged else pair))
    if update.function.addend is not None:
        pair = (value, update.function.addend)
        value = builder.arithmetic(builder.fresh("moved"), "add", *(pair[::-1] if exchanged else pair))
    return value
