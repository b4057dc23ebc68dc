"""The form of each instruction, from the grammar: which of its operands are ids, how many it has, and what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from cts.embedded.module.references import TERMINATORS, USES, Section, section_of
from generators.spirv.enumerants import Op
from generators.spirv.grammar import GRAMMAR, Patterns
from generators.spirv.operands import LiteralWidths, split_operands
from generators.spirv.reader import Instruction, NotSpirv

ANY = ("any",)
"""The ``uses`` of names and decorations: their ids are only below the bound."""

_UNLIMITED = 1 << 16
_DECIDING = frozenset(kind for kind, enumerants in GRAMMAR.kinds.items() if enumerants.parameters)
_LONG = frozenset({"str", "number", "opcode"})
_CONSTANTS = frozenset({Op.Constant, Op.SpecConstant})
_STRUCTURAL = TERMINATORS | {Op.Function, Op.FunctionParameter, Op.FunctionEnd, Op.Label, Op.Variable, Op.LoopMerge, Op.SelectionMerge}


class Form(NamedTuple):
    """The form of an instruction.

    Attributes:
        section: its section.
        structural: whether functions and blocks begin, end or branch with it, or the rules for its place depend on them.
        typed: whether it has a result type and a result.
        result: index of the result among the operands; -1 if there is none.
        least, most: the minimum and maximum number of operands, if all are single words and the ids among them are consecutive.
        first, last: the range of these ids, except type and result: the first, and the one after the last.
        deciding: index of the operand that determines how many follow; 0 if there is none, -1 if only the grammar can tell.
        uses: the kinds of the ids; None if all are values.
    """

    section: Section
    structural: bool
    typed: bool
    result: int
    least: int
    most: int
    first: int
    last: int
    deciding: int
    uses: tuple[str, ...] | None


@cache
def form_of(op: Op) -> Form:
    """Return the form of the instructions with an opcode."""
    grammar = GRAMMAR.instructions[op]
    pattern, typed = grammar.operands, grammar.is_typed
    result = next((place for place, (kind, _) in enumerate(pattern) if kind == "R"), -1)
    first = result + 1
    least = first + sum(1 for _, quantifier in pattern[first:] if not quantifier)
    most, last = _single_words(pattern, first)
    return Form(section_of(op), op in _STRUCTURAL, typed, result, least, most, first, last, _deciding(pattern), _uses(op, result))


def _single_words(pattern: Patterns, first: int) -> tuple[int, int]:
    """Return the ``most`` and the ``last`` of a Form: if only the grammar can find the ids, ``most`` fits no instruction that needs it."""
    most, last = first, first
    for kind, quantifier in pattern[first:]:
        if kind in _DECIDING or kind in _LONG or kind.startswith("Pair") or (kind == "id" and last < most):
            return (most if quantifier else -1), last
        most = _UNLIMITED if quantifier == "*" else most + 1
        if kind == "id":
            last = most
    return most, last


def _deciding(pattern: Patterns) -> int:
    """Return the ``deciding`` of a Form."""
    kinds = [kind for kind, _ in pattern]
    places = [place for place, kind in enumerate(kinds) if kind in _DECIDING]
    if len(places) > 1 or any(kind in _LONG or kind == "PairLiteralIntegerIdRef" for kind in kinds):
        return -1
    return places[0] if places else 0


def _uses(op: Op, result: int) -> tuple[str, ...] | None:
    """Return the ``uses`` of a Form."""
    if op not in USES:
        return None
    uses = tuple(USES[op].split())
    # Names and decorations have no result, and their ids need no further check.
    return ANY if uses == ANY and result < 0 and op is not Op.TypeForwardPointer else uses


def is_short_name(words: Sequence[int]) -> bool:
    """Tell whether the words after the first one are a string that ends in the last of them: of the operands of OpName."""
    return len(words) > 1 and words[-1] < 1 << 24


def ids_of(instruction: Instruction, form: Form, widths: LiteralWidths) -> Sequence[int]:
    """Return the ids that an instruction mentions, except its type and its result, if its form does not give their place.

    Raises:
        NotSpirv: the operands do not fit the grammar.
    """
    op, words, _ = instruction
    if is_short_name(words) if op is Op.Name else op is Op.MemberName and is_short_name(words[1:]):
        return [words[0]]
    if op in _CONSTANTS and len(words) > 2 and len(words) == 2 + widths.types.get(words[0], 0):
        return []
    if form.deciding >= 0:
        try:
            return [words[place] for place in _id_places(op, len(words), words[form.deciding] if len(words) > form.deciding else 0)]
        except NotSpirv as error:
            raise NotSpirv(instruction.position, error.what) from None
    return [words[operand.at] for operand in split_operands(instruction, widths) if operand.kind == "id"]


@lru_cache(maxsize=1024)
def _id_places(op: Op, count: int, deciding: int) -> tuple[int, ...]:
    """Return which of ``count`` operands are ids, if the deciding operand has the value ``deciding``.

    Raises:
        NotSpirv: there are too few or too many operands.
    """
    words = [0] * count
    if form_of(op).deciding < count:
        words[form_of(op).deciding] = deciding
    return tuple(o.at for o in split_operands(Instruction(op, tuple(words), 0), LiteralWidths()) if o.kind == "id")
