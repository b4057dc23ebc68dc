"""A module from text, in the syntax of spirv-as and of ``disassemble``."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from generators.errors import GeneratorError, Rule
from generators.program.shape import LATEST
from generators.spirv.enumerants import MAGIC, GlslStd450, Op
from generators.spirv.grammar import GRAMMAR
from generators.spirv.module import string_words
from generators.spirv.numbers import NumberType, hexadecimal_bits
from generators.spirv.versions import version_word

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_ENDS_EARLY = "..."
_FLOATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


class NotAssembly(GeneratorError):
    """A line that is not an instruction.

    Attributes:
        line: its number, from 1.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(Rule.ASSEMBLY, f"line {line} of the assembly, {what}")
        self.line = line


def assemble(text: str) -> bytes:
    """Assemble the SPIR-V 1.6 module that ``text`` describes, one instruction per line, little-endian words. An enumerant may be given as a
    number, even if no table has it, and an instruction may end early with ``...`` as its last token, so invalid modules can be written too.

    Raises:
        NotAssembly: a line is not an instruction that the tables know, with the operands that it takes.
    """
    assembler = _Assembler()
    words: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words += assembler.words(line)
        except (KeyError, ValueError, StopIteration) as error:
            raise NotAssembly(number, f"'{line.strip()}': {type(error).__name__}: {error}") from error
    header = [MAGIC, version_word(LATEST), 0, assembler.bound, 0]
    return struct.pack(f"<{len(header) + len(words)}I", *header, *words)


@dataclass(frozen=True)
class _Literal:
    """A number whose words depend on its type.

    Attributes:
        token: its text.
        is_type: whether the instruction's first id is the type; otherwise that id has the type.
    """

    token: str
    is_type: bool


_Operand = int | str | _Literal
"""A word, an id with its ``%``, or a number."""


class _Assembler:
    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._numbers: dict[int, NumberType] = {}
        self._types: dict[int, int] = {}

    @property
    def bound(self) -> int:
        return len(self._ids) + 1

    def words(self, line: str) -> list[int]:
        op, result, operands = _parsed(line)
        if op is None:
            return []
        if result is not None:
            self._id(result)
        words: list[int] = []
        for one in operands:
            if isinstance(one, str):
                words.append(self._id(one))
            elif isinstance(one, int):
                words.append(one)
            else:
                words += _number(self._numbers[words[0] if one.is_type else self._types[words[0]]], one.token)
        if op is Op.TypeInt:
            self._numbers[words[0]] = NumberType(False, words[1], bool(words[2]))
        elif op is Op.TypeFloat:
            self._numbers[words[0]] = NumberType(True, words[1], encoding=words[2] if len(words) > 2 else None)
        elif GRAMMAR.instructions[op].is_typed:
            self._types[words[1]] = words[0]
        return [len(words) + 1 << 16 | op, *words]

    def _id(self, token: str) -> int:
        return self._ids.setdefault(token, len(self._ids) + 1)


@lru_cache(maxsize=4096)
def _parsed(line: str) -> tuple[Op | None, str | None, tuple[_Operand, ...]]:
    """Return the instruction, result and operands of a line; no instruction if it is empty. Modules have most of their lines in common."""
    tokens = _TOKEN.findall(line if '"' in line else line.partition(";")[0])
    if not tokens:
        return None, None, ()
    result = None
    if len(tokens) > 2 and tokens[1] == "=":
        result, tokens = _id(tokens[0]), tokens[2:]
    op = Op.named(tokens[0].removeprefix("Op"))
    ends_early = tokens[-1] == _ENDS_EARLY
    rest = iter(tokens[1:-1] if ends_early else tokens[1:])
    found: list[_Operand] = []
    for kind, quantifier in GRAMMAR.instructions[op].operands:
        if kind == "R":
            if result is None:
                raise ValueError("it has a result: %name = …")
            found.append(result)
        elif quantifier:
            for token in rest:
                found += _operands(kind, token, rest)
                if quantifier == "?":
                    break
        else:
            operand = next(rest, None)
            if operand is None and ends_early:
                break
            if operand is None:
                raise ValueError(f"{tokens[0]} has further operands; write {_ENDS_EARLY} to end it here")
            found += _operands(kind, operand, rest)
    if left := list(rest):
        raise ValueError(f"operands left over: {' '.join(left)}")
    return op, result, tuple(found)


def _id(token: str) -> str:
    if not token.startswith("%"):
        raise ValueError(f"expected an id, not {token}")
    return token


def _operands(kind: str, token: str, rest: Iterator[str]) -> list[_Operand]:
    match kind:
        case "id" | "T":
            return [_id(token)]
        case "int":
            return [int(token, 0) & 0xFFFFFFFF]
        case "str":
            return list(string_words(token[1:-1]))
        case "number":
            return [_Literal(token, is_type=True)]
        case "opcode":
            return [int(Op.named(token)), *(t if t.startswith("%") else int(t, 0) for t in rest)]
        case "ext":
            return [int(GlslStd450.named(token))]
        case "PairIdRefIdRef":
            return [_id(token), _id(next(rest))]
        case "PairIdRefLiteralInteger":
            return [_id(token), int(next(rest), 0)]
        case "PairLiteralIntegerIdRef":
            return [_Literal(token, is_type=False), _id(next(rest))]
    return _enumerant(kind, token, rest)


def _enumerant(kind: str, token: str, rest: Iterator[str]) -> list[_Operand]:
    enumerants = GRAMMAR.kinds[kind]
    flags = [int(name) if name.isdecimal() else enumerants.by_name[name].value for name in token.split("|")]
    found: list[_Operand] = [sum(flags)]
    for flag in sorted(flags):
        for extra, quantifier in enumerants.parameters.get(flag, ()):
            for parameter in rest if quantifier else (next(rest),):
                found += _operands(extra, parameter, rest)
    return found


def _number(type_: NumberType, token: str) -> list[int]:
    bits = hexadecimal_bits(type_, token) if type_.is_float else None
    if bits is None and type_.is_float and type_.encoding is None:
        value = float.fromhex(token) if "0x" in token else float(token)
        bits = struct.unpack(_FLOATS[type_.bits][1], struct.pack(_FLOATS[type_.bits][0], value))[0]
    if bits is None:
        bits = int(token, 0)
    return [bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF] if type_.bits == 64 else [bits & 0xFFFFFFFF]
