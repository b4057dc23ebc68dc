"""Recovers from an instruction that could not be executed: undefined operands spread, and broken rules are collected or stop the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.embedded.diagnostics import Malformed, UndefinedUse, Unsupported, Violation, instruction_text
from cts.embedded.machine.machine import Block, Branch, Detour, Function, Phi, Run
from cts.embedded.machine.pointers import BytePointer
from cts.embedded.module.source_lines import source_line
from cts.embedded.module.translation import RESULT_OPS, Translation
from cts.embedded.observations import Observation, Observations
from cts.embedded.types.spirv_types import Type
from cts.embedded.types.values import Mask, Value
from cts.embedded.undefined.both_ways import detour, doubt
from cts.embedded.undefined.origins import origin_of
from cts.embedded.undefined.spreading import filled, operands_of, spread_undefined
from generators.spirv.enumerants import Op

UNDEFINED_RULE = "SPIR-V 3.3.1 OpUndef"
_CHAINS = frozenset(op for op in Op if op.name.endswith(("AccessChain", "AccessChainKHR", "ExtractDynamic", "InsertDynamic")))


class Recovery:
    """Decides how a machine goes on after an instruction.

    Args:
        translation: the module that runs.
        observations: collects broken rules; None to stop at the first.
    """

    def __init__(self, translation: Translation, observations: Observations | None) -> None:
        self._translation = translation
        self._observations = observations
        if observations is not None:
            observations.described = self._described

    def _described(self, one: Observation) -> Observation:
        if one.index < 0:
            return one
        text = instruction_text(self._translation.kernel.spirv, one.index)
        return replace(one, instruction=text, source=source_line(self._translation, one.index))

    def after(self, error: UndefinedUse | Violation, run: Run, type_: Type) -> Value:
        """Return the value of an instruction that raised ``error``.

        Raises:
            UndefinedUse, Violation: the device stops at this error.
        """
        if error.is_final:
            raise error
        machine = self._translation.machine
        index = machine.index
        op, words, _ = self._translation.instructions[index]
        if isinstance(error, UndefinedUse):
            operands = operands_of(self._translation, op, words)
            if operands:
                try:
                    return spread_undefined(self._translation, op, operands, type_, run)
                except UndefinedUse as again:
                    error = again
                except Violation as broken:
                    return self._after_violation(broken, index, type_)
            return self._after_use(error, index, run, type_)
        return self._after_violation(error, index, type_)

    def branch(self, error: UndefinedUse, function: Function, block: Block) -> Detour | None:
        """Go both ways at a branch with an undefined condition, if it only chooses a value.

        Otherwise, note the condition, and replace the undefined values by false or zero.

        Raises:
            UndefinedUse: the device stops at this error.
        """
        found = detour(self._translation, function, block)
        if found is not None:
            return found
        assert isinstance(block.end, Branch)
        self._note_use(error, self._translation.machine.index, "the condition of a branch is undefined")
        values, condition = self._translation.values, block.end.condition
        values[condition] = filled(self._translation, self._translation.type_of[condition], values[condition], 0)
        return None

    def doubt(self, phis: Sequence[Phi], doubtful: Mask) -> None:
        """Make phis undefined for the invocations that went several ways to them."""
        doubt(self._translation, phis, doubtful)

    def _note_use(self, error: UndefinedUse, index: int, what: str) -> None:
        origin = origin_of(self._translation, index)
        text = f"{what}; {origin}" if origin else what
        if self._observations is None:
            final = UndefinedUse(text)
            final.is_final = True
            raise final from error
        self._translation.machine.forbid(UNDEFINED_RULE, text, cause=origin)

    def _after_use(self, error: UndefinedUse, index: int, run: Run, type_: Type) -> Value:
        """Note an undefined operand, and execute the instruction with zero instead."""
        translation = self._translation
        op, words, _ = translation.instructions[index]
        what = "an operand of an atomic is undefined" if op.name.startswith("Atomic") else str(error)
        self._note_use(error, index, "an index is undefined" if op in _CHAINS else what)
        values = translation.values
        ids = [id_ for id_ in (words[2:] if op in RESULT_OPS else words) if id_ in translation.type_of]
        before = {id_: values[id_] for id_ in ids}
        try:
            for id_ in ids:
                values[id_] = filled(translation, translation.type_of[id_], values[id_], 0)
            result = run()
            # The access through a pointer with an undefined index is at no place that is known.
            return BytePointer(result.memory.unrecorded(), result.offset) if isinstance(result, BytePointer) else result
        except (UndefinedUse, Violation) as again:
            return self._after_violation(again, index, type_, noted=True)
        finally:
            for id_, value in before.items():
                values[id_] = value

    def _after_violation(self, error: UndefinedUse | Violation, index: int, type_: Type, noted: bool = False) -> Value:
        machine = self._translation.machine
        machine.index = index
        if self._observations is None:
            error.is_final = True
            raise error
        if isinstance(error, Violation) and not noted:
            machine.forbid(error.rule, error.text)
        try:
            return None if self._translation.instructions[index].op not in RESULT_OPS else self._translation.zero(type_)
        except (Unsupported, Malformed):
            error.is_final = True
            raise error from None
