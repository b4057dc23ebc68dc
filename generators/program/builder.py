"""Builds a program step by step; names values and assigns specialization ids."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from generators.program.arrays import ArrayLoad, ArrayStore
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined
from generators.program.control_flow import Arm, Branch, Carried, Condition, Exit, Loop, Merged, PerInvocation, Stated, Switch
from generators.program.conversion import Conversion, MatrixConvert
from generators.program.domains import check_domains
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar, Operator
from generators.program.float_controls import FloatControl
from generators.program.functions import Argument, Call, Function
from generators.program.load_store import MatrixLoad, MatrixStore, MemoryLayout, MemoryOperand
from generators.program.memory import Array, Inner, OpaqueMatrices, Pointee, Role
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Computation, Effect, Hint, Operation, Result_co
from generators.program.pointers import ElementPointer, PointerLoad, PointerStore, pointer_type
from generators.program.program import FIRST_FREE_CONSTANT_ID, Program
from generators.program.scalars import BuiltInName, BuiltInScalar, InstanceIndex, ScalarArithmetic, ScalarOperator
from generators.program.shape import PLAIN, WorkgroupShape
from generators.program.values import (
    AnyValue,
    Extent,
    Matrix,
    MatrixType,
    Operand,
    Pointer,
    Scalar,
    ScalarValue,
    Selected,
    Source,
    Value,
    ValueType,
    VectorType,
    is_matrix,
    is_scalar,
    literal,
)
from generators.program.variables import Initializer, Path, Variable, VariableLoad, VariableStore, part_type
from generators.program.workgroup import Barrier, Handover
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands, MemoryScope, Scope, StorageClass

U32 = COMPONENT_TYPES["u32"]


class ProgramBuilder:
    """Collects the parts of one program. Methods that compute a value return it.

    Args:
        scope, subgroups, shape, float_controls, maintenance1, wide_indexing: see Program.
        workgroups: the number of workgroups in x, or in x, y and z.
        first_constant: SpecId of the first specialization constant.
    """

    def __init__(
        self,
        scope: Scope,
        subgroups: int = 1,
        workgroups: int | tuple[int, int, int] = 1,
        shape: WorkgroupShape = PLAIN,
        float_controls: tuple[FloatControl, ...] = (),
        first_constant: int = FIRST_FREE_CONSTANT_ID,
        maintenance1: bool = False,
        wide_indexing: bool = False,
    ) -> None:
        self._scope = scope
        self._subgroups = subgroups
        self._workgroups = (workgroups, 1, 1) if isinstance(workgroups, int) else workgroups
        self._shape = shape
        self._float_controls = float_controls
        self._first_constant = first_constant
        self._maintenance1 = maintenance1
        self._wide_indexing = wide_indexing
        self._arrays: list[Array] = []
        self._operands: list[Operand] = []
        self._operations: list[Operation] = []
        self._variables: list[Variable] = []
        self._instance: Scalar | None = None
        self._names = Counter[str]()

    @property
    def scope(self) -> Scope:
        """Return the scope of the program's matrices."""
        return self._scope

    @property
    def workgroup_count(self) -> int:
        """Workgroups in a dispatch."""
        return math.prod(self._workgroups)

    @property
    def instances(self) -> int:
        """Scope instances in a dispatch."""
        return self.workgroup_count * (self._subgroups if self._scope is Scope.SUBGROUP else 1)

    def array(
        self,
        name: str,
        pointee: Pointee,
        length: Extent,
        storage: StorageClass,
        role: Role,
        array_stride: int | None = None,
        pointer_stride: int | None = None,
        opaque: OpaqueMatrices | None = None,
        inner: Inner | None = None,
    ) -> Array:
        """Declare an array of ``length`` elements."""
        return self.declare(Array(name, pointee, length, storage, role, array_stride, pointer_stride, opaque=opaque, inner=inner))

    def declare(self, array: Array) -> Array:
        """Declare an array."""
        self._arrays.append(array)
        return array

    def operand(self, name: str, component: ComponentType, source: Source, value: int | None = None, default: int | None = None) -> Operand:
        """Declare a scalar from outside. ``value`` is its value in every subcase that does not give another; ``default`` is the
        default of a specialization constant in the module."""
        constant_id = None
        if source == "specialization":
            constant_id = self._first_constant + sum(o.source == "specialization" for o in self._operands)
        fixed = source in ("literal", "specialization")
        default = default if constant_id is not None else None
        operand = Operand(name, component, source, value if fixed else None, constant_id, default, None if fixed else value)
        if source != "literal":
            self._operands.append(operand)
        return operand

    def literal(self, value: int, component: ComponentType = U32) -> Operand:
        """Make a literal scalar."""
        return literal(component, value)

    def instance_index(self) -> Scalar:
        """Return the index of the scope instance, which is computed once."""
        if self._instance is None:
            self._instance = Value("instance", U32)
            self._operations.append(InstanceIndex(self._instance))
        return self._instance

    def fresh(self, name: str) -> str:
        """Return ``name``, with a number if it was used before."""
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def built_in(self, name: str, which: BuiltInName) -> Scalar:
        """Return a number that the environment supplies to each invocation."""
        return self.result_of(BuiltInScalar(Value(name, U32), which))

    def workgroup_index(self, name: str) -> Scalar:
        """Return the index of the workgroup in the dispatch: the index along x, or, if there are workgroups along y or z, the linear index
        from Vulkan's WorkgroupId, x first."""
        x = self.built_in(name, "workgroup")
        if self._workgroups[1:] == (1, 1):
            return x
        y, z = self.built_in(f"{name}_y", "workgroup_y"), self.built_in(f"{name}_z", "workgroup_z")
        planes = self.arithmetic(f"{name}_planes", "multiply", z, self.built_in(f"{name}_height", "workgroups_y"))
        lines = self.arithmetic(f"{name}_lines", "add", planes, y)
        before = self.arithmetic(f"{name}_before", "multiply", lines, self.built_in(f"{name}_width", "workgroups_x"))
        return self.arithmetic(f"{name}_whole", "add", before, x)

    def arithmetic(self, name: str, operator: ScalarOperator, left: ScalarValue, right: ScalarValue) -> Scalar:
        """Compute ``left`` (operator) ``right``."""
        return self.result_of(ScalarArithmetic(Value(name, left.type), operator, left, right))

    def offset(self, name: str, first: ScalarValue, index: ScalarValue, pitch: int) -> Scalar:
        """Compute ``first`` + ``index`` * ``pitch``."""
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
        robust: bool = False,
    ) -> Matrix:
        """Load a matrix from ``array``."""
        return self.result_of(MatrixLoad(Value(name, type_), array, first, stride, layout, memory, robust))

    def splat(self, name: str, type_: MatrixType, value: ScalarValue, replicated: bool = False) -> Matrix:
        """Make a matrix of one value."""
        return self.result_of(MatrixSplat(Value(name, type_), value, replicated))

    def constant(self, name: str, type_: MatrixType, value: Operand, replicated: bool = False, specializable: bool = False) -> Matrix:
        """Make a constant matrix of the module; ``value`` is a literal or a specialization constant."""
        return self.result_of(MatrixConstant(Value(name, type_), value, replicated, specializable))

    def null(self, name: str, type_: MatrixType) -> Matrix:
        """Make a matrix of zeros: OpConstantNull."""
        return self.result_of(MatrixNull(Value(name, type_)))

    def undefined(self, name: str, type_: MatrixType, place: Literal["module", "function"]) -> Matrix:
        """Make a matrix with an undefined value, on which nothing may depend."""
        return self.result_of(MatrixUndefined(Value(name, type_), place))

    def read(self, name: str, array: Array, index: ScalarValue) -> Value[ComponentType | VectorType]:
        """Read element ``index`` of ``array``."""
        pointee = array.pointee
        type_ = pointee.component if pointee.lanes == 1 else VectorType(pointee.component, pointee.lanes)
        result: Value[ComponentType | VectorType] = Value(name, type_)
        self._operations.append(ArrayLoad(result, array, index))
        return result

    def read_scalar(self, name: str, array: Array, index: ScalarValue) -> Scalar:
        """Read element ``index`` of ``array``, whose pointee is a scalar."""
        result = Value(name, array.pointee.component)
        self.add(ArrayLoad(result, array, index))
        return result

    def write(self, array: Array, index: ScalarValue, value: AnyValue | Operand) -> None:
        """Store ``value`` to element ``index`` of ``array``."""
        self._operations.append(ArrayStore(array, index, value))

    def store(
        self,
        matrix: Matrix,
        array: Array,
        first: ScalarValue,
        stride: ScalarValue,
        layout: MemoryLayout,
        memory: MemoryOperand | None = None,
        robust: bool = False,
    ) -> None:
        """Store ``matrix`` to ``array``."""
        self._operations.append(MatrixStore(matrix, array, first, stride, layout, memory, robust))

    def muladd(self, name: str, type_: MatrixType, a: Matrix, b: Matrix, c: Matrix, operands: MatrixOperands | None) -> Matrix:
        """Compute ``a`` x ``b`` + ``c``."""
        return self.result_of(MatrixMulAdd(Value(name, type_), a, b, c, operands))

    def convert(self, name: str, matrix: Matrix, component: ComponentType, conversion: Conversion, saturating: bool = False) -> Matrix:
        """Convert ``matrix`` to ``component``."""
        return self.result_of(MatrixConvert(Value(name, replace(matrix.type, component=component)), matrix, conversion, saturating))

    def negate(self, name: str, operand: Matrix) -> Matrix:
        """Compute -``operand``, element by element."""
        return self.result_of(MatrixNegate(Value(name, operand.type), operand))

    def elementwise(self, name: str, operator: Operator, left: Matrix, right: Matrix, no_contraction: bool = False) -> Matrix:
        """Compute ``left`` (operator) ``right``, element by element."""
        return self.result_of(MatrixArithmetic(Value(name, left.type), operator, left, right, no_contraction))

    def times_scalar(self, name: str, matrix: Matrix, scalar: ScalarValue, no_contraction: bool = False) -> Matrix:
        """Compute ``matrix`` * ``scalar``."""
        return self.result_of(MatrixTimesScalar(Value(name, matrix.type), matrix, scalar, no_contraction))

    def barrier(self, scope: MemoryScope = MemoryScope.WORKGROUP, handover: Handover = "barrier") -> None:
        """Add a control barrier, by default of the workgroup."""
        self._operations.append(Barrier(scope, handover))

    def variable(
        self, name: str, type_: ValueType, storage: Literal["function", "private"] = "function", initializer: Initializer | None = None
    ) -> Variable:
        """Declare a variable."""
        variable = Variable(name, type_, storage, initializer)
        self._variables.append(variable)
        return variable

    def get(self, name: str, variable: Variable, *path: int | ScalarValue) -> AnyValue:
        """Load the part of ``variable`` that ``path`` leads to."""
        return self.result_of(VariableLoad(Value(name, part_type(variable.type, path)), variable, path))

    def get_matrix(self, name: str, variable: Variable, *path: int | ScalarValue) -> Matrix:
        """Load the matrix in ``variable`` that ``path`` leads to."""
        result = self.get(name, variable, *path)
        assert is_matrix(result), f"{name}: the path does not lead to a matrix"
        return result

    def get_scalar(self, name: str, variable: Variable, *path: int | ScalarValue) -> Scalar:
        """Load the scalar in ``variable`` that ``path`` leads to."""
        result = self.get(name, variable, *path)
        assert is_scalar(result), f"{name}: the path does not lead to a scalar"
        return result

    def set(self, variable: Variable, path: Path, value: AnyValue | Operand) -> None:
        """Store ``value`` to the part of ``variable`` that ``path`` leads to."""
        self._operations.append(VariableStore(variable, path, value))

    def element_pointer(self, name: str, array: Array, index: ScalarValue, strided: bool = False) -> Pointer:
        """Make a pointer to an element of ``array``."""
        return self.result_of(ElementPointer(Value(name, pointer_type(array, strided)), (array,), index))

    def descriptor_pointer(
        self, name: str, arrays: Sequence[Array], which: ScalarValue, index: ScalarValue, non_uniform: bool = False
    ) -> Pointer:
        """Make a pointer to an element of one of ``arrays``, an array of descriptors."""
        return self.result_of(ElementPointer(Value(name, pointer_type(arrays[0])), tuple(arrays), index, which, non_uniform))

    def load_through(self, name: str, type_: MatrixType, pointer: Pointer, stride: ScalarValue, layout: MemoryLayout) -> Matrix:
        """Load a matrix through a pointer."""
        return self.result_of(PointerLoad(Value(name, type_), pointer, stride, layout))

    def store_through(self, matrix: Matrix, pointer: Pointer, stride: ScalarValue, layout: MemoryLayout) -> None:
        """Store ``matrix`` through a pointer."""
        self._operations.append(PointerStore(matrix, pointer, stride, layout))

    def result_of(self, operation: Computation[Result_co]) -> Result_co:
        """Add an operation and return its result."""
        assert isinstance(operation, Operation), "only operations have results"
        self._operations.append(operation)
        return operation.result

    def add(self, operation: Operation) -> None:
        """Add an operation that has no builder method."""
        self._operations.append(operation)

    def extend(self, operations: Sequence[Operation]) -> None:
        """Add operations, for example an arm's."""
        self._operations.extend(operations)

    @contextmanager
    def loop(
        self,
        index: Scalar,
        limit: ScalarValue | Selected,
        carried: Sequence[Carried],
        hint: Hint = "none",
        start: ScalarValue | None = None,
        step: ScalarValue | None = None,
    ) -> Iterator[None]:
        """Make the operations added in the ``with`` block the body of a loop; ``carried`` is complete when the block ends. The default
        start is 0, and the default step is 1."""
        with self.arm() as body:
            yield
        steps = start or self.literal(0), step or self.literal(1)
        self._operations.append(Loop(index, limit, tuple(carried), tuple(body), hint, *steps))

    @contextmanager
    def stated(self, effect: Effect) -> Iterator[None]:
        """Make the operations added in the ``with`` block code that has ``effect``."""
        with self.arm() as body:
            yield
        self._operations.append(Stated(effect, tuple(body)))

    @contextmanager
    def arm(self) -> Iterator[list[Operation]]:
        """Collect the operations added in the ``with`` block in a list: an arm of a branch or switch, or the operations before an exit."""
        body: list[Operation] = []
        outer, self._operations = self._operations, body
        yield body
        self._operations = outer

    def branch(
        self,
        condition: Condition,
        then: Sequence[Operation],
        otherwise: Sequence[Operation] = (),
        merged: Sequence[Merged] = (),
        hint: Hint = "none",
    ) -> None:
        """Run one of two arms."""
        self._operations.append(Branch(condition, tuple(then), tuple(otherwise), tuple(merged), hint))

    def switch(
        self, selector: ScalarValue, arms: Sequence[Arm], default: Sequence[Operation], merged: Sequence[Merged] = (), hint: Hint = "none"
    ) -> None:
        """Run one of several arms."""
        self._operations.append(Switch(selector, tuple(arms), tuple(default), tuple(merged), hint))

    def exit(
        self,
        kind: Literal["return", "discard", "break", "continue"],
        condition: Condition,
        body: Sequence[Operation] = (),
        returned: AnyValue | Operand | None = None,
    ) -> None:
        """End the program or the function, the loop, or the iteration, if the condition holds."""
        self._operations.append(Exit(kind, condition, tuple(body), returned))

    @contextmanager
    def per_invocation(self, index: Scalar, size: int) -> Iterator[None]:
        """Run the operations added in the ``with`` block in each invocation separately. ``index`` (u32) numbers the invocations of the
        dispatch. The ``size`` invocations of a scope instance are adjacent, in the order of SubgroupLocalInvocationId at subgroup scope and
        of LocalInvocationIndex at workgroup scope. The invocations of a draw have the draw's order."""
        own: BuiltInName = "subgroup_invocation" if self._scope is Scope.SUBGROUP else "local_invocation"
        with self.arm() as body:
            if self._shape.draw is not None:
                self.built_in(index.name, "draw_invocation")
            else:
                instance = Value(self.fresh(f"{index.name}_instance"), U32)
                self._operations.append(InstanceIndex(instance))
                lane = self.built_in(self.fresh(f"{index.name}_lane"), own)
                first = self.arithmetic(self.fresh(f"{index.name}_first"), "multiply", instance, self.literal(size))
                self.arithmetic(index.name, "add", first, lane)
            yield
        self._operations.append(PerInvocation(size, tuple(body)))

    def call(self, name: str, function: Function, arguments: Sequence[Argument]) -> AnyValue | None:
        """Call ``function`` with ``arguments``; its result is called ``name``."""
        returned = function.returned
        result = None if returned is None else replace(returned, name=name)
        self._operations.append(Call(result, function, tuple(arguments)))
        return result

    def build(self, policy: str = "") -> Program:
        """Return the finished program.

        Raises:
            GeneratorError: a value differs among invocations, but an operation needs a uniform one (generators.program.domains).
        """
        program = Program(
            tuple(self._arrays),
            tuple(self._operands),
            tuple(self._operations),
            self._scope,
            self._subgroups,
            self._workgroups,
            policy,
            self._shape,
            tuple(self._variables),
            float_controls=self._float_controls,
            maintenance1=self._maintenance1,
            wide_indexing=self._wide_indexing,
        )
        check_domains(program)
        return program
