"""Pointers as values: pointers to elements of arrays that are selected, passed on and moved (SPV_KHR_variable_pointers,
SPV_KHR_untyped_pointers); descriptors selected from an array; and pointers to blocks of packed data in physical storage, which decode
functions read (SPV_NV_cooperative_matrix2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Literal

from generators.program.control_flow import Branch, Condition, Loop, Switch
from generators.program.functions import Call
from generators.program.load_store import MemoryLayout, MemoryOperand
from generators.program.memory import Array, Pointee
from generators.program.operation import InvocationOperation, Operation
from generators.program.values import BlockPointer, Matrix, MatrixType, Pointer, PointerType, Scalar, ScalarValue, is_pointer
from generators.types import Layout, StorageClass


@dataclass(frozen=True)
class ElementPointer(Operation):
    """``result`` points to element ``index`` (u32) of an array.

    Attributes:
        arrays: the array; or all arrays of an array of descriptors, in the order of its elements, which have the same declaration.
        which: the index of the descriptor (u32); None if there is one array.
        non_uniform: whether ``which`` may differ among scope instances, which the shader declares (NonUniform).
    """

    result: Pointer
    arrays: tuple[Array, ...]
    index: ScalarValue
    which: ScalarValue | None = None
    non_uniform: bool = False


@dataclass(frozen=True)
class PointerSelect(Operation):
    """OpSelect: ``result`` is ``then`` if the condition holds, otherwise ``otherwise``; three pointers of one type."""

    result: Pointer
    condition: Condition
    then: Pointer
    otherwise: Pointer


@dataclass(frozen=True)
class PointerMoved(Operation):
    """OpPtrAccessChain: ``result`` points ``elements`` (u32) elements further than ``pointer``. Both have one type, which is strided."""

    result: Pointer
    pointer: Pointer
    elements: ScalarValue


@dataclass(frozen=True)
class PointerLoad(Operation):
    """OpCooperativeMatrixLoadKHR: ``result`` is read from the address of ``pointer``. ``stride`` counts the pointees, or bytes if the
    pointer is untyped."""

    result: Matrix
    pointer: Pointer
    stride: ScalarValue
    layout: MemoryLayout
    memory: MemoryOperand | None = None


@dataclass(frozen=True)
class PointerStore(Operation):
    """OpCooperativeMatrixStoreKHR: ``matrix`` is written to the address of ``pointer``. PointerLoad explains ``stride``."""

    matrix: Matrix
    pointer: Pointer
    stride: ScalarValue
    layout: MemoryLayout
    memory: MemoryOperand | None = None


def pointer_type(array: Array, strided: bool = False) -> PointerType:
    """Return the type of pointers to elements of ``array``."""
    return PointerType(array.pointee.component, array.pointee.lanes, array.storage, array.is_untyped, strided)


def pointee(type_: PointerType) -> Pointee:
    """Return the pointee of a pointer."""
    return Pointee(type_.component, type_.lanes)


def pointer_alignment(type_: MatrixType, layout: Layout, pointer: PointerType) -> int:
    """Return the alignment in bytes of an access through a pointer in every valid program; see ``guaranteed_alignment``."""
    rows, columns = type_.shape
    line = (columns if layout is Layout.ROW_MAJOR else rows) * type_.component.bytes
    return max(math.gcd(16, line), pointer.component.bytes)


def arrays_of(operation: Operation) -> list[Array]:
    """Return the arrays that an operation names directly."""
    found = []
    for value in vars(operation).values():
        if isinstance(value, Array):
            found.append(value)
        elif isinstance(value, tuple):
            found += [one for one in value if isinstance(one, Array)]
    return found


def variable_pointers(everything: Sequence[Operation]) -> Literal["none", "one_buffer", "any"]:
    """Return the kind of variable pointers among all operations of a program: none; only selections among pointers into one storage buffer;
    or others."""
    leads = _leads(everything)
    variable: set[str] = set()
    for operation in everything:
        match operation:
            case PointerSelect() | PointerMoved():
                variable.add(operation.result.name)
            case Branch() | Switch():
                variable.update(merged.result.name for merged in operation.merged)
            case Loop():
                variable.update(carried.current.name for carried in operation.carried)
            case Call():
                variable.update(parameter.name for parameter in operation.function.parameters)
                variable.update(() if operation.result is None else (operation.result.name,))
    chosen = [leads[name] for name in variable if name in leads]
    if not chosen:
        return "none"
    is_plain = all(len(arrays) == 1 and next(iter(arrays)).storage is StorageClass.STORAGE_BUFFER for arrays in chosen)
    return "one_buffer" if is_plain else "any"


def _leads(operations: Sequence[Operation]) -> dict[str, set[Array]]:
    """Return the arrays that each pointer may lead to, by its name."""
    leads: dict[str, set[Array]] = {}
    flows = [flow for operation in operations for flow in _flows(operation)]
    for operation in operations:
        if isinstance(operation, ElementPointer):
            leads[operation.result.name] = {array.owner for array in operation.arrays}
    for _ in flows:
        before = sum(map(len, leads.values()))
        for source, target in flows:
            if source in leads:
                leads.setdefault(target, set()).update(leads[source])
        if sum(map(len, leads.values())) == before:
            break
    return leads


def _flows(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield pairs of pointer names: the source of a pointer, and the pointer."""
    match operation:
        case PointerSelect():
            yield from ((source.name, operation.result.name) for source in (operation.then, operation.otherwise))
        case PointerMoved():
            yield operation.pointer.name, operation.result.name
        case Branch() | Switch():
            yield from ((source.name, merged.result.name) for merged in operation.merged for source in merged.sources)
        case Loop():
            yield from ((source.name, one.current.name) for one in operation.carried for source in (one.initial, one.next))
        case Call():
            pairs = zip(operation.arguments, operation.function.parameters, strict=True)
            yield from ((given.name, parameter.name) for given, parameter in pairs if is_pointer(given))
            if operation.result is not None and operation.function.returned is not None:
                yield operation.function.returned.name, operation.result.name


@dataclass(frozen=True)
class BlockLoad(InvocationOperation):
    """``result`` is a member of the block that ``pointer`` points to, at ``index`` if it is an array.

    The load promises as much of the block's alignment as the member's offset allows (``promised_alignment``).
    """

    result: Scalar
    pointer: BlockPointer
    member: int
    index: ScalarValue | None = None


@dataclass(frozen=True)
class BlockAddress(InvocationOperation):
    """``result`` points to the block that begins ``offset`` (u32) bytes after the address of ``array``, which is in physical storage. The
    address has the block's alignment."""

    result: BlockPointer
    array: Array
    offset: ScalarValue


@dataclass(frozen=True)
class BlockCast(InvocationOperation):
    """``result`` points to the same address as ``pointer``, as a block of its own type. The address has that block's alignment."""

    result: BlockPointer
    pointer: BlockPointer


def promised_alignment(load: BlockLoad) -> int:
    """Return the alignment in bytes that a block's alignment guarantees for the address of ``load``, for every index: a power of two."""
    block, member = load.pointer.type, load.pointer.type.members[load.member]
    steps = (member.offset, 0 if load.index is None else member.component.bytes)
    return gcd(block.alignment, *steps)
