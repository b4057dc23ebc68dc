"""Single edits of any instruction, generated from its declaration: one operand is another value, or the instruction does something else.

The mistakes of the other modules are known ones, with sentences of their own. These are for failures that no known mistake explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.defects.defect import Defect
from cts.defects.edits import Edit, bits, given, of_first, skipped, then
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest
from generators.program.control_flow import Stated
from generators.program.operation import Effect, Operation, Part
from generators.program.program import Program
from generators.program.values import AnyValue, Operand, Value, literal
from generators.program.walking import flattened, results
from generators.types import COMPONENT_TYPES, ComponentType, Layout

Path = tuple[str | int, ...]
"""How to reach an operand from its operation: names of fields and indices of tuples."""

_EARLIER = 2
"""How many earlier results of the same type are tried in place of an operand."""


@dataclass(frozen=True)
class _Place:
    path: Path
    value: AnyValue | Operand

    @property
    def words(self) -> str:
        first, *rest = self.path
        return str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)


def _places(part: Part) -> Iterator[_Place]:
    """Yield the operands of an operation, except those of operations inside it."""
    for name, field in vars(part).items():
        if name not in part.defines:
            yield from _inside(field, (name,))


def _inside(field: object, path: Path) -> Iterator[_Place]:
    if isinstance(field, Value | Operand):
        yield _Place(path, field)
    elif isinstance(field, tuple):
        for index, one in enumerate(field):
            yield from _inside(one, (*path, index))
    elif isinstance(field, Part) and not isinstance(field, Operation):
        for place in _places(field):
            yield _Place((*path, *place.path), place.value)


def _with(part: Any, path: Path, value: object) -> Any:
    """Return an operation, a part or a tuple with another value at a place."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        return (*part[:first], _with(part[first], tuple(rest), value), *part[first + 1 :])
    return replace(part, **{first: _with(getattr(part, first), tuple(rest), value)})


def _is_integer(value: AnyValue | Operand) -> bool:
    return isinstance(value.type, ComponentType) and not value.type.is_float


def _component(value: AnyValue | Operand) -> ComponentType | None:
    return value.type if isinstance(value.type, ComponentType) else getattr(value.type, "component", None)


def _fewer_bits(narrow: ComponentType) -> Callable[[np.ndarray, ComponentType], np.ndarray]:
    def change(raw: np.ndarray, component: ComponentType) -> np.ndarray:
        if component.is_float:
            return encode(component, nearest(narrow, values(raw, component)))
        kept = raw & component.bits_dtype.type((1 << narrow.bits) - 1)
        return np.asarray(kept, component.bits_dtype)

    return change


def _without_sign(raw: np.ndarray, component: ComponentType) -> np.ndarray:
    dtype = component.bits_dtype
    if component.is_float:
        return np.asarray(raw & dtype.type((1 << component.bits - 1) - 1), dtype)
    negative = (raw >> dtype.type(component.bits - 1)) != 0
    return np.where(component.is_signed & negative, (~raw + dtype.type(1)).astype(dtype), raw)


def _plus(number: int) -> Callable[[np.ndarray, ComponentType], np.ndarray]:
    return lambda raw, component: (raw + component.bits_dtype.type(number % (1 << component.bits))).astype(component.bits_dtype)


Change = Callable[[np.ndarray, ComponentType], np.ndarray]
"""Takes bits of a component type, and returns other bits of it."""

_NARROW = ("f16", "bf16", "u16", "u8")
"""Types that an operand may be narrowed to."""


def _changes(component: ComponentType, integer_scalar: bool) -> Iterator[tuple[str, Change, dict[str, str]]]:
    """Yield what a wrong device makes of a value: the end of a name in the glossary's area, the change, and parameters of the defect."""
    yield "zero", lambda raw, _: np.zeros_like(raw), {}
    yield "of_first_instance", lambda raw, _: of_first(raw), {}
    if integer_scalar:
        yield "one_more", _plus(1), {}
        yield "one_less", _plus(-1), {}
        yield "sixteen_more", _plus(16), {}
    for narrow in map(COMPONENT_TYPES.__getitem__, _NARROW):
        if narrow.is_float == component.is_float and narrow.bits < component.bits:
            yield "narrowed", _fewer_bits(narrow), {"type": narrow.name}
    if component.is_float or component.is_signed:
        yield "sign_lost", _without_sign, {}


def _taken(path: Path, place: AnyValue | Operand, change: Change) -> Substitute:
    """Build a step that performs the operation with another value of an operand."""
    component = _component(place)
    assert component is not None

    def step(state: State, operation: Any) -> None:
        wrong: AnyValue | Operand = Value(f"{place.name} as a wrong device takes it", place.type)
        if isinstance(place, Operand):
            raw = np.array([state.operand(place)]).astype(component.bits_dtype)
            wrong = literal(component, int(change(raw, component)[0]))
        elif place.name in state.matrices:
            right = state.matrices[place.name]
            state.matrices[wrong.name] = MatrixValue(right.component, np.ascontiguousarray(change(right.bits, component)))
        else:
            raw = state.scalars[place.name].astype(component.bits_dtype)
            state.scalars[wrong.name] = change(raw, component).astype(np.uint64)
        perform(state, _with(operation, path, wrong))

    return step


def _changed(change: Change, component: ComponentType) -> Edit:
    return bits(lambda raw: change(raw, component))


def _swapped(path: Path, other: AnyValue | Operand) -> Substitute:
    return lambda state, operation: perform(state, _with(operation, path, other))


def _twice(state: State, operation: Operation) -> None:
    perform(state, operation)
    perform(state, operation)


def _half(state: State, operation: Any) -> None:
    """Let only the first half of the instances perform the operation."""
    count = len(state.instances)
    if count < 2:
        raise ValueError("a single instance has no half")
    part = state.part(np.arange(count // 2))
    perform(part, operation)


_OTHER_LAYOUT = MappingProxyType({Layout.ROW_MAJOR: Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR: Layout.ROW_MAJOR})


def _name(operation: Operation) -> str:
    made = next(iter(results(operation)), None)
    return f"the {type(operation).__name__}" + (f" that gives {made.name}" if made is not None else "")


@dataclass(frozen=True)
class _SingleEdit:
    """A mistake in one operation.

    Attributes:
        name: of the entry in the glossary's area ``single_edit``.
        step: what the device does in place of the operation.
        where: parameters of the defect, except of those that name the operation.
        shared: whether all operations of the class can have the same mistake.
    """

    name: str
    step: Substitute
    where: Mapping[str, str]
    shared: bool = True


def single_edits(program: Program) -> Iterator[Defect]:
    """Yield the single edits of the operations of ``program``, in its order; then each mistake in all operations of a class at once."""
    earlier: list[AnyValue] = []
    together: dict[tuple[str, ...], dict[Operation, _SingleEdit]] = {}
    for operation in flattened(program.operations, effects=True):
        if isinstance(operation, Stated | Effect):
            continue
        kind = type(operation).__name__
        for edit in _edits_of(operation, earlier):
            yield _defect(edit, {operation: edit.step}, _name(operation), kind)
            if edit.shared:
                together.setdefault((kind, edit.name, *edit.where.values()), {})[operation] = edit
        earlier.extend(results(operation))
    for (kind, *_), edits in together.items():
        if len(edits) > 1:
            yield _defect(next(iter(edits.values())), {operation: edit.step for operation, edit in edits.items()}, EVERY, kind)


def _defect(edit: _SingleEdit, steps: Mapping[Operation, Substitute], instruction: ParameterValue, kind: str) -> Defect:
    return Defect(f"single_edit.{edit.name}", steps, {"instruction": instruction, "class": kind, **edit.where})


def _edits_of(operation: Operation, earlier: list[AnyValue]) -> Iterator[_SingleEdit]:
    places = list(_places(operation))
    for place in places:
        where, component = {"operand": place.words}, _component(place.value)
        if component is not None:
            for name, change, kinds in _changes(component, _is_integer(place.value)):
                if name != "of_first_instance" or not isinstance(place.value, Operand):
                    yield _SingleEdit(f"operand_{name}", _taken(place.path, place.value, change), where | kinds)
        others = {one.value: one.words for one in places if one.value.type == place.value.type and one.value != place.value}
        for other, words in others.items():
            yield _SingleEdit("operand_sibling", _swapped(place.path, other), where | {"other": words})
        before = [one for one in earlier if one.type == place.value.type and one != place.value and one not in others]
        for value in before[-_EARLIER:]:
            yield _SingleEdit("operand_earlier", _swapped(place.path, value), where | {"other": value.name}, shared=False)
    made = getattr(operation, "result", None)
    if isinstance(made, Value):
        component = _component(made)
        if component is not None and not isinstance(made.type, ComponentType):
            for name, change, kinds in _changes(component, False):
                yield _SingleEdit(f"result_{name}", then(_changed(change, component)), kinds)
    elif not any(results(operation)):
        yield from (_SingleEdit(name, step, {}) for name, step in (("skipped", skipped), ("twice", _twice), ("half", _half)))
    for name, field in vars(operation).items():
        if isinstance(field, Layout) and field in _OTHER_LAYOUT:
            yield _SingleEdit("other_layout", given(**{name: _OTHER_LAYOUT[field]}), {})
