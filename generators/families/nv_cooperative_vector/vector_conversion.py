"""vector_conversion: vectors of single invocations become vectors of another component type, alone and in chains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import conversions
from generators.inputs.conversions import Step, chosen_steps, conversion_pairs, convertible
from generators.inputs.patterns import random_bits
from generators.layouts.vector_arrays import VectorArray
from generators.numerics.formats import smallest_normal
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS, INVOCATIONS, LENGTH, Vectors
from generators.parameters.vocabulary import BUFFERS
from generators.program.builder import U32
from generators.program.conversion import Conversion, agrees
from generators.program.conversion import conversions as allowed_conversions
from generators.program.program import Built, Program, Subcase
from generators.program.values import CooperativeVector, CooperativeVectorType, ScalarValue, Value, is_cooperative_vector
from generators.program.vector_builder import VectorBuilder
from generators.routines.invocation_control import DIVERGENT, KEEPING, Control, InvocationCode, Passed, path, run
from generators.types import ComponentType, StorageClass

_CHAINS = ("back", "through")

_MEETING: tuple[Control, ...] = ("branches", "switch", "loop", "variable")
"""Control flow that merges results of several invocations or arms."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Vectors):
    """The parameters of a case."""

    from_: ComponentType = parameter("component type that is converted", labels=COMPONENTS)
    to: ComponentType = parameter("component type of the result", labels=COMPONENTS)
    by: Literal["types", "crossed", "bits"] = parameter(
        "the instruction: one that agrees with the signedness of the types, one that does not, or OpBitcast", default="types"
    )
    form: Literal["alone", "back", "through"] = parameter("one conversion, there and back, or through a third type", default="alone")
    third: ComponentType = parameter(
        "the type between two conversions",
        default="f32",
        labels=COMPONENTS,
        applies=lambda parameters: parameters.form == "through",
        then=LENGTH,
    )
    stores: Literal["result", "all"] = parameter("what is stored: the result, or the operand after it too", default="result")
    control: Control = parameter("the control flow around the conversion", default="straight", then=INVOCATIONS)
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=BUFFERS)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["bytes", "edges", "random", "overflow", "chained", "bits", "exact"] = parameter("how the components are drawn")


def _conversion(source: ComponentType, target: ComponentType, by: str) -> Conversion | None:
    """Return the instruction of one conversion; None if there is none."""
    if by == "bits":
        return Conversion.BITCAST if source is not target and source.bits == target.bits else None
    numeric = [one for one in allowed_conversions(source, target) if one is not Conversion.BITCAST]
    found = [one for one in numeric if agrees(one, source, target) is (by == "types")]
    return found[0] if found else None


def _steps(parameters: Parameters) -> tuple[Step, ...] | None:
    """Return the conversions of a case; None if no instruction makes one of them."""
    pairs = conversion_pairs(parameters.form, parameters.from_, parameters.to, parameters.third)
    return chosen_steps(pairs, lambda source, target: _conversion(source, target, parameters.by))


def steps(parameters: Parameters) -> tuple[Step, ...]:
    """Return the conversions of a case.

    Raises:
        GeneratorError: no instruction makes one of them.
    """
    return convertible(_steps(parameters), "vector_conversion")


def _by_types(parameters: Parameters) -> bool:
    return parameters.form == "alone" or parameters.by == "types"


def _kept_fits(parameters: Parameters) -> bool:
    return parameters.stores == "result" or parameters.control in KEEPING


def _needed(parameters: SubcaseParameters) -> bool:
    """Return whether the case has data of this pattern."""
    pattern, found = parameters.pattern, steps(parameters)
    if parameters.by == "bits" or parameters.form in _CHAINS:
        return pattern == ("bits" if parameters.by == "bits" else "chained")
    if parameters.control in _MEETING and (found[0].source.is_float or found[0].target.is_float):
        # Merged results must be unique: a rule may not permit several.
        return pattern == "exact"
    match pattern:
        case "bytes":
            return found[0].source.bits == 8
        case "edges" | "random":
            return found[0].source.bits > 8
        case "overflow":
            return conversions.can_overflow(found[0])
        case _:
            return False


def _any_step(holds: Callable[[Conversion], bool]) -> Callable[[Parameters], bool]:
    """Return a predicate that tells whether the case has a conversion of a kind, for requirements that only such cases cover."""
    return lambda parameters: any(holds(step.conversion) for step in _steps(parameters) or ())


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "convertible": lambda parameters: _steps(parameters) is not None,
    "by_types": _by_types,
    "kept_fits": _kept_fits,
    "needed": _needed,
    "casts_bits": _any_step(lambda conversion: conversion is Conversion.BITCAST),
    "converts_numbers": _any_step(lambda conversion: conversion is not Conversion.BITCAST),
    "diverges": lambda parameters: parameters.control in DIVERGENT or parameters.is_partial,
}


class _VectorConversionWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.steps = steps(parameters)
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes = parameters.lanes
        self.length = parameters.extent(self.builder)
        self.sources = self._slots(self.steps[0].source)
        result = self.steps[-1].target
        stored = {"result": result, "source_after": parameters.from_} if parameters.stores == "all" else {"result": result}
        self.source = self.sources.declare(self.builder, "source", "input", parameters.storage)
        self.targets = [
            (slots, slots.declare(self.builder, name, "output", parameters.storage))
            for name, slots in ((name, self._slots(component)) for name, component in stored.items())
        ]

    def _slots(self, component: ComponentType) -> VectorArray:
        return VectorArray(CooperativeVectorType(component, self.parameters.length), self.lanes)

    def _type(self, component: ComponentType) -> CooperativeVectorType:
        return CooperativeVectorType(component, self.length)

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        me = Value("me", U32)
        with builder.per_invocation(me, parameters.invocations):

            def load(prefix: str, slot: ScalarValue) -> tuple[Passed, ...]:
                at = self.sources.offset(builder, f"{prefix}from", slot)
                return (self.vectors.load(f"{prefix}operand", self._type(parameters.from_), self.source, at),)

            def store(results: Sequence[CooperativeVector]) -> None:
                for i, (vector, (slots, target)) in enumerate(zip(results, self.targets, strict=True)):
                    self.vectors.store(vector, target, slots.offset(builder, f"to_{i}", me))

            code = InvocationCode(load, self.compute, store, parameters.stores == "all")
            run(builder, parameters.control, code, me, self.lanes, self._type(self.steps[-1].target))
        return builder.build()

    def compute(self, prefix: str, operands: Sequence[Passed]) -> CooperativeVector:
        """Return the result of the case's conversions."""
        (vector,) = operands
        assert is_cooperative_vector(vector)
        for i, step in enumerate(self.steps):
            vector = self.vectors.convert(f"{prefix}converted_{i}", vector, step.target, step.conversion)
        return vector


def _is_exact(step: Step, bits: np.ndarray) -> np.ndarray:
    """Return which of ``bits`` have a unique result: neither the operand nor the result is denormal, and a float result is not rounded."""
    source, target = step.source, step.target
    numbers = conversions.numbers(bits, source, step.conversion in (Conversion.S_TO_F, Conversion.S_TO_S)).astype(np.float64)
    exact = np.ones(bits.shape, bool)
    if target.is_float:
        exact = numbers.astype(target.dtype).astype(np.float64) == numbers
    least = max(smallest_normal(one) for one in (source, target) if one.is_float)
    return np.asarray(exact & ((numbers == 0) | (np.abs(numbers) >= least)))


def _drawn(found: Sequence[Step], pattern: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the components of all vectors, as bits, (count,)."""
    first = found[0]
    match pattern:
        case "bytes":
            return conversions.fill(conversions.every_byte(found), count, 0)
        case "edges":
            listed = rng.permutation(conversions.edges(found))
            return conversions.fill(listed, count, 0)
        case "overflow":
            return conversions.overflowing(first, count, rng)
        case "chained":
            return conversions.chained(found, count, rng)
        case "exact":
            both = np.concatenate([conversions.edges(found), conversions.random(found, 4 * count, rng)])
            return np.resize(rng.permutation(both[_is_exact(first, both)]), count)
        case "bits":
            # NaN, infinities and minus zero are left out on either side.
            return random_bits(first.target if first.target.is_float else first.source, count, rng)
        case _:
            return conversions.random(found, count, rng)


def build(parameters: Parameters) -> Built:
    """Build a case. The values of its pattern are drawn for every component of every invocation."""
    writer = _VectorConversionWriter(parameters)

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        shape = writer.lanes, parameters.length
        bits = _drawn(writer.steps, chosen.pattern, shape[0] * shape[1], rng)
        arrays = {"source": writer.sources.pack(np.ascontiguousarray(bits.reshape(shape)))}
        return Subcase(name, arrays, run_time_operands(program, path(int(rng.integers(2)))))

    return Built(writer.write(), draw)
