"""Reports mistakes of a module on the embedded device: which instruction broke which rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from cts.devices.device import DeviceFailure, Step
from cts.verdict.codes import Code
from generators.errors import GeneratorError
from generators.spirv.disassemble import instruction_lines
from generators.spirv.named_number import NamedNumber
from generators.spirv.reader import NotSpirv, UnknownInstruction

_Kind = TypeVar("_Kind")


class Violation(Exception):
    """An instruction breaks a rule of the specification.

    Attributes:
        rule: a requirement id, a VUID, an F-id, or the section of the SPIR-V specification.
        text: what happened, in one line. The report prefixes the instruction.
        is_final: whether the device stops at this violation.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{text} [{rule}]")
        self.rule = rule
        self.text = text
        self.is_final = False


class Malformed(Exception):
    """An instruction is invalid SPIR-V: one of its types or numbers does not fit. The message says which.

    The translation has the index of the instruction.
    """


def need(holds: bool, what: str) -> None:
    """Refuse the instruction unless ``holds``.

    Raises:
        Malformed: the condition does not hold; ``what`` is the message.
    """
    if not holds:
        raise Malformed(what)


def needed(value: object, kind: type[_Kind], what: str) -> _Kind:
    """Return ``value`` if it is a ``kind``.

    Raises:
        Malformed: it is not one; ``what`` is the message.
    """
    if not isinstance(value, kind):
        raise Malformed(what)
    return value


def demanded(value: object, kind: type[_Kind], rule: str, text: str) -> _Kind:
    """Return ``value`` if it is a ``kind``.

    Raises:
        Violation: it is not one, which breaks ``rule``; ``text`` says what is wrong.
    """
    if not isinstance(value, kind):
        raise Violation(rule, text)
    return value


class UndefinedUse(Exception):
    """An instruction computed with an undefined value, compared it, or used it as an address or a condition.

    Attributes:
        is_final: whether the device stops at this use. Otherwise the result of the instruction may become undefined.
    """

    is_final = False


class Unsupported(Exception):
    """The interpreter lacks something that a module uses; the message names it."""


class NotValidSpirv(DeviceFailure):
    """The module of a kernel is invalid: a defect of the suite.

    Attributes:
        word: number of the invalid word, from 0.
    """

    verdict = "error"
    begins = Code.ERROR_SPIRV

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message, step=Step.PIPELINE)
        self.word = word


class NotSupported(DeviceFailure):
    """The interpreter lacks an instruction or operand of a module: a defect of the suite, because it must run every case.

    Attributes:
        instruction: name of the instruction, with ``Op``.
    """

    verdict = "error"
    begins = Code.ERROR_INTERPRETER

    def __init__(self, message: str, instruction: str) -> None:
        super().__init__(message, step=Step.PIPELINE)
        self.instruction = instruction


@contextmanager
def reading() -> Iterator[None]:
    """Report words that are not a module, and instructions that the grammar lacks, as failures of the device.

    Raises:
        NotValidSpirv, NotSupported: there are such words within the block.
    """
    try:
        yield
    except NotSpirv as error:
        raise NotValidSpirv(f"not valid SPIR-V: {error}", error.word) from error
    except UnknownInstruction as error:
        raise NotSupported(f"SPIR-V word {error.word}: the embedded device does not support this: {error.name}", error.name) from error


def enumerant_text(kind: type[NamedNumber], value: int) -> str:
    """Return the name of an enumerant, or its kind and number if the grammar does not have it."""
    return kind(value).name if value in kind else f"{kind.__name__} {value}"


@lru_cache(maxsize=1)
def _lines(spirv: bytes) -> list[str]:
    return instruction_lines(spirv)


def instruction_text(spirv: bytes, index: int) -> str:
    """Return the disassembly of instruction number ``index`` (from 0) of a module."""
    try:
        return " ".join(_lines(spirv)[index].split())
    except (GeneratorError, IndexError):
        return f"instruction {index}"
