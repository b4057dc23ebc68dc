"""How the machine code of a driver made a wrong element, as a model of the chip executed it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cts.verdict.sizes import Count, Ordinal


@dataclass(frozen=True)
class ElementPlace:
    """An element of an array that a shader wrote; ``offset`` and ``size`` are in bytes."""

    array: str
    offset: Count
    size: Ordinal


@dataclass(frozen=True)
class MachineLine:
    """An instruction that took part in the element's value.

    Attributes:
        offset: where it is in the shader, in bytes.
        code: the instruction, as in assembly.
        result: the register that it wrote, and its value; empty for a store.
        sources: the registers that it read, and their values.
        note: what the columns do not say; empty for nothing.
        times: how often it took part, in a loop; the values are those of the last time.
    """

    offset: Count
    code: str
    result: str
    sources: tuple[str, ...]
    note: str = ""
    times: Ordinal = 1


@dataclass(frozen=True)
class MachineWalk:
    """The way back from a wrong element to the loads from which it comes.

    Attributes:
        what: which element it is, and which lane stored it.
        lines: the store, then each instruction before those that read its result.
        more: whether the way goes on.
    """

    what: str
    lines: tuple[MachineLine, ...] = ()
    more: bool = False

    def told(self, most: int) -> Iterator[str]:
        """Yield lines of text, with at most so many instructions."""
        yield self.what
        for line in self.lines[:most]:
            result = f"{line.result} <- " if line.result else ""
            again = f" (the last of {line.times} times)" if line.times > 1 else ""
            note = f"; {line.note}" if line.note else ""
            yield f"  {line.offset:#06x}  {line.code}{again}: {result}{', '.join(line.sources)}{note}"
        if self.more or len(self.lines) > most:
            yield "  … and more instructions before these"
