"""The bugs: of loads and stores, multiply-adds, elements, arithmetic, conversions, control flow, memory order and constants."""

from __future__ import annotations

from collections.abc import Iterator

from generators.program.program import LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID
from generators.spirv.enumerants import (
    BuiltIn,
    CooperativeMatrixOperands,
    Decoration,
    ExecutionMode,
    MemoryAccess,
    MemorySemantics,
    Op,
    Scope,
    StorageClass,
)
from tests.devices.imitated_bugs.edits import (
    ACCESS,
    FIRST_INDEX,
    LAYOUT,
    LOAD,
    MULADD,
    POINTER,
    STORE,
    STRIDE,
    arguments,
    as_null,
    as_unsigned,
    built_in,
    chained,
    computed,
    coordinates,
    copied,
    dense,
    exchanged,
    first_descriptor,
    last_index,
    literal_index,
    loop,
    narrowed,
    null,
    numbered,
    off_by_one,
    on_matrices,
    only_first,
    operand,
    other_op,
    other_sign,
    phi_of_phi,
    put,
    repeats_first,
    result_narrowed,
    reuses_load,
    rounded,
    saturation,
    taken_from,
    takes_other_load,
    taking,
    twice,
    without,
    without_access,
    zero,
)
from tests.devices.imitated_bugs.module import Bug, Edit

SIXTEEN_BITS = 0xFFFF
LOCAL_SIZES = (LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID)


def _bugs() -> Iterator[tuple[str, tuple[Op, ...], Edit]]:
    for name, op in (("load", LOAD), ("store", STORE)):
        pointer = POINTER[op]
        yield f"{name}.offset_dropped", (op,), operand(pointer, last_index(zero))
        yield f"{name}.offset_plus_one", (op,), operand(pointer, last_index(computed(Op.IAdd, 1)))
        yield f"{name}.offset_cut_to_8_bits", (op,), operand(pointer, last_index(computed(Op.BitwiseAnd, 255)))
        yield f"{name}.offset_cut_to_16_bits", (op,), operand(pointer, last_index(computed(Op.BitwiseAnd, SIXTEEN_BITS)))
        yield f"{name}.address_rounded_to_16_bytes", (op,), operand(pointer, last_index(rounded))
        yield f"{name}.layout_exchanged", (op,), operand(LAYOUT, numbered(lambda layout: layout ^ 1))
        yield f"{name}.stride_plus_one", (op,), operand(STRIDE, computed(Op.IAdd, 1))
        yield f"{name}.stride_plus_16", (op,), operand(STRIDE, computed(Op.IAdd, 16))
        yield f"{name}.stride_cut_to_8_bits", (op,), operand(STRIDE, computed(Op.BitwiseAnd, 255))
        yield f"{name}.stride_cut_to_16_bits", (op,), operand(STRIDE, computed(Op.BitwiseAnd, SIXTEEN_BITS))
        yield f"{name}.stride_ignored", (op,), operand(STRIDE, dense)
    yield "load.kept_over_store", (LOAD,), reuses_load
    yield "load.of_other_place", (LOAD,), takes_other_load
    yield "store.same_matrix_only_once", (STORE,), only_first(1)

    flags = CooperativeMatrixOperands
    yield "muladd.sign_of_a", (MULADD,), other_sign(2, flags.MatrixASignedComponentsKHR)
    yield "muladd.sign_of_b", (MULADD,), other_sign(3, flags.MatrixBSignedComponentsKHR)
    yield "muladd.sign_of_c", (MULADD,), other_sign(4, flags.MatrixCSignedComponentsKHR)
    yield "muladd.saturation_dropped", (MULADD,), saturation(on=False)
    yield "muladd.saturates", (MULADD,), saturation(on=True)
    yield "muladd.c_dropped", (MULADD,), operand(4, lambda module, of, c: module.null(module.types[c]))
    yield "muladd.product_twice", (MULADD,), twice
    yield "muladd.a_of_earlier", (MULADD,), taken_from(2)
    yield "muladd.b_of_earlier", (MULADD,), taken_from(3)
    yield "muladd.c_of_earlier", (MULADD,), taken_from(4)
    yield "muladd.c_is_earlier_result", (MULADD,), taken_from(4, of_result=True)
    yield "muladd.c_narrowed", (MULADD,), narrowed(4)
    yield "muladd.result_narrowed", (MULADD,), result_narrowed

    chains = tuple(FIRST_INDEX)
    yield "elements.extract_first", (Op.CompositeExtract,), literal_index(3, True, lambda _: 0)
    yield "elements.extract_neighbour", (Op.CompositeExtract,), literal_index(3, True, lambda index: index ^ 1)
    yield "elements.insert_first", (Op.CompositeInsert,), literal_index(4, True, lambda _: 0)
    yield "elements.insert_neighbour", (Op.CompositeInsert,), literal_index(4, True, lambda index: index ^ 1)
    yield "elements.length_minus_one", (Op.CooperativeMatrixLengthKHR,), off_by_one(Op.ISub)
    yield "elements.length_plus_one", (Op.CooperativeMatrixLengthKHR,), off_by_one(Op.IAdd)
    yield "elements.pointer_to_first", chains, chained(zero, Op.TypeCooperativeMatrixKHR)
    next_element = last_index(computed(Op.BitwiseXor, 1), Op.TypeCooperativeMatrixKHR)
    yield "elements.loaded_from_next", (Op.Load,), operand(POINTER, next_element)
    yield "elements.stored_to_next", (Op.Store,), operand(POINTER, next_element)
    yield "aggregates.extract_first", (Op.CompositeExtract,), literal_index(3, False, lambda _: 0)
    yield "aggregates.insert_first", (Op.CompositeInsert,), literal_index(4, False, lambda _: 0)
    yield "aggregates.last_is_first", (Op.CompositeConstruct,), repeats_first
    yield "aggregates.pointer_to_first_matrix", chains, chained(zero, Op.TypeArray, Op.TypeCooperativeMatrixKHR)

    yield "pointers.loaded_scalar_index_dropped", (Op.Load,), operand(POINTER, last_index(zero))
    yield "pointers.stored_scalar_index_dropped", (Op.Store,), operand(POINTER, last_index(zero))
    yield "pointers.push_constant_member_first", chains, chained(zero, Op.TypeStruct, storage=StorageClass.PushConstant)
    yield "pointers.first_descriptor", chains, first_descriptor
    yield "pointers.second_store_dropped", (Op.Store,), only_first(0)

    yield "arithmetic.difference_exchanged", (Op.FSub, Op.ISub), on_matrices(exchanged(2, 3))
    yield "arithmetic.quotient_exchanged", (Op.FDiv, Op.SDiv, Op.UDiv), on_matrices(exchanged(2, 3))
    yield "arithmetic.first_operand_twice", (Op.FAdd, Op.FMul, Op.IAdd, Op.IMul), on_matrices(taking(3, 2))
    yield "arithmetic.negation_dropped", (Op.FNegate, Op.SNegate), on_matrices(lambda _, of: copied(of, of.operands[2]))
    yield "arithmetic.scale_dropped", (Op.MatrixTimesScalar,), on_matrices(lambda _, of: copied(of, of.operands[2]))
    yield "arithmetic.division_sign", (Op.SDiv, Op.UDiv), other_op(Op.SDiv, Op.UDiv)
    yield "arithmetic.matrices_at_10_bits", (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv), narrowed(2, 3)
    yield "arithmetic.scalars_at_10_bits", (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv), narrowed(2, 3, only_matrices=False)
    yield "arithmetic.no_contraction_dropped", (Op.Decorate,), without(Decoration.NoContraction)
    denormals = (ExecutionMode.DenormPreserve, ExecutionMode.DenormFlushToZero)
    yield "arithmetic.denormals_as_default", (Op.ExecutionMode,), without(*denormals)
    yield "arithmetic.rounding_as_default", (Op.ExecutionMode,), without(ExecutionMode.RoundingModeRTE, ExecutionMode.RoundingModeRTZ)

    yield "conversion.widens_without_sign", (Op.SConvert,), other_op(Op.SConvert, Op.UConvert)
    yield "conversion.widens_with_sign", (Op.UConvert,), other_op(Op.SConvert, Op.UConvert)
    yield "conversion.source_sign", (Op.ConvertSToF, Op.ConvertUToF), other_op(Op.ConvertSToF, Op.ConvertUToF)
    yield "conversion.to_signed", (Op.ConvertFToU,), other_op(Op.ConvertFToS, Op.ConvertFToU)
    yield "conversion.to_unsigned", (Op.ConvertFToS,), as_unsigned
    yield "conversion.integers_at_10_bits", (Op.ConvertSToF, Op.ConvertUToF), result_narrowed
    yield "conversion.floats_toward_zero", (Op.FConvert,), narrowed(2, only_matrices=False)

    yield "control_flow.loop_once_less", (Op.ULessThan, Op.SLessThan), loop(1, 2)
    yield "control_flow.loop_once_more", (Op.ULessThan, Op.SLessThan), loop(1, 3)
    yield "control_flow.phi_takes_new_value", (Op.Phi,), phi_of_phi
    yield "control_flow.phi_takes_first", (Op.Phi,), on_matrices(taking(4, 2))
    yield "control_flow.phi_takes_second", (Op.Phi,), on_matrices(taking(2, 4))
    yield "control_flow.select_exchanged", (Op.Select,), exchanged(3, 4)
    yield "control_flow.first_case_is_default", (Op.Switch,), taking(3, 1)
    yield "control_flow.last_case_is_default", (Op.Switch,), lambda _, of: put(of, len(of.operands) - 1, of.operands[1])
    yield "functions.arguments_exchanged", (Op.FunctionCall,), arguments
    yield "functions.coordinates_exchanged", (Op.FunctionParameter,), coordinates

    memory = tuple(ACCESS)
    visible, available = MemoryAccess.MakePointerVisible, MemoryAccess.MakePointerAvailable
    yield "memory.barrier_dropped", (Op.ControlBarrier,), lambda module, of: None
    yield "memory.barrier_of_subgroup", (Op.ControlBarrier,), operand(0, numbered(lambda _: Scope.Subgroup))
    yield "memory.barrier_orders_nothing", (Op.ControlBarrier,), operand(2, numbered(lambda _: 0))
    for name, bit in (("buffers", MemorySemantics.UniformMemory), ("shared", MemorySemantics.WorkgroupMemory)):
        yield f"memory.barrier_without_{name}", (Op.ControlBarrier,), operand(2, numbered(lambda old, bit=bit: old & ~bit))
    yield "memory.memory_barrier_dropped", (Op.MemoryBarrier,), lambda module, of: None
    yield "memory.not_made_available", memory, without_access(available)
    yield "memory.not_made_visible", memory, without_access(visible)
    yield "memory.private", memory, without_access(MemoryAccess.NonPrivatePointer, visible, available)
    yield "memory.not_volatile", memory, without_access(MemoryAccess.Volatile)

    yield "constants.specialization_ignored", (Op.Decorate,), without(Decoration.SpecId, kept=LOCAL_SIZES)
    yield (
        "constants.matrix_is_null",
        (Op.ConstantComposite, Op.SpecConstantComposite),
        on_matrices(as_null),
    )
    yield "constants.fill_is_null", (Op.CompositeConstruct,), on_matrices(null)
    yield "constants.initializer_dropped", (Op.Variable,), lambda _, of: of._replace(operands=of.operands[:3])
    yield "built_ins.first_workgroup", (Op.Load,), built_in(BuiltIn.WorkgroupId)
    yield "built_ins.first_subgroup", (Op.Load,), built_in(BuiltIn.SubgroupId)
    yield "subgroups.broadcast_of_first", (Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle), operand(4, zero)


def all_bugs() -> list[Bug]:
    """Return every bug, in the order of the report."""
    return [Bug(name, frozenset(ops), edit) for name, ops, edit in _bugs()]
