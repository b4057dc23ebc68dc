"""How much a module may ask of the interpreter: counted before memory is taken, and while it runs, never by a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cts.devices.embedded.diagnostics import Unsupported
from cts.devices.embedded.spirv_types import Array, Bool, MatrixType, Number, Struct, Type, Vector
from generators.types import Scope

ELEMENTS_A_STEP = 1 << 10
"""Numbers with which an instruction may compute in one step."""

MAX_DEPTH = 48
"""Types in types in types: what reads and writes them calls itself as often."""

MAX_PARTS = 1 << 14
"""Parts of a type and of its parts, an array's element counted once: as many members as a structure may have (SPIR-V 2.17)."""

MAX_ELEMENTS = 1 << 20
"""Elements of a cooperative matrix in all its instances of a workgroup: some computations take a hundred bytes for each."""

MAX_CALL_DEPTH = 32
"""Functions that call functions."""

_LANE_BYTES = 8
_SCALAR_BYTES = 64
_SHADOW = 26
"""Bytes that a byte of workgroup memory takes, with the records of who read and wrote it."""


@dataclass(frozen=True)
class Limits:
    """What one kernel may take.

    Attributes:
        steps: of one dispatch. An instruction is one, and one more for each 1,024 numbers that it computes with.
        memory: bytes that all values of a module, its variables and its workgroup memory may take together.
    """

    steps: int = 5_000_000
    memory: int = 1 << 28


@dataclass(frozen=True)
class Extent:
    """How large a type is.

    Attributes:
        depth: of types in types. ``parts``: how many there are, an array's element counted once.
        scalars: numbers and booleans that a value holds, a matrix not counted.
        matrices: by scope, bytes of the matrices in one instance of it.
    """

    depth: int = 1
    parts: int = 1
    scalars: int = 1
    subgroup_bytes: int = 0
    workgroup_bytes: int = 0

    def value_bytes(self, lanes: int, subgroups: int) -> int:
        """Bytes that a value takes at most, where each invocation has its own."""
        return self.scalars * (lanes * _LANE_BYTES + _SCALAR_BYTES) + self.subgroup_bytes * subgroups + self.workgroup_bytes


def extent_of(type_: Type, parts: Sequence[Extent]) -> Extent:
    """The extent of a type, from those of the types that it is made of.

    Raises:
        Unsupported: it is deeper, or has more parts, than the interpreter takes.
    """
    match type_:
        case Vector():
            return Extent(2, 2, type_.count)
        case Array():
            (element,) = parts
            count = 1 if type_.length is None else type_.length
            found = _together(parts, 1, count, element)
        case Struct():
            found = _together(parts, 1, 1, *parts)
        case MatrixType():
            size = type_.rows * type_.columns * type_.number.bytes
            return Extent(1, 1, 0, size, 0) if type_.scope is Scope.SUBGROUP else Extent(1, 1, 0, 0, size)
        case Number() | Bool():
            return Extent()
        case _:
            # Tensor layouts and views hold at most 26 numbers, pointers one.
            return Extent(1, 1, 26)
    if found.depth > MAX_DEPTH:
        raise Unsupported(f"types in types, {found.depth} deep; at most {MAX_DEPTH}")
    if found.parts > MAX_PARTS:
        raise Unsupported(f"a type of {found.parts} parts; at most {MAX_PARTS}")
    return found


def _together(parts: Sequence[Extent], depth: int, count: int, *members: Extent) -> Extent:
    return Extent(
        depth + max((part.depth for part in parts), default=0),
        1 + sum(part.parts for part in members),
        count * sum(part.scalars for part in members),
        count * sum(part.subgroup_bytes for part in members),
        count * sum(part.workgroup_bytes for part in members),
    )


class Budget:
    """Bytes that are still there.

    Attributes:
        left: bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def take(self, size: int, what: str, id_: int) -> None:
        """Takes ``size`` bytes for ``what``, of an id.

        Raises:
            Exhausted: there are not so many.
        """
        if size > self.left:
            left = f"{max(self.left, 0):,} are left of {self.limit:,} for all values of a module"
            raise Exhausted(f"{what} %{id_} takes up to {size:,} bytes, and {left}")
        self.left -= size

    def take_shared(self, size: int, id_: int) -> None:
        """Takes workgroup memory of ``size`` bytes, with its records, for a variable.

        Raises:
            Exhausted: there are not so many.
        """
        self.take(size * _SHADOW, "the workgroup variable", id_)


class Exhausted(Exception):
    """A module asks for more memory than it may have; the message says what for."""
