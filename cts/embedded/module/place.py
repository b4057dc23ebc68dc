"""The place of an instruction in its module: its section, its function and its block, and which instructions may be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from cts.embedded.module.flow import Flow, refused
from cts.embedded.module.references import EXTENDED, TERMINATORS, Section
from generators.spirv.enumerants import Op
from generators.spirv.reader import Instruction

_NOWHERE = frozenset({Op.Line, Op.NoLine, Op.Nop})
_BETWEEN_BLOCKS = frozenset({Op.Function, Op.FunctionParameter, Op.FunctionEnd, Op.Label})


class Place:
    """The place of the current instruction.

    Attributes:
        function: the blocks of its function so far; None outside of functions.
        block: the number of its block, from 1 throughout the module; 0 outside of blocks.
        settled: the section whose instructions, other than OpPhi, need no look: the last declaration's; or that of functions, in a block
            after an instruction other than OpPhi; otherwise None.
    """

    def __init__(self) -> None:
        self.function: Flow | None = None
        self.block = 0
        self._blocks = 0
        self._section = Section.CAPABILITY
        self.settled: Section | None = None

    def enter(self, section: Section, instruction: Instruction, non_semantic: AbstractSet[int]) -> None:
        """Check that an instruction may follow the one before it.

        Args:
            section: the section of the instruction.
            instruction: the instruction.
            non_semantic: ids of sets of extended instructions without effect, which may be anywhere.

        Raises:
            NotSpirv: it may not.
        """
        op = instruction.op
        if section is Section.FUNCTION and self.block:
            if op is Op.Phi and self.settled:
                raise refused(instruction, "follows instructions of its block that are not OpPhi")
            if op not in (Op.Phi, Op.Label):
                self.settled = section
        elif section is Section.ANYWHERE:
            is_free = op in _NOWHERE or (op in EXTENDED and not non_semantic.isdisjoint(instruction.operands[2:3]))
            if not is_free and not self.block and self._section is Section.FUNCTION:
                raise refused(instruction, "is outside of a block")
        else:
            self._enter_section(section, instruction)

    def _enter_section(self, section: Section, instruction: Instruction) -> None:
        """Check an instruction that is outside of blocks, or belongs there."""
        if section is Section.FUNCTION:
            if self.function is None and instruction.op is not Op.Function:
                raise refused(instruction, "is outside of a function")
            if self.function is not None and instruction.op not in _BETWEEN_BLOCKS:
                raise refused(instruction, "is outside of a block")
        if section < self._section:
            raise refused(instruction, "is after instructions that it must precede")
        self._section = section
        self.settled = None if section is Section.FUNCTION else section

    def move(self, instruction: Instruction, ids: Sequence[int], homes: Mapping[int, int]) -> None:
        """Follow a structural instruction: note where functions and blocks begin and end, and where control goes.

        Args:
            instruction: the instruction.
            ids: the ids that it mentions.
            homes: the block of each value so far; 0 if all functions see it.

        Raises:
            NotSpirv: it may not be here, or the function that it ends is invalid.
        """
        op, function = instruction.op, self.function
        if op is Op.Function:
            self._begin_function(instruction)
        elif function is None:
            return
        elif op is Op.FunctionParameter:
            if function.blocks:
                raise refused(instruction, "follows a block")
        elif op is Op.Label:
            self._begin_block(function, instruction)
        elif op is Op.FunctionEnd:
            self._end_function(function, instruction, homes)
        elif op is Op.Variable:
            if self.block != function.first:
                raise refused(instruction, "is in a block that is not the first of its function")
        else:
            self._lead(function, instruction, ids)

    def _begin_function(self, instruction: Instruction) -> None:
        if self.function is not None:
            raise refused(instruction, "begins before the previous function has ended")
        self._section = Section.FUNCTION
        self.function = Flow(self._blocks + 1)

    def _begin_block(self, function: Flow, instruction: Instruction) -> None:
        if self.block:
            raise refused(instruction, "begins before the previous block has ended")
        self._blocks += 1
        self.block = self._blocks
        self.settled = None
        function.begin(instruction.operands[0], self.block)

    def _end_function(self, function: Flow, instruction: Instruction, homes: Mapping[int, int]) -> None:
        if self.block:
            raise refused(instruction, "follows a block that has not ended")
        function.check(homes)
        self.function = None

    def _lead(self, function: Flow, instruction: Instruction, ids: Sequence[int]) -> None:
        """Note the labels of a terminator or of a merge instruction."""
        op, ends = instruction.op, instruction.op in TERMINATORS
        if op is Op.ReturnValue:
            labels: Sequence[int] = ()
        else:
            labels = ids[1:] if op in (Op.BranchConditional, Op.Switch) else ids
        function.leads(self.block, labels, instruction, ends)
        if ends:
            self.block = 0
            self.settled = None
