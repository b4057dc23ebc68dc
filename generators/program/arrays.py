"""Single elements of arrays in memory: loads, stores and atomics of one invocation."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import AnyValue, Operand, Scalar, ScalarValue
from generators.types import MemoryScope


@dataclass(frozen=True)
class ArrayLoad(Operation):
    """``result`` is element ``index`` (u32) of ``array``: a scalar or a vector, as the array's pointee is."""

    result: AnyValue
    array: Array
    index: ScalarValue


@dataclass(frozen=True)
class ArrayStore(Operation):
    """Element ``index`` (u32) of ``array`` becomes ``value``, of the pointee's type. Each element that is stored is stored once."""

    array: Array
    index: ScalarValue
    value: AnyValue | Operand


@dataclass(frozen=True)
class AtomicAdd(Operation):
    """OpAtomicIAdd: ``value`` is added to element ``index`` of ``array``, a storage buffer of integers, and ``result`` is what the element
    was before. At ``scope``, with AcquireRelease semantics: what was written before one of these, those after it see."""

    result: Scalar
    array: Array
    index: ScalarValue
    value: ScalarValue
    scope: MemoryScope = MemoryScope.QUEUE_FAMILY


@dataclass(frozen=True)
class AtomicOr(Operation):
    """OpAtomicOr: element ``index`` of ``array``, a storage buffer of integers, gets the bits of ``value`` as well as its own.

    The semantics are Relaxed at queue family scope. Any number of these, in any order, each once or more, leave the same bits. ``result``
    is the element from before, where no other invocation names it; None where nothing asks for it.
    """

    array: Array
    index: ScalarValue
    value: ScalarValue
    result: Scalar | None = None
