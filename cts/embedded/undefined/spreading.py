"""Spreads undefined values: the result of an instruction is undefined for the invocations that have an undefined operand.

An instruction that needs a value raises UndefinedUse. Only then does this module run it again, with some value in place of each undefined
one, and mark each result that depends on one as undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import UndefinedUse
from cts.embedded.instructions import registry
from cts.embedded.instructions.arithmetic.elementwise import is_transposing, transposed
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.references import EXTENDED
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import (
    Array,
    Bool,
    MatrixType,
    Number,
    PointerType,
    Struct,
    Type,
    Vector,
    constituents,
)
from cts.embedded.types.values import UNDEFINED, Partly, Undefined, Value, is_defined, partly, parts_of, spread
from generators.spirv.enumerants import GlslStd450, Op

_WHOLE_SUBGROUPS = frozenset(op for op in Op if op.name.startswith("GroupNonUniform")) - {Op.GroupNonUniformElect}
_THROUGH_POINTERS = frozenset({GlslStd450.Modf, GlslStd450.Frexp})
_LITERALS: Mapping[Op, int] = MappingProxyType(
    {Op.CompositeExtract: 3, Op.CompositeInsert: 4, Op.VectorShuffle: 4, Op.SDot: 4, Op.UDot: 4, Op.SUDot: 4}
)
"""Opcode -> the operand at which literals begin."""


def operands_of(translation: Translation, op: Op, words: Words) -> tuple[int, ...]:
    """Return the ids of the values that an instruction reads, if undefined operands make only its result undefined; else none."""
    if op in EXTENDED:
        found = words[4:] if only_computes(op, words) else ()
    elif op in _WHOLE_SUBGROUPS:
        found = tuple(id_ for id_ in words[3:] if id_ in translation.type_of)
    elif registry.only_computes(op) or op is Op.CooperativeMatrixMulAddKHR:
        last = 5 if op is Op.CooperativeMatrixMulAddKHR else _LITERALS.get(op, len(words))
        found = words[2:last]
    else:
        return ()
    return tuple(id_ for id_ in found if id_ in translation.type_of)


def only_computes(op: Op, words: Words) -> bool:
    """Return whether an instruction does nothing but compute its result from its operands, each invocation for itself."""
    return registry.only_computes(op) and not (op in EXTENDED and words[3] in _THROUGH_POINTERS)


def spread_undefined(translation: Translation, op: Op, operands: Sequence[int], result: Type, run: Run) -> Value:
    """Return the result of an instruction with undefined operands.

    Raises:
        UndefinedUse: no operand is undefined, or the result is a pointer, which cannot be undefined.
    """
    machine, values = translation.machine, translation.values
    before = {id_: values[id_] for id_ in operands if not is_defined(values[id_])}
    if not before or isinstance(result, PointerType):
        raise UndefinedUse("an undefined value is used")
    types = [translation.type_of[id_] for id_ in operands]
    known = [definedness(machine, type_, values[id_]) for id_, type_ in zip(operands, types, strict=True)]
    _, words, _ = translation.instructions[machine.index]
    where = [transposed(one) for one in known] if is_transposing(translation, words) else known
    try:
        for id_ in before:
            values[id_] = filled(translation, translation.type_of[id_], values[id_], 1)
        if op is Op.CooperativeMatrixMulAddKHR:
            with machine.quiet():
                return marked(machine, result, run(), _of_product(*known))
        if op in _WHOLE_SUBGROUPS:
            with machine.quiet():
                return marked(machine, result, run(), _defined_in_subgroup(machine, [_every(machine, one) for one in known]))
        return marked(machine, result, _computed(machine, run, known), _componentwise(machine, result, where))
    finally:
        for id_, value in before.items():
            values[id_] = value


def _computed(machine: Machine, run: Run, known: Sequence[Value]) -> Value:
    """Run for the invocations with defined operands to report broken rules, then quietly for all to get the result."""
    lanes = [_every(machine, one) for one in known]
    if all(one.shape == machine.mask.shape for one in lanes):
        defined = reduce(np.logical_and, lanes, machine.mask)
        if defined.any():
            with machine.only(defined):
                run()
    with machine.quiet():
        return run()


def definedness(machine: Machine, type_: Type, value: Value) -> Value:
    """Return which parts of a value are defined.

    The result is a bool array for a scalar (by invocation) or a matrix (by element), and a tuple for a composite.
    """
    if isinstance(type_, Vector | Struct | Array):
        return tuple(definedness(machine, part, constituent) for part, constituent in parts_of(type_, value))
    shape = (machine.instances(type_.scope), type_.rows, type_.columns) if isinstance(type_, MatrixType) else (machine.lanes,)
    if isinstance(value, Partly):
        return value.defined
    return np.full(shape, value is not UNDEFINED)


def filled(translation: Translation, type_: Type, value: Value, with_: int) -> Value:
    """Return a value with a number in place of each undefined value."""
    if not isinstance(value, tuple | Undefined):
        return value
    match type_:
        case Vector() | Struct() | Array():
            return tuple(filled(translation, part, constituent, with_) for part, constituent in parts_of(type_, value))
        case Number():
            number = translation.number_value(type_, with_) if not type_.is_float else type_.dtype.type(with_)
        case Bool():
            number = False
        case MatrixType():
            number = type_.number.dtype.type(with_)
        case _:
            return value if is_defined(value) else translation.zero(type_)
    if isinstance(value, Partly):
        return np.where(value.defined, value.value, number)
    return translation.splat(type_, number) if isinstance(type_, MatrixType) else number


def marked(machine: Machine, type_: Type, value: Value, defined: Value) -> Value:
    """Return a value that is undefined except where ``defined`` (see ``definedness``). One array applies to all parts of a composite."""
    if isinstance(type_, Vector | Struct | Array):
        masks = defined if isinstance(defined, tuple) else (defined,) * len(constituents(type_))
        return tuple(marked(machine, *one) for one in zip(constituents(type_), value, masks, strict=True))
    if isinstance(defined, tuple):
        defined = _every(machine, defined)
    if isinstance(value, Undefined):
        return value
    if isinstance(type_, MatrixType):
        if defined.ndim == 1:
            by_instance = defined.reshape(machine.instances(type_.scope), -1).all(axis=1)
            defined = np.broadcast_to(by_instance[:, None, None], value.shape)
        return partly(value, defined)
    assert isinstance(type_, Number | Bool), "pointers are not marked"
    return partly(spread(type_, value, machine.lanes), defined)


def _every(machine: Machine, known: Value) -> np.ndarray:
    """Return a bool array: where all parts of a value are defined."""
    if isinstance(known, tuple):
        return reduce(np.logical_and, (_every(machine, part) for part in known), np.ones(machine.lanes, bool))
    array: np.ndarray = known
    return array


def _componentwise(machine: Machine, result: Type, known: Sequence[Value]) -> Value:
    """Return where the result of an instruction on components is defined."""
    if isinstance(result, MatrixType):
        shape = (machine.instances(result.scope), result.rows, result.columns)
        return reduce(np.logical_and, (_over_matrix(one, shape) for one in known))
    if isinstance(result, Vector):
        alike = [one for one in known if isinstance(one, tuple) and len(one) == result.count]
        others = [one for one in known if not isinstance(one, tuple)]
        if len(alike) + len(others) == len(known):
            return tuple(reduce(np.logical_and, [_every(machine, one[i]) for one in alike] + others) for i in range(result.count))
    return reduce(np.logical_and, [_every(machine, one) for one in known])


def _over_matrix(known: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if known.ndim == len(shape):
        return known
    return np.broadcast_to(np.logical_and.reduce(known.reshape(shape[0], -1), axis=1)[:, None, None], shape)


def _of_product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return which elements of A x B + C are defined: the row of A, the column of B and the element of C must be."""
    found: np.ndarray = np.logical_and.reduce(a, axis=2)[:, :, None] & np.logical_and.reduce(b, axis=1)[:, None, :] & c
    return found


def _defined_in_subgroup(machine: Machine, known: Sequence[np.ndarray]) -> np.ndarray:
    """Return a mask of the subgroups whose executing invocations all have defined operands."""
    defined = reduce(np.logical_and, known) | ~machine.mask
    starts = np.arange(0, machine.lanes, machine.subgroup_size)
    whole = np.logical_and.reduceat(defined, starts)
    return np.repeat(whole, machine.subgroup_size)[: machine.lanes]
