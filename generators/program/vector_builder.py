"""Adds code with cooperative vectors to a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyObject
from generators.program.construction import (
    CooperativeVectorConstant,
    CooperativeVectorNull,
    CooperativeVectorSplat,
    CooperativeVectorUndefined,
)
from generators.program.control_flow import Condition, Select
from generators.program.conversion import Conversion, conversions
from generators.program.cooperative_vector_matmul import (
    BiasInMemory,
    CooperativeVectorMatMul,
    InterpretationOperand,
    MatrixInMemory,
    VectorMatrixLayoutOperand,
    derived_operands,
)
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.cooperative_vectors import (
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
)
from generators.program.elementwise import (
    BitOperator,
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    Operator,
    VectorFunction,
)
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, OpaqueMatrices, Pointee, Role
from generators.program.values import CooperativeVector, CooperativeVectorType, Extent, Operand, Scalar, ScalarValue, Value
from generators.types import COMPONENT_TYPES, ComponentType, ConversionCommand, MatrixOperands, StorageClass, VectorMatrixLayout


class VectorBuilder:
    """Adds operations with cooperative vectors to ``builder``, inside its ``per_invocation``. Methods that compute a value return it;
    their first argument is its name."""

    def __init__(self, builder: ProgramBuilder) -> None:
        self._builder = builder

    def opaque(
        self,
        name: str,
        component: ComponentType,
        rows: int,
        columns: int,
        layout: VectorMatrixLayout,
        count: int = 1,
        role: Role = "input",
        storage: StorageClass = StorageClass.STORAGE_BUFFER,
        pointee: Pointee | None = None,
        command: ConversionCommand = "device",
    ) -> Array:
        """Declare an array of ``count`` matrices in an optimal layout, which ``command`` converts. Subcases supply and receive their
        elements row-major, without padding. If there are several matrices, the operand ``<name>_pitch`` is the distance from one to the
        next in bytes; ``matrix_offset`` uses it.

        Raises:
            GeneratorError: the layout is not optimal, or the size of the elements is not a multiple of the pointee.
        """
        if not layout.is_optimal or storage is StorageClass.WORKGROUP:
            raise GeneratorError(Rule.OPAQUE, f"array {name}: opaque matrices must be in a buffer and have an optimal layout")
        pitch = self._builder.operand(f"{name}_pitch", U32, "push_constant") if count > 1 else None
        opaque = OpaqueMatrices(component, rows, columns, layout, count, pitch, command)
        element = Pointee(component if component.has_arithmetic else COMPONENT_TYPES["u8"]) if pointee is None else pointee
        length, rest = divmod(count * opaque.bytes, element.bytes)
        if rest:
            raise GeneratorError(Rule.DATA_SIZE, f"array {name}: {count * opaque.bytes} bytes are not a whole number of {element} elements")
        return self._builder.array(name, element, length, storage, role, opaque=opaque)

    def matrix_offset(self, name: str, array: Array, index: ScalarValue) -> ScalarValue:
        """Compute the offset in bytes of matrix ``index`` (u32) in an array of opaque matrices."""
        assert array.opaque is not None, f"array {array.name}: it has no opaque matrices"
        if array.opaque.pitch is None:
            return self._builder.literal(0)
        return self._builder.arithmetic(name, "multiply", index, array.opaque.pitch)

    def load(
        self,
        name: str,
        type_: CooperativeVectorType,
        array: Array,
        offset: ScalarValue,
        memory: MemoryOperand | None = None,
        inner: ScalarValue | None = None,
    ) -> CooperativeVector:
        """Load a vector from byte ``offset`` of ``array``, or of its inner array ``inner``."""
        return self._builder.result_of(CooperativeVectorLoad(Value(name, type_), array, offset, memory, inner))

    def store(
        self,
        vector: CooperativeVector,
        array: Array,
        offset: ScalarValue,
        memory: MemoryOperand | None = None,
        inner: ScalarValue | None = None,
    ) -> None:
        """Store ``vector`` to byte ``offset`` of ``array``, or of its inner array ``inner``."""
        self._builder.add(CooperativeVectorStore(vector, array, offset, memory, inner))

    def splat(self, name: str, type_: CooperativeVectorType, value: ScalarValue, replicated: bool = False) -> CooperativeVector:
        """Return a vector of one value."""
        return self._builder.result_of(CooperativeVectorSplat(Value(name, type_), value, replicated))

    def constant(self, name: str, type_: CooperativeVectorType, values: tuple[Operand, ...], replicated: bool = False) -> CooperativeVector:
        """Return a constant vector of the module; one value for each component, or one for all if ``replicated``."""
        return self._builder.result_of(CooperativeVectorConstant(Value(name, type_), values, replicated))

    def null(self, name: str, type_: CooperativeVectorType) -> CooperativeVector:
        """Return a vector of zeros: OpConstantNull."""
        return self._builder.result_of(CooperativeVectorNull(Value(name, type_)))

    def undefined(self, name: str, type_: CooperativeVectorType, place: Literal["module", "function"]) -> CooperativeVector:
        """Return a vector with an undefined value, on which nothing may depend."""
        return self._builder.result_of(CooperativeVectorUndefined(Value(name, type_), place))

    def construct(self, name: str, type_: CooperativeVectorType, parts: tuple[ScalarValue, ...]) -> CooperativeVector:
        """Return a vector of ``parts``, one for each component."""
        result = Value(name, type_)
        self._builder.add(CompositeConstruct(result, parts))
        return result

    def extract(self, name: str, vector: CooperativeVector, index: int | ScalarValue) -> Scalar:
        """Return component ``index``: OpCompositeExtract for an int, OpVectorExtractDynamic for a scalar (u32)."""
        if isinstance(index, int):
            result = Value(name, vector.type.component)
            self._builder.add(CompositeExtract(result, vector, (index,)))
            return result
        return self._builder.result_of(CooperativeVectorExtract(Value(name, vector.type.component), vector, index))

    def insert(self, name: str, vector: CooperativeVector, part: ScalarValue, index: int | ScalarValue) -> CooperativeVector:
        """Return ``vector`` with ``part`` as component ``index``: OpCompositeInsert for an int, OpVectorInsertDynamic for a scalar
        (u32)."""
        if isinstance(index, int):
            result = Value(name, vector.type)
            self._builder.add(CompositeInsert(result, part, vector, (index,)))
            return result
        return self._builder.result_of(CooperativeVectorInsert(Value(name, vector.type), vector, part, index))

    def select(self, name: str, condition: Condition, then: CooperativeVector, otherwise: CooperativeVector) -> CooperativeVector:
        """Return ``then`` if the condition holds, otherwise ``otherwise``: OpSelect. The condition may differ between invocations."""
        result = Value(name, then.type)
        self._builder.add(Select(result, condition, then, otherwise))
        return result

    def copy(self, name: str, vector: CooperativeVector) -> CooperativeVector:
        """Return an OpCopyObject of ``vector``."""
        result = Value(name, vector.type)
        self._builder.add(CopyObject(result, vector))
        return result

    def negate(self, name: str, operand: CooperativeVector) -> CooperativeVector:
        """Compute -``operand``."""
        return self._builder.result_of(CooperativeVectorNegate(Value(name, operand.type), operand))

    def invert(self, name: str, operand: CooperativeVector) -> CooperativeVector:
        """Compute OpNot of ``operand``."""
        return self._builder.result_of(CooperativeVectorNot(Value(name, operand.type), operand))

    def arithmetic(
        self, name: str, operator: Operator, left: CooperativeVector, right: CooperativeVector, no_contraction: bool = False
    ) -> CooperativeVector:
        """Compute ``left`` (operator) ``right``."""
        return self._builder.result_of(CooperativeVectorArithmetic(Value(name, left.type), operator, left, right, no_contraction))

    def bits(self, name: str, operator: BitOperator, left: CooperativeVector, right: CooperativeVector) -> CooperativeVector:
        """Compute ``left`` (operator) ``right``, bit by bit, or shifted."""
        return self._builder.result_of(CooperativeVectorBits(Value(name, left.type), operator, left, right))

    def times_scalar(self, name: str, vector: CooperativeVector, scalar: ScalarValue, no_contraction: bool = False) -> CooperativeVector:
        """Compute ``vector`` * ``scalar``."""
        return self._builder.result_of(CooperativeVectorTimesScalar(Value(name, vector.type), vector, scalar, no_contraction))

    def convert(
        self, name: str, vector: CooperativeVector, component: ComponentType, conversion: Conversion | None = None
    ) -> CooperativeVector:
        """Convert ``vector`` to ``component``, by default with the instruction that matches the types."""
        by = conversions(vector.type.component, component)[0] if conversion is None else conversion
        return self._builder.result_of(CooperativeVectorConvert(Value(name, replace(vector.type, component=component)), vector, by))

    def function(self, name: str, function: VectorFunction, *arguments: CooperativeVector) -> CooperativeVector:
        """Apply a function of GLSL.std.450."""
        return self._builder.result_of(CooperativeVectorFunction(Value(name, arguments[0].type), function, arguments))

    def matmul(
        self,
        name: str,
        component: ComponentType,
        input_: CooperativeVector,
        interpretation: InterpretationOperand,
        matrix: MatrixInMemory,
        bias: BiasInMemory | None,
        rows: Extent,
        columns: Extent,
        operands: MatrixOperands | Literal["types"] | None = "types",
    ) -> CooperativeVector:
        """Compute ``matrix`` x ``input_`` + ``bias``, a vector of ``rows`` components of ``component``. ``operands``: by default from the
        types; an empty mask is then left out."""
        result = Value(name, CooperativeVectorType(component, rows))
        mask = (derived_operands(result, input_) or None) if operands == "types" else operands
        self._builder.add(CooperativeVectorMatMul(result, input_, interpretation, matrix, bias, rows, columns, mask))
        return result

    def outer_product(
        self,
        array: Array,
        offset: ScalarValue,
        a: CooperativeVector,
        b: CooperativeVector,
        layout: VectorMatrixLayoutOperand,
        interpretation: InterpretationOperand,
        stride: ScalarValue | None = None,
    ) -> None:
        """Accumulate the outer product of ``a`` and ``b`` into a matrix in memory."""
        self._builder.add(OuterProductAccumulate(array, offset, a, b, layout, interpretation, stride))

    def reduce_sum(self, array: Array, offset: ScalarValue, vector: CooperativeVector, inner: ScalarValue | None = None) -> None:
        """Accumulate the components of ``vector`` into an array in memory, or into its inner array ``inner``."""
        self._builder.add(ReduceSumAccumulate(array, offset, vector, inner))
