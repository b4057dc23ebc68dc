"""What the listing of compiled code says about its loads and multiply-adds, in terms that all drivers share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a listing.

    Attributes:
        label: the label at this line, which jumps name; empty if there is none.
        jumps: the labels to which the instruction may jump.
        lane_bytes: how many bytes all lanes of a subgroup together load, each from its own address, at most.
        uniform_bytes: how many bytes the subgroup loads from one address.
        multiply_adds: how many matrix multiply-adds the instruction makes.
        unknown: the instruction, if the reader cannot tell what it loads or where it jumps; else empty.
    """

    label: str = ""
    jumps: tuple[str, ...] = ()
    lane_bytes: int = 0
    uniform_bytes: int = 0
    multiply_adds: int = 0
    unknown: str = ""


@dataclass(frozen=True)
class Code:
    """The loads and multiply-adds of compiled code; numbers of bytes are for one subgroup.

    Attributes:
        lane_bytes: how many bytes loads with an address for each lane get, each load counted once.
        uniform_bytes: how many bytes the other loads get, each counted once: descriptors, operands, and arrays too.
        multiply_adds: how many instructions multiply matrices.
        loops: how many jumps lead back.
        loads_in_loops: how many loads may run more than once.
        unknown: the first instruction that the reader does not know; empty if it knows all of them.
    """

    lane_bytes: int = 0
    uniform_bytes: int = 0
    multiply_adds: int = 0
    loops: int = 0
    loads_in_loops: int = 0
    unknown: str = ""

    @property
    def most_bytes(self) -> int | None:
        """The most bytes that a subgroup can load; None if the listing does not tell."""
        return None if self.unknown or self.loads_in_loops else self.lane_bytes + self.uniform_bytes


def summarised(lines: Iterable[Line]) -> Code:
    """Return what the lines of a listing say together.

    An instruction that can run twice is on a circle of the control flow, and some jump of this circle leads from the instruction, or from
    a line after it, back to the instruction, or to a line before it.
    """
    listed = list(lines)
    places = {line.label: place for place, line in enumerate(listed) if line.label}
    unknown = next((line.unknown for line in listed if line.unknown), "")
    unknown = unknown or next((f"jump to {label}" for line in listed for label in line.jumps if label not in places), "")
    back = [(places[label], place) for place, line in enumerate(listed) for label in line.jumps if places.get(label, place + 1) <= place]
    looped = {place for first, last in back for place in range(first, last + 1)}
    return Code(
        lane_bytes=sum(line.lane_bytes for line in listed),
        uniform_bytes=sum(line.uniform_bytes for line in listed),
        multiply_adds=sum(line.multiply_adds for line in listed),
        loops=len(back),
        loads_in_loops=sum(1 for place in looped if listed[place].lane_bytes or listed[place].uniform_bytes),
        unknown=unknown,
    )
