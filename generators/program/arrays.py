"""Single elements of arrays in memory: loads, stores and atomics of one invocation."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import InvocationOperation, Operation
from generators.program.values import AnyValue, Operand, Scalar, ScalarValue
from generators.types import MemoryScope


@dataclass(frozen=True)
class ArrayLoad(InvocationOperation):
    """``result`` is element ``index`` (u32) of ``array``: a scalar or a vector, depending on the array's pointee."""

    result: AnyValue
    array: Array
    index: ScalarValue


@dataclass(frozen=True)
class ArrayStore(InvocationOperation):
    """Element ``index`` (u32) of ``array`` becomes ``value``, of the pointee's type. No element is stored twice."""

    array: Array
    index: ScalarValue
    value: AnyValue | Operand


@dataclass(frozen=True)
class AtomicAdd(Operation):
    """OpAtomicIAdd: ``value`` is added to element ``index`` of ``array``, a storage buffer of integers, and ``result`` is the previous
    value of the element. At ``scope``, with AcquireRelease semantics: later AtomicAdds see the writes before earlier ones."""

    result: Scalar
    array: Array
    index: ScalarValue
    value: ScalarValue
    scope: MemoryScope = MemoryScope.QUEUE_FAMILY


@dataclass(frozen=True)
class AtomicOr(InvocationOperation):
    """OpAtomicOr: element ``index`` of ``array``, a storage buffer of integers, gets the bits of ``value`` in addition to its own.

    The scope is the queue family. The order and repetition of such operations do not affect the final bits. ``result`` is the previous
    value of the element, if no other invocation names the element; None if nothing uses it. ``ordered``: with AcquireRelease semantics,
    else Relaxed.
    """

    array: Array
    index: ScalarValue
    value: ScalarValue
    result: Scalar | None = None
    ordered: bool = False
