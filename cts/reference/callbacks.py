"""What functions that matrix instructions call return, for all elements at once.

Floats compute in float64 and every step must be exact in the component type, so that no rounding, contraction or order decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cts.reference.memory import Memory
from cts.reference.state import State
from generators.errors import GeneratorError
from generators.numerics.formats import denormals, encode, values
from generators.program.callbacks import (
    Binary,
    BlockRead,
    Called,
    Choose,
    Constant,
    Converted,
    ElementFunction,
    ElementRead,
    Expression,
    Outside,
    Part,
    ScalarParameter,
    Whole,
)
from generators.types import ComponentType


@dataclass(frozen=True)
class BlockPointers:
    """The argument of a pointer parameter: byte offsets in ``memory``, int64, of any shape."""

    memory: Memory
    offsets: np.ndarray


Argument = np.ndarray | Sequence[np.ndarray] | BlockPointers
"""Numbers as generators.numerics.formats.values gives them; those of the parts of a vector, struct or array; or pointers."""


def applied(state: State, function: ElementFunction, arguments: Sequence[Argument]) -> np.ndarray:
    """What ``function`` returns for each element, as numbers of its type.

    Raises:
        GeneratorError: the arguments are not as many as the parameters; a float result is not exact; or what is read is undefined.
    """
    if len(arguments) != len(function.parameters):
        raise GeneratorError(f"{function.name} has {len(function.parameters)} parameters and gets {len(arguments)} arguments")
    names = [parameter.name for parameter in function.parameters]
    return _Evaluation(state, function, dict(zip(names, arguments, strict=True))).value(function.result)


class _Evaluation:
    def __init__(self, state: State, function: ElementFunction, arguments: Mapping[str, Argument]) -> None:
        self.state = state
        self.function = function
        self.arguments = arguments

    def value(self, expression: Expression) -> np.ndarray:
        """The numbers that an expression stands for; bool for comparisons."""
        match expression:
            case ScalarParameter():
                return np.asarray(self.arguments[expression.name])
            case Constant():
                return values(np.array(expression.bits, expression.component.bits_dtype), expression.component)
            case Outside():
                bits = np.array(self.state.operand(expression.operand), np.uint64).astype(expression.component.bits_dtype)
                return values(bits, expression.component)
            case Part():
                parts = self.arguments[expression.of.name]
                assert isinstance(parts, Sequence), "the argument of a composite parameter has parts"
                return np.asarray(parts[expression.index])
            case BlockRead():
                return self._block_read(expression)
            case ElementRead():
                return self._element_read(expression)
            case Binary():
                return self._binary(expression)
            case Choose():
                return np.where(self.value(expression.condition), self.value(expression.then), self.value(expression.otherwise))
            case Converted():
                return self._converted(expression)
            case Called():
                arguments = [
                    self.arguments[argument.name] if isinstance(argument, Whole) else self.value(argument)
                    for argument in expression.arguments
                ]
                return applied(self.state, expression.function, arguments)

    def _block_read(self, read: BlockRead) -> np.ndarray:
        pointers = self.arguments[read.pointer.name]
        assert isinstance(pointers, BlockPointers), "the argument of a pointer parameter is a pointer"
        member = read.pointer.block.members[read.member]
        offsets = pointers.offsets + member.offset
        if read.index is not None:
            index = self.value(read.index).astype(np.int64)
            if (index < 0).any() or (index >= (member.length or 1)).any():
                raise GeneratorError(f"{self.function.name} reads beyond member {read.member} of {read.pointer.block.name}")
            offsets = offsets + index * member.component.bytes
        return values(pointers.memory.load(offsets, member.component), member.component)

    def _element_read(self, read: ElementRead) -> np.ndarray:
        memory = self.state.memories[read.array.name]
        index = self.value(read.index).astype(np.int64)
        if (index < 0).any() or (index >= read.array.count).any():
            raise GeneratorError(f"{self.function.name} reads beyond {read.array.name}")
        offsets = index * read.array.pointee.bytes
        if memory.copies > 1:
            offsets = offsets + self.state.copy_offsets(memory)
        return values(memory.load(offsets, read.component), read.component)

    def _binary(self, expression: Binary) -> np.ndarray:
        left, right = self.value(expression.left), self.value(expression.right)
        component = expression.component
        with np.errstate(over="ignore"):
            match expression.operator:
                case "add":
                    result = left + right
                case "subtract":
                    result = left - right
                case "multiply":
                    result = left * right
                case "minimum":
                    return np.asarray(np.minimum(left, right))
                case "maximum":
                    return np.asarray(np.maximum(left, right))
                case "and":
                    return np.asarray(left & right)
                case "or":
                    return np.asarray(left | right)
                case "xor":
                    return np.asarray(left ^ right)
                case "shift_left" | "shift_right":
                    if (right.astype(np.int64) < 0).any() or (right.astype(np.int64) >= component.bits).any():
                        raise GeneratorError(f"{self.function.name} shifts {component} by its width or more, which is undefined")
                    return np.asarray(left << right if expression.operator == "shift_left" else left >> right)
                case "equal":
                    return np.asarray(left == right)
                case "less":
                    return np.asarray(left < right)
        return self._exact(np.asarray(result), component) if component.is_float else np.asarray(result)

    def _converted(self, expression: Converted) -> np.ndarray:
        source, target = expression.value.component, expression.component
        value = self.value(expression.value)
        if target.is_float:
            return self._exact(value.astype(np.float64), target)
        if source.is_float:
            limits = np.iinfo(target.dtype)
            whole = np.trunc(value)
            if not ((whole >= float(limits.min)) & (whole <= float(limits.max))).all():
                raise GeneratorError(f"{self.function.name} converts a number to {target} that it does not hold, which is undefined (C11)")
            return np.asarray(whole.astype(target.dtype))
        return np.asarray(value.astype(target.dtype))

    def _exact(self, value: np.ndarray, component: ComponentType) -> np.ndarray:
        rounded = values(encode(component, value), component)
        if (rounded != value).any() or denormals(value, component).any():
            raise GeneratorError(f"{self.function.name}: a step is not exact, or denormal, in {component}; use other data")
        return value
