"""Arrays of a program, and the copies of their contents into and out of workgroup memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.program.arrays import AtomicOr
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Inner, Pointee
from generators.program.program import Program
from generators.routines.workgroup import copy
from generators.types import ComponentType, StorageClass

PointeeName = Literal["component", "vec2", "vec4", "u32", "uvec4"]
"""The pointee of an array: the component type of its matrices, vectors of it, or u32 and vectors of u32."""

_WITNESSES = 64
"""Number of words that a shader writes to show that it runs."""


def pointee_of(name: PointeeName, component: ComponentType) -> Pointee:
    """Return the pointee of an array of matrices of ``component``."""
    match name:
        case "component":
            return Pointee(component)
        case "vec2":
            return Pointee(component, 2)
        case "vec4":
            return Pointee(component, 4)
        case "u32":
            return Pointee(U32)
        case _:
            return Pointee(U32, 4)


def stage_in(builder: ProgramBuilder, name: str, pointee: Pointee, length: int, storage: StorageClass, inner: Inner | None = None) -> Array:
    """Declare an input array for matrix loads. In workgroup memory it is filled from a buffer called ``name``, followed by a barrier.

    Args:
        inner: how the array is declared, if it is an array of arrays; without a head in workgroup memory.
    """
    if storage is not StorageClass.WORKGROUP:
        return builder.declare(Array(name, pointee, length, storage, "input", inner=inner))
    buffer = builder.array(name, pointee, length, StorageClass.STORAGE_BUFFER, "input")
    scratch = builder.declare(Array(f"{name}_shared", pointee, length, StorageClass.WORKGROUP, "scratch", inner=inner))
    copy(builder, scratch, buffer)
    builder.barrier()
    return scratch


@dataclass(frozen=True)
class Target:
    """An output: matrices are stored in ``array``, and the host reads ``buffer``."""

    array: Array
    buffer: Array

    def finish(self, builder: ProgramBuilder) -> None:
        """Copy workgroup memory to the buffer after the last store and a barrier."""
        if self.array is not self.buffer:
            builder.barrier()
            copy(builder, self.buffer, self.array)


def fill_name(name: str) -> str:
    """Return the name of the input with the initial contents of an output in workgroup memory, or the contents of the witness."""
    return f"{name}_fill"


def stage_out(
    builder: ProgramBuilder, name: str, pointee: Pointee, length: int, storage: StorageClass, inner: Inner | None = None
) -> Target:
    """Declare an output array for matrix stores; see ``stage_in``. In workgroup memory its initial contents come from an input called
    ``fill_name(name)``, so bytes that a store leaves unchanged are checked."""
    if storage is not StorageClass.WORKGROUP:
        array = builder.declare(Array(name, pointee, length, storage, "output", inner=inner))
        return Target(array, array)
    fill = builder.array(fill_name(name), pointee, length, StorageClass.STORAGE_BUFFER, "input")
    buffer = builder.array(name, pointee, length, StorageClass.STORAGE_BUFFER, "output")
    scratch = builder.declare(Array(f"{name}_shared", pointee, length, StorageClass.WORKGROUP, "scratch", inner=inner))
    copy(builder, scratch, fill)
    builder.barrier()
    return Target(scratch, buffer)


def add_witness(builder: ProgramBuilder) -> None:
    """Copy an input called ``fill_name("witness")`` to an output of its own, in a dispatch of one workgroup.

    A shader that may legally write nothing else ends with it. Otherwise a device on which nothing runs gives the right results.
    """
    name, pointee, storage = "witness", Pointee(U32), StorageClass.STORAGE_BUFFER
    source = builder.array(fill_name(name), pointee, _WITNESSES, storage, "input")
    copy(builder, builder.array(name, pointee, _WITNESSES, storage, "output"), source)


def add_witness_of_instances(builder: ProgramBuilder) -> None:
    """Do the same in a dispatch of several workgroups: each scope instance sets the bits of an input word in its own word."""
    source = builder.array(fill_name("witness"), Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("witness", Pointee(U32), builder.instances, StorageClass.STORAGE_BUFFER, "inout")
    builder.add(AtomicOr(target, builder.instance_index(), builder.read_scalar("witnessed", source, builder.literal(0))))


def fills(program: Program, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw random contents for every fill of ``program``, uint8 by name, and zeros for a witness that is read."""
    names = [array for array in program.arrays if array.name.endswith("_fill")]
    zeros = {array.name: np.zeros(array.bytes, np.uint8) for array in program.arrays if array.name == "witness" and array.role == "inout"}
    return zeros | {array.name: rng.integers(0, 256, array.bytes, np.uint8) for array in names}
