"""Finds where an undefined value comes from when one is reported: backwards through the instructions that compute, store and pass it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from cts.embedded.diagnostics import instruction_text
from cts.embedded.module.source_lines import source_line
from cts.embedded.module.translation import RESULT_OPS, Translation
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.values import is_defined
from generators.spirv.enumerants import Op, StorageClass

_MOST = 1000
"""The most values to trace back."""

_CHAINS = (Op.AccessChain, Op.InBoundsAccessChain, Op.CopyObject)


def origin_of(translation: Translation, index: int) -> str:
    """Describe where the undefined operands of instruction number ``index`` come from; empty if unknown.

    Values that are undefined now lead there, unless a later call or iteration has replaced one: then all operands are followed.
    """
    found = _Origins(translation)
    return found.search(index, found.is_undefined) or found.search(index, lambda _: True)


class _Origins:
    """The flow of data in a module, read against its direction."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation

    def is_undefined(self, id_: int) -> bool:
        """Return whether a value, or a part of it, is undefined now."""
        return id_ in self._translation.type_of and not is_defined(self._translation.values[id_])

    def search(self, index: int, follows: Callable[[int], bool]) -> str:
        """Describe the nearest origin of the operands of an instruction for which ``follows`` holds."""
        pending, seen = [index], {index}
        while pending and len(seen) < _MOST:
            number = pending.pop(0)
            stored = [id_ for id_ in self._stored(number) if follows(id_)]
            found = self._said(number) if number != index else self._translation.machine.uninitialised.get(number, "")
            if found and not stored:
                return found
            for id_ in (*filter(follows, self._operands(number)), *stored):
                definer = self._definers.get(id_)
                if definer is not None and definer not in seen:
                    seen.add(definer)
                    pending.append(definer)
        return ""

    @cached_property
    def _definers(self) -> dict[int, int]:
        """Id of a value -> number of the instruction that makes it."""
        return {
            one.operands[1]: number
            for number, one in enumerate(self._translation.instructions)
            if one.op in RESULT_OPS and len(one.operands) > 1
        }

    @cached_property
    def _passed(self) -> dict[int, list[int]]:
        """Id of a parameter -> the arguments of all calls; id of a function -> the values that it returns."""
        passed: dict[int, list[int]] = {}
        parameters: dict[int, list[int]] = {}
        function = 0
        for op, words, _ in self._translation.function_instructions:
            if op is Op.Function:
                function = words[1]
            elif op is Op.FunctionParameter:
                parameters.setdefault(function, []).append(words[1])
            elif op is Op.ReturnValue:
                passed.setdefault(function, []).append(words[0])
        for op, words, _ in self._translation.function_instructions:
            if op is Op.FunctionCall:
                for parameter, argument in zip(parameters.get(words[2], ()), words[3:], strict=False):
                    passed.setdefault(parameter, []).append(argument)
        return passed

    def _operands(self, number: int) -> Iterator[int]:
        """Yield the ids of the values from which an instruction makes its result."""
        op, words, _ = self._translation.instructions[number]
        if op is Op.FunctionParameter:
            yield from self._passed.get(words[1], ())
        elif op is Op.FunctionCall:
            yield from self._passed.get(words[2], ())
        elif op is Op.Phi:
            yield from words[2::2]
            # Invocations may have come to it both ways from a branch on an undefined condition.
            for other, branch, _ in self._translation.function_instructions:
                if other in (Op.BranchConditional, Op.Switch) and self.is_undefined(branch[0]):
                    yield branch[0]
        else:
            yield from (id_ for id_ in (words[2:] if op in RESULT_OPS else words) if id_ in self._translation.type_of)

    def _stored(self, number: int) -> Iterator[int]:
        """Yield the values that are stored in the variable that an instruction loads from."""
        op, words, _ = self._translation.instructions[number]
        if op is not Op.Load or self._translation.storage(words[2]) not in (*CELL_STORAGE, StorageClass.Workgroup):
            return
        variables = set(self._variables(words[2]))
        for other, stored, _ in self._translation.function_instructions:
            if other is Op.Store and variables & set(self._variables(stored[0])):
                yield stored[1]

    def _variables(self, pointer: int) -> Iterator[int]:
        """Yield the variables into which a pointer may point, also through parameters."""
        pending, seen = [pointer], {pointer}
        while pending:
            at = pending.pop()
            definer = self._definers.get(at)
            op, words, _ = self._translation.instructions[definer] if definer is not None else (None, (), 0)
            sources = self._passed.get(at, ()) if op is Op.FunctionParameter else (words[2],) if op in _CHAINS else ()
            if not sources:
                yield at
            pending += [id_ for id_ in sources if id_ not in seen]
            seen.update(sources)

    def _said(self, number: int) -> str:
        """Describe how an instruction creates an undefined value; empty if it only passes one on."""
        translation = self._translation
        op, words, _ = translation.instructions[number]
        if number in translation.machine.uninitialised:
            return f"it comes from {self._place(number)}: {translation.machine.uninitialised[number]}"
        if op is Op.Undef:
            return f"it comes from {instruction_text(translation.kernel.spirv, number)}"
        if op is Op.Load and translation.storage(words[2]) in CELL_STORAGE:
            empty = [f"'{translation.name(id_)}'" for id_ in self._variables(words[2]) if self._is_empty(id_)]
            return f"it comes from {self._place(number)}: the variable {', '.join(empty)} was given no value" if empty else ""
        return ""

    def _place(self, number: int) -> str:
        """Return the source line of an instruction; without one, its disassembly."""
        line = source_line(self._translation, number)
        if line is None:
            return instruction_text(self._translation.kernel.spirv, number)
        return f"{line}: {line.text}" if line.text else str(line)

    def _is_empty(self, variable: int) -> bool:
        """Return whether a variable of functions has no value before the first store."""
        found = self._definers.get(variable)
        op, words, _ = self._translation.instructions[found] if found is not None else (None, (), 0)
        return op is Op.Variable and len(words) == 3 and words[2] in (StorageClass.Function, StorageClass.Private)
