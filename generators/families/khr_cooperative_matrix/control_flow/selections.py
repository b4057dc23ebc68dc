"""Forms of control_flow without loops: a branch around each instruction, or a branch that selects its operands."""

from __future__ import annotations

from collections.abc import Mapping

from generators.chains.cases import Form
from generators.chains.decisions import Decisions
from generators.chains.tiles import ChainWriter
from generators.inputs.patterns import counted_bytes
from generators.numerics.formats import bits_of
from generators.program.control_flow import Condition
from generators.program.values import Matrix, is_scalar
from generators.types import ComponentType, Layout


def _operands(writer: ChainWriter, decisions: Decisions) -> None:
    """Load all operands in both arms."""
    a, b, c = decisions.matrices(
        lambda: [writer.load("a", 0), writer.load("b", 0), writer.load("c", 0)],
        lambda: [writer.load("a", 1), writer.load("b", 1), writer.load("c", 1)],
    )
    writer.store(writer.muladd(a, b, c))


def _operands_again(writer: ChainWriter, decisions: Decisions) -> None:
    """Load operands before the branch, and from other tiles in one arm."""
    before = [writer.load("a", 0), writer.load("b", 0), writer.load("c", 0)]
    a, b, c = decisions.matrices(lambda: [writer.load("a", 1), writer.load("b", 1), writer.load("c", 1)], lambda: before)
    writer.store(writer.muladd(a, b, c))


def _muladd(writer: ChainWriter, decisions: Decisions) -> None:
    """Multiply in both arms, with different operands."""
    a, b, c = ([writer.load(operand, tile) for tile in (0, 1)] for operand in "abc")
    (d,) = decisions.matrices(lambda: [writer.muladd(a[0], b[1], c[0])], lambda: [writer.muladd(a[1], b[0], c[1])])
    writer.store(d)


def _epilogue(writer: ChainWriter, decisions: Decisions) -> None:
    """Add two more products to a sum where the condition holds."""
    d = writer.add(0, writer.load("c", 0))
    (total,) = decisions.matrices(lambda: [writer.add(2, writer.add(1, d))], lambda: [d])
    writer.store(total)


def _exchange(writer: ChainWriter, decisions: Decisions) -> None:
    """Exchange two matrices in one arm, and replace one in the other."""
    x, y = writer.load("c", 0), writer.load("c", 1)
    first, second = decisions.matrices(lambda: [writer.add(0, x), x], lambda: [y, x])
    writer.store(writer.add(1, first), "d0")
    writer.store(writer.add(2, second), "d1")


def _splat_bits(component: ComponentType) -> int:
    return bits_of(component, 37) if component.is_float else counted_bytes(component)


def _splat(writer: ChainWriter, decisions: Decisions) -> None:
    """Load C, or construct it from one value."""
    type_ = writer.type("c")
    value = writer.builder.literal(_splat_bits(type_.component), type_.component)
    (c,) = decisions.matrices(lambda: [writer.builder.splat(writer.name("splat"), type_, value)], lambda: [writer.load("c", 0)])
    writer.store(writer.add(0, c))


def _store(writer: ChainWriter, decisions: Decisions) -> None:
    """Store another matrix to another array in each arm."""
    d = writer.add(0, writer.load("c", 0))

    def other() -> list[Matrix]:
        writer.store(writer.add(1, d), "d1")
        return []

    def one() -> list[Matrix]:
        writer.store(d, "d0")
        return []

    decisions.choose(one, other)


def _store_layout(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose the layout of a store."""
    d = writer.add(0, writer.load("c", 0))

    def stored(layout: Layout) -> list[Matrix]:
        writer.store(d, "d0", layout)
        return []

    decisions.choose(lambda: stored(Layout.ROW_MAJOR), lambda: stored(Layout.COLUMN_MAJOR))


def _load_layout(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose the layout of a load."""
    (a,) = decisions.matrices(
        lambda: [writer.load("a", 0, Layout.ROW_MAJOR)],
        lambda: [writer.load("a", 0, Layout.COLUMN_MAJOR)],
    )
    writer.store(writer.muladd(a, writer.load("b", 0), writer.load("c", 0)))


def _address(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose the first element and the stride of a load, which are scalars."""
    builder, stride = writer.builder, writer.tiles["a"].stride
    first, step = decisions.choose(
        lambda: [writer.first("a", 1), builder.literal(stride)], lambda: [writer.first("a", 4), builder.literal(2 * stride)]
    )
    assert is_scalar(first)
    assert is_scalar(step)
    a = writer.load("a", 0, None, step, first)
    writer.store(writer.muladd(a, writer.load("b", 0), writer.load("c", 0)))


def _nested(writer: ChainWriter, decisions: Decisions) -> None:
    """Branch in both arms of a branch, each on a number that is possible in that arm."""
    c = writer.load("c", 0)

    def inner(number: int, tile: int) -> list[Matrix]:
        equal = Condition(decisions.n, "equal", decisions.literal(number))
        return decisions.matrices(lambda: [writer.add(tile, c)], lambda: [writer.add(tile + 1, writer.add(tile + 2, c))], equal)

    below = decisions.relation in ("less", "less_equal")
    (d,) = decisions.matrices(lambda: inner(1 if below else 3, 0), lambda: inner(3 if below else 1, 3))
    writer.store(d)


def _return(writer: ChainWriter, decisions: Decisions) -> None:
    """Store and end the shader early where the condition holds."""
    d = writer.add(0, writer.load("c", 0))
    with writer.builder.arm() as body:
        writer.store(writer.add(1, d), "d1")
    writer.builder.exit("return", decisions.condition, body)
    writer.store(writer.add(2, d), "d0")


def _switch(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose among four arms, one of them for two numbers."""
    c = writer.load("c", 0)
    arms = [(literals, lambda tile=tile: [writer.add(tile, c)]) for tile, literals in enumerate(((0,), (1, 3), (7,)))]
    (result,) = decisions.switch(arms, lambda: [writer.add(4, writer.add(3, c))])
    writer.store(result)


def _two_switches(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose two matrices by a switch, and again among them by a second switch, whose arms have other numbers."""
    x, y = writer.load("c", 0), writer.load("c", 1)
    first = decisions.switch([((0, 2), lambda: [y, writer.add(0, x)]), ((1,), lambda: [writer.add(1, x), y])], lambda: [x, y])
    second = decisions.switch([((1, 2), lambda: [first[1], first[0]]), ((3,), lambda: [writer.add(2, first[0]), first[1]])], lambda: first)
    for number, matrix in enumerate(second):
        writer.store(writer.add(3 + number, matrix), f"d{number}")


def _nested_switch(writer: ChainWriter, decisions: Decisions) -> None:
    """Choose by a switch in two arms of a switch, where the default of one exchanges the matrices that the other adds to."""
    x, y = writer.load("c", 0), writer.load("c", 1)

    def inner() -> list[Matrix]:
        return decisions.switch([((1,), lambda: [writer.add(0, x), y]), ((0,), lambda: [y, writer.add(1, x)])], lambda: [y, x])

    def last() -> list[Matrix]:
        return decisions.switch([((3,), lambda: [writer.add(2, y), x])], lambda: [x, writer.add(2, y)])

    chosen = decisions.switch([((0, 1), inner), ((2,), lambda: [writer.add(3, x), y])], last)
    for number, matrix in enumerate(chosen):
        writer.store(writer.add(4 + number, matrix), f"d{number}")


SELECTIONS: Mapping[str, Form] = {
    "operands": Form(_operands),
    "operands_again": Form(_operands_again),
    "muladd": Form(_muladd),
    "epilogue": Form(_epilogue),
    "exchange": Form(_exchange),
    "splat": Form(_splat),
    "store": Form(_store),
    "store_layout": Form(_store_layout),
    "load_layout": Form(_load_layout),
    "address": Form(_address),
    "nested": Form(_nested),
    "return": Form(_return, hinted=False),
    "switch": Form(_switch, compares=False),
    "two_switches": Form(_two_switches, compares=False),
    "nested_switch": Form(_nested_switch, compares=False),
}
"""By label."""
