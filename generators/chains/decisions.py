"""Branches and loops that depend on a number and a relation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from generators.chains.tiles import ChainWriter
from generators.program.control_flow import Arm, Carried, Condition, Flowing, Merged, Relation
from generators.program.operation import Hint
from generators.program.values import Matrix, Operand, Scalar, ScalarValue, Value, is_matrix
from generators.types import COMPONENT_TYPES

U32 = COMPONENT_TYPES["u32"]

Chosen = Matrix | ScalarValue
Values = Sequence[Chosen]


class Decisions:
    """Branches and loops over the number ``n``.

    Attributes:
        writer: the writer of the program.
        n: the deciding number.
        relation: how ``condition`` compares it.
        hint: the hint of branches and loops.
    """

    def __init__(self, writer: ChainWriter, n: ScalarValue, relation: Relation, hint: Hint) -> None:
        self.writer = writer
        self.n = n
        self.relation = relation
        self.hint = hint

    @property
    def condition(self) -> Condition:
        """Compare ``n`` with 2."""
        return Condition(self.n, self.relation, self.literal(2))

    def literal(self, value: int) -> Operand:
        """Make a number of the type of ``n``."""
        return self.writer.builder.literal(value, self.n.type)

    def result(self, source: Chosen) -> Flowing:
        """Make the value of a merge, with the type of one of its sources."""
        return Value(self.writer.name("chosen"), source.type)

    def choose(self, then: Callable[[], Values], otherwise: Callable[[], Values], condition: Condition | None = None) -> list[Flowing]:
        """Branch. Each arm writes its operations and returns its values; return the merged values."""
        builder = self.writer.builder
        with builder.arm() as first:
            yes = then()
        with builder.arm() as second:
            no = otherwise()
        merged = [Merged(self.result(pair[0]), pair) for pair in zip(yes, no, strict=True)]
        builder.branch(condition or self.condition, first, second, merged, self.hint)
        return [item.result for item in merged]

    def matrices(
        self, then: Callable[[], Sequence[Matrix]], otherwise: Callable[[], Sequence[Matrix]], condition: Condition | None = None
    ) -> list[Matrix]:
        """Branch as ``choose`` does, for matrices only."""
        return [value for value in self.choose(then, otherwise, condition) if is_matrix(value)]

    def switch(
        self,
        arms: Sequence[tuple[tuple[int, ...], Callable[[], Sequence[Matrix]]]],
        default: Callable[[], Sequence[Matrix]],
        selector: ScalarValue | None = None,
        skip: tuple[tuple[int, ...], Callable[[], None]] | None = None,
    ) -> list[Matrix]:
        """Choose matrices by a switch over ``n``, or over ``selector``. Each arm has its literals, writes its operations and returns its
        matrices; return the merged ones. The arm ``skip`` comes first, and continues with the next iteration of the loop."""
        builder = self.writer.builder
        written, sources = [], []
        if skip is not None:
            with builder.arm() as body:
                skip[1]()
            written.append(Arm(skip[0], tuple(body), continues=True))
        for literals, write in arms:
            with builder.arm() as body:
                sources.append(write())
            written.append(Arm(literals, tuple(body)))
        with builder.arm() as otherwise:
            sources.append(default())
        merged = [Merged(self.result(of[0]), tuple(of)) for of in zip(*sources, strict=True)]
        builder.switch(self.n if selector is None else selector, written, otherwise, merged, self.hint)
        return [item.result for item in merged if is_matrix(item.result)]

    def repeat(
        self, trips: ScalarValue | int, initial: Sequence[Matrix], body: Callable[[Scalar, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        """Write a loop. ``body`` gets the index and the carried matrices, and returns the matrices of the next iteration. Return the
        matrices after the loop."""
        writer = self.writer
        index = Value(writer.name("i"), U32)
        current = [Value(writer.name("carried"), matrix.type) for matrix in initial]
        carried: list[Carried] = []
        count = writer.builder.literal(trips) if isinstance(trips, int) else trips
        with writer.builder.loop(index, count, carried, self.hint):
            following = body(index, current)
            carried += [Carried(*matrices) for matrices in zip(initial, current, following, strict=True)]
        return current
