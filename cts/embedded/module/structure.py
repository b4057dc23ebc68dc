"""Checks the structure of a module: operands follow the grammar, ids have the right kinds, functions consist of blocks.

All later readers of a module rely on this and do not check it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple, NoReturn

from cts.embedded.module.flow import Flow
from cts.embedded.module.references import EXTENDED, LENGTHS, NON_SEMANTIC, TERMINATORS, USES, Section, section_of
from generators.spirv.enumerants import Op
from generators.spirv.grammar import GRAMMAR, Patterns
from generators.spirv.operands import LiteralWidths, split_operands
from generators.spirv.reader import Instruction, NotSpirv, read_string

_UNLIMITED = 1 << 16
_ANY = ("any",)


class _Shape(NamedTuple):
    """The form of an instruction, by its opcode.

    Attributes:
        section: its section.
        structural: whether functions and blocks begin, end or branch with it, or its type determines the width of literals.
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
def _shape(op: Op) -> _Shape:
    grammar = GRAMMAR.instructions[op]
    pattern, typed = grammar.operands, grammar.is_typed
    result = next((place for place, (kind, _) in enumerate(pattern) if kind == "R"), -1)
    first = result + 1
    rest = pattern[first:]
    least = first + sum(1 for _, quantifier in rest if not quantifier)
    most, last = first, first
    for kind, quantifier in rest:
        if kind in _DECIDING or kind in _LONG or kind.startswith("Pair") or (kind == "id" and last < most):
            most = most if quantifier else -1
            break
        most = _UNLIMITED if quantifier == "*" else most + 1
        if kind == "id":
            last = most
    uses = tuple(USES[op].split()) if op in USES else None
    # Names and decorations have no result, and their ids need no further check.
    uses = _ANY if uses == _ANY and result < 0 and op is not Op.TypeForwardPointer else uses
    return _Shape(section_of(op), op in _STRUCTURAL, typed, result, least, most, first, last, _deciding(pattern), uses)


def _deciding(pattern: Patterns) -> int:
    """See ``_Shape``."""
    kinds = [kind for kind, _ in pattern]
    places = [place for place, kind in enumerate(kinds) if kind in _DECIDING]
    if len(places) > 1 or any(kind in _LONG or kind == "PairLiteralIntegerIdRef" for kind in kinds):
        return -1
    return places[0] if places else 0


_DECIDING = frozenset(kind for kind, enumerants in GRAMMAR.kinds.items() if enumerants.parameters)
_LONG = frozenset({"str", "number", "opcode"})
_NOWHERE = frozenset({Op.Line, Op.NoLine, Op.Nop})
_BETWEEN_BLOCKS = frozenset({Op.Function, Op.FunctionParameter, Op.FunctionEnd, Op.Label})
_STRUCTURAL = TERMINATORS | _BETWEEN_BLOCKS | {Op.Variable, Op.LoopMerge, Op.SelectionMerge, Op.TypeInt, Op.TypeFloat}
_WORDS = {"type": "type", "member": "type", "function": "function", "set": "set of instructions", "string": "string"}


@lru_cache(maxsize=1024)
def _id_places(op: Op, count: int, deciding: int) -> tuple[int, ...]:
    """Return which of ``count`` operands are ids, if the deciding operand has the value ``deciding``.

    Raises:
        NotSpirv: there are too few or too many operands.
    """
    words = [0] * count
    if _shape(op).deciding < count:
        words[_shape(op).deciding] = deciding
    return tuple(o.at for o in split_operands(Instruction(op, tuple(words), 0), LiteralWidths()) if o.kind == "id")


def _ids(instruction: Instruction, shape: _Shape, widths: LiteralWidths) -> list[int]:
    """Return the ids that an instruction mentions, except its type and its result.

    Raises:
        NotSpirv: the operands do not fit the grammar.
    """
    op, words, _ = instruction
    if op is Op.Name and len(words) > 1 and words[-1] < 1 << 24:
        return [words[0]]
    if op in _CONSTANTS and len(words) > 2 and len(words) == 2 + widths.types.get(words[0], 0):
        return []
    if shape.deciding >= 0:
        try:
            return [words[place] for place in _id_places(op, len(words), words[shape.deciding] if len(words) > shape.deciding else 0)]
        except NotSpirv as error:
            raise NotSpirv(instruction.position, error.what) from None
    return [words[operand.at] for operand in split_operands(instruction, widths) if operand.kind == "id"]


_OF_TYPE = ("type",)
"""The kind of id that a length instruction takes, also in OpSpecConstantOp."""

_CONSTANTS = frozenset({Op.Constant, Op.SpecConstant})


def check_structure(instructions: Sequence[Instruction], bound: int) -> None:
    """Check a module's instructions.

    Raises:
        NotSpirv: the structure is invalid. The message says what is wrong, and at which word.
    """
    _Structure(bound).check(instructions)


class _Structure:
    """The declarations of the instructions so far.

    Attributes:
        _kinds: id -> ``type``, ``function``, ``label``, ``set``, ``string`` or ``group``; results with a type are not in it.
        _homes: id of a value -> number of the block that computes it; 0 if all functions see it.
        _constants: ids of constants and undefined values of the module.
        _later: ids to check at the end: required kind, id, instruction.
        _forward: ids that OpTypeForwardPointer announced.
        _non_semantic: ids of sets of extended instructions without effect.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._kinds: dict[int, str] = {}
        self._homes: dict[int, int] = {}
        self._constants: set[int] = set()
        self._later: list[tuple[str, int, Instruction]] = []
        self._forward: set[int] = set()
        self._widths = LiteralWidths()
        self._section = Section.CAPABILITY
        self._flow: Flow | None = None
        self._block = 0
        self._blocks = 0
        self._plain = False
        self._non_semantic: set[int] = set()

    def check(self, instructions: Sequence[Instruction]) -> None:
        """Check all instructions."""
        for instruction in instructions:
            op, words, _ = instruction
            shape = _shape(op)
            self._stands(shape.section, instruction)
            if shape.least <= len(words) <= shape.most:
                ids: Sequence[int] = words[shape.first : shape.last]
            else:
                ids = _ids(instruction, shape, self._widths)
            if shape.typed and self._kinds.get(words[0]) != "type":
                _refuse(instruction, f"its result type %{words[0]} is not a type declared before")
            self._mention(instruction, ids, shape.uses)
            if shape.result >= 0:
                self._define(instruction, shape)
            if shape.structural:
                self._structure(instruction, ids)
            elif op is Op.ExtInstImport and read_string(words[1:])[0].startswith(NON_SEMANTIC):
                self._non_semantic.add(words[0])
        self._end(instructions)

    def _define(self, instruction: Instruction, shape: _Shape) -> None:
        """Note the result of an instruction."""
        op, words, _ = instruction
        id_ = words[shape.result]
        if not 0 < id_ < self._bound or id_ in self._homes or id_ in self._kinds:
            self._refuse_result(instruction, id_)
        if not shape.typed:
            self._kinds[id_] = _kind(op)
        elif op is Op.Function:
            self._kinds[id_] = "function"
        else:
            self._homes[id_] = self._flow.first if op is Op.FunctionParameter and self._flow else self._block
            self._widths.values[id_] = words[0]
            if self._flow is None and op not in (Op.Variable, Op.UntypedVariableKHR):
                self._constants.add(id_)

    def _refuse_result(self, instruction: Instruction, id_: int) -> NoReturn:
        if 0 < id_ < self._bound:
            _refuse(instruction, f"%{id_} is declared twice")
        _refuse(instruction, f"the id {id_} is not between 1 and the bound {self._bound}")

    def _elsewhere(self, id_: int, home: int | None, instruction: Instruction) -> None:
        """Note a use of a value of another block."""
        if home is None:
            _refuse(instruction, f"%{id_} is not a value computed before")
        if self._flow is None:
            _refuse(instruction, f"%{id_} is a value of a function")
        self._flow.uses.setdefault((home, self._block), (id_, instruction))

    def _mention(self, instruction: Instruction, ids: Sequence[int], uses: tuple[str, ...] | None) -> None:
        """Check the ids that an instruction mentions. ``uses`` are their kinds; None if all are values."""
        op, words, _ = instruction
        if uses is _ANY or (op in EXTENDED and words[2] in self._non_semantic):
            for id_ in ids:
                if not 0 < id_ < self._bound:
                    self._refuse_result(instruction, id_)
        elif op is Op.Phi:
            assert self._flow is not None
            self._flow.phis.append((self._block, instruction))
        elif uses is None:
            homes, block = self._homes, self._block
            for id_ in ids:
                home = homes.get(id_)
                if home not in (0, block):
                    self._elsewhere(id_, home, instruction)
        else:
            if op is Op.SpecConstantOp and words[2] in LENGTHS:
                uses = _OF_TYPE
            for place, id_ in enumerate(ids):
                self._use(uses[min(place, len(uses) - 1)], id_, instruction)

    def _use(self, use: str, id_: int, instruction: Instruction) -> None:
        known = self._kinds.get(id_)
        match use:
            case "value":
                home = self._homes.get(id_)
                if home not in (0, self._block):
                    self._elsewhere(id_, home, instruction)
            case "constant":
                if id_ not in self._constants:
                    _refuse(instruction, f"%{id_} is not a constant declared before")
            case "initializer":
                if self._homes.get(id_) != 0:
                    _refuse(instruction, f"the initializer %{id_} is neither a constant nor a variable of the module")
            case "member" if id_ in self._forward:
                pass
            case "type" | "member" | "set" | "string":
                if known != use.replace("member", "type"):
                    _refuse(instruction, f"%{id_} is not a {_WORDS[use]} declared before")
            case "pointee":
                if known != "type":
                    self._later.append(("type", id_, instruction))
            case "function":
                self._later.append((use, id_, instruction))
            case "any":
                if not 0 < id_ < self._bound:
                    self._refuse_result(instruction, id_)
                if instruction.op is Op.TypeForwardPointer:
                    self._forward.add(id_)
                    self._later.append(("type", id_, instruction))

    def _stands(self, section: Section, instruction: Instruction) -> None:
        """Check that an instruction is in the right section, and that OpPhi precedes the other instructions of its block."""
        op = instruction.op
        if section is Section.FUNCTION and self._block:
            if op is Op.Phi and self._plain:
                _refuse(instruction, "follows instructions of its block that are not OpPhi")
            self._plain = self._plain or op not in (Op.Phi, Op.Label)
            return
        if section is Section.ANYWHERE:
            is_free = op in _NOWHERE or (op in EXTENDED and instruction.operands[2] in self._non_semantic)
            if not is_free and not self._block and self._section is Section.FUNCTION:
                _refuse(instruction, "is outside of a block")
            return
        if section is Section.FUNCTION:
            if self._flow is None and op is not Op.Function:
                _refuse(instruction, "is outside of a function")
            if self._flow is not None and op not in _BETWEEN_BLOCKS:
                _refuse(instruction, "is outside of a block")
        if section < self._section:
            _refuse(instruction, "is after instructions that it must precede")
        self._section = section

    def _structure(self, instruction: Instruction, ids: Sequence[int]) -> None:
        """Note where functions and blocks begin and end."""
        op, words = instruction.op, instruction.operands
        flow = self._flow
        if op in (Op.TypeInt, Op.TypeFloat):
            self._widths.learn(instruction)
        elif op is Op.Function:
            if flow is not None:
                _refuse(instruction, "begins before the previous function has ended")
            self._section = Section.FUNCTION
            self._flow = Flow(self._blocks + 1)
        elif flow is None:
            return
        elif op is Op.FunctionParameter:
            if flow.blocks:
                _refuse(instruction, "follows a block")
        elif op is Op.Label:
            if self._block:
                _refuse(instruction, "begins before the previous block has ended")
            self._blocks += 1
            self._block = self._blocks
            self._plain = False
            flow.begin(words[0], self._block)
        elif op is Op.FunctionEnd:
            if self._block:
                _refuse(instruction, "follows a block that has not ended")
            flow.check(self._homes)
            self._flow = None
        elif op is Op.Variable and self._block != flow.first:
            _refuse(instruction, "is in a block that is not the first of its function")
        elif op in TERMINATORS or op in (Op.LoopMerge, Op.SelectionMerge):
            labels = ids[1:] if op in (Op.BranchConditional, Op.Switch) else ids if op not in (Op.ReturnValue,) else ()
            flow.leads(self._block, labels, instruction, ends=op in TERMINATORS)
            if op in TERMINATORS:
                self._block = 0

    def _end(self, instructions: Sequence[Instruction]) -> None:
        if self._flow is not None:
            raise NotSpirv(instructions[-1].position, "the last function does not end")
        for use, id_, instruction in self._later:
            if self._kinds.get(id_) != use:
                _refuse(instruction, f"%{id_} is not a {_WORDS[use]}")


def _kind(op: Op) -> str:
    if op.name.startswith("Type"):
        return "type"
    return {Op.Label: "label", Op.ExtInstImport: "set", Op.String: "string"}.get(op, "group")


def _refuse(instruction: Instruction, what: str) -> NoReturn:
    raise NotSpirv(instruction.position, f"Op{instruction.op.name}: {what}")
