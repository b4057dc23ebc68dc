"""A program: the code of a case's shader, and the inputs from its subcases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from generators.passes import PassBarrier
from generators.program.arrays import AtomicAdd, AtomicOr
from generators.program.float_controls import FloatControl
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.pointers import arrays_of
from generators.program.shape import PLAIN, WorkgroupShape
from generators.program.values import Operand
from generators.program.variables import Variable
from generators.program.walking import flattened
from generators.stages import Preceding, ShaderObject
from generators.types import Scope, StorageClass

LOCAL_SIZE_CONSTANT_ID = 0
"""SpecId of the local size in x. The device sets it to ``subgroups`` times its subgroup size."""

FIRST_FREE_CONSTANT_ID = 1

LOCAL_SIZE_Y_CONSTANT_ID = 2001
LOCAL_SIZE_Z_CONSTANT_ID = 2002
"""SpecIds of the local size in y and z, if they are specialization constants: glslang accepts ids up to 2047."""


@dataclass(frozen=True)
class FurtherEntryPoint:
    """An entry point of the module that no pipeline of the case runs.

    Attributes:
        name: the name of the entry point.
        program: its code. Its specialization constants have their own ids.
        local_size: invocations in x, y and z, which are literals in the module.
        is_first: whether it comes before the program's own entry point in the module.
    """

    name: str
    program: Program
    local_size: tuple[int, int, int]
    is_first: bool = False


@dataclass(frozen=True)
class PassNumber:
    """A program that runs several times in one submission, on the same buffers.

    Attributes:
        operand: the number of the pass, from 0: a push constant (u32). A subcase gives it the number of passes.
        barrier: the pipeline barrier between two passes.
    """

    operand: Operand
    barrier: PassBarrier


@dataclass(frozen=True)
class Program:
    """The typed description of a case's shader.

    Attributes:
        arrays: every array, in the order of their bindings.
        operands: every scalar from outside that is not a literal, in the order of their places.
        operations: the operations, in order. Values are defined before use, and each name only once.
        scope: the scope of the program's matrices, whose instances InstanceIndex counts.
        subgroups: subgroups per workgroup (local size in units of the device's subgroup size).
        workgroups: workgroups dispatched in x, y and z.
        shape: how the subgroups of a workgroup are arranged and requested.
        label: the differences from the other programs of its module; empty if there are none.
        others: programs of the same module that differ in the values of specialization constants, in data, in spare descriptors and in
            the local size: each is a separate pipeline, and the case includes its subcases.
        in_turn: whether the pipelines of this program and the others run their dispatches in turn, in one submission. Only the first
            program of a module says so.
        spare_descriptors: descriptors that the pipeline's layout has at each binding beyond those of the module.
        pipeline_cache: whether the pipeline goes through a pipeline cache's data and back before it runs.
        shader_object: the shader object made instead of a pipeline, see generators.kernel.Kernel; None: a pipeline.
        policy: why a verdict of this program depends on a policy of the suite and not on the specification alone; empty if it does not.
        variables: every variable of Function or Private storage.
        float_controls: execution modes of float arithmetic.
        entry_point: name of the entry point.
        further: the other entry points of the module.
        maintenance1: whether instructions that exist in both come from SPV_EXT_cooperative_matrix_maintenance1 instead of
            SPV_NV_cooperative_matrix2. Only these change the use of a matrix from A or B to accumulator (M1-USE-02).
        wide_indexing: whether the entry point has 64-bit indexing (execution mode Shader64BitIndexingEXT; Vulkan, "64-Bit Indexing").
        preceding, conversion_stage: see generators.kernel.Kernel.
        passes: the passes of each dispatch; None if it is a single one. Workgroup memory must not be used.
    """

    arrays: tuple[Array, ...]
    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    scope: Scope
    subgroups: int = 1
    workgroups: tuple[int, int, int] = (1, 1, 1)
    policy: str = ""
    shape: WorkgroupShape = PLAIN
    variables: tuple[Variable, ...] = ()
    label: str = ""
    others: tuple[Program, ...] = ()
    in_turn: bool = False
    spare_descriptors: int = 0
    pipeline_cache: bool = False
    shader_object: ShaderObject | None = None
    float_controls: tuple[FloatControl, ...] = ()
    entry_point: str = "main"
    further: tuple[FurtherEntryPoint, ...] = ()
    maintenance1: bool = False
    wide_indexing: bool = False
    preceding: Preceding | None = None
    conversion_stage: bool = False
    passes: PassNumber | None = None

    @property
    def workgroup_count(self) -> int:
        """Number of workgroups in a dispatch."""
        return math.prod(self.workgroups)

    @property
    def all(self) -> tuple[Program, ...]:
        """This program and the others of its module."""
        return (self, *self.others)

    @property
    def instances(self) -> int:
        """Number of scope instances in a dispatch."""
        return self.workgroup_count * (self.subgroups if self.scope is Scope.SUBGROUP else 1)

    @cached_property
    def every_operation(self) -> tuple[Operation, ...]:
        """Return all operations in order, each followed by the operations inside it."""
        return tuple(flattened(self.operations))

    @cached_property
    def used_arrays(self) -> tuple[Array, ...]:
        """Return the arrays that operations name, each once, in the order in which they are first named."""
        return tuple(dict.fromkeys(array for operation in self.every_operation for array in arrays_of(operation)))

    @property
    def robust(self) -> bool:
        """Whether some matrix access relies on bounds checks."""
        return any(isinstance(each, MatrixLoad | MatrixStore) and each.robust for each in self.every_operation)

    @cached_property
    def may_race(self) -> bool:
        """Whether a missing barrier or wait could change results from one run to the next: the invocations are not all in one subgroup, or
        they share workgroup memory, change memory atomically, or run in several passes or pipelines."""
        one_subgroup = self.subgroups == self.workgroup_count == 1 and self.shape.invocations is None
        shares = any(array.storage is StorageClass.WORKGROUP for array in self.arrays) or self.in_turn or self.passes is not None
        return not one_subgroup or shares or any(isinstance(each, AtomicAdd | AtomicOr) for each in self.every_operation)

    def array(self, name: str) -> Array:
        """Return the array of that name."""
        return next(array for array in self.arrays if array.name == name)


@dataclass(frozen=True)
class Subcase:
    """One dispatch of a case's pipeline.

    Attributes:
        name: unique in the case, for messages.
        inputs: contents of every ``input`` and ``inout`` array: uint8, one dimension, exactly ``Array.bytes`` long.
        operands: value of every operand whose source is ``push_constant`` or ``buffer``.
        on_gpu: values of operands on a GPU, which replace ``operands`` there: for example many rounds instead of a few. They give the same
            results.
        properties: facts that the input generator proved, for reports (for example ``{"margin_bits": 3.2}``).
    """

    name: str
    inputs: Mapping[str, np.ndarray]
    operands: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    on_gpu: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Built:
    """A case, built once: the parts that all of its dispatches share.

    Attributes:
        program: the shader's program. Its ``others`` are other pipelines of the same module.
        draw: makes a subcase. It gets the subcase's name, the parameters of case and subcase, the program or one of its others, and a
            random number generator that depends only on the names of case and subcase.
    """

    program: Program
    draw: Callable[[str, Any, Program, np.random.Generator], Subcase]
