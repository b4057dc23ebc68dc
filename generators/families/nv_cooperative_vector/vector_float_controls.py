"""vector_float_controls: arithmetic, conversions, functions and moves of vectors of floats under the execution modes of
SPV_KHR_float_controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import float_controls as inputs
from generators.layouts.vector_arrays import VectorArray
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.float_modes import MODES, ModeParameters, binds, controls, is_denormal, opposites, pattern_binds
from generators.parameters.float_modes import target as target_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CopyObject
from generators.program.conversion import Conversion
from generators.program.elementwise import ARGUMENTS, Operator, VectorFunction
from generators.program.memory import Array, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import (
    ArrayType,
    CooperativeVector,
    CooperativeVectorType,
    Scalar,
    ScalarValue,
    Value,
    is_cooperative_vector,
)
from generators.program.vector_builder import VectorBuilder
from generators.routines.vector_components import load_components, store_components
from generators.types import COMPONENT_TYPES, ComponentType, Scope

_Binary = Literal["add", "subtract", "multiply", "divide"]
_Function = Literal["FMin", "FMax", "FClamp", "NMin", "NMax", "NClamp", "Fma"]

Operation = Literal["move", _Binary, "negate", "times_scalar", "convert", _Function]

Way = Literal["direct", "copy", "variable", "array", "dynamic", "to_bits", "from_bits"]
"""The steps that a vector goes through: nothing; OpCopyObject; OpStore to a variable and OpLoad; OpCompositeConstruct of an array and
OpCompositeExtract; OpVectorExtractDynamic of each component and OpVectorInsertDynamic in the place before it; OpBitcast to integers, which
are stored, or of integers, which are loaded."""

_FLOATS = {name: COMPONENT_TYPES[name] for name in ("f16", "f32", "bf16", "e4m3", "e5m2")}
_INTEGERS = {8: COMPONENT_TYPES["u8"], 32: COMPONENT_TYPES["u32"]}
"""Integer types of the components of vectors, by width."""

_BINARY: tuple[Operator, ...] = ("add", "subtract", "multiply", "divide")
_NAMES = ("left", "right", "third")
_DRAWN_TWICE = 8
"""Maximum number of dispatches of a case for its NaN patterns."""


def _moves(parameters: Parameters) -> bool:
    return parameters.operation == "move"


@dataclass(frozen=True, kw_only=True)
class Parameters(ModeParameters):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=_FLOATS)
    operation: Operation = parameter("what is computed")
    to: ComponentType = parameter(
        "component type of a conversion's result",
        default="f16",
        labels=_FLOATS,
        applies=lambda parameters: parameters.operation == "convert",
        then=MODES,
    )
    others: Literal["none", "opposite"] = opposites()
    access: Literal["components", "memory", "loaded", "stored"] = parameter(
        "how vectors come from memory and return to it: each component by itself, both by instructions of whole vectors, or one of the two",
        default="components",
    )
    way: Way = parameter("what a move goes through between memory and memory", default="direct", applies=_moves)
    length: int = parameter("components of a vector", default=8)
    invocations: int = parameter("invocations of the workgroup", default=32)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["between", "random", "denormals", "overflow", "special", "nan"] = parameter("how the operands are drawn")
    part: int = parameter("which part of the patterns of NaN, or which scalar")


def _function(operation: Operation) -> VectorFunction | None:
    """Return the GLSL.std.450 function of an operation; None if it is not such a function."""
    return next((name for name in ARGUMENTS if name == operation), None)


def _binds(parameters: Parameters) -> bool:
    """Tell whether each mode of a case constrains its results, or the case moves 8-bit numbers, for which there are no modes."""
    if parameters.component.bits == 8:
        return _moves(parameters) and (parameters.rounding, parameters.denormals, parameters.special) == ("none", "none", "none")
    if target_of(parameters).bits == 8:
        return False
    if parameters.operation == "Fma":
        return is_denormal(parameters) and parameters.special == "none" and parameters.rounding == "none"
    if _function(parameters.operation) and parameters.special == "preserve" and parameters.denormals == "flush":
        return False
    return binds(parameters)


def _access_fits(parameters: Parameters) -> bool:
    """Tell whether the result can be judged even though loads or stores of whole vectors may change special values and denormals."""
    if parameters.access == "components" or _moves(parameters):
        return True
    return parameters.rounding != "none" and (parameters.denormals, parameters.special) == ("none", "none")


def _way_fits(parameters: Parameters) -> bool:
    match parameters.way:
        case "dynamic":
            return parameters.access in ("components", "stored") and parameters.component.bits > 8
        case "to_bits" | "from_bits":
            return parameters.component.bits in _INTEGERS
        case _:
            return True


def _pattern_fits(parameters: SubcaseParameters) -> bool:
    """Tell whether a mode of the case decides results of the pattern."""
    pattern = parameters.pattern
    if parameters.component.bits == 8:
        return pattern == "nan"
    if parameters.access != "components" and not _moves(parameters) and pattern == "overflow":
        return False
    return pattern_binds(parameters, pattern)


def _part_fits(parameters: SubcaseParameters) -> bool:
    """Tell whether the pattern has the part."""
    parts = 1
    if parameters.pattern == "nan" and _moves(parameters):
        parts = min(inputs.nan_parts(parameters.component, parameters.invocations * parameters.length), _DRAWN_TWICE)
    elif parameters.operation == "times_scalar":
        parts = {"special": 4, "denormals": 2, "between": 2}.get(parameters.pattern, 1)
    return parameters.part < parts


def _claims(special: bool = False, denormals: str = "", moves: bool = False) -> Callable[[Parameters], bool]:
    """Return a predicate that tells whether the case moves vectors or computes under a mode, by instructions that the text lists."""

    def holds(parameters: Parameters) -> bool:
        listed = parameters.access == "components" and parameters.way not in ("to_bits", "from_bits")
        if moves != _moves(parameters) or (moves and not listed):
            return False
        if special:
            return parameters.special == "preserve" and _function(parameters.operation) is None
        return parameters.denormals == denormals if denormals else parameters.denormals != "none"

    return holds


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "binds": _binds,
    "access_fits": _access_fits,
    "way_fits": _way_fits,
    "pattern_fits": _pattern_fits,
    "part_fits": _part_fits,
    "moves_special": _claims(special=True, moves=True),
    "computes_special": _claims(special=True),
    "moves_denormals": _claims(moves=True),
    "flushes": _claims(denormals="flush"),
    "keeps": _claims(denormals="preserve"),
}


class _VectorFloatControlsWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        shape = WorkgroupShape(invocations=parameters.invocations)
        self.builder = ProgramBuilder(Scope.WORKGROUP, shape=shape, float_controls=controls(parameters))
        self.vectors = VectorBuilder(self.builder)
        integers = _INTEGERS.get(parameters.component.bits)
        self.sources = self._slots(integers if integers and parameters.way == "from_bits" else parameters.component)
        self.results = self._slots(integers if integers and parameters.way == "to_bits" else target_of(parameters))
        function = _function(parameters.operation)
        count = ARGUMENTS[function] if function else 2 if parameters.operation in _BINARY else 1
        self.arrays = {name: self._declared(name, self.sources, "input", self.loads_components) for name in _NAMES[:count]}
        self.target = self._declared("result", self.results, "output", self.stores_components)

    def _slots(self, component: ComponentType) -> VectorArray:
        return VectorArray(CooperativeVectorType(component, self.parameters.length), self.parameters.invocations)

    @property
    def loads_components(self) -> bool:
        """Whether components are loaded one by one to construct vectors."""
        return self.parameters.access in ("components", "stored")

    @property
    def stores_components(self) -> bool:
        """Whether the result's components are stored one by one."""
        return self.parameters.access in ("components", "loaded")

    def _declared(self, name: str, slots: VectorArray, role: Literal["input", "output"], by_components: bool) -> Array:
        """Declare an array; its element type is u32 for whole vectors of a type that GLSL cannot load and store."""
        whole = not (by_components or slots.type.component.has_arithmetic)
        return slots.declare(self.builder, name, role, pointee=Pointee(U32) if whole else None)

    def write(self) -> Program:
        """Write the program."""
        builder, parameters = self.builder, self.parameters
        scalar = (builder.operand("scalar", parameters.component, "buffer"),) if parameters.operation == "times_scalar" else ()
        me = Value("me", U32)
        with builder.per_invocation(me, parameters.invocations):
            result = self._computed(tuple(self._loaded(name, me) for name in self.arrays), scalar, me)
            if self.stores_components:
                store_components(builder, result, self.target, self._first("to", self.results, me))
            else:
                self.vectors.store(result, self.target, self.results.offset(builder, "to", me))
        return builder.build()

    def _first(self, name: str, slots: VectorArray, me: Scalar) -> Scalar:
        """Return the number of the first component in an invocation's slot."""
        size = slots.type.component.bytes
        return self.builder.offset(name, self.builder.literal(slots.first // size), me, slots.pitch // size)

    def _loaded(self, name: str, me: Scalar) -> CooperativeVector:
        builder, slots, array = self.builder, self.sources, self.arrays[name]
        if self.loads_components:
            return load_components(builder, f"{name}_operand", slots.type, array, self._first(f"{name}_from", slots, me))
        return self.vectors.load(f"{name}_operand", slots.type, array, slots.offset(builder, f"{name}_from", me))

    def _computed(self, operands: tuple[CooperativeVector, ...], scalar: tuple[ScalarValue, ...], me: Scalar) -> CooperativeVector:
        """Return the result of the case's operation."""
        operation, v, left = self.parameters.operation, self.vectors, operands[0]
        function = _function(operation)
        if function is not None:
            return v.function("computed", function, *operands)
        match operation:
            case "move":
                return self._moved(left, me)
            case "negate":
                return v.negate("negated", left)
            case "times_scalar":
                return v.times_scalar("scaled", left, scalar[0])
            case "convert":
                return v.convert("converted", left, self.parameters.to, Conversion.F_TO_F)
            case _:
                operator = next(one for one in _BINARY if one == operation)
                return v.arithmetic("combined", operator, left, operands[1])

    def _moved(self, vector: CooperativeVector, me: Scalar) -> CooperativeVector:
        """Return the vector after the steps of the case."""
        builder, result = self.builder, Value("moved", vector.type)
        match self.parameters.way:
            case "direct":
                return vector
            case "copy":
                builder.add(CopyObject(result, vector))
            case "variable":
                variable = builder.variable("kept", vector.type)
                builder.set(variable, (), vector)
                moved = builder.get("moved", variable)
                assert is_cooperative_vector(moved)
                return moved
            case "array":
                pair = builder.result_of(CompositeConstruct(Value("pair", ArrayType(vector.type, 2)), (vector, vector)))
                builder.add(CompositeExtract(result, pair, (1,)))
            case "dynamic":
                return self._exchanged(vector, me)
            case "to_bits":
                return self.vectors.convert("cast", vector, self.results.type.component, Conversion.BITCAST)
            case "from_bits":
                return self.vectors.convert("cast", vector, self.parameters.component, Conversion.BITCAST)
        return result

    def _exchanged(self, vector: CooperativeVector, me: Scalar) -> CooperativeVector:
        """Return the vector with each component moved to the preceding place, and the first one to the last place."""
        builder, length = self.builder, self.builder.literal(self.parameters.length)
        result = vector
        for i in range(self.parameters.length):
            place = builder.arithmetic(f"index_{i}", "modulo", builder.arithmetic(f"sum_{i}", "add", me, builder.literal(i)), length)
            after = builder.arithmetic(f"next_{i}", "add", place, builder.literal(1))
            following = builder.arithmetic(f"following_{i}", "modulo", after, length)
            part = self.vectors.extract(f"taken_{i}", vector, following)
            result = self.vectors.insert(f"moved_{i}", result, part, place)
        return result


def build(parameters: Parameters) -> Built:
    """Build a case: one operation on the vectors of each invocation."""
    writer = _VectorFloatControlsWriter(parameters)
    component, operation = parameters.component, parameters.operation
    shape = parameters.invocations, parameters.length

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        pattern, part = chosen.pattern, chosen.part
        scalars: dict[str, int] = {}
        if operation == "convert":
            drawn: tuple[np.ndarray, ...] = (inputs.converted(component, parameters.to, pattern, part, shape, rng),)
        elif _function(operation):
            drawn = inputs.arguments(component, operation, pattern, shape, rng)
        else:
            drawn = inputs.operands(component, operation, pattern, part, shape, rng)
            scalars = {"scalar": int(drawn[1].ravel()[0])} if operation == "times_scalar" else {}
        arrays = {array: writer.sources.pack(bits) for array, bits in zip(writer.arrays, drawn, strict=False)}
        return Subcase(name, arrays, run_time_operands(program, scalars))

    return Built(writer.write(), draw)
