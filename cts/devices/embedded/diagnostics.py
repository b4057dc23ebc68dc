"""How the embedded device says what is wrong: which instruction broke which rule."""

from __future__ import annotations

from cts.devices.device import DeviceFailure, Step
from cts.verdict.codes import Code
from generators.errors import GeneratorError
from generators.spirv.disassemble import disassemble
from generators.spirv.named_number import NamedNumber

_HEADER_LINES = 5


class Violation(Exception):
    """An instruction breaks a rule of the specification.

    Attributes:
        rule: a requirement id, a VUID, an F-id, or the section of the SPIR-V specification.
        text: what happened, in one line. Whoever reports it puts the instruction before it.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{text} [{rule}]")
        self.rule = rule
        self.text = text


class Malformed(Exception):
    """An instruction is no valid SPIR-V: a type or a number that does not fit it; the message says which. Which instruction it is, is
    known to whoever translates."""


def need(holds: bool, what: str) -> None:
    """Refuse the instruction unless ``holds``.

    Raises:
        Malformed: with ``what``.
    """
    if not holds:
        raise Malformed(what)


class UndefinedUse(Exception):
    """An undefined value was computed with, compared, or used as an address or a condition."""


class Unsupported(Exception):
    """The interpreter lacks what a module uses; the message names it."""


class NotValidSpirv(DeviceFailure):
    """What a kernel has for a module is none: our defect.

    Attributes:
        word: number of the word, from 0, where it goes wrong.
    """

    verdict = "error"
    begins = Code.ERROR_SPIRV

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message, step=Step.PIPELINE)
        self.word = word


class NotSupported(DeviceFailure):
    """A module has an instruction that the interpreter lacks, or one with operands that it lacks: our defect, because every case is to run
    on it.

    Attributes:
        instruction: its name, with ``Op``.
    """

    verdict = "error"
    begins = Code.ERROR_INTERPRETER

    def __init__(self, message: str, instruction: str) -> None:
        super().__init__(message, step=Step.PIPELINE)
        self.instruction = instruction


def enumerant_text(kind: type[NamedNumber], value: int) -> str:
    """Return the name of an enumerant, or the kind and the number of one that the grammar does not have."""
    return kind(value).name if value in kind else f"{kind.__name__} {value}"


def instruction_text(spirv: bytes, index: int) -> str:
    """The instruction number ``index`` (from 0) of a module, disassembled."""
    try:
        return " ".join(disassemble(spirv).splitlines()[_HEADER_LINES + index].split())
    except (GeneratorError, IndexError):
        return f"instruction {index}"
