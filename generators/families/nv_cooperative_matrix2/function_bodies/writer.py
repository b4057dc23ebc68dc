"""Writes the operations of a function one by one."""

from __future__ import annotations

from collections.abc import Sequence

from generators.program.arrays import ArrayLoad
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract
from generators.program.control_flow import Condition, Merged, Select
from generators.program.functions import Call, Function, Parameter
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.pointers import BlockAddress, BlockCast, BlockLoad
from generators.program.scalars import Extended, ExtendedName, ScalarArithmetic, ScalarConvert, ScalarOperator
from generators.program.values import (
    Aggregate,
    AnyValue,
    ArrayType,
    BlockPointer,
    BlockType,
    Scalar,
    ScalarValue,
    StructType,
    Value,
    VectorType,
    is_scalar,
    literal,
)
from generators.program.variables import Initializer, Variable, VariableLoad, VariableStore, part_type
from generators.types import COMPONENT_TYPES, ComponentType

S32 = COMPONENT_TYPES["s32"]


def word(value: int) -> ScalarValue:
    """Return a literal u32."""
    return literal(U32, value % (1 << 32))


class FunctionWriter:
    """Adds operations to the open arm of a builder, with results whose names begin with the function's.

    Args:
        builder: its open arm is the body of the function.
        name: the name of the function.

    Attributes:
        builder, name: the arguments, as given.
        variables: the variables of the function, in Function storage.
    """

    def __init__(self, builder: ProgramBuilder, name: str) -> None:
        self.builder = builder
        self.name = name
        self.variables: list[Variable] = []
        self._count = 0

    def fresh(self, type_: ComponentType = U32) -> Scalar:
        """Return a scalar with a unique name."""
        return Value(self.unique_name(), type_)

    def unique_name(self) -> str:
        """Return a name that the program does not use yet."""
        self._count += 1
        return f"{self.name}_{self._count}"

    def _added(self, operation: Operation, result: Scalar) -> Scalar:
        self.builder.add(operation)
        return result

    def do(self, operator: ScalarOperator, left: ScalarValue, right: ScalarValue) -> Scalar:
        """Compute with two scalars of one type."""
        result = self.fresh(left.type)
        return self._added(ScalarArithmetic(result, operator, left, right), result)

    def weighted(self, *terms: tuple[int, ScalarValue]) -> Scalar:
        """Return a sum of u32 terms, each multiplied by its factor."""
        total: ScalarValue | None = None
        for factor, term in terms:
            product = term if factor == 1 else self.do("multiply", term, word(factor))
            total = product if total is None else self.do("add", total, product)
        assert isinstance(total, Value), "a sum needs terms, and a single literal is not enough"
        return total

    def extended(self, which: ExtendedName, *operands: ScalarValue) -> Scalar:
        """Compute by an extended instruction."""
        result = self.fresh(operands[0].type)
        return self._added(Extended(result, which, operands), result)

    def select(self, of: Condition, then: ScalarValue, otherwise: ScalarValue) -> Scalar:
        """Choose one of two scalars."""
        result = self.fresh(then.type)
        return self._added(Select(result, of, then, otherwise), result)

    def convert(self, value: ScalarValue, type_: ComponentType) -> ScalarValue:
        """Convert a scalar."""
        if value.type is type_:
            return value
        result = self.fresh(type_)
        return self._added(ScalarConvert(result, value), result)

    def construct(self, type_: VectorType | StructType, *parts: AnyValue | ScalarValue) -> Aggregate:
        """Build a vector or a struct."""
        result: Aggregate = Value(self.unique_name(), type_)
        self.builder.add(CompositeConstruct(result, parts))
        return result

    def extract(self, composite: Aggregate, *path: int) -> Scalar:
        """Take a scalar out of an aggregate."""
        type_ = part_type(composite.type, path)
        assert isinstance(type_, ComponentType), "the path leads to a scalar"
        result = self.fresh(type_)
        return self._added(CompositeExtract(result, composite, path), result)

    def variable(self, type_: VectorType | ArrayType, initializer: Initializer | None = None) -> Variable:
        """Declare a variable of the function."""
        variable = Variable(self.unique_name(), type_, "function", initializer)
        self.variables.append(variable)
        return variable

    def get(self, variable: Variable, *path: int | ScalarValue) -> Scalar:
        """Load a scalar from a variable."""
        type_ = part_type(variable.type, path)
        assert isinstance(type_, ComponentType), "the path leads to a scalar"
        result = self.fresh(type_)
        return self._added(VariableLoad(result, variable, path), result)

    def set(self, variable: Variable, value: AnyValue) -> None:
        """Store to a whole variable."""
        self.builder.add(VariableStore(variable, (), value))

    def read(self, array: Array, index: ScalarValue) -> Scalar:
        """Load an element of an array of scalars."""
        result = self.fresh(array.pointee.component)
        return self._added(ArrayLoad(result, array, index), result)

    def member(self, pointer: BlockPointer, index: ScalarValue) -> ScalarValue:
        """Load an element of the array that a block consists of, as u32."""
        result = self.fresh(pointer.type.members[0].component)
        self.builder.add(BlockLoad(result, pointer, 0, index))
        return self.convert(result, U32)

    def cast(self, pointer: BlockPointer, type_: BlockType) -> BlockPointer:
        """Return a pointer to a block of another type at the same place."""
        return self.builder.result_of(BlockCast(Value(self.unique_name(), type_), pointer))

    def address(self, array: Array, offset: ScalarValue, type_: BlockType) -> BlockPointer:
        """Return a pointer to a block in an array of physical storage."""
        return self.builder.result_of(BlockAddress(Value(self.unique_name(), type_), array, offset))

    def call(self, function: Function, *arguments: ScalarValue) -> Scalar:
        """Call a function that returns a scalar."""
        assert is_scalar(function.returned), "the function returns a scalar"
        result = self.fresh(function.returned.type)
        return self._added(Call(result, function, arguments), result)

    def leave(self, when: Condition, returned: ScalarValue, body: Sequence[Operation] = ()) -> None:
        """Return where a condition holds."""
        self.builder.exit("return", when, body, returned)

    def merged(self, *sources: ScalarValue) -> tuple[Scalar, Merged]:
        """Return a scalar for the values that the arms computed, and the merge that makes it."""
        result = self.fresh(sources[0].type)
        return result, Merged(result, sources)

    def byte(self, of: ScalarValue, index: ScalarValue) -> Scalar:
        """Return a byte of a u32, by a computed index."""
        shift = self.do("multiply", self.do("and", index, word(3)), word(8))
        return self.do("and", self.do("shift_right", of, shift), word(0xFF))


def finished(writer: FunctionWriter, parameters: tuple[Parameter, ...], body: Sequence[Operation], returned: AnyValue) -> Function:
    """Return the finished function of a writer."""
    return Function(writer.name, parameters, tuple(body), returned, variables=tuple(writer.variables))
