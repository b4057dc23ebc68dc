"""Functions that matrix instructions call for elements: CombineFunc, Func and DecodeFunc (SPV_NV_cooperative_matrix2).

A function is pure: nothing says how often, in which order and by which invocations it is called (CM2-PE-07, C19).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal

from generators.program.control_flow import Hint
from generators.program.memory import Array
from generators.program.values import Operand
from generators.types import ComponentType

Operator = Literal[
    "add", "subtract", "multiply", "minimum", "maximum", "and", "or", "xor", "shift_left", "shift_right", "equal", "less"
]  # fmt: skip
"""Of two values of one type; ``equal`` and ``less`` give what only ``Choose`` takes. Shifts, and, or, xor are of integers; a right shift
of a signed integer keeps its sign; ``minimum``, ``maximum`` and ``less`` go by the type's signedness, and are not of NaN."""


@dataclass(frozen=True)
class ScalarParameter:
    """A parameter that is a scalar."""

    name: str
    component: ComponentType


@dataclass(frozen=True)
class VectorParameter:
    """A parameter that is a vector of 2 to 4."""

    name: str
    component: ComponentType
    lanes: int


@dataclass(frozen=True)
class StructParameter:
    """A parameter that is a struct of scalars. ``type_name`` is unique in the program."""

    name: str
    type_name: str
    members: tuple[ComponentType, ...]


@dataclass(frozen=True)
class ArrayParameter:
    """A parameter that is an array of scalars: the coordinates of a decode function."""

    name: str
    component: ComponentType
    length: int


@dataclass(frozen=True)
class BlockMember:
    """A member of a block: ``length`` scalars at byte ``offset``, one if None and else an array."""

    component: ComponentType
    offset: int
    length: int | None = None

    @property
    def end(self) -> int:
        """The byte behind it."""
        return self.offset + self.component.bytes * (1 if self.length is None else self.length)


@dataclass(frozen=True)
class BlockType:
    """The struct that a decode function's pointer points to; the next block follows behind its last member (F-CM2-6).

    Attributes:
        name: unique in the program.
        alignment: bytes, a power of two, of which the size is a multiple.
    """

    name: str
    members: tuple[BlockMember, ...]
    alignment: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return max(member.end for member in self.members)


@dataclass(frozen=True)
class PointerParameter:
    """A parameter that is a pointer to a block in physical storage."""

    name: str
    block: BlockType


Whole = VectorParameter | StructParameter | ArrayParameter | PointerParameter
Parameter = ScalarParameter | Whole


@dataclass(frozen=True)
class Constant:
    """A literal; ``bits`` as the component has them."""

    component: ComponentType
    bits: int


@dataclass(frozen=True)
class Outside:
    """A specialization constant, or another operand that a function may use; push constants and buffers are no operands of it."""

    operand: Operand

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.operand.component


@dataclass(frozen=True)
class Part:
    """Component ``index`` of a vector, member of a struct, or element of an array."""

    of: VectorParameter | StructParameter | ArrayParameter
    index: int

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.of.members[self.index] if isinstance(self.of, StructParameter) else self.of.component


@dataclass(frozen=True)
class BlockRead:
    """A member of the block that a pointer points to, at ``index`` where it is an array.

    The read promises no more than the block's alignment, and all of it where the place allows (``promised_alignment``).
    """

    pointer: PointerParameter
    member: int
    index: Expression | None = None

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.pointer.block.members[self.member].component


@dataclass(frozen=True)
class ElementRead:
    """Element ``index`` of an array in a binding or in workgroup memory, whose pointee is a scalar."""

    array: Array
    index: Expression

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.array.pointee.component


@dataclass(frozen=True)
class Binary:
    """``left`` (operator) ``right``, of the type of both, which is the result's but for comparisons."""

    operator: Operator
    left: Expression
    right: Expression

    @property
    def component(self) -> ComponentType:
        """The type of the operands."""
        return self.left.component


@dataclass(frozen=True)
class Choose:
    """``then`` where the comparison ``condition`` holds, else ``otherwise``."""

    condition: Binary
    then: Expression
    otherwise: Expression

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.then.component


@dataclass(frozen=True)
class Converted:
    """``value`` converted to ``component`` by the signedness of both types: exact, or an integer truncated."""

    component: ComponentType
    value: Expression


@dataclass(frozen=True)
class Called:
    """What another function returns. Parameters that are no scalars are handed on whole."""

    function: ElementFunction
    arguments: tuple[Expression | Whole, ...]

    @property
    def component(self) -> ComponentType:
        """Its type."""
        return self.function.result.component


Expression = ScalarParameter | Constant | Outside | Part | BlockRead | ElementRead | Binary | Choose | Converted | Called


@dataclass(frozen=True)
class ElementFunction:
    """A function of scalars.

    Attributes:
        name: unique in the program.
        result: what it returns; of parameters and constants.
        control: Inline for ``for``, DontInline for ``against``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Expression
    control: Hint = "none"


def promised_alignment(read: BlockRead) -> int:
    """Bytes to which a block's alignment aligns the place of ``read``, whatever its index is: a power of two."""
    block, member = read.pointer.block, read.pointer.block.members[read.member]
    steps = (member.offset, 0 if read.index is None else member.component.bytes)
    return gcd(block.alignment, *steps)


def operands_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that it is made of."""
    match expression:
        case Binary():
            return expression.left, expression.right
        case Choose():
            return expression.condition, expression.then, expression.otherwise
        case Converted():
            return (expression.value,)
        case Called():
            return tuple(argument for argument in expression.arguments if not isinstance(argument, Whole))
        case ElementRead():
            return (expression.index,)
        case BlockRead():
            return () if expression.index is None else (expression.index,)
        case _:
            return ()


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """It and all that it is made of, those of called functions included."""
    yield expression
    for part in operands_of(expression):
        yield from subexpressions(part)
    if isinstance(expression, Called):
        yield from subexpressions(expression.function.result)


def binary(operator: Operator, left: Expression, right: Expression, *more: Expression) -> Expression:
    """``left`` (operator) ``right`` (operator) …, from left to right."""
    result: Expression = Binary(operator, left, right)
    for operand in more:
        result = Binary(operator, result, operand)
    return result
