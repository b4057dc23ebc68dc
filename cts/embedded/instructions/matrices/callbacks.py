"""Functions that an instruction calls for elements: Func, CombineFunc and DecodeFunc of SPV_NV_cooperative_matrix2.

The specification says which elements such a function is called for, and that calls may be repeated and have no order. It does not say
which invocation makes a call. So each element is its own lane, and this device calls the function once for each. Anything that depends on
the invocation or on the number of calls stops the kernel (F-CM2-10): values that differ between the invocations of the matrix's scope, and
writes to any variable that is not the function's own. Per-element operations may do writes that a repeated call does not change
(cts.embedded.memory.element_accesses). Tangled instructions are not allowed (CM2-TGL-02).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.faults import replaceable
from cts.embedded.machine.machine import Function
from cts.embedded.machine.pointers import AddressPointer, Cell, CellPointer
from cts.embedded.module.translation import RESULT_OPS, Translation, Words
from cts.embedded.rules.arithmetic import MATRIX_ARITHMETIC, MATRIX_CONVERSIONS
from cts.embedded.types.spirv_types import (
    Array,
    Bool,
    FunctionType,
    MatrixType,
    Number,
    PointerType,
    Struct,
    Type,
    Vector,
)
from cts.embedded.types.values import UNDEFINED, Undefined, Value, parts_of, settle, varies
from generators.spirv.enumerants import Op, StorageClass
from generators.types import Scope

RULE = "F-CM2-10"

_NOT_TANGLED = frozenset({Op.CooperativeMatrixLengthKHR, Op.CooperativeMatrixLengthNV, Op.CooperativeMatrixGetCoordinateEXT})
_TANGLED_PREFIXES = ("Group", "Subgroup", "ControlBarrier", "CooperativeMatrix", "DPdx", "DPdy", "Fwidth")
_TANGLED_ON_MATRICES = (
    MATRIX_ARITHMETIC | MATRIX_CONVERSIONS | {Op.MatrixTimesScalar, Op.CompositeConstruct, Op.CompositeConstructReplicateEXT}
)


@dataclass(frozen=True)
class Lanes:
    """The elements that a function is called for.

    Attributes:
        scope: the matrix's scope.
        instances: the scope instance of each element: int64 of shape (elements,).
    """

    scope: Scope
    instances: np.ndarray


class Callback:
    """A function operand of a matrix instruction.

    Attributes:
        op: the instruction.
        matrix: type of the matrix for whose elements it calls the function.
        type: the function's type.
        what: the name of the operand, for messages.

    Raises:
        Violation: the operand is not a function (``rule``), or the function contains a tangled instruction.
    """

    def __init__(self, translation: Translation, op: Op, matrix: MatrixType, id_: int, rule: str, what: str) -> None:
        self._translation = translation
        self.op = op
        self.matrix = matrix
        self.what = what
        self._call = translation.performing(call)
        self._of_instances = translation.performing(of_instances)
        bodies = _bodies(translation)
        if id_ not in bodies:
            raise Violation(rule, f"{what} is not a function")
        first = bodies[id_][0][1]
        type_ = translation.types[first[3]]
        assert isinstance(type_, FunctionType)
        self.type = type_
        self._function: Function = translation.functions[id_]
        self._ids, self._cells = _reach(translation, bodies, id_, what)

    def call(self, lanes: Lanes, arguments: Sequence[Value]) -> Value:
        """Return the function's value for each element: an array of shape (elements,), a scalar if all agree, or undefined.

        Args:
            lanes: the elements.
            arguments: scalars or arrays of shape (elements,). ``per_element`` makes them from values of invocations.

        Raises:
            Violation: undefined behaviour.
        """
        return self._call(self, lanes, arguments)

    def perform(self, lanes: Lanes, arguments: Sequence[Value]) -> Value:
        """Call the function as ``call`` does, without faults."""
        machine, values = self._translation.machine, self._translation.values
        groups = lanes.instances + 1 if lanes.scope is Scope.SUBGROUP else np.full(lanes.instances.size, int(machine.subgroups == 1))
        outer = [(id_, values[id_]) for id_ in self._cells]
        for id_, pointer in outer:
            name = self._translation.name(id_)
            values[id_] = self.per_element(lanes, self._translation.type_of[id_], pointer, f"'{name}', which {self.what} reads,")
        self._forget()
        index = machine.index
        result = machine.call_for_elements(self._function, arguments, groups, self.op is Op.CooperativeMatrixPerElementOpEXT)
        machine.index = index
        self._forget()
        for id_, pointer in outer:
            values[id_] = pointer
        return result

    def per_element(self, lanes: Lanes, type_: Type, value: Value, what: str) -> Value:
        """Return a value of the invocations as an argument of the calls for elements.

        Raises:
            Violation: the value differs between the invocations of a scope instance, so the result would depend on the calling invocation.
        """
        machine = self._translation.machine
        match type_:
            case Number() | Bool():
                value = settle(value, machine.mask)
                return self._of_instances(machine.uniform(value, lanes.scope, what, RULE), lanes)
            case Vector() | Array() | Struct():
                if value is UNDEFINED:
                    return UNDEFINED
                return tuple(self.per_element(lanes, part, constituent, what) for part, constituent in parts_of(type_, value))
            case PointerType():
                return self._pointer(lanes, value, what)
            case _:
                raise Unsupported(f"{what} is a {type_} in a function that is called for elements")

    def _pointer(self, lanes: Lanes, pointer: Value, what: str) -> Value:
        machine = self._translation.machine

        def place(offset: Value) -> Value:
            return self._of_instances(machine.uniform(offset, lanes.scope, what, RULE), lanes)

        if isinstance(pointer, AddressPointer):
            return AddressPointer(pointer.space, place(pointer.address))
        if isinstance(pointer, CellPointer):
            cell = pointer.cell
            found: Value
            try:
                found = self.per_element(lanes, cell.type, cell.value, what)
            except (Violation, Unsupported) as error:
                found = error
            return CellPointer(_CallersCell(cell, found), tuple(map(place, pointer.path)), pointer.mapping)
        if isinstance(pointer, Undefined):
            return pointer
        raise Unsupported(f"{what} is a kind of pointer that functions called for elements cannot get")

    def _forget(self) -> None:
        """Forget the values of the function's last call, because they belong to other lanes."""
        values = self._translation.values
        for id_ in self._ids:
            values[id_] = None


class _CallersCell(Cell):
    """A variable of the invocations, as calls for elements see it.

    Calls can read it if its value does not depend on which invocation makes the call.
    """

    __slots__ = ("_found",)

    def __init__(self, cell: Cell, found: Value) -> None:
        self.type = cell.type
        self.name = cell.name
        self._found = found

    @property
    def value(self) -> Value:
        """The value that all invocations have in the variable.

        Raises:
            Violation: the values differ.
        """
        if isinstance(self._found, Violation | Unsupported):
            raise self._found
        return self._found

    @value.setter
    def value(self, _: Value) -> None:
        raise Violation(RULE, f"a function that is called for elements writes '{self.name}', a variable of an unspecified invocation")


@replaceable
def call(callback: Callback, lanes: Lanes, arguments: Sequence[Value]) -> Value:
    """Return the function's value for each element: see ``Callback.call``."""
    return callback.perform(lanes, arguments)


@replaceable
def of_instances(value: Value, lanes: Lanes) -> Value:
    """Return the value of each element's scope instance."""
    return value[lanes.instances] if varies(value) else value


_Body = list[tuple[int, Words, Op]]
"""The instructions of a function: number, operands and opcode of each."""


def _bodies(translation: Translation) -> dict[int, list[tuple[int, Words, Op]]]:
    """Return function id -> instructions."""
    bodies: dict[int, _Body] = {}
    body: _Body = []
    for number, (op, words, _) in enumerate(translation.function_instructions, translation.first_function):
        if op is Op.Function:
            body = bodies[words[1]] = []
        body.append((number, words, op))
    return bodies


def _reach(translation: Translation, bodies: dict[int, _Body], first: int, what: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the results of a function and of the functions that it calls, and the variables of the invocation that they mention.

    Raises:
        Violation: a tangled instruction; ``translation.index`` is its number.
    """
    kept = {one.id for one in translation.variables.values() if one.storage in (StorageClass.Private, StorageClass.Input)}
    pending, seen, results, mentioned = [first], {first}, [], set()
    before = translation.index
    while pending:
        for number, words, op in bodies[pending.pop()]:
            if op is Op.Function:
                continue
            translation.index = number
            if _is_tangled(translation, op, words):
                raise Violation("CM2-TGL-02", f"Op{op.name} is tangled, but {what} calls it for elements")
            mentioned |= kept.intersection(words)
            if op in RESULT_OPS:
                results.append(words[1])
            if op is Op.FunctionCall and words[2] not in seen:
                seen.add(words[2])
                pending.append(words[2])
    translation.index = before
    return tuple(results), tuple(sorted(mentioned))


def _is_tangled(translation: Translation, op: Op, words: Words) -> bool:
    if op.name.startswith(_TANGLED_PREFIXES):
        return op not in _NOT_TANGLED
    return op in _TANGLED_ON_MATRICES and isinstance(translation.types[words[0]], MatrixType)
