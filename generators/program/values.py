"""Types, values and scalar operands of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.types import ComponentType, Scope, Use

Source = Literal["literal", "specialization", "push_constant", "buffer"]


@dataclass(frozen=True)
class Operand:
    """A scalar that the shader does not compute: where it comes from decides what a compiler can know of it.

    Attributes:
        name: unique in the program; GLSL identifier and key of ``Subcase.operands``.
        component: its scalar type (``u32``, ``s32``, ``u64``, ``s64``, or any component type for data).
        source: ``literal`` and ``specialization`` have the case's ``value``; ``push_constant`` and ``buffer`` take the value
            from each subcase.
        value: the value in this case (literal, specialization), else None; of a float its bits.
        constant_id: SpecId, for ``specialization``.
        default: the module's default for a specialization constant, different from ``value`` wherever that is legal, so that
            an implementation that forgets to specialize is seen.
    """

    name: str
    component: ComponentType
    source: Source
    value: int | None = None
    constant_id: int | None = None
    default: int | None = None


def literal(component: ComponentType, value: int) -> Operand:
    """Return a literal; of a float ``value`` is its bits."""
    return Operand(f"literal_{component.name}_{value}", component, "literal", value)


@dataclass(frozen=True)
class Selected:
    """OpSpecConstantOp Select: ``chosen`` where the specialization constant ``flag`` (u32) is not 0, else ``otherwise``."""

    flag: Operand
    chosen: int
    otherwise: int


Extent = int | Operand | Selected
"""Rows or columns of a matrix type, or the length of an array: a literal, a specialization constant, or one of two literals that a
specialization constant selects."""


def extent(value: Extent) -> int:
    """The number that an extent stands for in this case."""
    if isinstance(value, int):
        return value
    if isinstance(value, Selected):
        return value.chosen if extent(value.flag) else value.otherwise
    assert value.value is not None, f"{value.name}: an extent has its value in the case"
    return value.value


@dataclass(frozen=True)
class MatrixType:
    """OpTypeCooperativeMatrixKHR: ``rows`` x ``columns`` components, spread over one ``scope`` instance. Each of these and ``use`` is a
    literal, or a specialization constant (KHR-TYPE-03, KHR-TYPE-04)."""

    component: ComponentType
    scope: Scope | Operand
    rows: Extent
    columns: Extent
    use: Use | Operand

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) in this case."""
        return extent(self.rows), extent(self.columns)

    @property
    def scope_value(self) -> Scope:
        """The scope in this case."""
        return self.scope if isinstance(self.scope, Scope) else Scope(extent(self.scope))

    @property
    def use_value(self) -> Use:
        """The use in this case."""
        return self.use if isinstance(self.use, Use) else Use(extent(self.use))


@dataclass(frozen=True)
class Matrix:
    """A cooperative matrix value. In the reference model one value stands for all scope instances: shape (instances, rows, columns)."""

    name: str
    type: MatrixType


@dataclass(frozen=True)
class Scalar:
    """A scalar value that the shader computes; uniform over each scope instance."""

    name: str
    component: ComponentType


ScalarValue = Operand | Scalar
