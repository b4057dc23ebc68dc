"""vector_training: invocations concurrently add outer products to matrices and vectors to arrays, and no addition may be lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, Literal

import numpy as np

from generators.layouts.inner_arrays import POINTS_TO, InnerArrays, PointsTo
from generators.layouts.placement import PointeeName, pointee_of
from generators.layouts.vector_arrays import VectorArray
from generators.numerics.formats import encode, sign_bit, signalling_nans
from generators.parameters.declaration import parameter
from generators.parameters.vectors import FIRST_VECTORS, INVOCATIONS, Invocations
from generators.parameters.vocabulary import SOURCE_NAMES, STORAGE_CLASSES
from generators.program.control_flow import Condition
from generators.program.cooperative_vector_matmul import InterpretationOperand, VectorMatrixLayoutOperand
from generators.program.functions import Function
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Built, Program, Subcase
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
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, StorageClass, VectorMatrixLayout

_U32, _F16, _F32 = (COMPONENT_TYPES[name] for name in ("u32", "f16", "f32"))
_LAYOUT = VectorMatrixLayout.TRAINING_OPTIMAL

_STRIDES: Mapping[str, int | None] = {"zero": 0, "absent": None, "odd": 48, "large": 1 << 20}
"""MatrixStride, which has no meaning in an optimal layout."""

_MOST_ITERATIONS = 3
_START = {_F16: 512, _F32: 1 << 22}
_TERMS = {_F16: 1535, _F32: 1 << 23}
"""Bounds of the initial contents of memory, and of the sum of the absolute values of all terms of an element: together below 2**11 and
2**24."""


_HEAD = 48
"""Bytes of the member before an inner array of sums."""


def _is_square(parameters: Parameters) -> bool:
    """Return whether both factors of an outer product have the same length."""
    return parameters.operation != "reduce_sum" and parameters.m == parameters.n


@dataclass(frozen=True, kw_only=True)
class Parameters(Invocations):
    """The parameters of a case."""

    operation: Literal["outer_product", "reduce_sum", "both"] = parameter("what is accumulated", default="outer_product")
    component: ComponentType = parameter("type of the sums in memory", labels=COMPONENT_TYPES)
    m: int = parameter("components of A, rows of the matrix; components of the vector that is added to an array", default=8)
    n: int = parameter("components of B, columns of the matrix", default=5, applies=lambda parameters: parameters.operation != "reduce_sum")
    length_from: Literal["literal", "specialization"] = parameter("where the lengths of the vector types come from", default="literal")
    constants_from: Literal["literal", "specialization"] = parameter(
        "where layout and interpretation of the matrix come from",
        default="literal",
        applies=lambda parameters: parameters.operation != "reduce_sum",
    )
    stride: int | None = parameter(
        "MatrixStride", default="zero", labels=_STRIDES, applies=lambda parameters: parameters.operation != "reduce_sum"
    )
    storage: StorageClass = parameter("where the sums are", default="storage_buffer", labels=STORAGE_CLASSES)
    pointee: PointeeName = parameter("the elements of the arrays of sums", default="component")
    targets: int = parameter("matrices, or sums of vectors", default=3)
    spread: Literal["one", "turns", "blocks", "overlapping"] = parameter(
        "where invocations add: all to the one in the middle; to all in turns, by single invocations or by five; or to stretches of an "
        "array that begin 16 bytes apart and overlap",
        default="one",
    )
    first: int = parameter(
        "where the first sum of an array begins",
        default="minimal",
        labels=FIRST_VECTORS,
        applies=lambda parameters: parameters.operation != "outer_product",
    )
    source: SOURCE_NAMES = parameter("where the number of the target comes from", default="literal", then=INVOCATIONS)
    workgroups: int = parameter("workgroups", default=2)
    control: Literal["straight", "half", "branches", "loop"] = parameter(
        "which invocations add: all, or the odd ones; odd and even ones in two branches; or each in a loop of its own length, 0 to 3",
        default="straight",
    )
    times: int = parameter(
        "how often the code of an invocation adds to its target, with different vectors each time",
        default=1,
        applies=lambda parameters: parameters.control != "loop",
    )
    origin: Literal["loaded", "inserted", "variable"] = parameter(
        "where the vectors come from: as loaded; with the first component inserted as the last one; or from a variable", default="loaded"
    )
    factors: Literal["apart", "same"] = parameter(
        "whether both factors of an outer product are one vector", default="apart", applies=_is_square
    )
    place: Literal["inline", "function"] = parameter(
        "where the additions are: in the main function, or in a function that it calls", default="inline"
    )
    points_to: PointsTo = parameter(POINTS_TO, default="block", applies=lambda parameters: parameters.operation == "reduce_sum")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["random", "counting", "sparse", "scaled"] = parameter("the numbers in vectors and memory")


def _multiplies(parameters: Parameters) -> bool:
    return parameters.operation != "reduce_sum"


def _sums(parameters: Parameters) -> bool:
    return parameters.operation != "outer_product"


def _iterations(parameters: Parameters) -> int:
    """Return the maximum number of additions of one invocation."""
    return _MOST_ITERATIONS if parameters.control == "loop" else parameters.times


def _terms(parameters: Parameters) -> int:
    """Return the maximum number of terms of an element."""
    return parameters.lanes * _iterations(parameters)


def _whole(parameters: Parameters) -> bool:
    """Return whether matrices consist of whole elements of their array."""
    size = parameters.targets * parameters.m * parameters.n * parameters.component.bytes
    return not _multiplies(parameters) or size % pointee_of(parameters.pointee, parameters.component).bytes == 0


def _small(parameters: Parameters) -> bool:
    """Return whether all invocations together add few enough terms for a device that performs the additions one by one."""
    width = parameters.n if _multiplies(parameters) else 1
    return _terms(parameters) * parameters.m * width <= 1 << 18


def _place_fits(parameters: Parameters) -> bool:
    """Return whether a function can add: a function sees no push constants, and so not the address of an array."""
    inside = parameters.storage is StorageClass.STORAGE_BUFFER and parameters.control != "loop" and parameters.times == 1
    return parameters.place == "inline" or inside


def _points_fit(parameters: Parameters) -> bool:
    own = parameters.points_to == "own"
    return parameters.points_to == "block" or (parameters.spread != "overlapping" and not (own and parameters.first > 64))


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "whole": _whole,
    "small": _small,
    "place_fits": _place_fits,
    "points_fit": _points_fit,
}


@dataclass(frozen=True)
class _Vectors:
    """The operands of one addition: the factors of an outer product, A and B, and the vector C, which may be A."""

    a: CooperativeVector
    b: CooperativeVector | None
    c: CooperativeVector


class _VectorTrainingWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.slots = parameters.lanes * _iterations(parameters)
        # Factors of an outer product are f16. A is also added to an array if the array has its type; otherwise C is.
        self.given_component = _F16 if _multiplies(parameters) else parameters.component
        self.a = VectorArray(CooperativeVectorType(self.given_component, parameters.m), self.slots)
        self.b = VectorArray(CooperativeVectorType(_F16, parameters.n), self.slots, first=32)
        self.c = VectorArray(CooperativeVectorType(parameters.component, parameters.m), self.slots, first=48)
        self.inner = InnerArrays(parameters.points_to if parameters.operation == "reduce_sum" else "block", _HEAD)
        self.step, self.sums = self._layout_of_sums()
        self.same = _is_square(parameters) and parameters.factors == "same"
        self.weights: Array | None = None
        self.totals: Array | None = None
        self.from_a: Array
        self.from_b: Array
        self.from_c: Array | None = None
        self.layout: VectorMatrixLayoutOperand = _LAYOUT
        self.interpretation: InterpretationOperand = INTERPRETATIONS[parameters.component.name]
        self.stride: ScalarValue | None = None
        self.lengths: dict[str, Extent] = {"m": parameters.m, "n": parameters.n}

    def _layout_of_sums(self) -> tuple[int, VectorArray]:
        """Return the distance between sums in bytes, and the array that contains them."""
        parameters = self.parameters
        component, count = parameters.component, parameters.targets
        if parameters.spread == "overlapping":
            length = parameters.m + (count - 1) * 16 // component.bytes
            return 16, VectorArray(CooperativeVectorType(component, length), 1, parameters.first)
        first = parameters.first + (0 if self.inner.points_to == "block" else _HEAD)
        guard = first if self.inner.is_own else 16
        array = VectorArray(CooperativeVectorType(component, parameters.m), count, first, guard)
        return array.pitch, array

    def write(self) -> Program:
        """Write the program."""
        parameters, builder, vectors = self.parameters, self.builder, self.vectors
        middle = parameters.targets // 2
        target = builder.operand("target", _U32, parameters.source, middle, middle + 1)
        self._constants()
        pointee = pointee_of(parameters.pointee, parameters.component)
        self.from_a = self.a.declare(builder, "source_a", "input")
        if _multiplies(parameters):
            if not self.same:
                self.from_b = self.b.declare(builder, "source_b", "input")
            shape = parameters.m, parameters.n
            self.weights = vectors.opaque(
                "weights", parameters.component, *shape, _LAYOUT, parameters.targets, "inout", parameters.storage, pointee
            )
        if _sums(parameters):
            if self.given_component is not parameters.component:
                self.from_c = self.c.declare(builder, "source_c", "input")
            self.totals = self.sums.declare(builder, "totals", "inout", parameters.storage, pointee, inner=self.inner)
        me = Value("me", _U32)
        with builder.per_invocation(me, parameters.invocations):
            self._accumulate(me, self._target(me, target))
        return builder.build()

    def _constants(self) -> None:
        parameters, builder = self.parameters, self.builder
        if parameters.length_from == "specialization":
            for name in ("m", "n") if _multiplies(parameters) else ("m",):
                value = self.lengths[name]
                assert isinstance(value, int)
                self.lengths[name] = builder.operand(f"length_{name}", _U32, "specialization", value, value - 1 if value > 1 else value + 3)
        if _multiplies(parameters):
            self.stride = None if parameters.stride is None else builder.literal(parameters.stride)
            if parameters.constants_from == "specialization":
                other = INTERPRETATIONS[(_F32 if parameters.component is _F16 else _F16).name]
                self.layout = builder.operand("layout", _U32, "specialization", _LAYOUT.value, VectorMatrixLayout.INFERENCING_OPTIMAL.value)
                value = INTERPRETATIONS[parameters.component.name].vk
                self.interpretation = builder.operand("interpretation", _U32, "specialization", value, other.vk)

    def _target(self, me: Scalar, target: ScalarValue) -> ScalarValue:
        """Return the target of an invocation."""
        builder, parameters = self.builder, self.parameters
        if parameters.spread == "one":
            return target
        turn: ScalarValue = me
        if parameters.spread == "blocks":
            turn = builder.arithmetic("block", "divide", me, builder.literal(5))
        moved = builder.arithmetic("moved", "add", turn, target)
        return builder.arithmetic("chosen", "modulo", moved, builder.literal(parameters.targets))

    def _accumulate(self, me: Scalar, target: ScalarValue) -> None:
        """Add to the target. Vectors are loaded before a branch, so an invocation that must not add also has vectors."""
        builder, parameters = self.builder, self.parameters
        begin = builder.arithmetic("begin", "multiply", me, builder.literal(_iterations(parameters)))
        if parameters.control == "loop":
            index = Value("index", _U32)
            trips = builder.arithmetic("trips", "modulo", me, builder.literal(_MOST_ITERATIONS + 1))
            with builder.loop(index, trips, []):
                self._add("", target, self._loaded("", builder.arithmetic("slot", "add", begin, index)))
            return
        loaded = [self._loaded(f"turn{number}_", self._slot(begin, number)) for number in range(parameters.times)]
        if parameters.control == "straight":
            self._several("", target, loaded)
            return
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        with builder.arm() as then:
            self._several("odd_", target, loaded)
        otherwise: list[Operation] = []
        if parameters.control == "branches":
            with builder.arm() as otherwise:
                # In reverse: the last vectors first.
                self._several("even_", target, loaded[::-1])
        builder.branch(Condition(odd, "equal", builder.literal(1)), then, otherwise)

    def _slot(self, begin: Scalar, number: int) -> Scalar:
        return self.builder.arithmetic(f"slot{number}", "add", begin, self.builder.literal(number))

    def _several(self, prefix: str, target: ScalarValue, loaded: Sequence[_Vectors]) -> None:
        for number, vectors in enumerate(loaded):
            self._add(f"{prefix}add{number}_", target, vectors)

    def _loaded(self, prefix: str, slot: Scalar) -> _Vectors:
        """Load the vectors of a slot."""
        m, n = self.lengths["m"], self.lengths["n"]
        a = self._vector(f"{prefix}a", self.a, self.from_a, m, slot)
        b = None
        if self.weights is not None:
            b = a if self.same else self._vector(f"{prefix}b", self.b, self.from_b, n, slot)
        return _Vectors(a, b, a if self.from_c is None else self._vector(f"{prefix}c", self.c, self.from_c, m, slot))

    def _add(self, prefix: str, target: ScalarValue, given: _Vectors) -> None:
        """Add vectors to the target, or call a function that does."""
        vectors, builder = self.vectors, self.builder
        at: ScalarValue | None = None
        if self.weights is not None:
            at = vectors.matrix_offset(f"{prefix}weights_at", self.weights, target)
        if self.parameters.place == "inline":
            self._add_at(prefix, target, at, given)
            return
        # A vector that has two uses is one parameter, and a literal is none.
        parts: tuple[Any, ...] = (given.a, given.b, given.c, target, at)
        literals = {one for one in parts if isinstance(one, Operand) and one.source == "literal"}
        arguments = [one for one in dict.fromkeys(parts) if one is not None and one not in literals]
        inside: dict[Any, Any] = {one: Value(f"{prefix}given_{i}", one.type) for i, one in enumerate(arguments)}
        a, b, c, to, place = (inside.get(one, one) for one in parts)
        with builder.arm() as body:
            self._add_at(f"{prefix}inner_", to, place, _Vectors(a, b, c))
        builder.call(f"{prefix}nothing", Function(f"{prefix}adds", tuple(inside.values()), tuple(body), None), arguments)

    def _add_at(self, prefix: str, target: ScalarValue, at: ScalarValue | None, given: _Vectors) -> None:
        """Add vectors to the target, whose matrix begins at byte ``at``."""
        vectors, builder = self.vectors, self.builder
        if self.weights is not None:
            assert given.b is not None, "an outer product has two factors"
            assert at is not None, "a matrix has a place"
            vectors.outer_product(self.weights, at, given.a, given.b, self.layout, self.interpretation, self.stride)
        if self.totals is not None:
            begin = builder.literal(self.inner.relative(self.sums.first))
            sum_at: ScalarValue = begin if self.inner.is_own else builder.offset(f"{prefix}totals_at", begin, target, self.step)
            vectors.reduce_sum(self.totals, sum_at, given.c, self.inner.chosen(builder, target))

    def _vector(self, name: str, slots: VectorArray, array: Array, length: Extent, slot: Scalar) -> CooperativeVector:
        vectors, builder = self.vectors, self.builder
        type_ = CooperativeVectorType(slots.type.component, length)
        loaded = vectors.load(name, type_, array, slots.offset(builder, f"{name}_from", slot))
        if self.parameters.origin == "inserted":
            first = vectors.extract(f"{name}_first", loaded, 0)
            return vectors.insert(f"{name}_inserted", loaded, first, slots.type.count - 1)
        if self.parameters.origin == "variable":
            variable = builder.variable(f"{name}_variable", type_)
            builder.set(variable, (), loaded)
            again = builder.get(f"{name}_again", variable)
            assert is_cooperative_vector(again), "the variable has a vector"
            return again
        return loaded


def _numbers(pattern: str, shape: tuple[int, ...], most: int, rng: np.random.Generator) -> np.ndarray:
    """Draw whole numbers of at most ``most``, float64. ``shape``: vectors, and their components.

    Vectors of one component are never sparse: all of a case's products might be zero, and a device that adds nothing would be right.
    """
    if pattern == "counting":
        return np.ones(shape)
    drawn = rng.integers(1, most + 1, shape) * rng.choice((-1, 1), shape)
    kept = rng.random(shape) < (0.2 if pattern == "sparse" and shape[-1] > 1 else 0.9)
    return np.where(kept, drawn, 0).astype(np.float64)


@dataclass(frozen=True)
class _Scale:
    """Exponents of the smallest units of vectors and sums."""

    a: int = 0
    b: int = 0


def _bits(numbers: np.ndarray, exponent: int, component: ComponentType) -> np.ndarray:
    return encode(component, np.ldexp(numbers, exponent))


def build(parameters: Parameters) -> Built:
    """Build a case: its program; vectors of whole numbers times powers of two, whose sums are exact in any order; and memory with distinct
    initial numbers and other bytes around them."""
    writer = _VectorTrainingWriter(parameters)
    built = writer.write()
    component, terms = parameters.component, _terms(parameters)

    def draw(name: str, chosen: SubcaseParameters, _: Program, rng: np.random.Generator) -> Subcase:
        scale = _Scale(-4, 3) if chosen.pattern == "scaled" else _Scale()
        most = max(_TERMS[component] // terms, 1)
        most_a, most_b = most, 1
        if _multiplies(parameters):
            # A product has the 11 bits of the vectors' type (F-CV-10).
            most_a = max(isqrt(min(most, 2047)), 1)
            most_b = max(min(most, 2047) // most_a, 1)
        first, lanes = _START[component], writer.slots
        numbers = _numbers(chosen.pattern, (lanes, parameters.m), most_a, rng)
        inputs = {"source_a": writer.a.pack(_bits(numbers, scale.a, writer.given_component), int(rng.integers(1, 256)))}
        if _multiplies(parameters):
            if writer.same:
                scale = replace(scale, b=scale.a)
            else:
                numbers = _numbers(chosen.pattern, (lanes, parameters.n), most_b, rng)
                inputs["source_b"] = writer.b.pack(_bits(numbers, scale.b, _F16), int(rng.integers(1, 256)))
            shape = parameters.targets * parameters.m * parameters.n
            before = _numbers("random", (shape,), first, rng)
            inputs["weights"] = _bits(before, scale.a + scale.b, component).view(np.uint8)
        if writer.from_c is not None:
            numbers = _numbers(chosen.pattern, (lanes, parameters.m), most, rng)
            inputs["source_c"] = writer.c.pack(_bits(numbers, scale.a, component), int(rng.integers(1, 256)))
        if _sums(parameters):
            before = _numbers("random", (writer.sums.slots, writer.sums.type.count), first, rng)
            inputs["totals"] = _among(writer, _bits(before, scale.a, component), rng)
        return Subcase(name, inputs)

    return Built(built, draw)


def _among(writer: _VectorTrainingWriter, sums: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the contents of the array of sums: signalling NaNs before, between and after the sums, with -0 in some places. Every addition
    to one of these changes its bits, even the addition of zero."""
    packed = writer.sums.pack(sums, 0)
    free = writer.sums.pack(np.full_like(sums, np.iinfo(sums.dtype).max), 0) == 0
    component = writer.parameters.component
    around = signalling_nans(rng.integers(0, 1 << component.bits, len(packed) // component.bytes, component.bits_dtype), component)
    around[rng.random(len(around)) < 0.25] = sign_bit(component)
    packed[free] = around.view(np.uint8)[free]
    assert writer.totals is not None, "there are sums"
    contents = np.zeros(writer.totals.bytes, np.uint8)
    contents[:] = packed[: len(contents)]
    return contents
