"""bitcast_arrays: each invocation reads the bytes of an array as elements of another type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from generators.inputs.array_conversions import Pattern, drawn
from generators.inputs.patterns import normal
from generators.layouts.invocation_arrays import invocation_arrays
from generators.layouts.placement import fills
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import INVOCATIONS, Invocations
from generators.program.array_conversion import BitCastArray
from generators.program.builder import U32
from generators.program.program import Built, Program, Subcase
from generators.program.values import ArrayType, ArrayValue, ScalarValue, Value
from generators.routines.invocation_control import Control, InvocationCode, path, run
from generators.types import COMPONENT_TYPES, ComponentType

_TYPES = {name: COMPONENT_TYPES[name] for name in ("f16", "f32", "u32", "s32")}


@dataclass(frozen=True, kw_only=True)
class Parameters(Invocations):
    """The parameters of a case."""

    from_: ComponentType = parameter("the elements of the source", labels=_TYPES)
    to: ComponentType = parameter("the elements of the result", labels=_TYPES)
    bytes: int = parameter("the size of both arrays", default=32)
    way: Literal["cast", "back"] = parameter("whether the result is cast to the type of the source again", default="cast")
    control: Control = parameter("the control flow around the cast", default="straight", then=INVOCATIONS)
    invocations: int = parameter("invocations of a workgroup", default=16)

    @property
    def source(self) -> ArrayType:
        """The type of the source."""
        return ArrayType(self.from_, self.bytes // self.from_.bytes)

    @property
    def result(self) -> ArrayType:
        """The type of the stored array."""
        return self.source if self.way == "back" else self.between

    @property
    def between(self) -> ArrayType:
        """The type of the first cast's result."""
        return ArrayType(self.to, self.bytes // self.to.bytes)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("how the elements are drawn")
    run: int = parameter("number of the run, which decides whether a uniform branch is taken")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {}


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and sources of normal numbers in both types."""
    lanes, builder = parameters.lanes, parameters.builder()
    source = invocation_arrays(builder, "source", parameters.source, lanes, "input")
    target = invocation_arrays(builder, "target", parameters.result, lanes, "output")
    me = Value("me", U32)

    def load(prefix: str, slot: ScalarValue) -> tuple[ArrayValue, ...]:
        return (source.load(f"{prefix}given", slot),)

    def compute(prefix: str, operands: Sequence[Any]) -> ArrayValue:
        result = builder.result_of(BitCastArray(Value(f"{prefix}cast", parameters.between), operands[0]))
        if parameters.way == "back":
            result, first = Value(f"{prefix}back", parameters.source), result
            builder.add(BitCastArray(result, first))
        return result

    def store(values: Sequence[ArrayValue]) -> None:
        target.store(values[0], me)

    with builder.per_invocation(me, parameters.invocations):
        run(builder, parameters.control, InvocationCode(load, compute, store), me, lanes, parameters.result)

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        count = lanes * parameters.bytes
        # First make the floats of the narrower type normal, then the floats of the wider type, which keeps the narrower floats normal.
        types = sorted((parameters.from_, parameters.to), key=lambda type_: (type_.bits, type_.is_float))
        bits = drawn(chosen.pattern, types[0], count // types[0].bytes, rng)
        for type_ in (types[1], types[0], types[1]):
            bits = normal(np.ascontiguousarray(bits).view(type_.bits_dtype), type_)
        inputs = {"source": np.ascontiguousarray(bits).view(np.uint8)}
        return Subcase(name, inputs | fills(program, rng), run_time_operands(program, path(chosen.run)))

    return Built(builder.build(), draw)
