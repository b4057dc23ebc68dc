"""Finds where an undefined value comes from when one is reported, from the values that instructions left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cts.embedded.diagnostics import instruction_text
from cts.embedded.module.translation import RESULT_OPS, Translation
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.values import is_defined
from generators.spirv.enumerants import Op

_MOST = 1000
"""The most values to trace back."""


def origin_of(translation: Translation, index: int) -> str:
    """Describe where the undefined operands of instruction number ``index`` come from; empty if unknown."""
    definers = {
        instruction.operands[1]: number
        for number, instruction in enumerate(translation.instructions)
        if instruction.op in RESULT_OPS and len(instruction.operands) > 1
    }
    pending, seen = [index], {index}
    while pending and len(seen) < _MOST:
        number = pending.pop(0)
        kept = list(_kept(translation, definers, number))
        found = _said(translation, number) if number != index else translation.machine.uninitialised.get(number, "")
        if found and not kept:
            return found
        for id_ in (*_undefined_operands(translation, number), *kept):
            definer = definers.get(id_)
            if definer is not None and definer not in seen:
                seen.add(definer)
                pending.append(definer)
    return ""


def _kept(translation: Translation, definers: Mapping[int, int], number: int) -> Iterator[int]:
    """Yield the undefined values that were stored in the variable without bytes that an instruction loads from."""
    op, words, _ = translation.instructions[number]
    if op is not Op.Load or translation.storage(words[2]) not in CELL_STORAGE:
        return
    variable = _variable(translation, definers, words[2])
    for other, stored, _ in translation.instructions[translation.first_function :]:
        if other is Op.Store and not is_defined(translation.values[stored[1]]) and _variable(translation, definers, stored[0]) == variable:
            yield stored[1]


def _variable(translation: Translation, definers: Mapping[int, int], pointer: int) -> int:
    """Return the variable into which a pointer points, or where the pointer comes from."""
    while pointer in definers:
        op, words, _ = translation.instructions[definers[pointer]]
        if op not in (Op.AccessChain, Op.InBoundsAccessChain, Op.CopyObject):
            break
        pointer = words[2]
    return pointer


def _said(translation: Translation, number: int) -> str:
    """Describe how an instruction creates an undefined value; empty if it only passes one on."""
    op, words, _ = translation.instructions[number]
    text = instruction_text(translation.kernel.spirv, number)
    if number in translation.machine.uninitialised:
        return f"it comes from {text}: {translation.machine.uninitialised[number]}"
    if op is Op.Undef:
        return f"it comes from {text}"
    if op is Op.Load and translation.storage(words[2]) in CELL_STORAGE:
        return f"it comes from {text}: a variable that was given no value"
    return ""


def _undefined_operands(translation: Translation, number: int) -> Iterator[int]:
    op, words, _ = translation.instructions[number]
    for id_ in words[2:] if op in RESULT_OPS else words:
        if id_ in translation.type_of and not is_defined(translation.values[id_]):
            yield id_
