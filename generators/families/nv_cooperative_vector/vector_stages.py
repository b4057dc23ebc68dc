"""vector_stages: cooperative vectors in the invocations of vertex, fragment and ray generation shaders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Literal

import numpy as np

from generators.inputs import elementwise
from generators.inputs.patterns import normal_bits
from generators.inputs.vector_products import Multiplies, VectorOperands, floats, whole
from generators.layouts.vector_arrays import VectorArray
from generators.layouts.vector_matrices import VectorMatrices
from generators.numerics.formats import encode
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS, MATRIX_LAYOUTS
from generators.parameters.vocabulary import BUFFERS, SOURCE_NAMES, parse_shape
from generators.program.arrays import AtomicOr
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Array, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, ScalarValue, Value, is_cooperative_vector
from generators.program.vector_builder import VectorBuilder
from generators.routines.invocation_control import DIVERGENT, Control, InvocationCode, Passed, path, run
from generators.stages import DrawnStage
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, Scope, StorageClass, VectorMatrixLayout
from generators.vector_rows import VectorTypes, parse_vector_row

Operation = Literal["copy", "chain", "multiply", "outer_product", "reduce_sum"]

_F16 = COMPONENT_TYPES["f16"]
_TRAINING: tuple[Operation, ...] = ("outer_product", "reduce_sum")
_TRAINED = VectorMatrixLayout.TRAINING_OPTIMAL

_MATRICES = 3
_FIRST_FACTOR = 2
"""The index of the element that is the first invocation's factor."""

_BEFORE = {_F16: 512, COMPONENT_TYPES["f32"]: 1 << 22}
_TERMS = {_F16: 1535, COMPONENT_TYPES["f32"]: 1 << 23}
"""Bounds of the initial sums, and of the sum of the absolute values of all terms: together below 2**11 and 2**24."""


def _multiplies(parameters: Parameters) -> bool:
    return parameters.operation == "multiply"


def _linear(parameters: Parameters) -> bool:
    return _multiplies(parameters) and not parameters.layout.is_optimal


def _has_scalar(parameters: Parameters) -> bool:
    """Return whether the program has a scalar operand: the place of the first factor in a chain of floats, or of the first matrix."""
    return _linear(parameters) or (parameters.operation == "chain" and parameters.component.is_float)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    stage: DrawnStage = parameter("the stage whose invocations have the vectors")
    operation: Operation = parameter(
        "load and store; a chain of operators on components; a matrix-vector multiply with a bias; or an accumulation in memory"
    )
    row: VectorTypes = parameter(
        "types of the input, of the interpretations of input, matrix and bias, and of the result",
        default="f16.f16.f16.f16.f16",
        decode=parse_vector_row,
        applies=_multiplies,
    )
    component: ComponentType = parameter(
        "component type of the vectors; in an accumulation, component type of the sums",
        default="f16",
        labels=COMPONENTS,
        applies=lambda parameters: not _multiplies(parameters),
    )
    size: tuple[int, int] = parameter("M and K; vectors without a matrix have K components", default="5x7", decode=parse_shape)
    layout: VectorMatrixLayout = parameter("the layout of the matrices", default="row", labels=MATRIX_LAYOUTS, applies=_multiplies)
    source: SOURCE_NAMES = parameter(
        "where the number of the first factor, or the offset of the first matrix, comes from", default="literal", applies=_has_scalar
    )
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=BUFFERS)
    control: Control = parameter("the control flow around the operation", default="straight")
    invocations: int = parameter("fragments or vertices", default=32)
    discards: Literal["none", "before", "after"] = parameter(
        "whether odd fragments are discarded, before they add to memory or after it",
        default="none",
        applies=lambda parameters: parameters.stage == "fragment" and parameters.operation in _TRAINING,
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["random", "edges", "kept_width", "permutation"] = parameter("how the data are drawn")


def _has_types(parameters: Parameters) -> bool:
    """Return whether memory can hold sums of the component type, and matrices of the row can have the layout."""
    if parameters.operation in _TRAINING:
        return parameters.component in _BEFORE
    return not _multiplies(parameters) or parameters.layout.is_optimal or parameters.row.matrix.component.has_arithmetic


def _data_fit(parameters: SubcaseParameters) -> bool:
    if not _multiplies(parameters):
        return parameters.pattern == "random"
    of_floats = parameters.row.is_float and parameters.row.input.is_float
    return parameters.pattern in (("kept_width", "permutation") if of_floats else ("random", "edges"))


def _function_computes(parameters: Parameters) -> bool:
    """Return whether a function has something to compute."""
    return parameters.control != "function" or parameters.operation in ("chain", "multiply")


def _discards_fit(parameters: Parameters) -> bool:
    return parameters.discards == "none" or (parameters.control == "straight" and parameters.invocations > 1)


def _small(parameters: Parameters) -> bool:
    """Return whether all invocations together add few enough terms for a device that performs the additions one by one."""
    rows, columns = parameters.size
    return parameters.operation not in _TRAINING or parameters.invocations * rows * columns <= 1 << 16


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "has_types": _has_types,
    "data_fit": _data_fit,
    "function_computes": _function_computes,
    "small": _small,
    "discards_fit": _discards_fit,
    "diverges": lambda parameters: parameters.control in DIVERGENT or parameters.discards != "none",
}


class _VectorStagesWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.lanes = parameters.invocations
        self.builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=self.lanes, stage=parameters.stage))
        self.vectors = VectorBuilder(self.builder)
        rows, columns = parameters.size
        operand, result = CooperativeVectorType(parameters.component, columns), CooperativeVectorType(parameters.component, columns)
        if _multiplies(parameters):
            row = parameters.row
            operand, result = CooperativeVectorType(row.input, row.components(columns)), CooperativeVectorType(row.result, rows)
        elif parameters.operation == "outer_product":
            operand, result = CooperativeVectorType(_F16, rows), CooperativeVectorType(_F16, rows)
        self.result = result
        self.sources = VectorArray(operand, self.lanes)
        self.source = self._declare(self.sources, "source", "input")
        self.second: VectorArray | None = None
        if parameters.operation in ("chain", "outer_product"):
            self.second = VectorArray(CooperativeVectorType(operand.component, columns), self.lanes, first=48)
            self.second_source = self._declare(self.second, "others", "input")
        self._declare_targets()
        self.first = self._first() if _has_scalar(parameters) else None

    def _declare(self, vectors: VectorArray, name: str, role: Literal["input", "output", "inout"]) -> Array:
        return vectors.declare(self.builder, name, role, self.parameters.storage)

    def _declare_targets(self) -> None:
        """Declare the matrices, the biases and the outputs."""
        parameters, builder, storage = self.parameters, self.builder, self.parameters.storage
        rows, columns = parameters.size
        if _multiplies(parameters):
            self.matrices = VectorMatrices(
                parameters.row.matrix.component,
                rows,
                columns,
                parameters.layout,
                _MATRICES,
                first=64 if _linear(parameters) else 0,
                padding=16,
            )
            self.weights = self.matrices.declare(builder, "weights", storage)
            self.biases = VectorArray(CooperativeVectorType(parameters.row.bias.component, rows), _MATRICES)
            self.bias = self._declare(self.biases, "bias", "input")
        if parameters.operation == "outer_product":
            self.sums = self.vectors.opaque("sums", parameters.component, rows, columns, _TRAINED, role="inout", storage=storage)
        elif parameters.operation == "reduce_sum":
            self.totals = VectorArray(CooperativeVectorType(parameters.component, columns), 1)
            self.sums = self._declare(self.totals, "sums", "inout")
        else:
            self.targets = VectorArray(self.result, self.lanes, first=32)
            self.target = self._declare(self.targets, "target", "output")
            return
        self.claims = builder.array("claims", Pointee(U32), self.lanes, StorageClass.STORAGE_BUFFER, "inout")

    def _first(self) -> ScalarValue:
        """Declare the operand from outside, and the factors of a chain."""
        parameters = self.parameters
        value, step = (self.matrices.first, 64) if _linear(parameters) else (_FIRST_FACTOR, 1)
        if not _linear(parameters):
            self.factors = self.builder.array("factors", Pointee(parameters.component), self.lanes + 4, parameters.storage, "input")
        return self.builder.operand("first", U32, parameters.source, value, value + step)

    def write(self) -> Program:
        """Write the program."""
        builder = self.builder
        me = Value("me", U32)
        with builder.per_invocation(me, self.lanes):

            def load(prefix: str, slot: ScalarValue) -> tuple[Passed, ...]:
                operand = self._load(f"{prefix}operand", self.sources, self.source, slot)
                if self.parameters.operation == "chain":
                    assert self.second is not None
                    return operand, self._load(f"{prefix}second", self.second, self.second_source, slot), *self._factor(prefix, slot)
                return (operand, slot) if _multiplies(self.parameters) else (operand,)

            def store(results: Sequence[CooperativeVector]) -> None:
                if self.parameters.operation in _TRAINING:
                    self._add_once(results[0], me)
                else:
                    self.vectors.store(results[0], self.target, self.targets.offset(builder, "to", me))

            run(builder, self.parameters.control, InvocationCode(load, self._compute, store), me, self.lanes, self.result)
        return builder.build()

    def _factor(self, prefix: str, slot: ScalarValue) -> tuple[ScalarValue, ...]:
        """Load the factor in a slot; integers have none."""
        if self.first is None:
            return ()
        at = self.builder.arithmetic(f"{prefix}factor_at", "add", slot, self.first)
        return (self.builder.read_scalar(f"{prefix}factor", self.factors, at),)

    def _load(self, name: str, vectors: VectorArray, array: Array, slot: ScalarValue) -> CooperativeVector:
        return self.vectors.load(name, vectors.type, array, vectors.offset(self.builder, f"{name}_from", slot))

    def _compute(self, prefix: str, operands: Sequence[Passed]) -> CooperativeVector:
        vectors = [one for one in operands if is_cooperative_vector(one)]
        scalars = [one for one in operands if not is_cooperative_vector(one)]
        match self.parameters.operation:
            case "chain":
                return self._chain(prefix, vectors[0], vectors[1], scalars)
            case "multiply":
                return self._multiply(prefix, vectors[0], scalars)
            case _:
                return vectors[0]

    def _chain(self, prefix: str, left: CooperativeVector, right: CooperativeVector, scalars: Sequence[ScalarValue]) -> CooperativeVector:
        """Compute (left + right) * left * factor - right; for integers without the factor."""
        v = self.vectors
        product = v.arithmetic(f"{prefix}product", "multiply", v.arithmetic(f"{prefix}total", "add", left, right), left)
        scaled = v.times_scalar(f"{prefix}scaled", product, scalars[0]) if scalars else product
        return v.arithmetic(f"{prefix}computed", "subtract", scaled, right)

    def _multiply(self, prefix: str, x: CooperativeVector, scalars: Sequence[ScalarValue]) -> CooperativeVector:
        """Multiply by one of three matrices in turn, and add a bias; biases are in the reverse order."""
        parameters, builder, row = self.parameters, self.builder, self.parameters.row
        index = builder.arithmetic(f"{prefix}index", "modulo", scalars[0], builder.literal(_MATRICES))
        if _linear(parameters):
            scaled = builder.arithmetic(f"{prefix}scaled", "multiply", index, builder.literal(self.matrices.pitch))
            assert self.first is not None
            at: ScalarValue = builder.arithmetic(f"{prefix}matrix", "add", scaled, self.first)
        else:
            at = self.vectors.matrix_offset(f"{prefix}matrix", self.weights, index)
        stride = builder.literal(self.matrices.stride if _linear(parameters) else 0)
        mirrored = builder.arithmetic(f"{prefix}mirrored_index", "subtract", builder.literal(_MATRICES - 1), index)
        bias = BiasInMemory(self.bias, self.biases.offset(builder, f"{prefix}bias_at", mirrored), row.bias)
        matrix = MatrixInMemory(self.weights, at, row.matrix, parameters.layout, stride, False)
        return self.vectors.matmul(f"{prefix}y", row.result, x, row.interpretation, matrix, bias, *parameters.size)

    def _add_once(self, vector: CooperativeVector, me: ScalarValue) -> None:
        """Add to memory in the first invocation of each fragment or vertex: an implementation may run additional invocations (F-CV-20)."""
        builder, vectors, parameters = self.builder, self.vectors, self.parameters
        claimed = Value("claimed", U32)
        builder.add(AtomicOr(self.claims, me, builder.literal(1), claimed))
        odd = Condition(builder.arithmetic("discarded", "and", me, builder.literal(1)), "equal", builder.literal(1))
        if parameters.discards == "before":
            builder.exit("discard", odd)
        with builder.arm() as adds:
            if parameters.operation == "reduce_sum":
                vectors.reduce_sum(self.sums, builder.literal(self.totals.first), vector)
            else:
                assert self.second is not None
                other = self._load("second", self.second, self.second_source, me)
                interpretation = INTERPRETATIONS[parameters.component.name]
                vectors.outer_product(self.sums, builder.literal(0), vector, other, _TRAINED, interpretation, builder.literal(0))
        builder.branch(Condition(claimed, "equal", builder.literal(0)), adds)
        if parameters.discards == "after":
            builder.exit("discard", odd)


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and vectors for each invocation whose results do not depend on rounding or order."""
    writer = _VectorStagesWriter(parameters)
    built = writer.write()

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        if parameters.operation in _TRAINING:
            arrays = _sums(writer, rng)
        elif _multiplies(parameters):
            arrays = _products(writer, chosen, rng)
        elif parameters.operation == "chain":
            arrays = _chained(writer, rng)
        else:
            count = writer.lanes * parameters.size[1]
            arrays = {"source": writer.sources.pack(normal_bits(parameters.component, count, rng))}
        return Subcase(name, arrays, run_time_operands(program, path(int(rng.integers(2)))))

    return Built(built, draw)


def _chained(writer: _VectorStagesWriter, rng: np.random.Generator) -> dict[str, np.ndarray]:
    assert writer.second is not None
    component = writer.parameters.component
    left, right, _ = elementwise.chain(component, (writer.lanes, writer.parameters.size[1]), rng)
    arrays = {"source": writer.sources.pack(left), "others": writer.second.pack(right)}
    if writer.first is not None:
        factors = [elementwise.chain(component, (1,), rng)[2] for _ in range(writer.factors.count)]
        arrays["factors"] = np.array(factors, component.bits_dtype).view(np.uint8)
    return arrays


def _products(writer: _VectorStagesWriter, chosen: SubcaseParameters, rng: np.random.Generator) -> dict[str, np.ndarray]:
    multiplies = Multiplies(chosen.row, *chosen.size, _MATRICES, writer.lanes)
    drawn: VectorOperands
    match chosen.pattern:
        case "random" | "edges" as pattern:
            drawn = whole(pattern, multiplies, rng)
        case pattern:
            drawn = floats(pattern, multiplies, rng)
    return {
        "source": writer.sources.pack(drawn.inputs),
        "weights": writer.matrices.contents(drawn.matrices, rng, nan=chosen.pattern == "kept_width"),
        "bias": writer.biases.pack(drawn.biases),
    }


def _sums(writer: _VectorStagesWriter, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw whole numbers whose additions are exact in any order, and distinct initial values of the sums."""
    parameters, lanes = writer.parameters, writer.lanes
    component, (rows, columns) = parameters.component, parameters.size

    def numbers(shape: tuple[int, ...], most: int) -> np.ndarray:
        return np.asarray(rng.integers(1, most + 1, shape) * rng.choice((-1, 1), shape), np.float64)

    most = max(_TERMS[component] // lanes, 1)
    claims = np.zeros(writer.claims.bytes, np.uint8)
    if parameters.operation == "reduce_sum":
        added, before = numbers((lanes, columns), most), numbers((1, columns), _BEFORE[component])
        sums = writer.totals.pack(encode(component, before))
        return {"source": writer.sources.pack(encode(component, added)), "sums": sums, "claims": claims}
    assert writer.second is not None
    # A product has the 11 bits of the vectors' type (F-CV-10).
    most_a = max(isqrt(min(most, 2047)), 1)
    a, b = numbers((lanes, rows), most_a), numbers((lanes, columns), max(min(most, 2047) // most_a, 1))
    return {
        "source": writer.sources.pack(encode(_F16, a)),
        "others": writer.second.pack(encode(_F16, b)),
        "sums": encode(component, numbers((rows * columns,), _BEFORE[component])).view(np.uint8),
        "claims": claims,
    }
