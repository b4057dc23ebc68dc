"""Instructions on composites: vectors, arrays, structs, and cooperative matrices, whose parts are an invocation's components."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.instructions.arithmetic.elementwise import on_values
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.elements import NO_ELEMENT, component_counts, element_table
from cts.embedded.machine.machine import Run
from cts.embedded.machine.pointers import get_component, out_of_range, set_component
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import is_int32, is_number
from cts.embedded.types.spirv_types import MatrixType, Number, Type, Vector, constituent_count, constituent_type
from cts.embedded.types.values import UNDEFINED, Partly, Undefined, Value, blend, expand, settle, signed_index
from generators.spirv.enumerants import Op

_UNDEFINED_COMPONENT = 0xFFFFFFFF


@computes(Op.CompositeConstruct)
def _construct(translation: Translation, words: Words) -> Run:
    type_ = translation.types[words[0]]
    operands, values = words[2:], translation.values
    if isinstance(type_, MatrixType):
        if len(operands) != 1 or not _is_component(translation.type_of[operands[0]], type_):
            raise Violation("KHR-COMP-02", f"a {type_} is constructed of one scalar of its component type")
        return _splat(translation, type_, operands[0])
    if isinstance(type_, Vector) and len(operands) != type_.count:
        widths = [t.count if isinstance(t := translation.type_of[o], Vector) else 0 for o in operands]

        def flatten() -> Value:
            parts: list[Value] = []
            for width, operand in zip(widths, operands, strict=True):
                parts += expand(values[operand], width) if width else (values[operand],)
            return tuple(parts)

        return flatten
    return lambda: tuple(values[o] for o in operands)


def _is_component(type_: Type, matrix: MatrixType) -> bool:
    return isinstance(type_, Number) and type_.dtype == matrix.number.dtype


def _splat(translation: Translation, type_: MatrixType, operand: int) -> Run:
    values, machine = translation.values, translation.machine

    def run() -> Value:
        machine.active_instances(type_.scope)
        value = machine.uniform(values[operand], type_.scope, "the constituent")
        return value if isinstance(value, Undefined) else translation.splat(type_, value)

    return run


@computes(Op.CompositeConstructReplicateEXT)
def _replicate(translation: Translation, words: Words) -> Run:
    type_ = translation.types[words[0]]
    if isinstance(type_, MatrixType):
        return _splat(translation, type_, words[2])
    count, values, operand = constituent_count(type_), translation.values, words[2]
    return lambda: (values[operand],) * count


@computes(Op.CompositeExtract)
def _extract(translation: Translation, words: Words) -> Run:
    values, machine, mapping = translation.values, translation.machine, translation.settings.mapping
    composite, path = words[2], words[3:]
    type_ = translation.type_of[composite]
    steps: list[tuple[Type, int]] = []
    for index in path:
        steps.append((type_, index))
        type_ = constituent_type(type_, index)
    if len(path) == 1 and not isinstance(steps[0][0], MatrixType):
        (index,) = path

        def element() -> Value:
            if values[composite] is UNDEFINED:
                return UNDEFINED
            found = values[composite][index]
            return settle(found, machine.mask) if found.__class__ is Partly else found

        return element

    def run() -> Value:
        value = values[composite]
        for container, index in steps:
            if isinstance(container, MatrixType):
                value = get_component(machine, container, value, index, mapping)
            else:
                value = UNDEFINED if value is UNDEFINED else value[index]
        return value

    return run


@computes(Op.CompositeInsert)
def _insert(translation: Translation, words: Words) -> Run:
    values, machine, mapping = translation.values, translation.machine, translation.settings.mapping
    new, composite, path = words[2], words[3], words[4:]
    type_ = translation.types[words[0]]

    def insert(container: Type, old: Value, rest: Words) -> Value:
        if not rest:
            return values[new]
        if isinstance(container, MatrixType):
            return set_component(machine, container, old, rest[0], values[new], mapping)
        parts = list(expand(old, constituent_count(container)))
        parts[rest[0]] = insert(constituent_type(container, rest[0]), parts[rest[0]], rest[1:])
        return tuple(parts)

    return lambda: insert(type_, values[composite], path)


@computes(Op.VectorShuffle)
def _shuffle(translation: Translation, words: Words) -> Run:
    values, a, b, picks = translation.values, words[2], words[3], words[4:]
    types = translation.type_of[a], translation.type_of[b]
    assert isinstance(types[0], Vector)
    assert isinstance(types[1], Vector)
    first, second = types[0].count, types[1].count

    def run() -> Value:
        parts = expand(values[a], first) + expand(values[b], second)
        return tuple(UNDEFINED if pick == _UNDEFINED_COMPONENT else parts[pick] for pick in picks)

    return run


@computes(Op.VectorExtractDynamic)
def _extract_dynamic(translation: Translation, words: Words) -> Run:
    values, machine, vector, index = translation.values, translation.machine, words[2], words[3]
    type_, index_type = translation.type_of[vector], translation.number_of(translation.type_of[index])
    assert isinstance(type_, Vector)
    count, element = type_.count, type_.element

    def run() -> Value:
        at, parts = signed_index(values[index], index_type), expand(values[vector], count)
        if not isinstance(at, np.ndarray):
            if not 0 <= at < count:
                raise Violation("SPIR-V 3.42.12 OpVectorExtractDynamic", f"{out_of_range(at, count)}")
            return parts[at]
        outside = machine.mask & ((at < 0) | (at >= count))
        if outside.any():
            raise Violation("SPIR-V 3.42.12 OpVectorExtractDynamic", f"{out_of_range(int(at[outside][0]), count)}")
        result = parts[0]
        for i in range(1, count):
            result = blend(element, at == i, parts[i], result)
        return settle(result, machine.mask)

    return run


@computes(Op.VectorInsertDynamic)
def _insert_dynamic(translation: Translation, words: Words) -> Run:
    values, machine, vector, new, index = translation.values, translation.machine, words[2], words[3], words[4]
    type_, index_type = translation.types[words[0]], translation.number_of(translation.type_of[index])
    assert isinstance(type_, Vector)
    count, element = type_.count, type_.element

    def run() -> Value:
        at, parts = signed_index(values[index], index_type), list(expand(values[vector], count))
        outside = machine.mask & ~np.logical_and(np.greater_equal(at, 0), np.less(at, count))
        if outside.any():
            first = int(np.broadcast_to(at, outside.shape)[outside][0])
            raise Violation("SPIR-V 3.42.12 OpVectorInsertDynamic", f"{out_of_range(first, count)}")
        if not isinstance(at, np.ndarray):
            parts[at] = values[new]
            return tuple(parts)
        return tuple(blend(element, at == i, values[new], part) for i, part in enumerate(parts))

    return run


@computes(Op.CopyObject, Op.CopyLogical)
def _copy(translation: Translation, words: Words) -> Run:
    return on_values(translation, words[2:], lambda value: value)


@computes(Op.Undef)
def _undefined(translation: Translation, words: Words) -> Run:
    type_ = translation.types[words[0]]
    if translation.settings.strict:
        return lambda: UNDEFINED
    value = translation.zero(type_)
    return lambda: value


@computes(Op.CooperativeMatrixLengthKHR, Op.CooperativeMatrixLengthNV)
def _length(translation: Translation, words: Words) -> Run:
    result, type_ = translation.types[words[0]], translation.types[words[2]]
    if not isinstance(type_, MatrixType):
        raise Violation("KHR-LEN-01", "the length of a type that is not a cooperative matrix")
    if not is_number(result, "u32"):
        raise Violation("KHR-LEN-01", "the length of a cooperative matrix is a 32-bit unsigned integer")
    instances = translation.machine.instances(type_.scope)
    counts = component_counts(translation.settings.mapping, type_.rows, type_.columns, translation.machine.lanes // instances)
    length: Value = int(counts[0])
    if (counts != counts[0]).any():
        length = np.tile(counts.astype(np.uint32), instances)
        return lambda: _own_length(translation, length)
    return lambda: length


def _own_length(translation: Translation, lengths: np.ndarray) -> Value:
    if translation.machine.callback:
        raise Violation("F-CM2-10", "a function that is called for elements asks for a length that differs between invocations")
    return lengths


@computes(Op.CooperativeMatrixGetCoordinateEXT)
def _coordinate(translation: Translation, words: Words) -> Run:
    what = "OpCooperativeMatrixGetCoordinateEXT"
    matrix, index = translation.matrix_type(words[2], "M1-COORD-02", "the matrix"), words[3]
    result, index_type = translation.types[words[0]], translation.type_of[index]
    if not isinstance(result, Vector) or result.count != 2 or not is_int32(result.element):
        raise Violation("M1-COORD-02", "the result is not a vector of two 32-bit integers")
    if not is_int32(index_type):
        raise Violation("M1-COORD-02", "the index is not a 32-bit integer")
    values, machine = translation.values, translation.machine
    instances = machine.instances(matrix.scope)
    table = element_table(translation.settings.mapping, matrix.rows, matrix.columns, machine.lanes // instances)
    lanes, number = np.tile(np.arange(table.shape[1]), instances), translation.number_of(index_type)

    def run() -> Value:
        # The instruction is not tangled, but the type binds every instruction with a matrix as its operand (F-M1-2).
        machine.active_instances(matrix.scope)
        at = np.broadcast_to(np.asarray(signed_index(values[index], number)), lanes.shape)
        inside = (at >= 0) & (at < table.shape[0])
        found = table[np.where(inside, at, 0), lanes]
        if ((~inside | (found == NO_ELEMENT)) & machine.mask).any():
            raise Violation("M1-COORD-03", f"{what} of a component that the invocation does not have")
        safe = np.where(found == NO_ELEMENT, 0, found)
        return (safe // matrix.columns).astype(np.uint32), (safe % matrix.columns).astype(np.uint32)

    return run
