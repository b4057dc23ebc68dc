"""Values of all invocations of a workgroup at once.

* An integer is a Python int in [0, 2^bits) if all invocations agree, else an unsigned array of shape (invocations,).
* A float is a numpy scalar of its dtype, or an array of shape (invocations,). A bool is a Python bool or a bool array.
* A vector, array or struct is a tuple of its constituents. Each of them may be uniform or not.
* A cooperative matrix is an array of shape (instances, rows, columns).
* A tensor layout or view is a tuple of its state (``instructions/tensors/tensor``). Each number may be uniform or not.
* A pointer is a ``cts.embedded.machine.pointers`` object.
* An undefined value is UNDEFINED, or Partly if some invocations (or elements) have a value.

Values are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Unsupported
from cts.embedded.types.spirv_types import (
    Array,
    Bool,
    MatrixType,
    Number,
    PointerType,
    Struct,
    TensorLayoutType,
    TensorViewType,
    Type,
    Vector,
    Void,
    constituents,
)

Value = Any
Mask = np.ndarray


class Undefined:
    """A value that may be copied but not used. Computing with it raises UndefinedUse, so instructions need not check for it."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UndefinedUse("an undefined value is used")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __and__ = __rand__ = __or__ = __ror__ = _refuse
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __floordiv__ = __rfloordiv__ = _refuse
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __neg__ = __invert__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = __getitem__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = _refuse

    def __eq__(self, _: object) -> NoReturn:
        raise UndefinedUse("an undefined value is compared")

    def __ne__(self, _: object) -> NoReturn:
        raise UndefinedUse("an undefined value is compared")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UndefinedUse("an undefined value is used")

    __hash__ = object.__hash__


UNDEFINED = Undefined()


class Partly(Undefined):
    """A value that equals ``value`` where ``defined`` (of the same shape), and is undefined elsewhere."""

    def __init__(self, value: np.ndarray, defined: np.ndarray) -> None:
        self.value = value
        self.defined = defined


def varies(value: Value) -> bool:
    """Return whether a scalar differs (or may differ) between invocations."""
    return value.__class__ is np.ndarray


def spread(type_: Number | Bool, value: Value, lanes: int) -> np.ndarray:
    """Return a scalar as an array of shape (lanes,)."""
    if value.__class__ is np.ndarray:
        array: np.ndarray = value
        return array
    return np.full(lanes, value, type_.dtype)


def to_signed(value: Value, bits: int, dtype: np.dtype) -> Value:
    """Interpret the bits of an integer as two's complement."""
    if value.__class__ is int:
        return value - (1 << bits) if value >> (bits - 1) else value
    return value.view(dtype)


def wide(value: Value) -> Value:
    """Return an unsigned integer as a Python int or an int64 array, so sums and small products of u32 values do not wrap."""
    return value.astype(np.int64) if isinstance(value, np.ndarray) else int(value)


def signed_index(value: Value, type_: Number) -> Value:
    """Return an integer as an index or offset: a Python int or an int64 array, with the signedness of its type."""
    if value.__class__ is int:
        return to_signed(value, type_.bits, type_.signed_dtype) if type_.component.is_signed else value
    if type_.component.is_signed:
        value = value.view(type_.signed_dtype)
    return value.astype(np.int64)


def instance_mask(mask: Mask, instances: int) -> Mask:
    """Return which scope instances a mask of invocations covers. The mask covers each instance wholly or not at all."""
    covered: Mask = mask.reshape(instances, -1)[:, 0]
    return covered


def _same(new: Value, old: Value) -> bool:
    if new is old:
        return True
    kinds = new.__class__, old.__class__
    return kinds in ((int, int), (bool, bool)) and bool(new == old)


def blend(type_: Type, mask: Mask, new: Value, old: Value) -> Value:
    """Return ``new`` for the invocations of ``mask`` and ``old`` for the others. If ``old`` is None, no other invocation has a value."""
    if old is None or isinstance(type_, Void) or _same(new, old):
        return new
    if isinstance(type_, Number | Bool):
        return _chosen(mask, new, old, mask.shape, type_.dtype)
    if isinstance(type_, MatrixType):
        known = old if new is UNDEFINED else new
        shape = (known.value if isinstance(known, Partly) else known).shape
        return _chosen(instance_mask(mask, shape[0])[:, None, None], new, old, shape, type_.number.dtype)
    if isinstance(type_, Vector | Array | Struct):
        pairs = zip(parts_of(type_, new), parts_of(type_, old), strict=True)
        return tuple(blend(part, mask, a, b) for (part, a), (_, b) in pairs)
    if isinstance(type_, PointerType):
        return new.blend(mask, old)
    if isinstance(type_, TensorLayoutType | TensorViewType):
        return blend(type_.state, mask, new, old)
    raise Unsupported(f"invocations that diverge with values of {type_}")


def _chosen(chosen: Mask, new: Value, old: Value, shape: tuple[int, ...], dtype: np.dtype) -> Value:
    if not isinstance(new, Undefined) and not isinstance(old, Undefined):
        return np.where(chosen, np.asarray(new, dtype), np.asarray(old, dtype))
    (new_value, new_defined), (old_value, old_defined) = (with_defined(value, shape, dtype) for value in (new, old))
    return partly(np.where(chosen, new_value, old_value), np.where(chosen, new_defined, old_defined))


def with_defined(value: Value, shape: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return a scalar or a matrix as an array, zero where it is undefined, and a bool array: where it is defined."""
    if isinstance(value, Partly):
        return value.value, value.defined
    if value is UNDEFINED:
        return np.zeros(shape, dtype), np.zeros(shape, bool)
    return np.broadcast_to(np.asarray(value, dtype), shape), np.ones(shape, bool)


def parts_of(type_: Vector | Array | Struct, value: Value) -> Iterator[tuple[Type, Value]]:
    """Return the constituents of a composite value, each with its type."""
    types = constituents(type_)
    return zip(types, expand(value, len(types)), strict=True)


def partly(value: np.ndarray, defined: np.ndarray) -> Value:
    """Return a value that is undefined except where ``defined``."""
    if defined.all():
        return value
    return Partly(value, defined) if defined.any() else UNDEFINED


def settle(value: Value, mask: Mask) -> Value:
    """Return a value that only some invocations have, as the invocations of ``mask`` see it."""
    if value.__class__ is np.ndarray or value.__class__ is int:
        return value
    if isinstance(value, Partly):
        chosen = mask if value.defined.ndim == 1 else instance_mask(mask, value.defined.shape[0])
        if value.defined[chosen].all():
            return value.value
    elif isinstance(value, tuple):
        return tuple(settle(part, mask) for part in value)
    return value


def expand(value: Value, count: int) -> tuple[Value, ...]:
    """Return a composite as a tuple, even if it is undefined."""
    if value is UNDEFINED:
        return (UNDEFINED,) * count
    constituents: tuple[Value, ...] = value
    return constituents


def is_defined(value: Value) -> bool:
    """Return whether every part of a value is defined."""
    if isinstance(value, tuple):
        return all(map(is_defined, value))
    return not isinstance(value, Undefined)
