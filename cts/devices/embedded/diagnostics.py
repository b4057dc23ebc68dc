"""How the embedded device says what is wrong: which instruction broke which rule."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.spirv.disassemble import disassemble

_HEADER_LINES = 5


class Violation(Exception):
    """An instruction breaks a rule of the specification.

    Attributes:
        rule: a requirement id, a VUID, an F-id, or the section of the SPIR-V specification.
        text: what happened, in one line.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{text} [{rule}]")
        self.rule = rule
        self.text = text


class UndefinedUse(Exception):
    """An undefined value was computed with, compared, or used as an address or a condition."""


class Unsupported(Exception):
    """The interpreter lacks what a module uses; the message names it."""


def instruction_text(spirv: bytes, index: int) -> str:
    """The instruction number ``index`` (from 0) of a module, disassembled."""
    try:
        return " ".join(disassemble(spirv).splitlines()[_HEADER_LINES + index].split())
    except (GeneratorError, IndexError):
        return f"instruction {index}"
