"""A notation for functions of scalars: expressions that become the operations of a function.

CombineFunc, Func and DecodeFunc (SPV_NV_cooperative_matrix2) are ordinary functions. Most of them are a single formula, which is written as
an expression. The number and the order of the calls from an instruction are unspecified, and so are the calling invocations (CM2-PE-07,
C19). Such a function is therefore pure, except that a function of an operation on elements may store to words that no other call accesses
(F-CM2-10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from generators.program.arrays import ArrayLoad
from generators.program.composites import CompositeConstruct, CompositeExtract
from generators.program.control_flow import Condition, Exit, Loop, Relation, Select
from generators.program.functions import Call, Function, Parameter
from generators.program.memory import Array
from generators.program.operation import Hint, Operation
from generators.program.pointers import BlockLoad
from generators.program.scalars import ScalarArithmetic, ScalarConvert, ScalarOperator
from generators.program.values import (
    Aggregate,
    BlockPointer,
    Operand,
    Scalar,
    ScalarValue,
    Value,
    VectorType,
    is_aggregate,
    is_block_pointer,
    is_scalar,
    literal,
)
from generators.program.variables import Variable, VariableLoad, VariableStore, part_type
from generators.types import COMPONENT_TYPES, ComponentType

BinaryOperator = Literal[
    "add", "subtract", "multiply", "minimum", "maximum", "and", "or", "xor", "shift_left", "shift_right", "equal", "less"
]  # fmt: skip
"""Operators on two values of one type; only ``Choose`` accepts the results of ``equal`` and ``less``. ``minimum``, ``maximum`` and ``less``
use the type's signedness, and do not accept NaN."""

Whole = Aggregate | BlockPointer
"""Values that an expression passes on unchanged."""


@dataclass(frozen=True)
class Part:
    """Component ``index`` of a vector, member of a struct, or element of an array, all of scalars."""

    of: Aggregate
    index: int

    @property
    def type(self) -> ComponentType:
        """Its type."""
        return cast(ComponentType, part_type(self.of.type, (self.index,)))


@dataclass(frozen=True)
class BlockRead:
    """A member of the block that a pointer points to, at ``index`` if it is an array."""

    pointer: BlockPointer
    member: int
    index: Expression | None = None

    @property
    def type(self) -> ComponentType:
        """Its type."""
        return self.pointer.type.members[self.member].component


@dataclass(frozen=True)
class ElementRead:
    """Element ``index`` of an array in a binding or in workgroup memory, whose pointee is a scalar."""

    array: Array
    index: Expression

    @property
    def type(self) -> ComponentType:
        """Its type."""
        return self.array.pointee.component


@dataclass(frozen=True)
class Binary:
    """``left`` (operator) ``right``. The operands and, except for comparisons, the result have one type."""

    operator: BinaryOperator
    left: Expression
    right: Expression

    @property
    def type(self) -> ComponentType:
        """The type of the operands."""
        return self.left.type


@dataclass(frozen=True)
class Choose:
    """``then`` if the comparison ``condition`` holds, otherwise ``otherwise``."""

    condition: Binary
    then: Expression
    otherwise: Expression

    @property
    def type(self) -> ComponentType:
        """Its type."""
        return self.then.type


@dataclass(frozen=True)
class Converted:
    """``value`` converted to ``type`` by the signedness of both types: exact, or an integer truncated."""

    type: ComponentType
    value: Expression


@dataclass(frozen=True)
class Called:
    """The result of another function. Parameters that are not scalars are passed as a whole."""

    function: Function
    arguments: tuple[Expression | Whole, ...]

    @property
    def type(self) -> ComponentType:
        """Its type."""
        assert is_scalar(self.function.returned), "an expression calls functions that return scalars"
        return self.function.returned.type


Expression = Scalar | Operand | Part | BlockRead | ElementRead | Binary | Choose | Converted | Called


def constant(component: ComponentType, bits: int) -> Operand:
    """Return a literal; ``bits`` are in the component's format."""
    return literal(component, bits)


def element_function(name: str, parameters: tuple[Parameter, ...], result: Expression, control: Hint = "none") -> Function:
    """Build the function that returns an expression of its parameters, literals and specialization constants.

    Args:
        name: unique in the program.
        parameters: the parameters of the function.
        result: its return value. Equal expressions are computed once, and operands before their users.
        control: Inline for ``for``, DontInline for ``against``.
    """
    body = _Body(name)
    value = body.value(result)
    if isinstance(value, Operand):
        # A function must return a value that it computes.
        value = body.add(lambda scalar: ScalarConvert(scalar, value), value.type)
    return Function(name, parameters, tuple(body.operations), value, control)


def vector_function(name: str, parameters: tuple[Parameter, ...], results: Sequence[Expression], control: Hint = "none") -> Function:
    """Build the function that returns a vector of expressions; arguments as for ``element_function``."""
    body = _Body(name)
    parts = tuple(body.value(result) for result in results)
    vector: Aggregate = Value(f"{name}_vector", VectorType(results[0].type, len(results)))
    return Function(name, parameters, (*body.operations, CompositeConstruct(vector, parts)), vector, control)


def early_vector_function(
    name: str,
    parameters: tuple[Parameter, ...],
    condition: Binary,
    early: Sequence[Expression],
    late: Sequence[Expression],
    control: Hint = "none",
) -> Function:
    """Build the function that returns one vector of expressions from inside a branch if a comparison holds, and otherwise another."""
    body = _Body(name)
    decision = Condition(body.value(condition.left), cast(Relation, condition.operator), body.value(condition.right))
    vectors: list[Aggregate] = []
    constructed: list[tuple[Operation, ...]] = []
    before, known = body.operations, dict(body.values)
    for which, results in (("early", early), ("late", late)):
        # Neither path can use values that the other has computed.
        body.operations, body.values, body.name = [], dict(known), f"{name}_{which}"
        parts = tuple(body.value(result) for result in results)
        vectors.append(Value(f"{name}_{which}_vector", VectorType(results[0].type, len(results))))
        constructed.append((*body.operations, CompositeConstruct(vectors[-1], parts)))
    leave = Exit("return", decision, constructed[0], vectors[0])
    return Function(name, parameters, (*before, leave, *constructed[1]), vectors[1], control)


def looped_vector_function(
    name: str,
    parameters: tuple[Parameter, ...],
    lanes: int,
    component: Callable[[Scalar], Expression],
    control: Hint = "none",
) -> Function:
    """Build the function that fills a vector in a loop and returns it.

    Args:
        lanes: components of the vector.
        component: maps the index of a component (u32) to its value.
        name, parameters, control: as for ``element_function``.
    """
    body = _Body(name)
    index: Scalar = Value(f"{name}_index", COMPONENT_TYPES["u32"])
    value = body.value(component(index))
    variable = Variable(f"{name}_components", VectorType(value.type, lanes), "function")
    vector: Aggregate = Value(f"{name}_vector", VectorType(value.type, lanes))
    filled = Loop(index, literal(index.type, lanes), (), (*body.operations, VariableStore(variable, (index,), value)))
    return Function(name, parameters, (filled, VariableLoad(vector, variable)), vector, control, (variable,))


class _Body:
    """The operations of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.values: dict[Expression, ScalarValue] = {}

    def add(self, operation: Callable[[Scalar], Operation], component: ComponentType) -> Scalar:
        result = Value(f"{self.name}_{len(self.operations)}", component)
        self.operations.append(operation(result))
        return result

    def value(self, expression: Expression) -> ScalarValue:
        """Return the value of an expression, computed the first time."""
        found = self.values.get(expression)
        if found is None:
            found = self.values[expression] = self._compute(expression)
        return found

    def _compute(self, expression: Expression) -> ScalarValue:
        match expression:
            case Value() | Operand():
                return expression
            case Part():
                return self.add(lambda result: CompositeExtract(result, expression.of, (expression.index,)), expression.type)
            case BlockRead():
                index = None if expression.index is None else self.value(expression.index)
                return self.add(lambda result: BlockLoad(result, expression.pointer, expression.member, index), expression.type)
            case ElementRead():
                place = self.value(expression.index)
                return self.add(lambda result: ArrayLoad(result, expression.array, place), expression.type)
            case Converted():
                value = self.value(expression.value)
                if value.type is expression.type:
                    return value
                return self.add(lambda result: ScalarConvert(result, value), expression.type)
            case Choose():
                relation = cast(Relation, expression.condition.operator)
                assert relation in ("equal", "less"), "a choice needs a comparison"
                condition = Condition(self.value(expression.condition.left), relation, self.value(expression.condition.right))
                then, otherwise = self.value(expression.then), self.value(expression.otherwise)
                return self.add(lambda result: Select(result, condition, then, otherwise), expression.type)
            case Binary():
                return self._binary(expression)
            case Called():
                arguments = tuple(one if is_aggregate(one) or is_block_pointer(one) else self.value(one) for one in expression.arguments)
                return self.add(lambda result: Call(result, expression.function, arguments), expression.type)

    def _binary(self, expression: Binary) -> Scalar:
        left, right = self.value(expression.left), self.value(expression.right)
        if expression.operator in ("minimum", "maximum"):
            pair = (left, right) if expression.operator == "minimum" else (right, left)
            condition = Condition(pair[0], "less", pair[1])
            return self.add(lambda result: Select(result, condition, left, right), expression.type)
        operator = cast(ScalarOperator, expression.operator)
        return self.add(lambda result: ScalarArithmetic(result, operator, left, right), expression.type)


def binary(operator: BinaryOperator, left: Expression, right: Expression, *more: Expression) -> Expression:
    """Return ``left`` (operator) ``right`` (operator) …, from left to right."""
    result: Expression = Binary(operator, left, right)
    for operand in more:
        result = Binary(operator, result, operand)
    return result
