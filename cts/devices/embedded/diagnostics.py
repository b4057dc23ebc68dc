"""How the embedded device reports a mistake: which instruction broke which rule."""

from __future__ import annotations

from cts.devices.device import DeviceFailure, Step
from cts.verdict.codes import Code
from generators.errors import GeneratorError
from generators.spirv.disassemble import instruction_lines
from generators.spirv.named_number import NamedNumber


class Violation(Exception):
    """An instruction breaks a rule of the specification.

    Attributes:
        rule: a requirement id, a VUID, an F-id, or the section of the SPIR-V specification.
        text: what happened, in one line. The report puts the instruction before it.
        is_final: whether the device stops here.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{text} [{rule}]")
        self.rule = rule
        self.text = text
        self.is_final = False


class Malformed(Exception):
    """An instruction is not valid SPIR-V: a type or a number does not fit it; the message says which.

    The translation knows which instruction it is.
    """


def need(holds: bool, what: str) -> None:
    """Refuse the instruction unless ``holds``.

    Raises:
        Malformed: with ``what``.
    """
    if not holds:
        raise Malformed(what)


class UndefinedUse(Exception):
    """An undefined value was computed with, compared, or used as an address or a condition.

    Attributes:
        is_final: whether the device stops here. Otherwise the value may spread to the result of the instruction.
    """

    is_final = False


class Unsupported(Exception):
    """The interpreter lacks something that a module uses; the message names it."""


class NotValidSpirv(DeviceFailure):
    """The module of a kernel is not a valid one: our defect.

    Attributes:
        word: number of the word, from 0, where it goes wrong.
    """

    verdict = "error"
    begins = Code.ERROR_SPIRV

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message, step=Step.PIPELINE)
        self.word = word


class NotSupported(DeviceFailure):
    """A module has an instruction, or operands, that the interpreter lacks: our defect, because every case must run on it.

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
    """Return the instruction number ``index`` (from 0) of a module, disassembled."""
    try:
        return " ".join(instruction_lines(spirv)[index].split())
    except (GeneratorError, IndexError):
        return f"instruction {index}"
