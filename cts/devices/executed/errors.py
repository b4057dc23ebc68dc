"""What the model of the GPU lacks: an error of this suite, never a verdict about the driver."""

from __future__ import annotations

from generators.errors import CtsError


class NotModelled(CtsError):
    """A packet, register, instruction or use of one is not modelled; the message names it.

    Attributes:
        part: the packet, register, instruction or other part.
        how: in which use; empty for any.
    """

    def __init__(self, part: str, how: str = "") -> None:
        super().__init__(f"{part} is not modelled{how and f' {how}'}")
        self.part, self.how = part, how
