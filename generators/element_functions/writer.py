"""Writes functions for operations on elements, with distinct numbers."""

from __future__ import annotations

from typing import Protocol

from generators.element_functions.functions import Arithmetic
from generators.numerics.formats import bits_of
from generators.program.builder import U32
from generators.program.expressions import Converted, Expression, element_function
from generators.program.functions import Function, Parameter
from generators.program.memory import Array
from generators.program.operation import Hint
from generators.program.values import Matrix, ScalarValue, Source, Value
from generators.types import ComponentType


class ProgramAround(Protocol):
    """Gives a function access to the operands, matrices and arrays of the program that applies it."""

    def scalar(self, name: str, component: ComponentType, bits: int, source: Source | None = None) -> ScalarValue:
        """Return a scalar with these bits; from the case's source if ``source`` is not given."""
        ...

    def matrix(self, name: str) -> Matrix:
        """Return a matrix of the type to which the function is applied."""
        ...

    def table(self, name: str, length: int) -> tuple[Array, ScalarValue]:
        """Return an array of components, and the index of the first of ``length`` that belong to a scope instance."""
        ...


class CallbackWriter:
    """Writes one function: its parameters row, column and x, and more.

    Attributes:
        around: gives access to the operands, matrices and arrays of the program.
        row, column, x: the first three parameters.
    """

    def __init__(
        self,
        around: ProgramAround,
        component: ComponentType,
        shape: tuple[int, int],
        row: ComponentType,
        column: ComponentType,
        control: Hint,
    ) -> None:
        self.around = around
        self.component = component
        self.arithmetic = Arithmetic(component)
        self.shape = shape
        self.control = control
        self.row, self.column = Value("row", row), Value("column", column)
        self.x = Value("x", component)

    def function(self, name: str, result: Expression, *more: Parameter) -> Function:
        """Return the function of row, column, x and ``more``."""
        return element_function(f"apply_{name}", (self.row, self.column, self.x, *more), self.arithmetic.lowered(result), self.control)

    def unsigned(self, value: Expression) -> Expression:
        """Return a row or column as u32."""
        return value if value.type is U32 else Converted(U32, value)

    @property
    def steps(self) -> tuple[int, int]:
        """The amounts that one more row and one more column add to an element."""
        if not self.component.is_float:
            return 37, 11
        return (5, 3) if self.component.precision < 24 else (1021, 3)

    def place_terms(self, row: Expression | None = None, column: Expression | None = None) -> list[tuple[float, Expression]]:
        """Return a row and a column, weighted; by default the element's."""
        by_row, by_column = self.steps
        return [(by_row, row or self.row), (by_column, column or self.column)]

    @property
    def place_most(self) -> int:
        """The greatest sum of the terms of an element's place."""
        by_row, by_column = self.steps
        return by_row * (self.shape[0] - 1) + by_column * (self.shape[1] - 1)

    def number(self, i: int, component: ComponentType | None = None) -> int:
        """Return the i-th of a series of distinct numbers: integers of the whole width, floats that use half of their significand."""
        component = component or self.component
        if component.is_float:
            half = 1 << (component.precision // 2) if component.precision >= 11 else 0
            return (half + 2 * i + 3) * (-1 if i % 2 else 1)
        value = 0x9E3779B97F4A7C15 * (2 * i + 3) % (1 << component.bits)
        return value | 1 << (component.bits - 1) if i % 2 else value & ~(1 << (component.bits - 1))

    def given(self, name: str, i: int, component: ComponentType | None = None) -> ScalarValue:
        """Return an operand whose value is the i-th number."""
        component = component or self.component
        return self.around.scalar(name, component, bits_of(component, self.number(i, component)))
