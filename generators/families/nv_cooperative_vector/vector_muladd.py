"""vector_muladd: each invocation multiplies a matrix in memory by a vector of its own, and adds a bias."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from generators.inputs.vector_products import (
    FloatPattern,
    IntegerPattern,
    Multiplies,
    NetworkPattern,
    VectorOperands,
    clamp,
    floats,
    network,
    whole,
)
from generators.layouts.vector_arrays import VectorArray
from generators.layouts.vector_matrices import VectorMatrices
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SOURCE_NAMES, STORAGE_CLASSES, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.built import Built
from generators.program.control_flow import Carried, Condition, Exit, Merged
from generators.program.cooperative_vector_elementwise import VectorFunction
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, Extent, Operand, Scalar, ScalarValue, Value
from generators.program.vector_builder import VectorBuilder
from generators.types import (
    COMPONENT_TYPES,
    INTERPRETATIONS,
    ComponentType,
    ConversionCommand,
    Interpretation,
    Scope,
    StorageClass,
    VectorMatrixLayout,
)
from generators.vector_rows import VectorTypes, parse_vector_row

_U32 = COMPONENT_TYPES["u32"]

ENVELOPE = (
    "the specification bounds no error of a matrix-vector multiply of floats (facts.md C1): "
    "|D - x| <= (K+1) * 2^(1-p) * S + ulp is the policy of this suite"
)

_LAYOUTS: Mapping[str, VectorMatrixLayout] = {
    "row": VectorMatrixLayout.ROW_MAJOR,
    "column": VectorMatrixLayout.COLUMN_MAJOR,
    "inferencing": VectorMatrixLayout.INFERENCING_OPTIMAL,
    "training": VectorMatrixLayout.TRAINING_OPTIMAL,
}

_OTHER_LAYOUT: Mapping[VectorMatrixLayout, VectorMatrixLayout] = {layout: VectorMatrixLayout(layout ^ 1) for layout in VectorMatrixLayout}
"""What a specialization constant has before it is specialized."""

_PADDINGS: Mapping[str, int | None] = {"tight": 0, "padded": 16, "wide": 208, "absent": None}

_FIRST: Mapping[str, int] = {"zero": 0, "minimal": 64, "odd": 192, "far": 65600}
"""Bytes before the first matrix."""

_BIAS_FIRST: Mapping[str, int] = {"zero": 0, "minimal": 16, "odd": 48, "far": 65552}
"""Bytes before the first bias."""

_INTEGERS = {name: COMPONENT_TYPES[name] for name in ("u32", "s32")}

_STORAGES = {name: STORAGE_CLASSES[name] for name in ("storage_buffer", "physical_storage_buffer")}

_ACTIVATIONS: Mapping[str, tuple[VectorFunction, VectorFunction]] = {
    "f": ("FMax", "FClamp"),
    "s": ("SMax", "SClamp"),
    "u": ("UMax", "UClamp"),
}
"""Maximum and clamp of floats, signed and unsigned integers."""

_HIDDEN = 5
"""Components of a vector between two layers."""


def _linear(parameters: Parameters) -> bool:
    return not parameters.layout.is_optimal


def _single(parameters: Parameters) -> bool:
    return parameters.form == "single"


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    row: VectorTypes = parameter("types of the input, as input, matrix and bias are read, and of the result", decode=parse_vector_row)
    size: tuple[int, int] = parameter("M and K", default="5x7", decode=parse_shape)
    bias: Literal["added", "none"] = parameter("whether there is a bias", default="added")
    layout: VectorMatrixLayout = parameter("the layout of the matrices", default="row", labels=_LAYOUTS)
    transpose: bool = parameter("whether matrices are stored as K x M", default=False, applies=lambda parameters: not _linear(parameters))
    stride: int | None = parameter(
        "bytes between rows or columns beyond the least; an optimal layout ignores it, and then it may be absent",
        default="padded",
        labels=_PADDINGS,
    )
    first: int = parameter("where the first matrix begins", default="minimal", labels=_FIRST, applies=_linear)
    bias_first: int = parameter("where the first bias begins", default="minimal", labels=_BIAS_FIRST)
    source: SOURCE_NAMES = parameter("where offsets of the first matrix and bias, and the stride, come from", default="literal")
    integer: ComponentType = parameter("the integer type of offsets and strides", default="u32", labels=_INTEGERS, applies=_linear)
    converted_by: ConversionCommand = parameter(
        "whether a command of the device or of the host brings matrices into an optimal layout",
        default="device",
        labels={name: name for name in get_args(ConversionCommand)},
        applies=lambda parameters: parameters.layout.is_optimal,
    )
    constants: Literal["literal", "specialization"] = parameter(
        "where M, K, layout, transposition and interpretations come from", default="literal", applies=_single
    )
    pointee: Literal["component", "u8", "u32", "f16"] = parameter("the elements of the arrays of matrices and biases", default="component")
    storage: StorageClass = parameter("where matrices and biases are", default="storage_buffer", labels=_STORAGES)
    matrices: Literal["one", "second", "alternate", "clustered", "unique"] = parameter(
        "which matrix an invocation takes: the one, the second of two, each third one the same, each four in turn the same, or its own",
        default="one",
    )
    invocations: int = parameter("invocations of a workgroup", default=32)
    workgroups: int = parameter("workgroups", default=1)
    control: Literal["straight", "half", "branches", "loop"] = parameter(
        "which invocations multiply: all, or the odd ones; odd and even ones in two branches, with different matrices; or each in a loop "
        "that goes up to the invocation's own matrix",
        default="straight",
        applies=_single,
    )
    form: Literal["single", "again", "network"] = parameter(
        "one multiply; a second one, of the same input by the next matrix; or layers with activations between them", default="single"
    )
    layers: int = parameter("layers of the network", default=2, applies=lambda parameters: parameters.form == "network")
    activation: Literal["relu", "clamp"] = parameter(
        "what follows each layer except the last", default="relu", applies=lambda parameters: parameters.form == "network"
    )
    data: Literal["exact", "envelope"] = parameter("what the data make of the sums", default="exact")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: FloatPattern | IntegerPattern | NetworkPattern = parameter(
        "how the data are drawn",
        labels={name: name for names in (FloatPattern, IntegerPattern, NetworkPattern) for name in get_args(names)},
    )


# The shape of a case


def _lanes(parameters: Parameters) -> int:
    return parameters.invocations * parameters.workgroups


def _count(parameters: Parameters) -> int:
    """Return how many matrices there are."""
    match parameters.matrices:
        case "one":
            return 1
        case "second":
            return 2
        case "alternate":
            return 3
        case "clustered":
            return -(-_lanes(parameters) // 4)
        case _:
            return _lanes(parameters)


def _sizes(parameters: Parameters) -> list[tuple[int, int]]:
    """Return M and K of each layer."""
    rows, columns = parameters.size
    between = [_HIDDEN] * (parameters.layers - 1) if parameters.form == "network" else []
    widths = [columns, *between, rows]
    return list(zip(widths[1:], widths[:-1], strict=True))


def _of_layer(parameters: Parameters, rows: int, columns: int) -> VectorMatrices:
    linear = _linear(parameters)
    first, padding = (parameters.first, parameters.stride or 0) if linear else (0, 0)
    component, transpose = parameters.row.matrix.component, parameters.transpose
    form = component, rows, columns, parameters.layout, _count(parameters), transpose
    return VectorMatrices(*form, first, padding, parameters.converted_by)


def _biases(parameters: Parameters, rows: int) -> VectorArray:
    type_ = CooperativeVectorType(parameters.row.bias.component, rows)
    return VectorArray(type_, _count(parameters), parameters.bias_first)


def _pointee(parameters: Parameters) -> Pointee | None:
    return None if parameters.pointee == "component" else Pointee(COMPONENT_TYPES[parameters.pointee])


# Predicates


def _has_layout(parameters: Parameters) -> bool:
    """Return whether matrices of the row have the layout: 8-bit floats have optimal ones only."""
    return parameters.layout.is_optimal or parameters.row.matrix.component.has_arithmetic


def _whole_pointees(parameters: Parameters) -> bool:
    """Return whether the arrays of matrices are whole numbers of elements, and their elements are named in one way."""
    pointee = _pointee(parameters)
    if pointee is None:
        return True
    if pointee.component in (parameters.row.matrix.component, parameters.row.bias.component):
        return False
    return all(_of_layer(parameters, *size).bytes % pointee.bytes == 0 for size in _sizes(parameters))


def _fits(parameters: Parameters) -> bool:
    """Return whether each array has at most 4 MiB."""
    return all(_of_layer(parameters, *size).bytes <= 1 << 22 for size in _sizes(parameters))


def _chains(parameters: Parameters) -> bool:
    """Return whether a result can be the input of the next layer: it has the input's type, or is converted to it; and an input that
    becomes an 8-bit float is clamped to numbers that this type has."""
    row = parameters.row
    if parameters.form != "network":
        return True
    if row.packed or not (row.input is row.result or row.input.bits != row.result.bits or row.input.is_float != row.result.is_float):
        return False
    small = row.interpretation.component.is_float and row.interpretation.component.bits == 8
    narrow = not row.input.is_float and row.input.bits == 8
    return parameters.activation == "clamp" or not (small or narrow)


def _data_fits_row(parameters: SubcaseParameters) -> bool:
    """Return whether the row has the pattern."""
    row, pattern = parameters.row, parameters.pattern
    if (parameters.form == "network") != (pattern == "network"):
        return False
    if pattern == "network":
        return True
    if not row.is_float:
        return pattern in get_args(IntegerPattern)
    target = row.interpretation.component
    rounds = not row.input.is_float or (row.input.name == "f16" and target.bits == 8)
    if pattern == "rounded":
        return rounds
    if not row.input.is_float:
        return pattern == "kept_width"
    return pattern in get_args(FloatPattern)


def _envelope_of_floats(parameters: Parameters) -> bool:
    row = parameters.row
    return parameters.data == "exact" or (row.is_float and row.input.is_float and row.interpretation.component.bits > 8)


def _from_integers(parameters: Parameters) -> bool:
    row = parameters.row
    return not row.packed and not row.input.is_float and not row.is_float and row.input is not row.interpretation.component


def _has_stride(parameters: Parameters) -> bool:
    """Return whether there is a stride, or it may be absent: with an optimal layout, and if no operand flags follow it."""
    row = parameters.row
    flagged = row.input.is_signed or row.result.is_signed
    return parameters.stride is not None or (parameters.layout.is_optimal and not flagged)


def _ignored_stride(parameters: Parameters) -> bool:
    """Return whether there is a stride that a device must ignore."""
    return parameters.layout.is_optimal and parameters.stride is not None


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "chains": _chains,
    "data_fits_row": _data_fits_row,
    "envelope_of_floats": _envelope_of_floats,
    "fits": _fits,
    "has_layout": _has_layout,
    "whole_pointees": _whole_pointees,
    "has_stride": _has_stride,
    "is_packed": lambda parameters: parameters.row.packed,
    "is_integer_to_integer": _from_integers,
    "is_float_to_integer": lambda parameters: parameters.row.input.is_float and not parameters.row.is_float,
    "is_integer_to_float": lambda parameters: not parameters.row.input.is_float and parameters.row.is_float,
    "is_float_to_float": lambda parameters: (
        parameters.row.input.is_float and parameters.row.is_float and parameters.row.input is not parameters.row.interpretation.component
    ),
    "is_float8": lambda parameters: parameters.row.is_float and parameters.row.interpretation.component.bits == 8,
    "has_integer_input": lambda parameters: not parameters.row.input.is_float,
    "has_integer_sums": lambda parameters: not parameters.row.is_float,
    "ignored_stride": _ignored_stride,
    "transposes": lambda parameters: not parameters.transpose or parameters.row.transposes,
    "other_pointee": lambda parameters: parameters.pointee != "component" or not parameters.row.matrix.component.has_arithmetic,
}


# The program


@dataclass(frozen=True)
class _Layer:
    """The matrices and biases of a layer, and their arrays."""

    name: str
    shape: VectorMatrices
    weights: Array
    biases: VectorArray
    bias: Array | None


@dataclass(frozen=True)
class _Place:
    """Where the first matrix and bias of a layer begin, and the stride; None where there is none, or where the device decides."""

    first: ScalarValue | None
    stride: ScalarValue | None
    bias_first: ScalarValue | None


class _VectorMuladdWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        shape = WorkgroupShape(invocations=parameters.invocations)
        self.builder = ProgramBuilder(Scope.WORKGROUP, workgroups=parameters.workgroups, shape=shape)
        self.vectors = VectorBuilder(self.builder)
        self.lanes, self.count = _lanes(parameters), _count(parameters)
        self.given: dict[str, int] = {}
        row, sizes = parameters.row, _sizes(parameters)
        components = row.components(sizes[0][1])
        self.sources = VectorArray(CooperativeVectorType(row.input, components), self.lanes)
        self.targets = VectorArray(CooperativeVectorType(row.result, sizes[-1][0]), self.lanes)
        self.source = self.sources.declare(self.builder, "source", "input")
        self.target = self.targets.declare(self.builder, "target", "output")
        self.again = self.targets.declare(self.builder, "again_target", "output") if parameters.form == "again" else None
        self.layers = [self._layer(number, *size) for number, size in enumerate(sizes)]

    def _layer(self, number: int, rows: int, columns: int) -> _Layer:
        parameters, name = self.parameters, f"_{number}" if number else ""
        matrices, biases = _of_layer(parameters, rows, columns), _biases(parameters, rows)
        pointee = _pointee(parameters)
        weights = matrices.declare(self.builder, f"weights{name}", parameters.storage, pointee)
        bias = biases.declare(self.builder, f"bias{name}", "input", parameters.storage, pointee) if parameters.bias == "added" else None
        return _Layer(name, matrices, weights, biases, bias)

    def _operand(self, name: str, value: int, default: int) -> ScalarValue:
        """Declare a scalar that does not differ between invocations, from where the case has it."""
        parameters = self.parameters
        self.given[name] = value
        return self.builder.operand(name, parameters.integer, parameters.source, value, default)

    def _constant(self, name: str, value: int, default: int) -> Operand:
        return self.builder.operand(name, _U32, "specialization", value, default)

    def _interpretation(self, name: str, value: Interpretation) -> Interpretation | Operand:
        if self.parameters.constants == "literal":
            return value
        return self._constant(f"{name}_interpretation", value.vk, INTERPRETATIONS["f16" if value.name == "f32" else "f32"].vk)

    def _extent(self, name: str, value: int, default: int) -> Extent:
        return value if self.parameters.constants == "literal" else self._constant(name, value, default)

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        row, (rows, columns) = parameters.row, parameters.size
        self.columns = self._extent("columns", columns, columns + 4)
        self.rows = self._extent("rows", rows, rows + 3)
        components = row.components(columns)
        length = self._extent("components", components, components + 1) if row.packed else self.columns
        self.types = tuple(
            self._interpretation(name, one)
            for name, one in (("input", row.interpretation), ("matrix", row.matrix), ("bias", row.bias))
            if name != "bias" or parameters.bias == "added"
        )
        self.layout: VectorMatrixLayout | Operand = parameters.layout
        self.transpose: bool | Operand = parameters.transpose
        if parameters.constants == "specialization":
            self.layout = self._constant("layout", parameters.layout.value, _OTHER_LAYOUT[parameters.layout].value)
            if parameters.layout.is_optimal:
                self.transpose = self._constant("transpose", int(parameters.transpose), int(not parameters.transpose))
        self.places = [self._place(layer) for layer in self.layers]
        me = Value("me", _U32)
        with builder.per_invocation(me, parameters.invocations):
            odd = Condition(builder.arithmetic("odd", "and", me, builder.literal(1)), "equal", builder.literal(1))
            type_ = CooperativeVectorType(row.input, length)
            if parameters.control == "half":
                with builder.arm() as multiplies:
                    self._multiplies(me, odd, type_)
                builder.branch(odd, multiplies)
            else:
                self._multiplies(me, odd, type_)
        return builder.build(ENVELOPE if parameters.data == "envelope" else "")

    def _place(self, layer: _Layer) -> _Place:
        """Declare where the matrices and biases of a layer begin."""
        shape, name = layer.shape, layer.name
        first = bias_first = stride = None
        if not shape.layout.is_optimal:
            first = self._operand(f"first{name}", shape.first, shape.first + 64)
            stride = self._operand(f"stride{name}", shape.stride, shape.stride + 16)
        elif self.parameters.stride is not None:
            # Any number: the layout ignores it (CV-MM-19).
            ignored = self.parameters.stride
            stride = self._operand(f"stride{name}", ignored, ignored + 16)
        if layer.bias is not None:
            bias_first = self._operand(f"bias_first{name}", layer.biases.first, layer.biases.first + 16)
        return _Place(first, stride, bias_first)

    # What an invocation does

    def _multiplies(self, me: Scalar, odd: Condition, type_: CooperativeVectorType) -> None:
        builder, vectors, parameters = self.builder, self.vectors, self.parameters
        x = vectors.load("x", type_, self.source, self.sources.offset(builder, "from", me))
        index = self._index(me)
        match parameters.control:
            case "branches":
                result = self._branches(x, odd, index)
            case "loop":
                result = self._loop(x, index)
            case _:
                result = self._network(x, index) if parameters.form == "network" else self._matmul("y", x, 0, index)
        vectors.store(result, self.target, self.targets.offset(builder, "to", me))
        if self.again is not None:
            following = builder.arithmetic("following", "add", index, builder.literal(1))
            index = builder.arithmetic("next_matrix", "modulo", following, builder.literal(self.count))
            vectors.store(self._matmul("again", x, 0, index), self.again, self.targets.offset(builder, "again_to", me))

    def _index(self, me: Scalar) -> ScalarValue:
        """Return which matrix an invocation takes."""
        builder = self.builder
        match self.parameters.matrices:
            case "one":
                return builder.literal(0)
            case "second":
                return builder.literal(1)
            case "alternate":
                return builder.arithmetic("alternate", "modulo", me, builder.literal(3))
            case "clustered":
                return builder.arithmetic("cluster", "divide", me, builder.literal(4))
            case _:
                return me

    def _mirrored(self, name: str, index: ScalarValue) -> ScalarValue:
        return self.builder.arithmetic(name, "subtract", self.builder.literal(self.count - 1), index)

    def _offset(self, name: str, first: ScalarValue | None, index: ScalarValue, pitch: int) -> ScalarValue:
        """Return the offset of one of several, in the integer type of the case."""
        assert first is not None
        builder, integer = self.builder, self.parameters.integer
        if self.count == 1:
            return first
        number = index
        if integer is not _U32:
            number = Value(f"{name}_number", integer)
            builder.add(ScalarConvert(number, index))
        scaled = builder.arithmetic(f"{name}_scaled", "multiply", number, builder.literal(pitch, integer))
        return builder.arithmetic(name, "add", scaled, first)

    def _matmul(self, name: str, x: CooperativeVector, number: int, index: ScalarValue) -> CooperativeVector:
        """Multiply by a matrix of layer ``number``. Biases are in the opposite order of the matrices."""
        vectors, layer, place = self.vectors, self.layers[number], self.places[number]
        if layer.shape.layout.is_optimal:
            offset = vectors.matrix_offset(f"{name}_matrix", layer.weights, index)
        else:
            offset = self._offset(f"{name}_matrix", place.first, index, layer.shape.pitch)
        matrix = MatrixInMemory(layer.weights, offset, self.types[1], self.layout, place.stride, self.transpose)
        bias = None
        if layer.bias is not None:
            mirrored = self._mirrored(f"{name}_mirrored", index) if self.count > 1 else index
            begin = self._offset(f"{name}_bias", place.bias_first, mirrored, layer.biases.pitch)
            bias = BiasInMemory(layer.bias, begin, self.types[2])
        rows, columns = (self.rows, self.columns) if len(self.layers) == 1 else (layer.shape.rows, layer.shape.columns)
        return vectors.matmul(name, self.parameters.row.result, x, self.types[0], matrix, bias, rows, columns)

    def _branches(self, x: CooperativeVector, odd: Condition, index: ScalarValue) -> CooperativeVector:
        """Multiply by the own matrix in odd invocations, and by the one of its mirror image in even ones."""
        builder = self.builder
        with builder.arm() as then:
            own = self._matmul("odd_y", x, 0, index)
        with builder.arm() as otherwise:
            other = self._matmul("even_y", x, 0, self._mirrored("mirrored", index))
        result = Value("y", own.type)
        builder.branch(odd, then, otherwise, (Merged(result, (own, other)),))
        return result

    def _loop(self, x: CooperativeVector, index: ScalarValue) -> CooperativeVector:
        """Multiply by each matrix up to the own one; the last product counts."""
        builder = self.builder
        begin = self._matmul("begin", x, 0, self._mirrored("mirrored", index))
        current, following, number = Value("y", begin.type), Value("next_y", begin.type), Value("number", _U32)
        enough = builder.arithmetic("enough", "add", index, builder.literal(1))
        with builder.loop(number, builder.literal(self.count), [Carried(begin, current, following)]):
            builder.add(Exit("break", Condition(number, "equal", enough)))
            self._matmul("next_y", x, 0, number)
        return current

    def _network(self, x: CooperativeVector, index: ScalarValue) -> CooperativeVector:
        """Multiply by the matrices of all layers, with an activation after each except the last."""
        last = len(self.layers) - 1
        for number in range(last + 1):
            y = self._matmul(f"y_{number}", x, number, index)
            if number == last:
                break
            x = self._activated(y, number)
        return y

    def _activated(self, y: CooperativeVector, number: int) -> CooperativeVector:
        """Return the input of the next layer."""
        vectors, row, component = self.vectors, self.parameters.row, y.type.component

        def all_of(name: str, value: int) -> CooperativeVector:
            bits = int(np.asarray(value, component.dtype).view(component.bits_dtype))
            return vectors.splat(f"{name}_{number}", y.type, self.builder.literal(bits, component), replicated=True)

        larger, clamped = _ACTIVATIONS["f" if component.is_float else component.name[0]]
        if self.parameters.activation == "clamp":
            most = clamp(row)
            low = all_of("low", 0 if larger == "UMax" else -most)
            active = vectors.function(f"active_{number}", clamped, y, low, all_of("high", most))
        else:
            active = vectors.function(f"active_{number}", larger, y, all_of("zero", 0))
        return active if row.input is component else vectors.convert(f"x_{number + 1}", active, row.input)


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and inputs, matrices and biases of the pattern of each subcase."""
    writer = _VectorMuladdWriter(parameters)
    built = writer.write()

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        for layer in writer.layers:
            shape = layer.shape
            drawn = _drawn(chosen, Multiplies(parameters.row, shape.rows, shape.columns, writer.count, writer.lanes), rng)
            if not arrays:
                # Of floats, NaN follows each input.
                arrays["source"] = writer.sources.pack(drawn.inputs, 0xFF if parameters.row.input.is_float else 0xA5)
            # With NaN between rows more is permitted of a result than expected (F-CV-22): only where nothing else permits more, and no
            # other layer takes it.
            nan = parameters.form != "network" and chosen.pattern == "kept_width"
            arrays[layer.weights.name] = shape.contents(drawn.matrices, rng, nan)
            if layer.bias is not None:
                arrays[layer.bias.name] = layer.biases.pack(drawn.biases)
        return Subcase(name, arrays, run_time_operands(program, writer.given))

    return Built(built, draw)


def _drawn(chosen: SubcaseParameters, multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    match chosen.pattern:
        case "network":
            return network(multiplies, rng)
        case "random" | "edges" | "selecting" as pattern:
            return whole(pattern, multiplies, rng)
        case pattern:
            return floats(pattern, multiplies, rng)
