"""Inner arrays of a buffer, where a pointer does not lead to the first byte of the block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.builder import ProgramBuilder
from generators.program.memory import Inner
from generators.program.values import ScalarValue

PointsTo = Literal["block", "member", "own"]
"""What a pointer leads to: the only member of the block; the second member of a struct in the block, after bytes that no access touches; or
a member of one of several structs, which each invocation chooses."""

POINTS_TO = "what pointers lead to: the block's only array; an array after another member; or one of several, which an invocation chooses"


@dataclass(frozen=True)
class InnerArrays:
    """The inner arrays that contain the objects of an array: vectors or matrices, at equal distances.

    Attributes:
        points_to: what pointers lead to.
        head: bytes of the member before an inner array, a multiple of the required alignment of pointers.
    """

    points_to: PointsTo
    head: int

    def declared(self, size: int, pitch: int, element: int) -> Inner | None:
        """Return how an array of ``size`` bytes is declared, whose objects are ``pitch`` bytes apart.

        Args:
            element: the size of an element in bytes.
        """
        if self.points_to == "block":
            return None
        whole = size if self.points_to == "member" else pitch
        return Inner((whole - self.head) // element, self.head // element)

    def chosen(self, builder: ProgramBuilder, number: ScalarValue) -> ScalarValue | None:
        """Return the inner array of object ``number``; None if there are none."""
        match self.points_to:
            case "block":
                return None
            case "member":
                return builder.literal(0)
            case "own":
                return number

    def relative(self, first: int) -> int:
        """Return the offset from a pointer of the object that begins at byte ``first`` of the array, or of its part of the array."""
        return first if self.points_to == "block" else first - self.head

    @property
    def is_own(self) -> bool:
        """Whether pointers differ between invocations, and offsets do not."""
        return self.points_to == "own"
