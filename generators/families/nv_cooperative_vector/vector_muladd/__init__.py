"""vector_muladd: each invocation multiplies a matrix in memory by its own vector, and adds a bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from generators.families.nv_cooperative_vector.vector_muladd.parameters import (
    BIAS_HEAD,
    MATRIX_HEAD,
    OTHER_LAYOUT,
    PREDICATES,
    Parameters,
    SubcaseParameters,
    biases_of,
    components_of,
    count_of,
    matrices_of,
    pointee_of,
    sizes_of,
    small_floats,
)
from generators.inputs.vector_products import (
    Multiplies,
    VectorOperands,
    clamp,
    floats,
    network,
    whole,
)
from generators.layouts.inner_arrays import InnerArrays
from generators.layouts.vector_arrays import VectorArray
from generators.layouts.vector_matrices import VectorMatrices
from generators.program.control_flow import Carried, Condition, Exit, Merged
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.elementwise import VectorFunction
from generators.program.functions import Function
from generators.program.memory import Array
from generators.program.program import Built, Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.values import (
    CooperativeVector,
    CooperativeVectorType,
    Extent,
    Operand,
    Scalar,
    ScalarValue,
    Value,
    is_cooperative_vector,
)
from generators.program.vector_builder import VectorBuilder
from generators.types import (
    COMPONENT_TYPES,
    INTERPRETATIONS,
    Interpretation,
    VectorMatrixLayout,
)

__all__ = ["PREDICATES", "Parameters", "SubcaseParameters", "build"]

_U32 = COMPONENT_TYPES["u32"]

ENVELOPE = (
    "the specification gives no error bound for a matrix-vector multiply of floats (facts.md C1): "
    "|D - x| <= (K+1) * 2^(1-p) * S + ulp is the policy of this suite"
)

_ACTIVATIONS: Mapping[str, tuple[VectorFunction, VectorFunction]] = {
    "f": ("FMax", "FClamp"),
    "s": ("SMax", "SClamp"),
    "u": ("UMax", "UClamp"),
}
"""Maximum and clamp of floats, signed and unsigned integers."""


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
    """The offsets of a layer's first matrix and bias, and the stride; None if there is none, or if the device decides."""

    first: ScalarValue | None
    stride: ScalarValue | None
    bias_first: ScalarValue | None


class _VectorMuladdWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes, self.count = parameters.lanes, count_of(parameters)
        row, sizes = parameters.row, sizes_of(parameters)
        self.sources = VectorArray(CooperativeVectorType(row.input, components_of(parameters)), self.lanes)
        points_to = parameters.points_to if not parameters.layout.is_optimal else "block"
        self.to_matrix, self.to_bias = InnerArrays(points_to, MATRIX_HEAD), InnerArrays(points_to, BIAS_HEAD)
        self.targets = VectorArray(CooperativeVectorType(row.result, sizes[-1][0]), self.lanes)
        self.source = self.sources.declare(self.builder, "source", "input")
        self.target = self.targets.declare(self.builder, "target", "output")
        self.again = self.targets.declare(self.builder, "again_target", "output") if parameters.form == "again" else None
        self.layers = [self._layer(number, *size) for number, size in enumerate(sizes)]

    def _layer(self, number: int, rows: int, columns: int) -> _Layer:
        parameters, name = self.parameters, f"_{number}" if number else ""
        matrices, biases = matrices_of(parameters, rows, columns), biases_of(parameters, rows)
        pointee = pointee_of(parameters)
        biased, together = parameters.bias == "added", self._together
        more = biases.bytes if together else 0
        weights = matrices.declare(self.builder, f"weights{name}", parameters.storage, pointee, self.to_matrix, more)
        bias = weights if together else None
        if biased and not together:
            bias = biases.declare(self.builder, f"bias{name}", "input", parameters.storage, pointee, inner=self.to_bias)
        return _Layer(name, matrices, weights, biases, bias)

    @property
    def _together(self) -> bool:
        """Whether biases follow the matrices in one array."""
        parameters = self.parameters
        return parameters.bias == "added" and parameters.arrays == "together"

    def _operand(self, name: str, value: int, default: int) -> ScalarValue:
        """Declare a scalar that is the same in all invocations, from the source of the case."""
        parameters = self.parameters
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
        components = components_of(parameters)
        length = self._extent("components", components, components + 1) if row.packed else self.columns
        self.types = tuple(
            self._interpretation(name, one)
            for name, one in (("input", row.interpretation), ("matrix", row.matrix), ("bias", row.bias))
            if name != "bias" or parameters.bias == "added"
        )
        self.layout: VectorMatrixLayout | Operand = parameters.layout
        self.transpose: bool | Operand = parameters.transpose
        if parameters.constants == "specialization":
            self.layout = self._constant("layout", parameters.layout.value, OTHER_LAYOUT[parameters.layout].value)
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
        """Declare the offsets of a layer's matrices and biases."""
        shape, name = layer.shape, layer.name
        first = bias_first = stride = None
        if not shape.layout.is_optimal:
            begin = self.to_matrix.relative(shape.first)
            first = self._operand(f"first{name}", begin, begin + 64)
            stride = self._operand(f"stride{name}", shape.stride, shape.stride + 16)
        elif self.parameters.stride is not None:
            # Any number will do: the layout ignores it (CV-MM-19).
            ignored = self.parameters.stride
            stride = self._operand(f"stride{name}", ignored, ignored + 16)
        if layer.bias is not None:
            begin = self.to_bias.relative(layer.biases.first) + (shape.bytes if self._together else 0)
            bias_first = self._operand(f"bias_first{name}", begin, begin + 16)
        return _Place(first, stride, bias_first)

    # What an invocation does

    def _multiplies(self, me: Scalar, odd: Condition, type_: CooperativeVectorType) -> None:
        builder, vectors, parameters = self.builder, self.vectors, self.parameters
        x = self._given(me, odd, type_)
        index = self._matrix_index(me)
        match parameters.control:
            case "branches":
                result = self._branches(x, odd, index)
            case "loop":
                result = self._loop(x, index)
            case _ if parameters.form == "network":
                result = self._network(x, index)
            case _:
                result = (self._called if parameters.given == "parameter" else self._multiplied)(x, index)
        vectors.store(result, self.target, self.targets.offset(builder, "to", me))
        if self.again is not None:
            following = builder.arithmetic("following", "add", index, builder.literal(1))
            index = builder.arithmetic("next_matrix", "modulo", following, builder.literal(self.count))
            vectors.store(self._matmul("again", x, 0, index), self.again, self.targets.offset(builder, "again_to", me))

    def _given(self, me: Scalar, odd: Condition, type_: CooperativeVectorType) -> CooperativeVector:
        """Return the input."""
        builder, vectors, parameters = self.builder, self.vectors, self.parameters

        def load(name: str, slot: ScalarValue) -> CooperativeVector:
            return vectors.load(name, type_, self.source, self.sources.offset(builder, f"{name}_from", slot))

        def of_mirror_image(name: str) -> CooperativeVector:
            return load(name, builder.arithmetic(f"{name}_slot", "subtract", builder.literal(self.lanes - 1), me))

        match parameters.given:
            case "scalars":
                whole = load("whole", me)
                return vectors.construct("x", type_, tuple(vectors.extract(f"x_{i}", whole, i) for i in range(type_.count)))
            case "constant" | "replicated":
                literals = tuple(builder.literal(bits, parameters.row.input) for bits in _constants(parameters, type_.count))
                replicated = parameters.given == "replicated"
                return vectors.constant("x", type_, literals[:1] if replicated else literals, replicated)
            case "null":
                return vectors.null("x", type_)
            case "merged":
                with builder.arm() as then:
                    own = load("own", me)
                with builder.arm() as otherwise:
                    other = of_mirror_image("other")
                x = Value("x", type_)
                builder.branch(odd, then, otherwise, (Merged(x, (own, other)),))
                return x
            case "exchanged":
                own, other = load("own", me), of_mirror_image("other")
                x, y = Value("x", type_), Value("exchanged", type_)
                rounds = builder.arithmetic("rounds", "modulo", me, builder.literal(3))
                with builder.loop(Value("round", _U32), rounds, [Carried(own, x, y), Carried(other, y, x)]):
                    pass
                return x
            case _:
                return load("x", me)

    def _multiplied(self, x: CooperativeVector, index: ScalarValue) -> CooperativeVector:
        return self._matmul("y", x, 0, index)

    def _called(self, x: CooperativeVector, index: ScalarValue) -> CooperativeVector:
        """Multiply in a function, whose parameters are the input and the number of the matrix."""
        builder, given = self.builder, Value("given_x", x.type)
        number = index if isinstance(index, Operand) else Value("given_index", _U32)
        scalars = () if isinstance(index, Operand) else (number,)
        with builder.arm() as body:
            result = self._matmul("inner_y", given, 0, number)
        function = Function("multiplies", (given, *(one for one in scalars if isinstance(one, Value))), tuple(body), result)
        returned = builder.call("y", function, (x, *(() if isinstance(index, Operand) else (index,))))
        assert returned is not None, "the function returns a vector"
        assert is_cooperative_vector(returned), "the function returns a vector"
        return returned

    def _matrix_index(self, me: Scalar) -> ScalarValue:
        """Return the index of the matrix that an invocation takes."""
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
        """Return the offset of one of several matrices or biases, in the integer type of the case."""
        assert first is not None
        builder, integer = self.builder, self.parameters.integer
        if self.count == 1 or not pitch:
            return first
        number = index
        if integer is not _U32:
            number = builder.result_of(ScalarConvert(Value(f"{name}_number", integer), index))
        scaled = builder.arithmetic(f"{name}_scaled", "multiply", number, builder.literal(pitch, integer))
        return builder.arithmetic(name, "add", scaled, first)

    def _matmul(self, name: str, x: CooperativeVector, number: int, index: ScalarValue) -> CooperativeVector:
        """Multiply by a matrix of layer ``number``. Biases are in the reverse order of the matrices."""
        vectors, layer, place = self.vectors, self.layers[number], self.places[number]
        if layer.shape.layout.is_optimal:
            offset = vectors.matrix_offset(f"{name}_matrix", layer.weights, index)
        else:
            pitch = 0 if self.to_matrix.is_own else layer.shape.pitch
            offset = self._offset(f"{name}_matrix", place.first, index, pitch)
        stride = place.stride
        if stride is not None and layer.shape.stagger:
            stride = self._offset(f"{name}_stride", stride, index, layer.shape.stagger)
        within = self.to_matrix.chosen(self.builder, index)
        matrix = MatrixInMemory(layer.weights, offset, self.types[1], self.layout, stride, self.transpose, within)
        bias = None
        if layer.bias is not None:
            mirrored = self._mirrored(f"{name}_mirrored", index) if self.count > 1 else index
            begin = self._offset(f"{name}_bias", place.bias_first, mirrored, 0 if self.to_bias.is_own else layer.biases.pitch)
            bias = BiasInMemory(layer.bias, begin, self.types[2], self.to_bias.chosen(self.builder, mirrored))
        rows, columns = (self.rows, self.columns) if len(self.layers) == 1 else (layer.shape.rows, layer.shape.columns)
        return vectors.matmul(name, self.parameters.row.result, x, self.types[0], matrix, bias, rows, columns)

    def _branches(self, x: CooperativeVector, odd: Condition, index: ScalarValue) -> CooperativeVector:
        """Multiply by the invocation's own matrix in odd invocations, and by the matrix of its mirror image in even invocations."""
        builder = self.builder
        with builder.arm() as then:
            own = self._matmul("odd_y", x, 0, index)
        with builder.arm() as otherwise:
            other = self._matmul("even_y", x, 0, self._mirrored("mirrored", index))
        result = Value("y", own.type)
        builder.branch(odd, then, otherwise, (Merged(result, (own, other)),))
        return result

    def _loop(self, x: CooperativeVector, index: ScalarValue) -> CooperativeVector:
        """Multiply by each matrix up to the invocation's own; the last product is the result."""
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
        if self.parameters.activation == "none":
            return y
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

    def draw(name: str, chosen: SubcaseParameters, _: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        for layer in writer.layers:
            shape = layer.shape
            drawn = _drawn(chosen, Multiplies(parameters.row, shape.rows, shape.columns, writer.count, writer.lanes), rng)
            if not arrays:
                # With floats, NaN follows each input.
                arrays["source"] = writer.sources.pack(
                    _with_spare(writer.sources, drawn.inputs, rng), 0xFF if parameters.row.input.is_float else 0xA5
                )
            # NaN between rows must change nothing (F-CV-22). Only one pattern has it: a device that reads it shows other mistakes in the
            # other patterns.
            nan = not small_floats(parameters) and chosen.pattern == "kept_width"
            arrays[layer.weights.name] = shape.contents(drawn.matrices, rng, nan)
            if layer.bias is layer.weights:
                arrays[layer.bias.name] = np.concatenate([arrays[layer.bias.name], layer.biases.pack(drawn.biases)])
            elif layer.bias is not None:
                arrays[layer.bias.name] = layer.biases.pack(drawn.biases)
        return Subcase(name, arrays)

    return Built(built, draw)


_CONSTANT_SEED = 41


def _constants(parameters: Parameters, count: int) -> list[int]:
    """Return the bits of a constant input: small whole numbers for floats, any numbers for integers."""
    row, rng = parameters.row, np.random.default_rng(_CONSTANT_SEED)
    if row.is_float:
        least = -7 if row.input.is_float or row.input.is_signed else 1
        numbers = rng.choice([one for one in range(least, 8) if one], count).astype(row.input.dtype)
    else:
        numbers = whole("random", Multiplies(row, 1, parameters.size[1], 1, 1), rng).inputs[0]
        numbers = np.concatenate([numbers, numbers])[:count]
    return [int(bits) for bits in numbers.view(row.input.bits_dtype)]


def _with_spare(sources: VectorArray, inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return inputs with random bits in components that no element of a packed input needs."""
    spare = sources.type.count - inputs.shape[1]
    if not spare:
        return inputs
    return np.concatenate([inputs, rng.integers(0, 1 << 32, (len(inputs), spare), np.uint32)], axis=1)


def _drawn(chosen: SubcaseParameters, multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    match chosen.pattern:
        case "network":
            return network(multiplies, rng)
        case "random" | "edges" | "selecting" as pattern:
            return whole(pattern, multiplies, rng)
        case pattern:
            return floats(pattern, multiplies, rng)
