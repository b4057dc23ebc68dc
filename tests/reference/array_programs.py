"""Small programs with conversions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.profile import load_profile
from generators.dispatch import dispatch, kernel
from generators.glsl.emit import emit as print_glsl
from generators.layouts.invocation_arrays import InvocationArrays, construct, extract, invocation_arrays
from generators.program.array_conversion import BitCastArray, ExtractSubArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, ArrayValue, MatrixType, ScalarValue, Value
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use
from tests.agreement import agreed, inputs_of

Invocation = Callable[[ProgramBuilder, ArrayValue, ScalarValue], ArrayValue]


def arrays_of(type_: MatrixType, elements: str) -> ArrayType:
    """Return the type of the arrays that hold a matrix."""
    rows, columns = type_.shape
    line = rows if type_.use is Use.B else columns
    element = COMPONENT_TYPES[elements]
    return ArrayType(element, line * type_.component.bytes // element.bytes)


def declared(builder: ProgramBuilder, name: str, type_: ArrayType, slots: int, role: Any) -> InvocationArrays:
    """Declare a buffer of arrays."""
    return invocation_arrays(builder, name, type_, slots, role)


def constructed(type_: MatrixType, elements: str, size: int) -> Program:
    """Return the program that makes a matrix from the arrays ``given`` and stores it to ``target``."""
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=size))
    given = declared(builder, "given", arrays_of(type_, elements), size, "input")
    rows, columns = type_.shape
    target = builder.array("target", Pointee(type_.component), rows * columns, StorageClass.STORAGE_BUFFER, "output")
    me = Value("me", U32)
    with builder.per_invocation(me, size):
        array = given.load("array", me)
    matrix = construct(builder, "matrix", type_, array)
    builder.store(matrix, target, builder.literal(0), builder.literal(columns), Layout.ROW_MAJOR)
    return builder.build()


def extracted(type_: MatrixType, elements: str, size: int, stored: int | None = None) -> Program:
    """Return the program that extracts arrays from the matrix ``source``, and stores those of the first ``stored`` invocations to
    ``taken``."""
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=size))
    rows, columns = type_.shape
    source = builder.array("source", Pointee(type_.component), rows * columns, StorageClass.STORAGE_BUFFER, "input")
    taken = declared(builder, "taken", arrays_of(type_, elements), size, "output")
    matrix = builder.load("matrix", type_, source, builder.literal(0), builder.literal(columns), Layout.ROW_MAJOR)
    array = extract(builder, "array", matrix, taken.type)
    me = Value("me", U32)
    lines = columns if type_.use is Use.B else rows
    with builder.per_invocation(me, size):
        with builder.arm() as then:
            taken.store(array, me)
        builder.branch(Condition(me, "less", builder.literal(lines if stored is None else stored)), then)
    return builder.build()


def alone(source: ArrayType, result: ArrayType, compute: Invocation) -> Program:
    """Return the program in which each of 4 invocations computes ``target`` from ``given``."""
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=4))
    given, target = declared(builder, "given", source, 4, "input"), declared(builder, "target", result, 4, "output")
    me = Value("me", U32)
    with builder.per_invocation(me, 4):
        target.store(compute(builder, given.load("array", me), me), me)
    return builder.build()


def cast(source: ArrayType, result: ArrayType) -> Program:
    """Return the program that casts an array."""

    def compute(builder: ProgramBuilder, array: ArrayValue, _: ScalarValue) -> ArrayValue:
        made = Value("made", result)
        builder.add(BitCastArray(made, array))
        return made

    return alone(source, result, compute)


def part(source: ArrayType, length: int, start: int) -> Program:
    """Return the program that extracts a part of an array."""

    def compute(builder: ProgramBuilder, array: ArrayValue, _: ScalarValue) -> ArrayValue:
        made = Value("made", ArrayType(source.element, length))
        builder.add(ExtractSubArray(made, array, builder.literal(start, COMPONENT_TYPES["s32"])))
        return made

    return alone(source, ArrayType(source.element, length), compute)


def run(program: Program, inputs: Mapping[str, np.ndarray], output: str, faults: Faults = NO_FAULTS) -> np.ndarray:
    """Return the bytes of an output of the embedded device; check that the reference model allows them, and that GLSL can be printed."""
    print_glsl(program)
    return agreed(program, inputs_of(inputs), faults)[output]


def ran_on_device_alone(program: Program, inputs: Mapping[str, np.ndarray], strict: bool = True) -> np.ndarray:
    """Run a program, which the reference model may refuse, on the embedded device."""
    data = {name: np.ascontiguousarray(one).view(np.uint8).reshape(-1) for name, one in inputs.items()}
    before = {array.name: data.get(array.name, np.zeros(array.bytes, np.uint8)) for array in program.arrays}
    device = EmbeddedDevice(load_profile("universal"), strict=strict)
    (outcome,) = device.run(kernel(program, emit(program)), [dispatch(program, Subcase("one", data), before)])
    return next(iter(outcome.outputs.values()))


def changed(base: np.ndarray, changes: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the array with the elements (line, index, value) replaced."""
    result = base.copy()
    for line, index, value in changes:
        result[line, index] = value
    return result
