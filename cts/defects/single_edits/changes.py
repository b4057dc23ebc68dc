"""What a wrong device makes of a value: an operand, or a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.defects.defect import Defect
from cts.defects.edits import of_first
from cts.defects.evaluation import Substitute, Trace
from cts.defects.single_edits.places import Path, Place, component_of, places_of, with_operand
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest
from generators.program.functions import Call
from generators.program.operation import Operation
from generators.program.scalars import BuiltInScalar, InstanceIndex, ScalarArithmetic
from generators.program.values import AnyValue, ArrayType, Operand, Value, literal
from generators.types import COMPONENT_TYPES, ComponentType

_NARROW = ("f16", "bf16", "u16", "u8")
"""Types that an operand may be narrowed to."""

_DATA = frozenset({"value", "matrix", "vector"})
"""Operands that an operation without result stores."""

Change = Callable[[np.ndarray, ComponentType], np.ndarray]
"""Takes bits of a component type, and returns other bits of it."""


def _fewer_bits(narrow: ComponentType) -> Change:
    def change(raw: np.ndarray, component: ComponentType) -> np.ndarray:
        if component.is_float:
            return encode(component, nearest(narrow, values(raw, component)))
        return np.asarray(raw & component.bits_dtype.type((1 << narrow.bits) - 1), component.bits_dtype)

    return change


def _without_sign(raw: np.ndarray, component: ComponentType) -> np.ndarray:
    dtype = component.bits_dtype
    if component.is_float:
        return np.asarray(raw & dtype.type((1 << component.bits - 1) - 1), dtype)
    negative = (raw >> dtype.type(component.bits - 1)) != 0
    return np.where(negative, (~raw + dtype.type(1)).astype(dtype), raw)


def plus(number: int) -> Change:
    """Return the change that adds a number, modulo the size of the type."""
    return lambda raw, component: (raw + component.bits_dtype.type(number % (1 << component.bits))).astype(component.bits_dtype)


def changes_of(type_: object) -> Iterator[tuple[str, Change, dict[str, str]]]:
    """Yield what a wrong device makes of a value: the end of a name in the glossary's area, the change, and parameters of the defect."""
    component = component_of(type_)
    if component is None:
        return
    yield "zero", lambda raw, _: np.zeros_like(raw), {}
    if type_ is component and not component.is_float:
        yield "one_more", plus(1), {}
        yield "one_less", plus(-1), {}
    yield "of_first_instance", lambda raw, _: of_first(raw), {}
    for narrow in map(COMPONENT_TYPES.__getitem__, _NARROW):
        if narrow.is_float == component.is_float and narrow.bits < component.bits:
            yield "narrowed", _fewer_bits(narrow), {"type": narrow.name}
    if component.is_float or component.is_signed:
        yield "sign_lost", _without_sign, {}


def _written(state: State, name: str, component: ComponentType, change: Change, to: str) -> None:
    """Give the value ``to`` what a wrong device makes of the value ``name``."""
    if name in state.matrices:
        matrix = state.matrices[name]
        state.matrices[to] = MatrixValue(matrix.component, np.ascontiguousarray(change(matrix.bits, component)))
    else:
        state.scalars[to] = change(state.scalars[name].astype(component.bits_dtype), component).astype(np.uint64)


def _wrong(state: State, value: AnyValue | Operand, component: ComponentType, change: Change) -> AnyValue | Operand:
    """Return what a wrong device makes of an operand."""
    if isinstance(value, Operand):
        raw = np.array([state.operand(value)]).astype(component.bits_dtype)
        return literal(component, int(change(raw, component)[0]))
    wrong: AnyValue = Value(f"{value.name} as a wrong device takes it", value.type)
    _written(state, value.name, component, change, wrong.name)
    return wrong


@dataclass(frozen=True)
class Changed:
    """A step that performs the operation with another value of an operand, or changes its result.

    Attributes:
        value: the operand, or the result.
        change: what the device makes of it.
        path: where the operand is; empty for the result.
    """

    value: AnyValue | Operand
    component: ComponentType
    change: Change
    path: Path = ()

    def __call__(self, state: State, operation: Any) -> None:
        value = self.value
        if not self.path:
            perform(state, operation)
            _written(state, value.name, self.component, self.change, value.name)
            return
        perform(state, with_operand(operation, self.path, _wrong(state, value, self.component, self.change)))

    def alters(self, trace: Trace) -> bool:
        """Tell whether the right value would become another one, as far as it is known."""
        known = [bits.astype(self.component.bits_dtype) for bits in trace.bits(self.value)]
        return not known or not all(np.array_equal(self.change(bits, self.component), bits) for bits in known)


def may_change(defect: Defect, trace: Trace) -> bool:
    """Tell whether a defect may change anything in a subcase."""
    with np.errstate(all="ignore"):
        return any(not isinstance(step, Changed) or step.alters(trace) for step in defect.substitutes.values())


def _bent(raw: np.ndarray, component: ComponentType) -> np.ndarray:
    """Change every element, so that changing it again does not restore it. A float keeps its exponent; zero becomes one."""
    if not component.is_float:
        # Each half changes, because a bit cast may divide the integer; floats stay normal.
        return plus(sum(1 << place for place in range(0, component.bits, 16)))(raw, component)
    sign, low = (component.bits_dtype.type(one) for one in (1 << component.bits - 1, 3))
    other = (raw ^ sign) & ~low | (raw + component.bits_dtype.type(1)) & low
    return np.asarray(np.where(raw & ~sign == 0, encode(component, np.ones(1))[0], other), component.bits_dtype)


def probe(operation: Operation, trace: Trace) -> Substitute | None:
    """Build a step that changes what an operation gives, to see what depends on it; None if that is not
    known. A function may also write.

    Integers that the program computes become zero, which is an index of each array.
    """
    if isinstance(operation, Call):
        return None
    made = getattr(operation, "result", None)
    component = component_of(made.type) if isinstance(made, Value) else None
    if made is not None and component is not None and not isinstance(made.type, ArrayType):
        is_index = isinstance(operation, ScalarArithmetic | InstanceIndex | BuiltInScalar) and not component.is_float
        step = Changed(made, component, (lambda raw, _: np.zeros_like(raw)) if is_index else _bent)
        return step if step.alters(trace) else None
    stored = [place for place in places_of(operation) if place.path[-1] in _DATA] if made is None else []
    return probe_of_operands(stored) if stored else None


def probe_of_operands(places: Sequence[Place]) -> Substitute:
    """Build a step that performs the operation with changed operands."""

    def step(state: State, operation: Any) -> None:
        changed = operation
        for place in places:
            component = component_of(place.value.type)
            if component is not None:
                changed = with_operand(changed, place.path, _wrong(state, place.value, component, _bent))
        perform(state, changed)

    return step
