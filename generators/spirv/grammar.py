"""The grammar of SPIR-V: its instructions and enumerants, and their operands.

``grammar.json`` holds the registry's facts, in the form that ``registry`` gives them; ``grammar_supplement.json`` holds the few that
the registry's file lacks, and is written by hand. Both have the same form. A pattern lists the kinds of operands:

``T`` result type, ``R`` result, ``id`` an id, ``int`` ``str`` ``number`` literals (``number`` has the width of its type), ``ext`` the
number of an extended instruction, ``opcode`` the opcode of OpSpecConstantOp, anything else an enumerant of that kind; ``?``
optional, ``*`` any number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

_FILES = tuple(Path(__file__).with_name(name) for name in ("grammar.json", "grammar_supplement.json"))


class OperandPattern(NamedTuple):
    """One place for operands.

    Attributes:
        kind: see above, or a composite: ``PairIdRefIdRef``, ``PairIdRefLiteralInteger``, ``PairLiteralIntegerIdRef``.
        quantifier: ``?``, ``*`` or empty for exactly one.
    """

    kind: str
    quantifier: str = ""


Patterns = tuple[OperandPattern, ...]


class InstructionGrammar(NamedTuple):
    """One instruction.

    Attributes:
        name: without ``Op``.
        opcode: its number.
        operands: the operands after the first word.
        capabilities: a module must declare one of them, if there are any.
        extensions: a module must declare one of them if ``version`` is empty.
        version: the first version of SPIR-V that has it without an extension; empty if none has.
    """

    name: str
    opcode: int
    operands: Patterns = ()
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    version: str = ""

    @property
    def is_typed(self) -> bool:
        """Whether it has a result with a type."""
        return self.operands[:1] == _RESULT_TYPE


class EnumerantGrammar(NamedTuple):
    """One enumerant; the attributes are like an instruction's.

    Attributes:
        parameters: the operands that follow it.
    """

    name: str
    value: int
    parameters: Patterns = ()
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class EnumerantKind:
    """The enumerants of one kind of operand.

    Attributes:
        is_mask: whether they are flags, which combine.
        by_name: name -> enumerant; an enumerant with aliases is listed under each of its names.
        by_value: value -> enumerant.
        parameters: value -> operands that follow, for the enumerants that have some.
    """

    is_mask: bool
    by_name: Mapping[str, EnumerantGrammar]
    by_value: Mapping[int, EnumerantGrammar]
    parameters: Mapping[int, Patterns]

    def values(self, number: int) -> list[int]:
        """Return ``number`` as a list of enumerants: itself, or the flags of a mask, from the lowest on."""
        return [1 << bit for bit in range(32) if number >> bit & 1] if self.is_mask else [number]


@dataclass(frozen=True)
class Grammar:
    """The whole grammar.

    Attributes:
        magic: the first word of a module.
        instructions: opcode -> instruction.
        opcodes: name without ``Op`` -> opcode, aliases included.
        kinds: name of a kind of enumerants -> its enumerants.
        instruction_sets: name of an extended instruction set -> name of an instruction -> its number.
    """

    magic: int
    instructions: Mapping[int, InstructionGrammar]
    opcodes: Mapping[str, int]
    kinds: Mapping[str, EnumerantKind]
    instruction_sets: Mapping[str, Mapping[str, int]]


def read_grammar(*files: Path) -> Grammar:
    """Read the grammar from files of the form of ``grammar.json``; later ones add to earlier ones."""
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    opcodes: dict[str, int] = {}
    instructions: dict[int, InstructionGrammar] = {}
    for name, entry in _merged(documents, "instructions").items():
        opcode = entry["opcode"]
        instructions[opcode] = InstructionGrammar(name, opcode, _patterns(entry.get("operands", "")), *_needs(entry))
        opcodes.update(dict.fromkeys((name, *entry.get("aliases", ())), opcode))
    masks = {kind for document in documents for kind in document["masks"]}
    names = dict.fromkeys(kind for document in documents for kind in document["enumerants"])
    kinds = {name: _kind(name in masks, _merged([document["enumerants"] for document in documents], name)) for name in names}
    return Grammar(
        next(document["magic"] for document in documents if "magic" in document),
        MappingProxyType(instructions),
        MappingProxyType(opcodes),
        MappingProxyType(kinds),
        MappingProxyType({name: MappingProxyType(numbers) for name, numbers in _merged(documents, "instruction_sets").items()}),
    )


def _merged(documents: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return {name: entry for document in documents for name, entry in document.get(key, {}).items()}


def _kind(is_mask: bool, entries: Mapping[str, Any]) -> EnumerantKind:
    by_name: dict[str, EnumerantGrammar] = {}
    by_value: dict[int, EnumerantGrammar] = {}
    for name, entry in entries.items():
        enumerant = EnumerantGrammar(name, entry["value"], _patterns(entry.get("parameters", "")), *_needs(entry))
        by_value[enumerant.value] = enumerant
        by_name.update(dict.fromkeys((name, *entry.get("aliases", ())), enumerant))
    parameters = {value: enumerant.parameters for value, enumerant in by_value.items() if enumerant.parameters}
    return EnumerantKind(is_mask, MappingProxyType(by_name), MappingProxyType(by_value), MappingProxyType(parameters))


def _needs(entry: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    return tuple(entry.get("capabilities", ())), tuple(entry.get("extensions", ())), entry.get("version", "")


@cache
def _patterns(text: str) -> Patterns:
    return tuple(OperandPattern(part.rstrip("?*"), part[-1] if part[-1] in "?*" else "") for part in text.split())


_RESULT_TYPE = _patterns("T")

GRAMMAR = read_grammar(*_FILES)
