"""Builds a program step by step, naming values and giving out specialization ids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from generators.program.construction import MatrixSplat
from generators.program.control_flow import Carried, Loop
from generators.program.load_store import MatrixLoad, MatrixStore, MemoryLayout, MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.muladd import MatrixMulAdd
from generators.program.program import FIRST_FREE_CONSTANT_ID, Operation, Program
from generators.program.scalars import InstanceIndex, ScalarArithmetic
from generators.program.values import Extent, Matrix, MatrixType, Operand, Scalar, ScalarValue, Source
from generators.program.workgroup import Barrier, Copy
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands, Scope, StorageClass

U32 = COMPONENT_TYPES["u32"]


class ProgramBuilder:
    """Collects the parts of one program. Methods that compute a value return it."""

    def __init__(self, scope: Scope, subgroups: int = 1, workgroups: int = 1) -> None:
        self._scope = scope
        self._subgroups = subgroups
        self._workgroups = workgroups
        self._arrays: list[Array] = []
        self._operands: list[Operand] = []
        self._operations: list[Operation] = []
        self._instance: Scalar | None = None

    @property
    def instances(self) -> int:
        """Scope instances in a dispatch."""
        return self._workgroups * (self._subgroups if self._scope is Scope.SUBGROUP else 1)

    def array(
        self, name: str, pointee: Pointee, length: Extent, storage: StorageClass, role: Role, array_stride: int | None = None
    ) -> Array:
        """Declares an array of ``length`` elements."""
        array = Array(name, pointee, length, storage, role, array_stride)
        self._arrays.append(array)
        return array

    def operand(self, name: str, component: ComponentType, source: Source, value: int | None = None, default: int | None = None) -> Operand:
        """Declares a scalar from outside; ``value`` for a literal or a specialization constant, whose default in the module is
        ``default``."""
        constant_id = None
        if source == "specialization":
            constant_id = FIRST_FREE_CONSTANT_ID + sum(o.source == "specialization" for o in self._operands)
        fixed = source in ("literal", "specialization")
        operand = Operand(name, component, source, value if fixed else None, constant_id, default if constant_id is not None else None)
        if source != "literal":
            self._operands.append(operand)
        return operand

    def literal(self, value: int, component: ComponentType = U32) -> Operand:
        """A literal scalar."""
        return Operand(f"literal_{component.name}_{value}", component, "literal", value)

    def instance_index(self) -> Scalar:
        """The number of the scope instance, computed once."""
        if self._instance is None:
            self._instance = Scalar("instance", U32)
            self._operations.append(InstanceIndex(self._instance))
        return self._instance

    def arithmetic(self, name: str, operator: Literal["add", "multiply"], left: ScalarValue, right: ScalarValue) -> Scalar:
        """``left`` (add, multiply) ``right``."""
        result = Scalar(name, left.component)
        self._operations.append(ScalarArithmetic(result, operator, left, right))
        return result

    def offset(self, name: str, first: ScalarValue, index: Scalar, pitch: int) -> Scalar:
        """``first`` + ``index`` * ``pitch``."""
        scaled = self.arithmetic(f"{name}_scaled", "multiply", index, self.literal(pitch))
        return self.arithmetic(name, "add", scaled, first)

    def load(
        self,
        name: str,
        type_: MatrixType,
        array: Array,
        first: ScalarValue,
        stride: ScalarValue,
        layout: MemoryLayout,
        memory: MemoryOperand | None = None,
    ) -> Matrix:
        """A matrix loaded from ``array``."""
        result = Matrix(name, type_)
        self._operations.append(MatrixLoad(result, array, first, stride, layout, memory))
        return result

    def splat(self, name: str, type_: MatrixType, value: ScalarValue) -> Matrix:
        """A matrix of one value."""
        result = Matrix(name, type_)
        self._operations.append(MatrixSplat(result, value))
        return result

    def store(
        self,
        matrix: Matrix,
        array: Array,
        first: ScalarValue,
        stride: ScalarValue,
        layout: MemoryLayout,
        memory: MemoryOperand | None = None,
    ) -> None:
        """Stores ``matrix`` to ``array``."""
        self._operations.append(MatrixStore(matrix, array, first, stride, layout, memory))

    def muladd(self, name: str, type_: MatrixType, a: Matrix, b: Matrix, c: Matrix, operands: MatrixOperands | None) -> Matrix:
        """``a`` x ``b`` + ``c``."""
        result = Matrix(name, type_)
        self._operations.append(MatrixMulAdd(result, a, b, c, operands))
        return result

    def copy(self, target: Array, source: Array) -> None:
        """Copies a whole array, all invocations of the workgroup together."""
        self._operations.append(Copy(target, source))

    def barrier(self) -> None:
        """A workgroup barrier."""
        self._operations.append(Barrier())

    @contextmanager
    def loop(self, index: Scalar, trip_count: Operand, carried: list[Carried]) -> Iterator[None]:
        """The operations added inside become the body; ``carried`` is complete when the block ends."""
        outer, self._operations = self._operations, []
        yield
        body, self._operations = self._operations, outer
        self._operations.append(Loop(index, trip_count, tuple(carried), tuple(body)))

    def build(self, policy: str = "") -> Program:
        """The finished program."""
        return Program(
            tuple(self._arrays), tuple(self._operands), tuple(self._operations), self._scope, self._subgroups, self._workgroups, policy
        )
