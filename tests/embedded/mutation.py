"""Edits of modules, which may produce any sequence of words."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

from generators.spirv.enumerants import Op
from generators.spirv.grammar import GRAMMAR
from generators.spirv.reader import HEADER_WORDS

Words = list[int]
_Edit = Callable[[random.Random, Words, Words], Words]
"""Edits a module; takes a random generator, the module and another module."""

_NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    16,
    31,
    32,
    33,
    64,
    255,
    256,
    1024,
    65535,
    65536,
    1 << 20,
    1 << 30,
    1 << 31,
    (1 << 31) - 1,
    (1 << 32) - 1,
)
_LARGE = (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_CONSTANTS = (int(Op.Constant), int(Op.SpecConstant))


def mutant(rng: random.Random, modules: Sequence[bytes], index: int) -> bytes:
    """Return module ``index`` of ``modules`` after one to three edits."""
    words = _words(modules[index])
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        edit = rng.choices([e for e, _ in _EDITS], [weight for _, weight in _EDITS])[0]
        words = edit(rng, words, _words(rng.choice(modules)))
    data = struct.pack(f"<{len(words)}I", *words)
    if rng.random() < 0.01:
        return data[: rng.randrange(len(data) + 1)]
    if rng.random() < 0.01:
        return struct.pack(f">{len(words)}I", *words)
    return data


def _words(module: bytes) -> Words:
    return list(struct.unpack(f"<{len(module) // 4}I", module))


def starts(words: Words) -> list[int]:
    """Return where the instructions begin, as far as their word counts can be followed."""
    found, at = [], HEADER_WORDS
    while at < len(words):
        found.append(at)
        at += max(words[at] >> 16, 1)
    return found


def _span(rng: random.Random, words: Words) -> tuple[int, int]:
    """Return where a random instruction begins and ends."""
    found = starts(words)
    if not found:
        return len(words), len(words)
    at = rng.choice(found)
    return at, min(at + max(words[at] >> 16, 1), len(words))


def _number(rng: random.Random, words: Words) -> int:
    bound = words[3] if len(words) > 3 else 1
    return rng.choice((rng.choice(_NUMBERS), rng.randrange(1 << 32), rng.randrange(max(bound, 1)), rng.choice(words or [0]), bound))


def _header(rng: random.Random, words: Words, _: Words) -> Words:
    at = rng.randrange(HEADER_WORDS)
    return [*words[:at], _number(rng, words), *words[at + 1 :]]


def _any_word(rng: random.Random, words: Words, _: Words) -> Words:
    at = rng.randrange(len(words) or 1)
    return [*words[:at], _number(rng, words), *words[at + 1 :]]


def _bit(rng: random.Random, words: Words, _: Words) -> Words:
    at = rng.randrange(len(words) or 1)
    return [*words[:at], *(word ^ 1 << rng.randrange(32) for word in words[at : at + 1]), *words[at + 1 :]]


def _operand(rng: random.Random, words: Words, _: Words) -> Words:
    """Replace an operand by a small number, which is usually an id of another kind."""
    at, end = _span(rng, words)
    if end - at < 2:
        return words
    place = rng.randrange(at + 1, end)
    return [*words[:place], rng.randrange(max(min(words[3], 1 << 16), 1)), *words[place + 1 :]]


def _opcode(rng: random.Random, words: Words, _: Words) -> Words:
    """Replace an opcode, most often by one with the same pattern of operands."""
    at, _end = _span(rng, words)
    if at == len(words):
        return words
    old = words[at] & 0xFFFF
    grammar = GRAMMAR.instructions
    alike = [op for op in Op if old in grammar and grammar[op].operands == grammar[old].operands] or list(Op)
    new = rng.choice((rng.choice(alike), rng.choice(alike), rng.choice(list(Op)), rng.randrange(1 << 16)))
    return [*words[:at], words[at] & ~0xFFFF | new, *words[at + 1 :]]


def _count(rng: random.Random, words: Words, _: Words) -> Words:
    at, _end = _span(rng, words)
    if at == len(words):
        return words
    count = rng.choice((0, 1, 2, (words[at] >> 16) + 1, max((words[at] >> 16) - 1, 0), 0xFFFF))
    return [*words[:at], count << 16 | words[at] & 0xFFFF, *words[at + 1 :]]


def _longer(rng: random.Random, words: Words, _: Words) -> Words:
    """Add or remove an operand of an instruction, and correct its word count."""
    at, end = _span(rng, words)
    if end - at < 2:
        return words
    operands = [*words[at + 1 : end], _number(rng, words)] if rng.random() < 0.5 else words[at + 1 : end - 1]
    return [*words[:at], (len(operands) + 1) << 16 | words[at] & 0xFFFF, *operands, *words[end:]]


def _delete(rng: random.Random, words: Words, _: Words) -> Words:
    at, end = _span(rng, words)
    return words[:at] + words[end:]


def _duplicate(rng: random.Random, words: Words, _: Words) -> Words:
    at, end = _span(rng, words)
    return words[:end] + words[at:end] + words[end:]


def _move(rng: random.Random, words: Words, _: Words) -> Words:
    at, end = _span(rng, words)
    rest = words[:at] + words[end:]
    to = rng.choice(starts(rest) or [len(rest)])
    return rest[:to] + words[at:end] + rest[to:]


def _swap(rng: random.Random, words: Words, _: Words) -> Words:
    (a, b), (c, d) = sorted((_span(rng, words), _span(rng, words)))
    return words if b > c else words[:a] + words[c:d] + words[b:c] + words[a:b] + words[d:]


def _truncate(rng: random.Random, words: Words, _: Words) -> Words:
    return words[: rng.randrange(len(words) + 1)]


def _splice(rng: random.Random, words: Words, other: Words) -> Words:
    return words[: rng.choice(starts(words) or [0])] + other[rng.choice(starts(other) or [0]) :]


def _insert(rng: random.Random, words: Words, other: Words) -> Words:
    """Insert an instruction of another module."""
    at = rng.choice(starts(words) or [len(words)])
    first, end = _span(rng, other)
    return words[:at] + other[first:end] + words[at:]


def _constant(rng: random.Random, words: Words, _: Words) -> Words:
    """Change the value of a constant, often to a huge one: sizes, strides, bounds of loops and scopes are constants."""
    places = [at for at in starts(words) if words[at] & 0xFFFF in _CONSTANTS and at + 3 < len(words)]
    if not places:
        return words
    at = rng.choice(places) + 3
    return [*words[:at], rng.choice((rng.choice(_LARGE), rng.choice(_NUMBERS), rng.randrange(1 << 32))), *words[at + 1 :]]


_EDITS: Sequence[tuple[_Edit, int]] = (
    (_header, 2),
    (_any_word, 5),
    (_bit, 3),
    (_operand, 8),
    (_opcode, 4),
    (_count, 2),
    (_longer, 2),
    (_delete, 3),
    (_duplicate, 1),
    (_move, 2),
    (_swap, 2),
    (_truncate, 1),
    (_splice, 1),
    (_insert, 2),
    (_constant, 4),
)
"""The edits, each with its weight."""
