"""A random conversion of arrays as data, and its program: arrays become a matrix, and rows of the matrix become arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from generators.fuzz.tensor_addressing import Written
from generators.inputs.patterns import normal
from generators.layouts.invocation_arrays import construct, extract, invocation_arrays
from generators.program.array_conversion import BitCastArray, ExtractSubArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.program import Program
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, ArrayValue, MatrixType, Value, extent
from generators.types import COMPONENT_TYPES, Scope, Use

DRAWS_PER_FORM = 10
"""Number of draws that share a program."""

_LINE_BYTES = 32
_PLAIN = ("u32", "s32", "f32", "f16")
"""Types of elements that arrays may be cast to, and that parts may have."""

_START = "start"
_S32 = COMPONENT_TYPES["s32"]


@dataclass(frozen=True)
class ArrayConversion:
    """One drawn conversion.

    Attributes:
        component, use, lines, width: the component type, the use and the sizes of the matrix; ``width`` is the components of a line.
        subgroup_size, subgroups: the size and the number of the subgroups in the workgroup.
        before: type of the elements in memory, which are cast if the arrays of the matrix have another one.
        given, taken: element types of the arrays from which the matrix is made and which it becomes.
        after: type to which elements are cast.
        parts: number of parts into which the array is cut; one part is stored.
        start: index of that part.
        number: decides the data.
    """

    component: str
    use: Use
    lines: int
    width: int
    subgroup_size: int
    subgroups: int
    before: str
    given: str
    taken: str
    after: str
    parts: int
    start: int = 0
    number: int = 0

    @property
    def form(self) -> ArrayConversion:
        """The input that decides the module: the conversion without its run-time numbers."""
        return replace(self, start=0, number=0)

    @property
    def bytes(self) -> int:
        """The bytes of an array."""
        return self.width * COMPONENT_TYPES[self.component].bytes

    @property
    def matrix(self) -> MatrixType:
        """The type of the matrix."""
        rows, columns = (self.width, self.lines) if self.use is Use.B else (self.lines, self.width)
        return MatrixType(COMPONENT_TYPES[self.component], Scope.SUBGROUP, rows, columns, self.use)

    def array(self, element: str) -> ArrayType:
        """Return the type of an array of that size."""
        type_ = COMPONENT_TYPES[element]
        return ArrayType(type_, self.bytes // type_.bytes)


def draw(seed: int, index: int) -> ArrayConversion:
    """Draw conversion ``index``; consecutive draws share their form."""
    place, number = divmod(index, DRAWS_PER_FORM)
    form = _form(np.random.default_rng([seed, place]))
    start = int(np.random.default_rng([seed, place, number + 1]).integers(form.parts))
    return replace(form, start=start, number=index)


def _form(rng: np.random.Generator) -> ArrayConversion:
    use = Use(int(rng.integers(3)))
    size = int(rng.choice([4, 8, 16, 32, 64]))
    lines = size // int(rng.choice([1, 2, 4]))
    if use is Use.ACCUMULATOR:
        component = str(rng.choice(["f16", "f32", "s32", "u32"]))
        width = size // int(rng.choice([1, 2] if component == "f16" and size == 4 else [1, 2, 4]))
    else:
        component = str(rng.choice(["f16", "f32", "s8", "u8"]))
        width = _LINE_BYTES // COMPONENT_TYPES[component].bytes
    given = str(rng.choice([component, "u32"]))
    taken = component if component == "s32" else str(rng.choice([component, "u32"]))
    whole = width * COMPONENT_TYPES[component].bytes
    casts = [name for name in _PLAIN if whole % COMPONENT_TYPES[name].bytes == 0]
    before = str(rng.choice(casts)) if given in _PLAIN else given
    after = str(rng.choice(casts)) if taken in _PLAIN else taken
    length = whole // COMPONENT_TYPES[after].bytes
    parts = int(rng.choice([count for count in (1, 2, 4) if length % count == 0])) if after in _PLAIN else 1
    return ArrayConversion(component, use, lines, width, size, int(rng.integers(1, 3)), before, given, taken, after, parts)


def write(conversion: ArrayConversion) -> Written:
    """Write equal programs for conversions of one form, so they share a pipeline."""
    size = conversion.subgroup_size
    builder = ProgramBuilder(Scope.SUBGROUP, conversion.subgroups, shape=WorkgroupShape(subgroup_size=size))
    slots = size * conversion.subgroups
    source, result = conversion.array(conversion.before), conversion.array(conversion.after)
    length = extent(result.length) // conversion.parts
    part = ArrayType(result.element, length)
    given = invocation_arrays(builder, "given", source, slots, "input")
    target = invocation_arrays(builder, "target", part, slots, "output")
    start = builder.operand(_START, _S32, "push_constant") if conversion.parts > 1 else None
    me, later = Value("me", U32), Value("later", U32)
    with builder.per_invocation(me, size):
        array = _cast(builder, "first", given.load("array", me), conversion.array(conversion.given))
    matrix = construct(builder, "matrix", conversion.matrix, array)
    rows = extract(builder, "rows", matrix, conversion.array(conversion.taken))
    with builder.per_invocation(later, size):
        position = builder.arithmetic("position", "modulo", later, builder.literal(size))
        with builder.arm() as then:
            last = _cast(builder, "last", rows, result)
            if start is not None:
                last, whole = Value("part", part), last
                builder.add(ExtractSubArray(last, whole, start))
            target.store(last, later)
        builder.branch(Condition(position, "less", builder.literal(conversion.lines)), then)
    return Written(builder.build(), {_START: conversion.start * length} if start is not None else {})


def _cast(builder: ProgramBuilder, name: str, array: ArrayValue, type_: ArrayType) -> ArrayValue:
    if array.type == type_:
        return array
    result = Value(name, type_)
    builder.add(BitCastArray(result, array))
    return result


def data(conversion: ArrayConversion, program: Program, seed: int) -> dict[str, np.ndarray]:
    """Draw the arrays, by name; uint8. Floats are normal numbers in every type of the elements."""
    rng = np.random.default_rng([seed, conversion.number])
    bits = rng.integers(0, 256, program.array("given").bytes, np.uint8)
    names = {conversion.before, conversion.given, conversion.component, conversion.taken, conversion.after}
    # A fraction bit of a narrower float makes a wider float normal, so one pass from narrow to wide types is enough.
    for component in sorted((COMPONENT_TYPES[name] for name in names), key=lambda type_: type_.bits):
        bits = np.ascontiguousarray(normal(bits.view(component.bits_dtype), component)).view(np.uint8)
    return {"given": bits}


def simpler(conversion: ArrayConversion) -> Iterator[ArrayConversion]:
    """Yield candidates, the simplest first."""
    if conversion.parts > 1:
        yield replace(conversion, parts=1, start=0)
    if conversion.after != conversion.taken:
        yield replace(conversion, after=conversion.taken, parts=1, start=0)
    if conversion.before != conversion.given:
        yield replace(conversion, before=conversion.given)
    if conversion.taken != conversion.component and conversion.after in (conversion.taken, conversion.component):
        yield replace(conversion, taken=conversion.component, after=conversion.component, parts=1, start=0)
    if conversion.given != conversion.component and conversion.before in (conversion.given, conversion.component):
        yield replace(conversion, given=conversion.component, before=conversion.component)
    if conversion.subgroups > 1:
        yield replace(conversion, subgroups=1)
    if conversion.start:
        yield replace(conversion, start=0)


def size(conversion: ArrayConversion) -> tuple[int, ...]:
    """Return the measure that shrinking reduces."""
    types = (conversion.before, conversion.given, conversion.component, conversion.taken, conversion.after)
    changes = sum(one != other for one, other in pairwise(types))
    return changes, conversion.parts, conversion.subgroups, conversion.start


def describe(conversion: ArrayConversion) -> str:
    """Return a line for each part, for readers."""
    rows, columns = conversion.matrix.shape
    return "\n".join(
        (
            f"{conversion.component} {rows}x{columns} use {conversion.use.name}, "
            f"{conversion.subgroups} subgroups of {conversion.subgroup_size}",
            f"  from arrays of {conversion.before} as {conversion.given}, to arrays of {conversion.taken} as {conversion.after}",
            f"  part {conversion.start} of {conversion.parts} is stored",
        )
    )
