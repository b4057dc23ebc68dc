"""Evaluates a program: every allowed outcome of one dispatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cts.reference import cooperative_vector_elementwise as on_vectors
from cts.reference import cooperative_vectors as vectors
from cts.reference.array_conversion import bitcast_array, construct_coopmat, extract_coopmat, extract_sub_array
from cts.reference.arrays import array_load, array_store, atomic_add, atomic_or
from cts.reference.blocks import block_address, block_cast, block_load
from cts.reference.composites import construct, copy_memory, copy_object, extract, insert
from cts.reference.construction import constant, null, splat, undefined
from cts.reference.control_flow import leave, loop, return_both
from cts.reference.conversion import convert
from cts.reference.cooperative_vector_matmul import matmul
from cts.reference.cooperative_vector_training import outer_product, reduce_sum
from cts.reference.elements import components_placed, components_updated, coordinate, length, others_counted
from cts.reference.elementwise import arithmetic, negate, times_scalar
from cts.reference.extended import extended
from cts.reference.functions import call
from cts.reference.invocations import per_invocation
from cts.reference.load_store import load, store
from cts.reference.muladd import muladd
from cts.reference.per_element import per_element
from cts.reference.pointers import element_pointer, pointer_load, pointer_moved, pointer_select, pointer_store
from cts.reference.reduce import reduce
from cts.reference.scalars import built_in, instance_index, scalar_arithmetic, scalar_convert
from cts.reference.selections import branch, select, switch
from cts.reference.state import Perform, State, initial_state
from cts.reference.subgroup_operations import of_subgroups
from cts.reference.subgroups import subgroups_stored
from cts.reference.tensor import layout_create, layout_set, view_create, view_set
from cts.reference.tensor_access import tensor_load, tensor_store
from cts.reference.tile_copy import tile_copied
from cts.reference.use_conversion import transpose, use_convert
from cts.reference.variables import initialize, variable_load, variable_store
from cts.reference.workgroup import barrier, copied, last_workgroup_ran, part_copied, stated
from cts.verdict.expected import Expected, Interval
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr
from generators.program.blocks import BlockAddress, BlockCast, BlockLoad
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined
from generators.program.control_flow import Branch, Exit, Loop, ReturnBoth, Select, Switch
from generators.program.conversion import MatrixConvert
from generators.program.cooperative_vector_elementwise import (
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
)
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.cooperative_vectors import (
    CooperativeVectorConstant,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorNull,
    CooperativeVectorSplat,
    CooperativeVectorStore,
    CooperativeVectorUndefined,
)
from generators.program.elements import ComponentsPlaced, ComponentsUpdated, MatrixCoordinate, MatrixLength, OthersCounted
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.extended import Extended
from generators.program.functions import Call
from generators.program.invocations import PerInvocation
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import NoEntry, Operation
from generators.program.per_element import PerElement
from generators.program.pointers import ElementPointer, PointerLoad, PointerMoved, PointerSelect, PointerStore
from generators.program.program import Program, Subcase
from generators.program.reduce import Reduce
from generators.program.scalars import BuiltInScalar, InstanceIndex, ScalarArithmetic, ScalarConvert
from generators.program.stated import Stated
from generators.program.subgroup_operations import (
    BallotCount,
    BallotFind,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.program.subgroups import SubgroupsStored
from generators.program.tensor import LayoutCreate, LayoutSet, ViewCreate, ViewSet
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.tile_copy import TileCopied
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.variables import VariableLoad, VariableStore
from generators.program.vector_components import VectorComponentsStored
from generators.program.workgroup import Barrier, Copied, LastWorkgroupRan, PartCopied
from generators.types import Scope

STEPS: Mapping[type, Callable[[State, Any], None]] = MappingProxyType(
    {
        MatrixLoad: load,
        MatrixStore: store,
        MatrixSplat: splat,
        MatrixMulAdd: muladd,
        InstanceIndex: instance_index,
        ScalarArithmetic: scalar_arithmetic,
        Loop: loop,
        Copied: copied,
        PartCopied: part_copied,
        Barrier: barrier,
        LastWorkgroupRan: last_workgroup_ran,
        SubgroupsStored: subgroups_stored,
        VariableLoad: variable_load,
        VariableStore: variable_store,
        MatrixConstant: constant,
        MatrixNull: null,
        MatrixUndefined: undefined,
        ArrayLoad: array_load,
        ScalarConvert: scalar_convert,
        ArrayStore: array_store,
        AtomicAdd: atomic_add,
        AtomicOr: atomic_or,
        Stated: stated,
        PerInvocation: per_invocation,
        Select: select,
        BlockLoad: block_load,
        BlockAddress: block_address,
        BlockCast: block_cast,
        Extended: extended,
        MatrixNegate: negate,
        MatrixArithmetic: arithmetic,
        MatrixTimesScalar: times_scalar,
        MatrixConvert: convert,
        ComponentsUpdated: components_updated,
        MatrixLength: length,
        MatrixCoordinate: coordinate,
        ComponentsPlaced: components_placed,
        OthersCounted: others_counted,
        CompositeConstruct: construct,
        CompositeExtract: extract,
        CompositeInsert: insert,
        CopyObject: copy_object,
        CopyMemory: copy_memory,
        BuiltInScalar: built_in,
        Branch: branch,
        Switch: switch,
        Exit: leave,
        Call: call,
        ReturnBoth: return_both,
        LayoutCreate: layout_create,
        LayoutSet: layout_set,
        ViewCreate: view_create,
        ViewSet: view_set,
        TensorLoad: tensor_load,
        TensorStore: tensor_store,
        PerElement: per_element,
        Reduce: reduce,
        UseConvert: use_convert,
        Transpose: transpose,
        TileCopied: tile_copied,
        ElementPointer: element_pointer,
        PointerSelect: pointer_select,
        PointerMoved: pointer_moved,
        PointerLoad: pointer_load,
        PointerStore: pointer_store,
        BallotCount: of_subgroups,
        BallotFind: of_subgroups,
        SubgroupAllEqual: of_subgroups,
        SubgroupBallot: of_subgroups,
        SubgroupBroadcast: of_subgroups,
        SubgroupElect: of_subgroups,
        SubgroupReduce: of_subgroups,
        SubgroupShuffle: of_subgroups,
        SubgroupVote: of_subgroups,
        CooperativeVectorLoad: vectors.load,
        CooperativeVectorStore: vectors.store,
        VectorComponentsStored: vectors.components_stored,
        CooperativeVectorSplat: vectors.splat,
        CooperativeVectorConstant: vectors.constant,
        CooperativeVectorNull: vectors.null,
        CooperativeVectorUndefined: vectors.undefined,
        CooperativeVectorExtract: vectors.extract,
        CooperativeVectorInsert: vectors.insert,
        CooperativeVectorNegate: on_vectors.negate,
        CooperativeVectorNot: on_vectors.invert,
        CooperativeVectorArithmetic: on_vectors.arithmetic,
        CooperativeVectorBits: on_vectors.bits,
        CooperativeVectorTimesScalar: on_vectors.times_scalar,
        CooperativeVectorConvert: on_vectors.convert,
        CooperativeVectorFunction: on_vectors.function,
        CooperativeVectorMatMul: matmul,
        OuterProductAccumulate: outer_product,
        ReduceSumAccumulate: reduce_sum,
        BitCastArray: bitcast_array,
        ConstructCoopMat: construct_coopmat,
        ExtractCoopMat: extract_coopmat,
        ExtractSubArray: extract_sub_array,
    }
)
"""The function that performs each operation as the specification states."""

ENVELOPE_NOTE = "float results that are not proved exact are judged by the suite's envelope, a policy and not a rule of the specification"


def perform(state: State, operation: Operation) -> None:
    """Perform ``operation`` as the specification states."""
    step = STEPS.get(type(operation))
    if step is None:
        raise NoEntry(operation, "STEPS of cts/reference/evaluate.py")
    step(state, operation)


def empty_state() -> State:
    """Return a state of one scope instance without memory, for functions that use nothing from outside."""
    return initial_state(Program((), (), (), Scope.SUBGROUP), Subcase("none", {}), perform)


def evaluate(program: Program, subcase: Subcase, performed: Perform = perform) -> Expected:
    """Return every element that a dispatch of ``program`` with ``subcase`` writes, with its allowed values.

    Args:
        program, subcase: the program and its data.
        performed: performs each operation; an observer, which calls ``perform``, may replace it.

    Raises:
        GeneratorError: the specification leaves the outcome undefined, or the data are unfit.
    """
    return outcome(initial_state(program, subcase, performed))


def outcome(state: State) -> Expected:
    """Run the program of a state from the start, and return its outcome. Raises GeneratorError as ``evaluate``."""
    program = state.program
    initialize(state, program.variables)
    state.run(program.operations)
    written = [state.memories[array.name] for array in program.arrays if array.role in ("output", "inout")]
    placed = tuple(placed for memory in written for placed in (*memory.placed, *memory.background))
    judged_by_policy = any(isinstance(p.expected, Interval) and p.expected.envelope is not None for p in placed)
    return Expected(placed, (ENVELOPE_NOTE,) if judged_by_policy else ())
