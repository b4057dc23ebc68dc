"""Checks the structure of a module: operands follow the grammar, ids have the right kinds, functions consist of blocks.

All later readers of a module rely on this and do not check it again.
"""

from __future__ import annotations

from collections.abc import Sequence

from cts.embedded.module.flow import refused
from cts.embedded.module.forms import ANY, Form, form_of, ids_of, is_short_name
from cts.embedded.module.place import Place
from cts.embedded.module.references import EXTENDED, LENGTHS, NON_SEMANTIC
from generators.spirv.enumerants import Op
from generators.spirv.operands import LiteralWidths
from generators.spirv.reader import Instruction, NotSpirv, read_string

_WORDS = {"type": "type", "member": "type", "function": "function", "set": "set of instructions", "string": "string"}

_NUMBERS = frozenset({Op.TypeInt, Op.TypeFloat})
_VARIABLES = frozenset({Op.Variable, Op.UntypedVariableKHR})

_OF_TYPE = ("type",)
"""The kind of id that a length instruction takes, also in OpSpecConstantOp."""


def check_structure(instructions: Sequence[Instruction], bound: int) -> None:
    """Check a module's instructions.

    Raises:
        NotSpirv: the structure is invalid. The message says what is wrong, and at which word.
    """
    place = Place()
    declared = _Declared(bound, place)
    kinds = declared.kinds
    forms: dict[Op, Form] = {}
    name, phi, import_ = Op.Name, Op.Phi, Op.ExtInstImport
    for instruction in instructions:
        # A module has hundreds of instructions: do without calls what most of them need.
        op, words, _ = instruction
        form = forms.get(op) or forms.setdefault(op, form_of(op))
        section, structural, typed, result, least, most, first, last, _, uses = form
        if section is not place.settled or op is phi:
            place.enter(section, instruction, declared.non_semantic)
        elif op is name and is_short_name(words) and 0 < words[0] < bound:
            continue
        ids = words[first:last] if least <= len(words) <= most else ids_of(instruction, form, declared.widths)
        if typed and kinds.get(words[0]) != "type":
            raise refused(instruction, f"its result type %{words[0]} is not a type declared before")
        if ids or op is phi:
            declared.mention(instruction, ids, uses)
        if result >= 0:
            declared.define(instruction, form)
        if structural:
            place.move(instruction, ids, declared.homes)
        elif op in _NUMBERS:
            declared.widths.learn(instruction)
        elif op is import_ and read_string(words[1:])[0].startswith(NON_SEMANTIC):
            declared.non_semantic.add(words[0])
    if place.function is not None:
        raise NotSpirv(instructions[-1].position, "the last function does not end")
    declared.check_later()


class _Declared:
    """The ids that the instructions so far have declared.

    Attributes:
        kinds: id -> ``type``, ``function``, ``label``, ``set``, ``string`` or ``group``; results with a type are not in it.
        homes: id of a value -> number of the block that computes it; 0 if all functions see it.
        widths: the widths of literals, by type.
        non_semantic: ids of sets of extended instructions without effect.
        _constants: ids of constants and undefined values of the module.
        _later: ids to check at the end: required kind, id, instruction.
        _forward: ids that OpTypeForwardPointer announced.
    """

    def __init__(self, bound: int, place: Place) -> None:
        self.kinds: dict[int, str] = {}
        self.homes: dict[int, int] = {}
        self.widths = LiteralWidths()
        self.non_semantic: set[int] = set()
        self._bound = bound
        self._place = place
        self._constants: set[int] = set()
        self._later: list[tuple[str, int, Instruction]] = []
        self._forward: set[int] = set()

    def define(self, instruction: Instruction, form: Form) -> None:
        """Note the result of an instruction."""
        op, words, _ = instruction
        id_, place = words[form.result], self._place
        if id_ in self.homes or id_ in self.kinds:
            raise refused(instruction, f"%{id_} is declared twice")
        self._check_bound(id_, instruction)
        if not form.typed:
            self.kinds[id_] = _kind(op)
        elif op is Op.Function:
            self.kinds[id_] = "function"
        else:
            self.homes[id_] = place.function.first if op is Op.FunctionParameter and place.function else place.block
            self.widths.values[id_] = words[0]
            if place.function is None and op not in _VARIABLES:
                self._constants.add(id_)

    def mention(self, instruction: Instruction, ids: Sequence[int], uses: tuple[str, ...] | None) -> None:
        """Check the ids that an instruction mentions. ``uses`` are their kinds; None if all are values."""
        op, words, _ = instruction
        if uses is ANY or (op in EXTENDED and words[2] in self.non_semantic):
            for id_ in ids:
                self._check_bound(id_, instruction)
        elif op is Op.Phi:
            assert self._place.function is not None
            self._place.function.phis.append((self._place.block, instruction))
        elif uses is None:
            homes, block = self.homes, self._place.block
            for id_ in ids:
                home = homes.get(id_)
                if home not in (0, block):
                    self._use_elsewhere(id_, home, instruction)
        else:
            if op is Op.SpecConstantOp and words[2] in LENGTHS:
                uses = _OF_TYPE
            for number, id_ in enumerate(ids):
                self._use(uses[min(number, len(uses) - 1)], id_, instruction)

    def check_later(self) -> None:
        """Check the ids that a module may declare after their use."""
        for use, id_, instruction in self._later:
            if self.kinds.get(id_) != use:
                raise refused(instruction, f"%{id_} is not a {_WORDS[use]}")

    def _check_bound(self, id_: int, instruction: Instruction) -> None:
        if not 0 < id_ < self._bound:
            raise refused(instruction, f"the id {id_} is not between 1 and the bound {self._bound}")

    def _use_elsewhere(self, id_: int, home: int | None, instruction: Instruction) -> None:
        """Note a use of a value of another block."""
        if home is None:
            raise refused(instruction, f"%{id_} is not a value computed before")
        function = self._place.function
        if function is None:
            raise refused(instruction, f"%{id_} is a value of a function")
        function.uses.setdefault((home, self._place.block), (id_, instruction))

    def _use(self, use: str, id_: int, instruction: Instruction) -> None:
        """Check or note the use of an id as one of the kinds of cts.embedded.module.references."""
        match use:
            case "value":
                home = self.homes.get(id_)
                if home not in (0, self._place.block):
                    self._use_elsewhere(id_, home, instruction)
            case "constant":
                if id_ not in self._constants:
                    raise refused(instruction, f"%{id_} is not a constant declared before")
            case "initializer":
                if self.homes.get(id_) != 0:
                    raise refused(instruction, f"the initializer %{id_} is neither a constant nor a variable of the module")
            case "member" if id_ in self._forward:
                pass
            case "type" | "member" | "set" | "string":
                if self.kinds.get(id_) != use.replace("member", "type"):
                    raise refused(instruction, f"%{id_} is not a {_WORDS[use]} declared before")
            case "pointee":
                if self.kinds.get(id_) != "type":
                    self._later.append(("type", id_, instruction))
            case "function":
                self._later.append((use, id_, instruction))
            case "any":
                self._check_bound(id_, instruction)
                if instruction.op is Op.TypeForwardPointer:
                    self._forward.add(id_)
                    self._later.append(("type", id_, instruction))


def _kind(op: Op) -> str:
    if op.name.startswith("Type"):
        return "type"
    return {Op.Label: "label", Op.ExtInstImport: "set", Op.String: "string"}.get(op, "group")
