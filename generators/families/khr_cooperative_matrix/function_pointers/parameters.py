"""Forms of function_pointers in which pointers to variables are arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generators.chains.cases import CallForm
from generators.chains.functions import PointerWriter
from generators.program.control_flow import Condition
from generators.program.values import ArrayType, Matrix, Scalar


def _in(functions: PointerWriter) -> None:
    """Read operands of all uses through pointers; the second call takes other variables."""
    a, b, c = (functions.pointer(kind, "in") for kind in "abc")
    multiply = functions.function(
        "multiply", [a, b, c], lambda: functions.writer.muladd(functions.get(a), functions.get(b), functions.get(c))
    )
    x, y = functions.variables(0, "abc"), functions.variables(1, "abc")
    functions.writer.store(functions.call(multiply, *x), "d0")
    functions.writer.store(functions.call(multiply, x[0], y[1], y[2]), "d1")


def _out(functions: PointerWriter) -> None:
    """Write two uninitialized variables in each call."""
    writer = functions.writer
    a, b, c = functions.parameters("a", "b", "c")
    first, second = functions.pointer("c", "out"), functions.pointer("c", "out")

    def body() -> None:
        functions.set(second, c)
        functions.set(first, writer.muladd(a, b, c))

    put = functions.function("put", [first, a, b, c, second], body)
    variables = [functions.variable("c") for _ in range(4)]
    functions.run(put, variables[0], *functions.tiles(0), writer.load("c", 0), variables[1])
    functions.run(put, variables[2], *functions.tiles(1), functions.get(variables[1]), variables[3])
    total = writer.muladd(*functions.tiles(2), functions.get(variables[0]))
    writer.store(total, "d0")
    functions.keep(variables[2], "d1")
    functions.keep(variables[3], writer.output("d2"))


def _inout(functions: PointerWriter) -> None:
    """Add products to the sums in two variables in turn, by one function."""
    add = functions.adding()
    sums = [functions.variable("c", 0), functions.variable("c", 1)]
    for tile, which in enumerate((0, 1, 1, 0, 0)):
        functions.run(add, *functions.tiles(tile), sums[which])
    functions.keep(sums[0], "d0")
    functions.keep(sums[1], "d1")


def _exchange(functions: PointerWriter) -> None:
    """Exchange two matrices through pointers of one type, and add to one of them; the last call gets the pointers in the other order."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    x, y = functions.pointer("c"), functions.pointer("c")

    def body() -> None:
        first, second = functions.get(x), functions.get(y)
        functions.set(x, writer.muladd(a, b, second))
        functions.set(y, first)

    exchange = functions.function("exchange", [x, a, b, y], body)
    first, second = functions.variable("c", 0), functions.variable("c", 1)
    functions.run(exchange, first, *functions.tiles(0), second)
    functions.run(exchange, first, *functions.tiles(1), second)
    functions.run(exchange, second, *functions.tiles(2), first)
    functions.keep(first, "d0")
    functions.keep(second, "d1")


def _order(functions: PointerWriter) -> None:
    """Take values and pointers of one type alternately, some of them unused."""
    writer = functions.writer
    a, b, x, y = functions.parameters("a", "b", "c", "c")
    unused, source, target = functions.pointer("c", "in"), functions.pointer("c", "in"), functions.pointer("c")

    def body() -> Matrix:
        functions.set(target, writer.muladd(a, b, x))
        return writer.muladd(a, b, functions.get(source))

    mixed = functions.function("mixed", [unused, x, target, a, y, source, b], body)
    places = [functions.variable("c", tile) for tile in (0, 1, 0)]
    c, other = writer.load("c", 0), writer.load("c", 1)
    tile, more = functions.tiles(0), functions.tiles(1)
    result = functions.call(mixed, places[0], c, places[2], tile[0], other, places[1], tile[1])
    writer.store(functions.call(mixed, places[1], result, places[0], more[0], c, places[2], more[1]), "d0")
    functions.keep(places[0], "d1")


def _advance(functions: PointerWriter) -> None:
    """Add the product of two variables to a third, and load the next tiles into the first two, like a loop that loads ahead."""
    writer, builder = functions.writer, functions.writer.builder
    a, b, c = (functions.pointer(kind) for kind in "abc")
    first_a, first_b = functions.scalars("first_a", "first_b")

    def body() -> None:
        functions.set(c, writer.muladd(functions.get(a), functions.get(b), functions.get(c)))
        for pointer, kind, first in ((a, "a", first_a), (b, "b", first_b)):
            functions.set(pointer, writer.load(kind, 0, None, builder.literal(writer.tiles[kind].stride), first))

    advance = functions.function("advance", [a, b, c, first_a, first_b], body)
    variables = functions.variables(0, "abc")
    for tile in (3, 5):
        functions.run(advance, *variables, writer.first("a", tile), writer.first("b", tile))
    functions.keep(variables[2], "d0")
    writer.store(writer.muladd(functions.get(variables[0]), functions.get(variables[1]), writer.load("c", 1)), "d1")


def _nested(functions: PointerWriter) -> None:
    """Pass pointers on, in the same order and in the reverse order."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    x, y = functions.pointer("c"), functions.pointer("c", "in")
    inner = functions.function("inner", [a, b, x, y], lambda: functions.set(x, writer.muladd(a, b, functions.get(y))))
    first_a, first_b, second_a, second_b = functions.parameters("a", "b", "a", "b")
    p, q = functions.pointer("c"), functions.pointer("c")

    def body() -> None:
        functions.run(inner, first_a, first_b, p.variable, q.variable)
        functions.run(inner, second_a, second_b, q.variable, p.variable)

    outer = functions.function("outer", [first_a, first_b, second_a, second_b, p, q], body)
    first, second = functions.variable("c", 0), functions.variable("c", 1)
    functions.run(outer, *functions.tiles(0), *functions.tiles(1), first, second)
    functions.keep(second, functions.writer.output("d2"))
    functions.run(outer, *functions.tiles(2), *functions.tiles(3), second, first)
    functions.keep(first, "d0")
    functions.keep(second, "d1")


def _array(functions: PointerWriter) -> None:
    """Change one element of an array of matrices through a pointer to the array and an index."""
    writer, builder = functions.writer, functions.writer.builder
    type_ = ArrayType(writer.type("c"), 2)
    a, b = functions.parameters("a", "b")
    (index,) = functions.scalars("index")
    pointer = functions.pointer_to(type_, "pointer_array")

    def body() -> None:
        before = builder.get_matrix(writer.name("got"), pointer.variable, index)
        functions.set(pointer, writer.muladd(a, b, before), (index,))

    change = functions.function("change", [pointer, a, b, index], body)
    array, other = (builder.variable(writer.name("sums"), type_, functions.storage) for _ in range(2))
    for variable, tiles in ((array, (0, 1)), (other, (1, 0))):
        for i, tile in enumerate(tiles):
            functions.set(variable, writer.load("c", tile), (i,))
    for tile, (variable, at) in enumerate(((array, 0), (other, 1), (array, 1), (array, 0))):
        functions.run(change, variable, *functions.tiles(tile), builder.literal(at))
    functions.keep(array, "d0", 0)
    functions.keep(array, "d1", 1)
    # Store the unchanged element and the changed element of the other array.
    writer.store(functions.get(other, 1), writer.output("d2"))
    writer.store(functions.get(other, 0), writer.output("d3"))


def _in_loop(functions: PointerWriter) -> None:
    """Add to one variable by calls in a loop that runs n times."""
    add, total = functions.adding(), functions.variable("c", 0)

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        functions.run(add, functions.writer.load("a", i), functions.writer.load("b", i), total)
        return []

    functions.decisions.repeat(functions.decisions.n, [], body)
    functions.keep(total, "d0")


def _in_branch(functions: PointerWriter) -> None:
    """Call for different variables in the arms of a branch."""
    add = functions.adding()
    sums = [functions.variable("c", 0), functions.variable("c", 1)]

    def called(which: int) -> list[Matrix]:
        functions.run(add, *functions.tiles(which), sums[which])
        return []

    functions.decisions.choose(lambda: called(0), lambda: called(1))
    functions.keep(sums[0], "d0")
    functions.keep(sums[1], "d1")


def _early(functions: PointerWriter) -> None:
    """Write through a pointer, and return if the number is less than 2; otherwise write once more."""
    writer, builder = functions.writer, functions.writer.builder
    a, b, other_a, other_b = functions.parameters("a", "b", "a", "b")
    c = functions.pointer("c")
    (number,) = functions.scalars("number")

    def body() -> Matrix:
        before = functions.get(c)
        functions.set(c, writer.muladd(a, b, before))
        with builder.arm() as early:
            d = writer.muladd(other_a, other_b, before)
        builder.exit("return", Condition(number, "less", builder.literal(2)), early, d)
        total = writer.muladd(other_a, other_b, functions.get(c))
        functions.set(c, total)
        return before

    change = functions.function("change", [a, b, other_a, other_b, c, number], body)
    place = functions.variable("c", 0)
    writer.store(functions.call(change, *functions.tiles(0), *functions.tiles(1), place, functions.decisions.n), "d0")
    functions.keep(place, "d1")


def _with_loop(functions: PointerWriter) -> None:
    """Add to a variable in a loop of the function, as often as a parameter says."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    c = functions.pointer("c")
    (count,) = functions.scalars("count")

    def iteration(_: Scalar, __: Sequence[Matrix]) -> Sequence[Matrix]:
        functions.set(c, writer.muladd(a, b, functions.get(c)))
        return []

    def body() -> None:
        functions.decisions.repeat(count, [], iteration)

    repeated = functions.function("repeated", [a, b, c, count], body)
    first, second = functions.variable("c", 0), functions.variable("c", 1)
    functions.run(repeated, *functions.tiles(0), first, functions.decisions.n)
    functions.run(repeated, *functions.tiles(1), second, writer.builder.literal(2))
    functions.keep(first, "d0")
    functions.keep(second, "d1")


def _both_storages(functions: PointerWriter) -> None:
    """Take a pointer to a variable of the module and one to a variable of main."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    x, y = functions.pointer("c", "inout", "private"), functions.pointer("c", "inout", "function")

    def body() -> None:
        former = functions.get(x)
        functions.set(x, writer.muladd(a, b, functions.get(y)))
        functions.set(y, former)

    exchange = functions.function("exchange", [x, y, a, b], body)
    private, local = functions.variable("c", 0, "private"), functions.variable("c", 1, "function")
    functions.run(exchange, private, local, *functions.tiles(0))
    functions.run(exchange, private, local, *functions.tiles(1))
    functions.keep(private, "d0")
    functions.keep(local, "d1")


POINTERS: Mapping[str, CallForm] = {
    "in": CallForm(_in),
    "out": CallForm(_out),
    "inout": CallForm(_inout),
    "exchange": CallForm(_exchange),
    "order": CallForm(_order),
    "advance": CallForm(_advance),
    "nested": CallForm(_nested),
    "array": CallForm(_array),
    "both_storages": CallForm(_both_storages, any_storage=False),
    "in_loop": CallForm(_in_loop, decides=True),
    "in_branch": CallForm(_in_branch, decides=True),
    "early": CallForm(_early, decides=True),
    "with_loop": CallForm(_with_loop, decides=True),
}
"""By label."""
