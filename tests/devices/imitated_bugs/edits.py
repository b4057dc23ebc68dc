"""Edits: the wrong instruction in place of a right one, and the parts of which such edits are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from generators.spirv.enumerants import CooperativeMatrixOperands, MemoryAccess, Op, StorageClass
from generators.spirv.reader import Instruction
from tests.devices.imitated_bugs.module import Edit, Module

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


def on_matrices(edit: Edit) -> Edit:
    """Return the edit of the instructions whose result is a matrix."""
    return lambda module, of: edit(module, of) if module.is_matrix(of.operands[0]) else of


def exchanged(first: int, second: int) -> Edit:
    """Return the edit that exchanges two operands."""
    return lambda _, of: put(put(of, first, of.operands[second]), second, of.operands[first])


def taking(target: int, source: int) -> Edit:
    """Return the edit that takes one operand for another one."""
    return lambda _, of: put(of, target, of.operands[source]) if len(of.operands) > max(target, source) else of


def other_op(one: Op, other: Op) -> Edit:
    """Return the edit that takes one instruction for the other."""
    return lambda _, of: of._replace(op=other if of.op is one else one)


def null(module: Module, of: Instruction) -> Instruction:
    """Take null for a result."""
    return copied(of, module.null(of.operands[0]))


def as_null(_: Module, of: Instruction) -> Instruction:
    """Declare null in place of a constant."""
    return Instruction(Op.ConstantNull, of.operands[:2], of.position)


def numbered(number: Callable[[int], int]) -> Change:
    """Return the change of the value of a constant."""

    def change(module: Module, _: Instruction, id_: int) -> int | None:
        old = module.value(id_)
        return None if old is None or number(old) == old else module.constant(id_, number(old))

    return change


def literal_index(at: int, of_matrix: bool, number: Callable[[int], int]) -> Edit:
    """Return the edit of the literal index, at an operand, of a matrix; or of an array or struct."""
    kinds = (Op.TypeCooperativeMatrixKHR,) if of_matrix else (Op.TypeArray, Op.TypeStruct)

    def edit(module: Module, of: Instruction) -> Instruction:
        fits = module.definitions[module.types[of.operands[at - 1]]].op in kinds
        return put(of, at, number(of.operands[at])) if fits else of

    return edit


def length(module: Module, of: Instruction) -> int:
    """Return the id of a matrix's correct length, and let it be known."""
    correct = module.emit(of.op, of.operands[0], of.operands[2])
    module.types[correct] = of.operands[0]
    return correct


def off_by_one(op: Op) -> Edit:
    """Return the edit that adds or subtracts one of a length."""
    return lambda module, of: Instruction(op, (*of.operands[:2], n := length(module, of), module.constant(n, 1)), of.position)


def computed(op: Op, number: int) -> Change:
    """Return the change of a 32-bit integer by an operation with a number."""

    def change(module: Module, _: Instruction, value: int) -> int | None:
        type_ = module.types[value]
        old = module.value(value)
        if module.component(type_) != (Op.TypeInt, 32) or (op is Op.BitwiseAnd and old is not None and old & number == old):
            return None
        return module.emit(op, type_, value, module.constant(value, number))

    return change


def zero(module: Module, _: Instruction, value: int) -> int | None:
    """Change an id to zero."""
    is_number = module.component(module.types[value]) == (Op.TypeInt, 32)
    return module.constant(value, 0) if is_number and module.value(value) != 0 else None


def rounded(module: Module, of: Instruction, value: int) -> int | None:
    """Change an index, so the address is a multiple of 16 bytes."""
    chain = module.definitions[of.operands[POINTER[of.op]]]
    pointee = module.definitions[(*module.definitions[chain.operands[0]].operands, 0)[2]] if chain.op is Op.AccessChain else None
    if pointee is None or pointee.op not in (Op.TypeInt, Op.TypeFloat):
        return None
    return computed(Op.BitwiseAnd, 0xFFFFFFFF & -(128 // pointee.operands[1]))(module, of, value)


def last_index(change: Change, into: Op | None = None) -> Change:
    """Return the change of a pointer by a change of the last index of its access chain, which may have to be into some type."""

    def changed(module: Module, of: Instruction, pointer: int) -> int | None:
        chain = module.definitions[pointer]
        if chain.op not in FIRST_INDEX or len(chain.operands) <= 3:
            return None
        type_ = None if into is None else container(module, chain)[1]
        fits = into is None or (type_ is not None and module.definitions[type_].op is into)
        new = change(module, of, chain.operands[-1]) if fits else None
        return None if new is None else module.emit(chain.op, chain.operands[0], *chain.operands[2:-1], new)

    return changed


def dense(module: Module, of: Instruction, stride: int) -> int | None:
    """Change a stride to the columns of the matrix."""
    matrix = of.operands[0] if of.op is LOAD else module.types[of.operands[1]]
    columns = module.definitions[matrix].operands[4]
    return None if columns == stride else columns


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


def saturation(on: bool) -> Edit:
    """Return the edit that lets multiply-adds of integers saturate, or not."""
    bit = CooperativeMatrixOperands.SaturatingAccumulationKHR

    def edit(module: Module, of: Instruction) -> Instruction:
        words = (*of.operands, 0)[:6]
        fits = module.component(words[0]) == (Op.TypeInt, 32) and bool(words[5] & bit) is not on
        return of._replace(operands=(*words[:5], words[5] ^ bit)) if fits else of

    return edit


def other_sign(at: int, bit: int) -> Edit:
    """Return the edit that takes signed integers of an operand for unsigned ones, or the reverse."""

    def edit(module: Module, of: Instruction) -> Instruction:
        type_ = module.types[of.operands[at]]
        number = module.definitions[module.definitions[type_].operands[1]]
        if number.op is not Op.TypeInt:
            return of
        other = module.matrix_of(module.integer(number.operands[1], 1 - number.operands[2]), type_)
        words = (*put(of, at, module.emit(Op.Bitcast, other, of.operands[at])).operands, 0)[:6]
        return of._replace(operands=(*words[:5], words[5] ^ bit))

    return edit


def at_10_bits(module: Module, type_: int, value: int) -> int:
    """Return a value of f32 whose mantissa keeps 10 bits. A conversion to binary16 and back would be optimised away by some drivers."""
    bits = module.matrix_of(module.integer(32, 0), type_)
    step = module.filled(bits, 1 << 13)
    return module.emit(
        Op.Bitcast, type_, module.emit(Op.IMul, bits, module.emit(Op.UDiv, bits, module.emit(Op.Bitcast, bits, value), step), step)
    )


def is_f32(module: Module, type_: int) -> bool:
    """Return whether a type is f32 or a matrix of it."""
    return module.component(type_) == (Op.TypeFloat, 32)


def narrowed(*places: int, only_matrices: bool = True) -> Edit:
    """Return the edit that cuts f32 operands of an instruction to 10 bits of mantissa."""

    def edit(module: Module, of: Instruction) -> Instruction:
        for place in places:
            type_ = module.types[of.operands[place]]
            if is_f32(module, type_) and (module.is_matrix(type_) or not only_matrices):
                of = put(of, place, at_10_bits(module, type_, of.operands[place]))
        return of

    return edit


def result_narrowed(module: Module, of: Instruction) -> Instruction:
    """Cut a result of f32 to 10 bits of mantissa."""
    type_ = of.operands[0]
    return copied(of, at_10_bits(module, type_, module.emit(of.op, type_, *of.operands[2:]))) if is_f32(module, type_) else of


def as_unsigned(module: Module, of: Instruction) -> Instruction:
    """Convert to an unsigned integer in place of a signed one."""
    kind = module.component(of.operands[0])
    if kind is None:
        return of
    unsigned = module.emit(Op.ConvertFToU, module.matrix_of(module.integer(kind[1], 0), of.operands[0]), of.operands[2])
    return Instruction(Op.Bitcast, (*of.operands[:2], unsigned), of.position)


def twice(module: Module, of: Instruction) -> Instruction:
    """Add the product twice."""
    if of.operands[0] != module.types[of.operands[4]]:
        return of
    return put(of, 4, module.emit(of.op, *of.operands[:1], *of.operands[2:]))


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


def chained(change: Change, *path: Op, storage: int | None = None) -> Edit:
    """Return the edit of the last index of access chains into some type: an array of matrices is (TypeArray, TypeCooperativeMatrixKHR)."""

    def edit(module: Module, of: Instruction) -> Instruction:
        found, type_ = container(module, of)
        fits = type_ is not None and storage in (None, found)
        for op in path:
            fits = fits and module.definitions[type_].op is op
            type_ = module.definitions[type_].operands[1] if fits else None
        new = change(module, of, of.operands[-1]) if fits else None
        return of if new is None else put(of, len(of.operands) - 1, new)

    return edit


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


def without(*kinds: int, kept: tuple[int, ...] = ()) -> Edit:
    """Return the edit that drops decorations or execution modes, except with some numbers."""
    return lambda _, of: None if of.operands[1] in kinds and (*of.operands, 0)[2] not in kept else of


def built_in(which: int) -> Edit:
    """Return the edit that reads zero from a built-in."""
    return lambda module, of: null(module, of) if module.built_in(of.operands[2]) == which else of


def repeats_first(module: Module, of: Instruction) -> Instruction:
    """Construct an array or a struct with the first constituent in place of the last."""
    is_aggregate = module.definitions[of.operands[0]].op in (Op.TypeArray, Op.TypeStruct)
    return put(of, len(of.operands) - 1, of.operands[2]) if is_aggregate and len(of.operands) > 3 else of
