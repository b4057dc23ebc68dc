"""Checks how control flows between the blocks of a function, and that each value is computed on every path to its uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generators.spirv.reader import Instruction, NotSpirv


class Flow:
    """The blocks of one function.

    Attributes:
        first: number of its first block. Blocks are numbered throughout the module.
        blocks: label -> number.
        uses: (block of the definition, block of the use) -> the id and the instruction of the first such use.
        phis: block and instruction of each OpPhi.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self.blocks: dict[int, int] = {}
        self.uses: dict[tuple[int, int], tuple[int, Instruction]] = {}
        self.phis: list[tuple[int, Instruction]] = []
        self._leads: list[tuple[int, Sequence[int], Instruction, bool]] = []

    def begin(self, label: int, number: int) -> None:
        """Begin a block."""
        self.blocks[label] = number

    def leads(self, block: int, labels: Sequence[int], instruction: Instruction, ends: bool) -> None:
        """Note the labels that an instruction of ``block`` names. If it ``ends`` the block, control goes to them."""
        self._leads.append((block, labels, instruction, ends))

    def check(self, homes: Mapping[int, int]) -> None:
        """Check labels, phis and uses at the end of the function. ``homes`` has the block of each value.

        Raises:
            NotSpirv: one of them is invalid.
        """
        ways = self._ways()
        if not self.uses and not self.phis:
            return
        before = _predecessors(ways)
        dominators = _dominators(self.first, ways, before)
        for (home, user), (id_, instruction) in self.uses.items():
            if not _dominates(home, user, dominators) or home < self.first:
                raise refused(instruction, f"%{id_} is not computed on every path that leads here")
        for block, instruction in self.phis:
            self._check_phi(block, instruction, homes, before, dominators)

    def _ways(self) -> dict[int, list[int]]:
        ways: dict[int, list[int]] = {number: [] for number in self.blocks.values()}
        for block, labels, instruction, ends in self._leads:
            for label in labels:
                number = self.blocks.get(label)
                if number is None:
                    raise refused(instruction, f"%{label} is not a label of the function")
                if ends:
                    ways[block].append(number)
                    if number == self.first:
                        raise refused(instruction, "leads to the first block of the function")
        return ways

    def _check_phi(
        self, block: int, instruction: Instruction, homes: Mapping[int, int], before: dict[int, set[int]], dominators: dict[int, int]
    ) -> None:
        words = instruction.operands
        parents = set()
        for value, label in zip(words[2::2], words[3::2], strict=True):
            parent, home = self.blocks.get(label), homes.get(value)
            if parent is None:
                raise refused(instruction, f"%{label} is not a label of the function")
            if home is None or (home and (home < self.first or not _dominates(home, parent, dominators))):
                raise refused(instruction, f"%{value} is not a value computed on every path through %{label}")
            parents.add(parent)
        if parents != before.get(block, set()) or len(parents) != len(words[3::2]):
            raise refused(instruction, "its labels do not name each block before it exactly once")


def _predecessors(ways: dict[int, list[int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for block, following in ways.items():
        for other in following:
            found.setdefault(other, set()).add(block)
    return found


def _dominators(first: int, ways: dict[int, list[int]], before: dict[int, set[int]]) -> dict[int, int]:
    """Return the immediate dominator of each reachable block. The first block is its own."""
    order = _reverse_postorder(first, ways)
    rank = {block: place for place, block in enumerate(order)}
    found = {first: first}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new = -1
            for parent in before[block]:
                if parent not in found:
                    continue
                if new < 0:
                    new = parent
                    continue
                one, other = parent, new
                while one != other:
                    if rank[one] > rank[other]:
                        one = found[one]
                    else:
                        other = found[other]
                new = one
            if found.get(block) != new:
                found[block] = new
                changed = True
    return found


def _reverse_postorder(first: int, ways: dict[int, list[int]]) -> list[int]:
    order, seen = [], {first}
    stack = [(first, iter(ways[first]))]
    while stack:
        block, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(ways[following])))
    order.reverse()
    return order


def _dominates(home: int, user: int, dominators: dict[int, int]) -> bool:
    """Tell whether every path to ``user`` goes through ``home``; true if no path leads to ``user``."""
    if user not in dominators:
        return True
    while user != home:
        parent = dominators[user]
        if parent == user:
            return False
        user = parent
    return True


def refused(instruction: Instruction, what: str) -> NotSpirv:
    """Return the error of an instruction. ``what``: what is wrong with it."""
    return NotSpirv(instruction.position, f"Op{instruction.op.name}: {what}")
