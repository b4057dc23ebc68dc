"""sub_arrays: each invocation takes a part of an array. The part begins at a constant, or at an index given at run time or per
invocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from generators.inputs.array_conversions import Pattern, drawn
from generators.layouts.invocation_arrays import invocation_arrays
from generators.layouts.placement import fills
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vectors import INVOCATIONS, Invocations
from generators.program.array_conversion import ExtractSubArray
from generators.program.builder import U32
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import ArrayType, ArrayValue, ScalarValue, Value
from generators.routines.invocation_control import Control, InvocationCode, path, run
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass

_TYPES = {name: COMPONENT_TYPES[name] for name in ("u32", "s32", "f32", "f16")}
_S32 = COMPONENT_TYPES["s32"]


@dataclass(frozen=True, kw_only=True)
class Parameters(Invocations):
    """The parameters of a case."""

    element: ComponentType = parameter("the elements of both arrays", labels=_TYPES)
    length: int = parameter("elements of the whole array", default=32)
    taken: int = parameter("elements of the part", default=8)
    part: Literal["first", "second", "last"] = parameter("where the part begins, in multiples of its length", default="second")
    start: Literal["literal", "specialization", "push_constant", "buffer", "invocation"] = parameter(
        "where the number of the first element comes from; invocation: each invocation has a different one", default="literal"
    )
    control: Control = parameter("the control flow around the instruction", default="straight", then=INVOCATIONS)
    invocations: int = parameter("invocations of a workgroup", default=16)

    @property
    def count(self) -> int:
        """The number of parts in the array."""
        return self.length // self.taken

    @property
    def first(self) -> int:
        """The index of the part."""
        return {"first": 0, "second": 1, "last": self.count - 1}[self.part]


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("how the elements are drawn")
    run: int = parameter("number of the run; if the run decides the parts, each run has different ones")


def _fits(parameters: Parameters) -> bool:
    """Tell whether the part exists and its label is the only one for it."""
    parts = {"first": 1, "second": 2, "last": 3}[parameters.part]
    return parameters.count >= max(parts, 2)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"fits": _fits}


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and arrays whose elements all differ."""
    lanes, builder = parameters.lanes, parameters.builder()
    result = ArrayType(parameters.element, parameters.taken)
    source = invocation_arrays(builder, "source", ArrayType(parameters.element, parameters.length), lanes, "input")
    target = invocation_arrays(builder, "target", result, lanes, "output")
    begin, me = parameters.first * parameters.taken, Value("me", U32)
    own = parameters.start == "invocation"
    starts = builder.array("starts", Pointee(_S32), lanes, StorageClass.STORAGE_BUFFER, "input") if own else None
    # A device that does not specialize begins at the next part, or at the part before the last one.
    other = begin + parameters.taken * (1 if parameters.first + 1 < parameters.count else -1)
    start = None if parameters.start == "invocation" else builder.operand("start", _S32, parameters.start, begin, other)

    def load(prefix: str, slot: ScalarValue) -> tuple[ArrayValue | ScalarValue, ...]:
        if starts is not None:
            return source.load(f"{prefix}given", slot), builder.read_scalar(f"{prefix}start", starts, slot)
        return (source.load(f"{prefix}given", slot),)

    def compute(prefix: str, operands: Sequence[Any]) -> ArrayValue:
        return builder.result_of(ExtractSubArray(Value(f"{prefix}taken", result), operands[0], operands[1] if start is None else start))

    def store(values: Sequence[ArrayValue]) -> None:
        target.store(values[0], me)

    with builder.per_invocation(me, parameters.invocations):
        run(builder, parameters.control, InvocationCode[ArrayValue](load, compute, store), me, lanes, result)

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        bits = drawn(chosen.pattern, parameters.element, lanes * parameters.length, rng)
        inputs = {"source": np.ascontiguousarray(bits).view(np.uint8)}
        if own:
            parts = (np.arange(lanes) * 3 + chosen.run + parameters.first) % parameters.count
            inputs["starts"] = (parts * parameters.taken).astype(np.int32).view(np.uint8)
        part = (parameters.first + chosen.run - 1) % parameters.count
        given = {"start": part * parameters.taken, **path(chosen.run)}
        return Subcase(name, inputs | fills(program, rng), run_time_operands(program, given))

    return Built(builder.build(), draw)
