"""The bugs: one wrong edit each of matrices' loads and stores, multiply-adds, elements, arithmetic, control flow, memory order and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

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
from generators.spirv.reader import Instruction
from tests.devices.imitated_bugs.module import Bug, Edit, Module

Change = Callable[[Module, Instruction, int], int | None]
"""Returns the id in place of an operand; None changes nothing."""

LOAD, STORE, MULADD = Op.CooperativeMatrixLoadKHR, Op.CooperativeMatrixStoreKHR, Op.CooperativeMatrixMulAddKHR
POINTER = {LOAD: 2, STORE: 0, Op.Load: 2, Op.Store: 0}
LAYOUT = {LOAD: 3, STORE: 2}
STRIDE = {LOAD: 4, STORE: 3}
ACCESS = {LOAD: 5, STORE: 4, Op.Load: 3, Op.Store: 2}
FIRST_INDEX = {
    Op.AccessChain: 3,
    Op.InBoundsAccessChain: 3,
    Op.PtrAccessChain: 4,
    Op.UntypedAccessChainKHR: 4,
    Op.UntypedPtrAccessChainKHR: 5,
}
"""Instruction -> the index of an operand."""

FURTHER = (MemoryAccess.Aligned, MemoryAccess.MakePointerAvailable, MemoryAccess.MakePointerVisible)
"""The flags of memory operands that a further operand follows, in its order."""

SIXTEEN_BITS = 0xFFFF
LOCAL_SIZES = (LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID)


def put(of: Instruction, at: int, value: int) -> Instruction:
    """Return an instruction with another operand."""
    return of._replace(operands=(*of.operands[:at], value, *of.operands[at + 1 :]))


def copied(of: Instruction, value: int) -> Instruction:
    """Return a copy of a value in place of an instruction."""
    return Instruction(Op.CopyObject, (*of.operands[:2], value), of.position)


def operand(at: int | dict[Op, int], change: Change) -> Edit:
    """Return the edit that changes an operand, if the instruction has it."""

    def edit(module: Module, of: Instruction) -> Instruction:
        place = at if isinstance(at, int) else at[of.op]
        new = change(module, of, of.operands[place]) if place < len(of.operands) else None
        return of if new is None else put(of, place, new)

    return edit


def exchanged(first: int, second: int) -> Edit:
    """Return the edit that exchanges two operands of instructions on matrices."""

    def edit(module: Module, of: Instruction) -> Instruction:
        words = of.operands
        return put(put(of, first, words[second]), second, words[first]) if module.is_matrix(words[0]) else of

    return edit


def other_op(names: dict[Op, Op]) -> Edit:
    """Return the edit that takes one instruction for another."""
    return lambda _, of: of._replace(op=names[of.op])


def computed(op: Op, number: int) -> Change:
    """Return the change of a 32-bit integer by an operation with a number."""

    def change(module: Module, _: Instruction, value: int) -> int | None:
        type_ = module.types[value]
        old = module.value(value)
        if module.component(type_) != (Op.TypeInt, 32) or op is Op.BitwiseAnd and old is not None and old & number == old:
            return None
        return module.emit(op, type_, value, module.constant(value, number))

    return change


def zero(module: Module, _: Instruction, value: int) -> int | None:
    """Change an id to zero, unless it is zero already."""
    is_number = module.component(module.types[value]) == (Op.TypeInt, 32)
    return module.constant(value, 0) if is_number and module.value(value) != 0 else None


def rounded(module: Module, of: Instruction, value: int) -> int | None:
    """Change an index, so the address is a multiple of 16 bytes."""
    chain = module.definitions[of.operands[POINTER[of.op]]]
    pointee = module.definitions[(*module.definitions[chain.operands[0]].operands, 0)[2]] if chain.op is Op.AccessChain else None
    if pointee is None or pointee.op not in (Op.TypeInt, Op.TypeFloat):
        return None
    return computed(Op.BitwiseAnd, 0xFFFFFFFF & -(128 // pointee.operands[1]))(module, of, value)


def last_index(change: Change) -> Change:
    """Return the change of a pointer by a change of the last index of its access chain."""

    def changed(module: Module, of: Instruction, pointer: int) -> int | None:
        chain = module.definitions[pointer]
        new = change(module, of, chain.operands[-1]) if chain.op in FIRST_INDEX and len(chain.operands) > 3 else None
        return None if new is None else module.emit(chain.op, chain.operands[0], *chain.operands[2:-1], new)

    return changed


def dense(module: Module, of: Instruction, stride: int) -> int | None:
    """Change a stride to the columns of the matrix."""
    matrix = of.operands[0] if of.op is LOAD else module.types[of.operands[1]]
    columns = module.definitions[matrix].operands[4]
    return None if columns == stride else columns


def other_layout(module: Module, _: Instruction, layout: int) -> int | None:
    """Exchange row-major and column-major."""
    value = module.value(layout)
    return module.constant(layout, 1 - value) if value in (0, 1) else None


def earlier(module: Module, of: Instruction) -> Iterator[tuple[Instruction, list[Instruction]]]:
    """Yield the instructions of the same kind before one, the last first, with all instructions between."""
    at = module.instructions.index(of)
    for index in range(at - 1, -1, -1):
        if module.instructions[index].op is of.op:
            yield module.instructions[index], module.instructions[index + 1 : at]


def taken_from(at: int, of_result: bool = False) -> Edit:
    """Return the edit that takes an operand, or the result in its place, of the multiply-add before."""

    def edit(module: Module, of: Instruction) -> Instruction:
        for one, _ in earlier(module, of):
            value = one.operands[1 if of_result else at]
            if module.types[value] == module.types[of.operands[at]] and value != of.operands[at]:
                return put(of, at, value)
        return of

    return edit


def address(module: Module, load: Instruction) -> tuple[int, ...]:
    """Return what a load reads, and as what."""
    return load.operands[0], *module.definitions[load.operands[2]].operands[2:], *load.operands[3:5]


def reuses_load(module: Module, of: Instruction) -> Instruction:
    """Take a matrix as it was loaded from the same place before a store or a barrier."""
    for one, between in earlier(module, of):
        if address(module, one) == address(module, of) and {STORE, Op.Store, Op.ControlBarrier} & {each.op for each in between}:
            return copied(of, one.operands[1])
    return of


def takes_other_load(module: Module, of: Instruction) -> Instruction:
    """Take the matrix of the load before, from another place."""
    alike = (one for one, _ in earlier(module, of) if one.operands[0] == of.operands[0] and address(module, one) != address(module, of))
    other = next(alike, None)
    return of if other is None else copied(of, other.operands[1])


def only_first(at: int) -> Edit:
    """Return the edit that removes an instruction after an earlier one with the same operand."""

    def edit(module: Module, of: Instruction) -> Instruction | None:
        is_matrix = module.is_matrix(module.types[of.operands[1]])
        return None if is_matrix and any(one.operands[at] == of.operands[at] for one, _ in earlier(module, of)) else of

    return edit


def flag(bit: int, on: bool | None = None) -> Edit:
    """Return the edit that flips a flag of multiply-adds of integers; or that only sets or only clears it."""

    def edit(module: Module, of: Instruction) -> Instruction:
        words = (*of.operands, 0)[:6]
        kind = module.component(words[0])
        if kind is None or kind[0] is not Op.TypeInt or on is not None and bool(words[5] & bit) is on:
            return of
        return Instruction(of.op, (*words[:5], words[5] ^ bit), of.position)

    return edit


def narrow(module: Module, value: int, half: int) -> int:
    """Return a value after a conversion to binary16 and back."""
    type_ = module.types[value]
    return module.emit(Op.FConvert, type_, module.emit(Op.FConvert, module.matrix_of(half, type_), value))


def narrowed(*places: int, narrow_result: bool = False, only_matrices: bool = True) -> Edit:
    """Return the edit that rounds f32 operands of an instruction, or its result, to binary16."""

    def edit(module: Module, of: Instruction) -> Instruction:
        type_ = of.operands[0]
        if module.component(type_) != (Op.TypeFloat, 32) or only_matrices and not module.is_matrix(type_):
            return of
        half = module.f16()
        if narrow_result:
            small = module.emit(of.op, type_, *of.operands[2:])
            small = module.emit(Op.FConvert, module.matrix_of(half, type_), small)
            return Instruction(Op.FConvert, (*of.operands[:2], small), of.position)
        for place in places:
            module.types.setdefault(of.operands[place], type_)
            of = put(of, place, narrow(module, of.operands[place], half))
        return of

    return edit


def by_f16(module: Module, of: Instruction) -> Instruction:
    """Convert by way of binary16."""
    is_half = (Op.TypeFloat, 16) in (module.component(of.operands[0]), module.component(module.types[of.operands[2]]))
    if is_half or module.definitions[of.operands[0]].op is Op.TypeVector:
        return of
    middle = module.matrix_of(module.f16(), of.operands[0])
    return Instruction(Op.FConvert, (*of.operands[:2], module.emit(of.op, middle, of.operands[2])), of.position)


def twice(module: Module, of: Instruction) -> Instruction:
    """Add the product twice."""
    if of.operands[0] != module.types[of.operands[4]]:
        return of
    return put(of, 4, module.emit(of.op, *of.operands[:1], *of.operands[2:]))


def length(op: Op) -> Edit:
    """Return the edit that adds or subtracts one."""

    def edit(module: Module, of: Instruction) -> Instruction:
        correct = module.emit(of.op, of.operands[0], of.operands[2])
        module.types[correct] = of.operands[0]
        return Instruction(op, (*of.operands[:2], correct, module.constant(correct, 1)), of.position)

    return edit


def literal_index(at: int, of_matrix: bool, change: Callable[[int], int]) -> Edit:
    """Return the edit that changes the literal index of a matrix, or of an array or struct, in an instruction."""

    def edit(module: Module, of: Instruction) -> Instruction:
        type_ = module.types[of.operands[at - 1]]
        fits = module.is_matrix(type_) if of_matrix else module.definitions[type_].op in (Op.TypeArray, Op.TypeStruct)
        return put(of, at, change(of.operands[at])) if fits else of

    return edit


def container(module: Module, chain: Instruction) -> tuple[int, int | None]:
    """Return the storage class of an access chain, and the type from which the last index selects; None if that is no composite."""
    words = chain.operands
    if chain.op in (Op.UntypedAccessChainKHR, Op.UntypedPtrAccessChainKHR):
        type_ = words[2]
    else:
        type_ = module.definitions[module.types[words[2]]].operands[2]
    for index in words[FIRST_INDEX[chain.op] : -1]:
        found = module.definitions[type_]
        type_ = found.operands[1 + (module.value(index) or 0 if found.op is Op.TypeStruct else 0)]
    return module.definitions[words[0]].operands[1], type_ if len(words) > FIRST_INDEX[chain.op] else None


def chained(fits: Callable[[Module, int, int], bool], change: Change) -> Edit:
    """Return the edit of the last index of the access chains whose storage class and container fit."""

    def edit(module: Module, of: Instruction) -> Instruction:
        storage, type_ = container(module, of)
        new = change(module, of, of.operands[-1]) if type_ is not None and fits(module, storage, type_) else None
        return of if new is None else put(of, len(of.operands) - 1, new)

    return edit


def is_matrix(module: Module, _: int, type_: int) -> bool:
    """Return whether the container is a matrix."""
    return module.is_matrix(type_)


def has_matrices(module: Module, _: int, type_: int) -> bool:
    """Return whether the container is an array of matrices."""
    found = module.definitions[type_]
    return found.op is Op.TypeArray and module.is_matrix(found.operands[1])


def is_push_constants(module: Module, storage: int, type_: int) -> bool:
    """Return whether the container is the block of push constants."""
    return storage == StorageClass.PushConstant and module.definitions[type_].op is Op.TypeStruct


def first_descriptor(module: Module, of: Instruction) -> Instruction:
    """Take the first descriptor of an array of them."""
    if of.op is not Op.AccessChain:
        return of
    pointer = module.definitions[module.types[of.operands[2]]]
    is_array = pointer.operands[1] in (StorageClass.StorageBuffer, StorageClass.Uniform)
    if not is_array or module.definitions[pointer.operands[2]].op is not Op.TypeArray:
        return of
    return operand(3, zero)(module, of)


def loop(change: int, at: int) -> Edit:
    """Return the edit that adds a number to an operand of each loop's comparison."""

    def edit(module: Module, of: Instruction) -> Instruction:
        pairs = pairwise(module.instructions)
        conditions = {branch.operands[0] for merge, branch in pairs if merge.op is Op.LoopMerge and branch.op is Op.BranchConditional}
        return operand(at, computed(Op.IAdd, change))(module, of) if of.operands[1] in conditions else of

    return edit


def phi_of_phi(module: Module, of: Instruction) -> Instruction:
    """Let a phi that takes another one of its block take that one's new value."""
    at, words = module.instructions.index(of), of.operands
    first = max(index for index in range(at) if module.instructions[index].op is Op.Label)
    before = {one.operands[1]: one.operands for one in module.instructions[first + 1 : at]}
    for place in range(2, len(words), 2):
        other = before.get(words[place])
        if other is not None and words[place + 1] in other[3::2]:
            return put(of, place, other[2 + 2 * other[3::2].index(words[place + 1])])
    return of


def phi_takes(source: int, target: int) -> Edit:
    """Return the edit of a phi of matrices that takes one value on two ways."""

    def edit(module: Module, of: Instruction) -> Instruction:
        return put(of, target, of.operands[source]) if module.is_matrix(of.operands[0]) and len(of.operands) == 6 else of

    return edit


def arguments(module: Module, of: Instruction) -> Instruction:
    """Exchange the first two arguments of equal type."""
    words = of.operands
    for at in range(3, len(words) - 1):
        if module.types[words[at]] == module.types[words[at + 1]] and words[at] != words[at + 1]:
            return put(put(of, at, words[at + 1]), at + 1, words[at])
    return of


def coordinates(module: Module, of: Instruction) -> Instruction:
    """Exchange row and column of the functions for single elements."""
    functions = {one.operands[3] for one in module.instructions if one.op is Op.CooperativeMatrixPerElementOpEXT}
    for at, one in enumerate(module.instructions):
        if one.op is Op.Function and one.operands[1] in functions:
            row, column = (parameter.operands[1] for parameter in module.instructions[at + 1 : at + 3])
            if of.operands[1] in (row, column):
                return put(of, 1, column if of.operands[1] == row else row)
    return of


def default_taken(_: Module, of: Instruction) -> Instruction:
    """Let the last case of a switch go to the default."""
    return of._replace(operands=of.operands[:-2]) if len(of.operands) > 4 else of


def without_access(*flags: int) -> Edit:
    """Return the edit that clears flags of memory operands."""

    def edit(_: Module, of: Instruction) -> Instruction:
        at = ACCESS[of.op]
        mask = (*of.operands, 0)[at] if len(of.operands) > at else 0
        if not mask & flags[0]:
            return of
        further = zip([one for one in FURTHER if mask & one], of.operands[at + 1 :], strict=True)
        kept = [word for one, word in further if one not in flags]
        return of._replace(operands=(*of.operands[:at], mask & ~sum(flags), *kept))

    return edit


def set_number(number: Callable[[int], int]) -> Change:
    """Return the change of a constant; nothing changes if it has the new value already."""

    def change(module: Module, _: Instruction, id_: int) -> int | None:
        old = module.value(id_)
        return None if old is None or number(old) == old else module.constant(id_, number(old))

    return change


def without_decoration(decoration: int, kept: tuple[int, ...] = ()) -> Edit:
    """Return the edit that drops decorations, except with some numbers."""
    return lambda _, of: None if of.operands[1] == decoration and (*of.operands, 0)[2] not in kept else of


def without_mode(*modes: int) -> Edit:
    """Return the edit that drops execution modes."""
    return lambda _, of: None if of.operands[1] in modes else of


def built_in(which: int) -> Edit:
    """Return the edit that reads zero from a built-in."""
    return lambda module, of: copied(of, module.null(of.operands[0])) if module.built_in(of.operands[2]) == which else of


def as_null(module: Module, of: Instruction) -> Instruction:
    """Take a constant for null."""
    return Instruction(Op.ConstantNull, of.operands[:2], of.position) if module.is_matrix(of.operands[0]) else of


def filled_with_null(module: Module, of: Instruction) -> Instruction:
    """Fill a matrix with zero."""
    return copied(of, module.null(of.operands[0])) if module.is_matrix(of.operands[0]) else of


def repeats_first(module: Module, of: Instruction) -> Instruction:
    """Construct an array or a struct with the first constituent in place of the last."""
    is_aggregate = module.definitions[of.operands[0]].op in (Op.TypeArray, Op.TypeStruct)
    return put(of, len(of.operands) - 1, of.operands[2]) if is_aggregate and len(of.operands) > 3 else of


def uninitialised(_: Module, of: Instruction) -> Instruction:
    """Drop the initializer of a variable, so it holds anything."""
    return of._replace(operands=of.operands[:3])


def left_out(_: Module, of: Instruction) -> None:
    """Drop an instruction without a result."""


def first_operand(module: Module, of: Instruction) -> Instruction:
    """Take an operation's first operand for its result."""
    return copied(of, of.operands[2]) if module.types[of.operands[2]] == of.operands[0] and module.is_matrix(of.operands[0]) else of


def operand_twice(module: Module, of: Instruction) -> Instruction:
    """Take an operation's first operand twice."""
    return put(of, 3, of.operands[2]) if module.is_matrix(of.operands[0]) else of


def _bugs() -> Iterator[tuple[str, tuple[Op, ...], Edit]]:
    for name, op in (("load", LOAD), ("store", STORE)):
        pointer = POINTER[op]
        yield f"{name}.offset_dropped", (op,), operand(pointer, last_index(zero))
        yield f"{name}.offset_plus_one", (op,), operand(pointer, last_index(computed(Op.IAdd, 1)))
        yield f"{name}.offset_cut_to_8_bits", (op,), operand(pointer, last_index(computed(Op.BitwiseAnd, 255)))
        yield f"{name}.offset_cut_to_16_bits", (op,), operand(pointer, last_index(computed(Op.BitwiseAnd, SIXTEEN_BITS)))
        yield f"{name}.address_rounded_to_16_bytes", (op,), operand(pointer, last_index(rounded))
        yield f"{name}.layout_exchanged", (op,), operand(LAYOUT, other_layout)
        yield f"{name}.stride_plus_one", (op,), operand(STRIDE, computed(Op.IAdd, 1))
        yield f"{name}.stride_plus_16", (op,), operand(STRIDE, computed(Op.IAdd, 16))
        yield f"{name}.stride_cut_to_8_bits", (op,), operand(STRIDE, computed(Op.BitwiseAnd, 255))
        yield f"{name}.stride_cut_to_16_bits", (op,), operand(STRIDE, computed(Op.BitwiseAnd, SIXTEEN_BITS))
        yield f"{name}.stride_ignored", (op,), operand(STRIDE, dense)
    yield "load.kept_over_store", (LOAD,), reuses_load
    yield "load.of_other_place", (LOAD,), takes_other_load
    yield "store.same_matrix_only_once", (STORE,), only_first(1)

    flags = CooperativeMatrixOperands
    for name, bit in (
        ("a", flags.MatrixASignedComponentsKHR),
        ("b", flags.MatrixBSignedComponentsKHR),
        ("c", flags.MatrixCSignedComponentsKHR),
        ("result", flags.MatrixResultSignedComponentsKHR),
    ):
        yield f"muladd.sign_of_{name}", (MULADD,), flag(bit)
    yield "muladd.saturation_dropped", (MULADD,), flag(flags.SaturatingAccumulationKHR, on=False)
    yield "muladd.saturates", (MULADD,), flag(flags.SaturatingAccumulationKHR, on=True)
    yield "muladd.c_dropped", (MULADD,), operand(4, lambda module, of, c: module.null(module.types[c]))
    yield "muladd.product_twice", (MULADD,), twice
    yield "muladd.a_of_earlier", (MULADD,), taken_from(2)
    yield "muladd.b_of_earlier", (MULADD,), taken_from(3)
    yield "muladd.c_of_earlier", (MULADD,), taken_from(4)
    yield "muladd.c_is_earlier_result", (MULADD,), taken_from(4, of_result=True)
    yield "muladd.c_narrowed", (MULADD,), narrowed(4)
    yield "muladd.result_narrowed", (MULADD,), narrowed(narrow_result=True)

    chains = tuple(FIRST_INDEX)
    yield "elements.extract_first", (Op.CompositeExtract,), literal_index(3, True, lambda _: 0)
    yield "elements.extract_neighbour", (Op.CompositeExtract,), literal_index(3, True, lambda index: index ^ 1)
    yield "elements.insert_first", (Op.CompositeInsert,), literal_index(4, True, lambda _: 0)
    yield "elements.insert_neighbour", (Op.CompositeInsert,), literal_index(4, True, lambda index: index ^ 1)
    yield "elements.length_minus_one", (Op.CooperativeMatrixLengthKHR,), length(Op.ISub)
    yield "elements.length_plus_one", (Op.CooperativeMatrixLengthKHR,), length(Op.IAdd)
    yield "elements.pointer_to_first", chains, chained(is_matrix, zero)
    yield "elements.pointer_to_next", chains, chained(is_matrix, computed(Op.BitwiseXor, 1))
    yield "aggregates.extract_first", (Op.CompositeExtract,), literal_index(3, False, lambda _: 0)
    yield "aggregates.insert_first", (Op.CompositeInsert,), literal_index(4, False, lambda _: 0)
    yield "aggregates.last_is_first", (Op.CompositeConstruct,), repeats_first
    yield "aggregates.pointer_to_first_matrix", chains, chained(has_matrices, zero)

    yield "pointers.loaded_scalar_index_dropped", (Op.Load,), operand(POINTER, last_index(zero))
    yield "pointers.stored_scalar_index_dropped", (Op.Store,), operand(POINTER, last_index(zero))
    yield "pointers.push_constant_member_first", chains, chained(is_push_constants, zero)
    yield "pointers.first_descriptor", chains, first_descriptor
    yield "pointers.second_store_dropped", (Op.Store,), only_first(0)

    yield "arithmetic.difference_exchanged", (Op.FSub, Op.ISub), exchanged(2, 3)
    yield "arithmetic.quotient_exchanged", (Op.FDiv, Op.SDiv, Op.UDiv), exchanged(2, 3)
    yield "arithmetic.first_operand_twice", (Op.FAdd, Op.FMul, Op.IAdd, Op.IMul), operand_twice
    yield "arithmetic.negation_dropped", (Op.FNegate, Op.SNegate), first_operand
    yield "arithmetic.scale_dropped", (Op.MatrixTimesScalar,), first_operand
    yield "arithmetic.division_sign", (Op.SDiv, Op.UDiv), other_op({Op.SDiv: Op.UDiv, Op.UDiv: Op.SDiv})
    yield "arithmetic.shift_sign", (Op.ShiftRightLogical,), other_op({Op.ShiftRightLogical: Op.ShiftRightArithmetic})
    yield "arithmetic.f32_in_f16", (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv), narrowed(2, 3)
    yield "arithmetic.scalar_f32_in_f16", (Op.FAdd, Op.FSub, Op.FMul, Op.FDiv), narrowed(2, 3, only_matrices=False)
    yield "arithmetic.no_contraction_dropped", (Op.Decorate,), without_decoration(Decoration.NoContraction)
    denormals = (ExecutionMode.DenormPreserve, ExecutionMode.DenormFlushToZero)
    yield "arithmetic.denormals_as_default", (Op.ExecutionMode,), without_mode(*denormals)
    yield "arithmetic.rounding_as_default", (Op.ExecutionMode,), without_mode(ExecutionMode.RoundingModeRTE, ExecutionMode.RoundingModeRTZ)

    yield "conversion.widens_without_sign", (Op.SConvert,), other_op({Op.SConvert: Op.UConvert})
    yield "conversion.widens_with_sign", (Op.UConvert,), other_op({Op.UConvert: Op.SConvert})
    swapped = {Op.ConvertSToF: Op.ConvertUToF, Op.ConvertUToF: Op.ConvertSToF}
    yield "conversion.source_sign", tuple(swapped), other_op(swapped)
    swapped = {Op.ConvertFToS: Op.ConvertFToU, Op.ConvertFToU: Op.ConvertFToS}
    yield "conversion.result_sign", tuple(swapped), other_op(swapped)
    yield "conversion.integer_by_f16", (Op.ConvertSToF, Op.ConvertUToF), by_f16
    yield "conversion.float_by_f16", (Op.FConvert,), by_f16

    yield "control_flow.loop_once_less", (Op.ULessThan, Op.SLessThan), loop(1, 2)
    yield "control_flow.loop_once_more", (Op.ULessThan, Op.SLessThan), loop(1, 3)
    yield "control_flow.phi_takes_new_value", (Op.Phi,), phi_of_phi
    yield "control_flow.phi_takes_first", (Op.Phi,), phi_takes(2, 4)
    yield "control_flow.phi_takes_second", (Op.Phi,), phi_takes(4, 2)
    yield "control_flow.select_exchanged", (Op.Select,), lambda _, of: put(put(of, 3, of.operands[4]), 4, of.operands[3])
    yield "control_flow.last_case_is_default", (Op.Switch,), default_taken
    yield "functions.arguments_exchanged", (Op.FunctionCall,), arguments
    yield "functions.coordinates_exchanged", (Op.FunctionParameter,), coordinates

    memory = tuple(ACCESS)
    visible, available = MemoryAccess.MakePointerVisible, MemoryAccess.MakePointerAvailable
    yield "memory.barrier_dropped", (Op.ControlBarrier,), left_out
    yield "memory.barrier_of_subgroup", (Op.ControlBarrier,), operand(0, set_number(lambda _: Scope.Subgroup))
    yield "memory.barrier_orders_nothing", (Op.ControlBarrier,), operand(2, set_number(lambda _: 0))
    for name, bit in (("buffers", MemorySemantics.UniformMemory), ("shared", MemorySemantics.WorkgroupMemory)):
        yield f"memory.barrier_without_{name}", (Op.ControlBarrier,), operand(2, set_number(lambda old, bit=bit: old & ~bit))
    yield "memory.memory_barrier_dropped", (Op.MemoryBarrier,), left_out
    yield "memory.not_made_available", memory, without_access(available)
    yield "memory.not_made_visible", memory, without_access(visible)
    yield "memory.private", memory, without_access(MemoryAccess.NonPrivatePointer, visible, available)
    yield "memory.not_volatile", memory, without_access(MemoryAccess.Volatile)

    yield "constants.specialization_ignored", (Op.Decorate,), without_decoration(Decoration.SpecId, LOCAL_SIZES)
    yield "constants.matrix_is_null", (Op.ConstantComposite, Op.SpecConstantComposite), as_null
    yield "constants.fill_is_null", (Op.CompositeConstruct,), filled_with_null
    yield "constants.initializer_dropped", (Op.Variable,), uninitialised
    yield "built_ins.first_workgroup", (Op.Load,), built_in(BuiltIn.WorkgroupId)
    yield "built_ins.first_subgroup", (Op.Load,), built_in(BuiltIn.SubgroupId)
    yield "subgroups.broadcast_of_first", (Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle), operand(4, zero)


def all_bugs() -> list[Bug]:
    """Return every bug, in the order of the report."""
    return [Bug(name, frozenset(ops), edit) for name, ops, edit in _bugs()]
