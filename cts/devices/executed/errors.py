"""What the model of the GPU lacks: an error of this suite, never a verdict about the driver."""

from __future__ import annotations

from generators.errors import CtsError


class NotModelled(CtsError):
    """A packet, register, instruction or use of one is not modelled; the message names it."""
