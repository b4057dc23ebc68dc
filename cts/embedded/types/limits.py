"""Limits how much a module may use. Memory is counted before it is allocated, steps while they run. A verdict of the suite depends on no
clock: only ``cts run-module`` also limits the processor time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cts.embedded.diagnostics import Unsupported
from cts.embedded.types.spirv_types import Array, Bool, MatrixType, Number, Struct, Type, Vector
from generators.types import Scope

ELEMENTS_A_STEP = 1 << 10
"""How many numbers an instruction can compute with in one step."""

MAX_DEPTH = 48
"""How deeply types may be nested. Functions that read and write values recurse as deeply."""

MAX_PARTS = 1 << 14
"""How many parts a type may have, counting an array's element once: the most members of a structure (SPIR-V 2.17)."""

MAX_ELEMENTS = 1 << 20
"""How many elements all instances of a cooperative matrix in a workgroup may have. Some computations take 100 bytes for each."""

MAX_CALL_DEPTH = 32
"""How deeply calls may be nested."""

_LANE_BYTES = 8
_SCALAR_BYTES = 64
_SHADOW = 26
"""Host bytes for each byte of workgroup memory, including the records of its readers and writers."""


@dataclass(frozen=True)
class Limits:
    """How much one kernel may use.

    Attributes:
        steps: for one dispatch. An instruction takes one step, and one more for each 1,024 numbers with which it computes.
        memory: bytes for all values of a module, its variables and its workgroup memory together.
        seconds: processor time for a module; None for any time.
    """

    steps: int = 5_000_000
    memory: int = 1 << 28
    seconds: float | None = None


LIMITS = Limits()


class Extent(NamedTuple):
    """How large a type is.

    Attributes:
        depth: how deeply types are nested in it.
        parts: number of types in it, counting an array's element once.
        scalars: numbers and booleans in a value, without matrices.
        subgroup_bytes, workgroup_bytes: bytes of the matrices of that scope, in one instance of it.
    """

    depth: int = 1
    parts: int = 1
    scalars: int = 1
    subgroup_bytes: int = 0
    workgroup_bytes: int = 0

    def value_bytes(self, lanes: int, subgroups: int) -> int:
        """Return the most bytes that a value takes, if each invocation has its own."""
        return self.scalars * (lanes * _LANE_BYTES + _SCALAR_BYTES) + self.subgroup_bytes * subgroups + self.workgroup_bytes


_SCALAR = Extent()
_OPAQUE = Extent(1, 1, 26)
"""Tensor layouts and views hold at most 26 numbers; pointers hold one."""


def extent_of(type_: Type, parts: Sequence[Extent]) -> Extent:
    """Return the extent of a type, from the extents of its parts.

    Raises:
        Unsupported: it is deeper or has more parts than the interpreter allows.
    """
    match type_:
        case Number() | Bool():
            return _SCALAR
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
        case _:
            return _OPAQUE
    if found.depth > MAX_DEPTH:
        raise Unsupported(f"types are nested {found.depth} deep; at most {MAX_DEPTH}")
    if found.parts > MAX_PARTS:
        raise Unsupported(f"a type of {found.parts} parts; at most {MAX_PARTS}")
    return found


def _together(parts: Sequence[Extent], depth: int, count: int, *members: Extent) -> Extent:
    if len(members) == 1:
        (one,) = members
        return Extent(depth + one.depth, 1 + one.parts, count * one.scalars, count * one.subgroup_bytes, count * one.workgroup_bytes)
    return Extent(
        depth + max((part.depth for part in parts), default=0),
        1 + sum(part.parts for part in members),
        count * sum(part.scalars for part in members),
        count * sum(part.subgroup_bytes for part in members),
        count * sum(part.workgroup_bytes for part in members),
    )


class Budget:
    """The memory that is left for a kernel.

    Attributes:
        left: remaining bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def take(self, size: int, what: str, id_: int) -> None:
        """Take ``size`` bytes for an id. ``what`` names its kind in messages.

        Raises:
            Exhausted: fewer are left.
        """
        if size > self.left:
            left = f"{max(self.left, 0):,} are left of {self.limit:,} for all values of a module"
            raise Exhausted(f"{what} %{id_} takes up to {size:,} bytes, and {left}")
        self.left -= size

    def take_shared(self, size: int, id_: int) -> None:
        """Take ``size`` bytes of workgroup memory for a variable, plus memory for its records.

        Raises:
            Exhausted: less is left.
        """
        self.take(size * _SHADOW, "the workgroup variable", id_)


class Exhausted(Exception):
    """A module needs more memory than it may have. The message says for what."""
