"""Lets invocations with an undefined condition go both ways through a selection that only computes values.

Such a branch chooses one of several values, as OpSelect does (SPIR-V 3.3.1, OpUndef: any bit pattern). So what the selection computes
for these invocations is undefined, and is reported where it is used. A selection only computes values if it has no loop, leads to its
merge block on every path, and writes nothing but variables of the Function and Private storage classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from cts.embedded.machine.machine import Block, Branch, Detour, Entry, Function, Phi, take_phis
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.spirv_types import Array, MatrixType, PointerType, Struct, TensorLayoutType, TensorViewType, Type, Vector
from cts.embedded.types.values import Mask, Undefined, Value
from cts.embedded.undefined.spreading import definedness, filled, marked, only_computes
from generators.spirv.enumerants import Op

_LOADS_AND_CHAINS = frozenset({Op.Load, Op.AccessChain, Op.InBoundsAccessChain})


@dataclass(frozen=True)
class Selection:
    """A selection that only computes values: its merge block, and the blocks before it, in structured order."""

    merge: int
    blocks: tuple[Block, ...]


def selection_of(translation: Translation, function: Function, header: Block) -> Selection | None:
    """Return the selection that a block begins, if it computes values and nothing else."""
    op, words, _ = translation.instructions[header.end_index - 1]
    if op is not Op.SelectionMerge or not isinstance(header.end, Branch):
        return None
    merge, found, pending = words[0], dict[int, Block](), [(header.order, target) for target in header.end.targets]
    while pending:
        order, label = pending.pop()
        if label == merge:
            continue
        block = function.blocks[label]
        if block.order <= order or not isinstance(block.end, Branch) or not _only_computes(translation, block):
            return None
        if label not in found:
            found[label] = block
            pending += [(block.order, target) for target in block.end.targets]
    chosen, writes = function.blocks[merge].phis, any(not result for block in found.values() for result, _, _, _ in block.entries)
    if not (chosen or writes) or not all(_can_be_marked(phi.type) for phi in chosen):
        return None
    return Selection(merge, tuple(sorted(found.values(), key=lambda block: block.order)))


def _only_computes(translation: Translation, block: Block) -> bool:
    return all(_can_be_marked(phi.type) for phi in block.phis) and all(
        _may_be_undefined(translation, *translation.instructions[number][:2]) for _, _, number, _ in block.entries
    )


def _can_be_marked(type_: Type) -> bool:
    """Tell whether a value of the type can be undefined for some invocations."""
    match type_:
        case PointerType() | MatrixType() | TensorLayoutType() | TensorViewType():
            return False
        case Array() | Vector():
            return _can_be_marked(type_.element)
        case Struct():
            return all(map(_can_be_marked, type_.members))
        case _:
            return True


def _may_be_undefined(translation: Translation, op: Op, words: Words) -> bool:
    """Tell whether an instruction can run with undefined results: it computes values, or its memory is a variable of the invocation."""
    if op is Op.Store:
        pointer, stored = words[0], words[1]
        return translation.storage(pointer) in CELL_STORAGE and _can_be_marked(translation.type_of[stored])
    if op in _LOADS_AND_CHAINS:
        _, _, pointer = words[:3]
        return translation.storage(pointer) in CELL_STORAGE
    return only_computes(op, words)


def detour(translation: Translation, function: Function, header: Block) -> Detour | None:
    """Execute the selection after a block, whose branch has an undefined condition. None if it does more than compute values."""
    selection = selection_of(translation, function, header)
    if selection is None:
        return None
    machine = translation.machine
    outer = machine.mask, machine.full
    arrivals: dict[int, list[tuple[int, Mask]]] = {}
    doubtful = _lead(translation, header, np.zeros(machine.lanes, bool), arrivals)
    for block in selection.blocks:
        coming = arrivals.pop(block.label, None)
        if coming is None:
            continue
        machine.mask = reduce(np.logical_or, (mask for _, mask in coming))
        machine.full = bool(machine.mask.all())
        take_phis(machine, block.phis, coming)
        # Code after the selection may use such a phi, if its block is on every path.
        doubt(translation, block.phis, doubtful & machine.mask)
        for entry in block.entries:
            _execute(translation, block, entry, doubtful)
        machine.index = block.end_index
        doubtful = _lead(translation, block, doubtful, arrivals)
    machine.mask, machine.full = outer
    return Detour(selection.merge, arrivals[selection.merge], doubtful)


def doubt(translation: Translation, phis: Sequence[Phi], doubtful: Mask) -> None:
    """Make phis undefined for the ``doubtful`` invocations."""
    for phi in phis:
        translation.values[phi.result] = _doubted(translation, phi.type, translation.values[phi.result], doubtful)


def _lead(translation: Translation, block: Block, doubtful: Mask, arrivals: dict[int, list[tuple[int, Mask]]]) -> Mask:
    """Add the ways from a block to ``arrivals``. Return the invocations that have gone several ways: also ``doubtful`` ones."""
    machine, values, end = translation.machine, translation.values, block.end
    assert isinstance(end, Branch), "selection_of"
    undefined = np.zeros(machine.lanes, bool)
    before = values[end.condition] if end.condition else None
    if isinstance(before, Undefined):
        undefined = machine.mask & ~definedness(machine, translation.type_of[end.condition], before)
        values[end.condition] = filled(translation, translation.type_of[end.condition], before, 0)
    ways = dict.fromkeys(end.targets, undefined) if undefined.any() else {}
    for target, mask in machine.ways(end):
        ways[target] = (mask & ~undefined) | ways.get(target, False)
    if end.condition:
        values[end.condition] = before
    for target, mask in ways.items():
        arrivals.setdefault(target, []).append((block.label, mask))
    return doubtful | undefined


def _execute(translation: Translation, block: Block, entry: Entry, doubtful: Mask) -> None:
    """Execute an instruction. What it stores is undefined for the ``doubtful`` invocations."""
    op, words, _ = translation.instructions[entry[2]]
    alone = Block(block.label, block.order, entries=[entry])
    if op is not Op.Store:
        translation.machine.execute(alone)
        return
    stored, values = words[1], translation.values
    before = values[stored]
    values[stored] = _doubted(translation, translation.type_of[stored], before, doubtful)
    translation.machine.execute(alone)
    values[stored] = before


def _doubted(translation: Translation, type_: Type, value: Value, doubtful: Mask) -> Value:
    known = _without(definedness(translation.machine, type_, value), doubtful)
    return marked(translation.machine, type_, filled(translation, type_, value, 0), known)


def _without(known: Value, doubtful: Mask) -> Value:
    return tuple(_without(part, doubtful) for part in known) if isinstance(known, tuple) else known & ~doubtful
