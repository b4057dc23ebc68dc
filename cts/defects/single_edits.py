"""Single edits of any instruction, generated from its declaration: one operand is another value, or the instruction does something else.

The mistakes of the other modules are known ones, with sentences of their own. These are for failures that no known mistake explains.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, combinations, pairwise, takewhile
from operator import ne
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from cts.defects.copying_loops import copying_loop, in_copies
from cts.defects.defect import Defect
from cts.defects.edits import of_first, skipped
from cts.defects.evaluation import Substitute, Trace
from cts.defects.glossary import EVERY, ParameterValue
from cts.reference.control_flow import repeat, trip_counts
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.formats import encode, values
from generators.numerics.rounding import nearest
from generators.program.control_flow import Loop, PerInvocation, Stated
from generators.program.functions import Call, Function, passed_type
from generators.program.memory import Array
from generators.program.operation import Effect, Operation, Part
from generators.program.program import Program
from generators.program.scalars import BuiltInScalar, InstanceIndex, ScalarArithmetic
from generators.program.values import AnyValue, ArrayType, Operand, Value, is_cooperative_vector, is_matrix, literal
from generators.program.walking import flattened, results
from generators.types import COMPONENT_TYPES, ComponentType

Path = tuple[str | int, ...]
"""How to reach an operand from its operation: names of fields and indices of tuples."""

_EARLIER = 2
"""How many earlier results of the same type are tried in place of an operand."""

_WITHOUT_MEANING = frozenset(
    {"hint", "control", "memory", "name", "no_contraction", "non_uniform", "ordered", "place", "replicated", "robust"}
)
"""Fields that change no result of the reference model, or that say only how a module declares a value."""

_ADDRESSES = frozenset({"first", "index", "offset"})
"""Operands that are an index of an access chain."""

_CONFUSED = (
    {"add", "subtract", "multiply"},
    {"divide", "modulo"},
    {"signed_divide", "unsigned_divide"},
    {"and", "or", "xor"},
    {"shift_left", "shift_right", "shift_right_logical", "shift_right_arithmetic"},
)
"""Operators that are taken for each other; a relation or another word may be taken for any other."""

_NARROW = ("f16", "bf16", "u16", "u8")
"""Types that an operand may be narrowed to."""

_LOADED = frozenset({"push_constant", "buffer"})
"""Sources of operands that a shader loads."""

_UNLIKELY = ("of_first_instance", "narrowed", "sign_lost", "twice", "half", "again")
"""Ends of the names of mistakes that are tried after all others."""

WIDE = 8
"""An operation with more operands of one type than this is wide: most of its edits take one of them in place of another."""

_DATA = frozenset({"value", "matrix", "vector"})
"""Operands that an operation without result stores."""

Change = Callable[[np.ndarray, ComponentType], np.ndarray]
"""Takes bits of a component type, and returns other bits of it."""


@dataclass(frozen=True)
class Place:
    """An operand of an operation: a value, or a constant such as a layout, a flag or an index."""

    path: Path
    value: Any

    @property
    def words(self) -> str:
        first, *rest = self.path
        return str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)

    @property
    def is_value(self) -> bool:
        return isinstance(self.value, Value | Operand)


def _places(part: Part) -> Iterator[Place]:
    """Yield the operands of an operation, except those of operations inside it."""
    for name, field in vars(part).items():
        if name not in part.defines and name not in _WITHOUT_MEANING:
            yield from _inside(field, (name,))


def _inside(field: object, path: Path) -> Iterator[Place]:
    if isinstance(field, Value | Operand | Array | int | enum.Enum | str):
        yield Place(path, field)
    elif isinstance(field, tuple):
        for index, one in enumerate(field):
            yield from _inside(one, (*path, index))
    elif isinstance(field, Part) and not isinstance(field, Operation):
        for place in _places(field):
            yield Place((*path, *place.path), place.value)


def _with(part: Any, path: Path, value: object) -> Any:
    """Return an operation, a part or a tuple with another value at a place."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        return (*part[:first], _with(part[first], tuple(rest), value), *part[first + 1 :])
    return replace(part, **{first: _with(getattr(part, first), tuple(rest), value)})


@cache
def _words_of(part: type) -> Mapping[str, tuple[str, ...]]:
    """Return the words that each field of a class may have, if it is declared as one of some words."""
    return {name: get_args(hint) for name, hint in get_type_hints(part).items() if get_origin(hint) is Literal}


def _others(operation: Operation, place: Place, arrays: Sequence[Array]) -> Iterator[Any]:
    """Yield other constants of the same kind, or other arrays."""
    value = place.value
    if isinstance(value, Array):
        yield from (one for one in arrays if one.name != value.name and one.pointee == value.pointee)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, enum.Flag):
        yield from (value ^ bit for bit in type(value))
    elif isinstance(value, enum.Enum):
        yield from (one for one in type(value) if one is not value)
    elif isinstance(value, int):
        yield from (one for one in dict.fromkeys((0, value - 1, value + 1)) if one != value and one >= 0)
    elif isinstance(value, str):
        owner: Any = operation
        for step in place.path[:-1]:
            owner = owner[step] if isinstance(step, int) else getattr(owner, step)
        of_class: Any = type(owner)
        known = _words_of(of_class) if isinstance(owner, Part) else {}
        alike = next((group for group in _CONFUSED if value in group), None)
        yield from (one for one in known.get(str(place.path[-1]), ()) if one != value and (alike is None or one in alike))


def _component(type_: object) -> ComponentType | None:
    return type_ if isinstance(type_, ComponentType) else getattr(type_, "component", None)


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


def _plus(number: int) -> Change:
    return lambda raw, component: (raw + component.bits_dtype.type(number % (1 << component.bits))).astype(component.bits_dtype)


def _changes(type_: object) -> Iterator[tuple[str, Change, dict[str, str]]]:
    """Yield what a wrong device makes of a value: the end of a name in the glossary's area, the change, and parameters of the defect."""
    component = _component(type_)
    if component is None:
        return
    yield "zero", lambda raw, _: np.zeros_like(raw), {}
    if type_ is component and not component.is_float:
        yield "one_more", _plus(1), {}
        yield "one_less", _plus(-1), {}
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


@dataclass(frozen=True)
class _Changed:
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
        wrong: AnyValue | Operand = Value(f"{value.name} as a wrong device takes it", value.type)
        if isinstance(value, Operand):
            raw = np.array([state.operand(value)]).astype(self.component.bits_dtype)
            wrong = literal(self.component, int(self.change(raw, self.component)[0]))
        else:
            _written(state, value.name, self.component, self.change, wrong.name)
        perform(state, _with(operation, self.path, wrong))

    def alters(self, trace: Trace) -> bool:
        """Tell whether the right value would become another one, as far as it is known."""
        known = [bits.astype(self.component.bits_dtype) for bits in trace.bits(self.value)]
        return not known or not all(np.array_equal(self.change(bits, self.component), bits) for bits in known)


def by_likelihood(edits: Iterable[Defect]) -> list[Defect]:
    """Return single edits in the order to try them: frequent mistakes, mistakes in all instructions of a kind, and those in matrices and
    vectors first; otherwise one of each kind after the other.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    small: dict[Operation, bool] = {}
    keyed: list[tuple[tuple[bool, bool, bool, int, int], Defect]] = []
    for edit in edits:
        operation = next(iter(edit.substitutes))
        if operation not in small:
            values = chain(results(operation), (place.value for place in _places(operation)))
            small[operation] = not any(is_matrix(one) or is_cooperative_vector(one) for one in values)
        key = (edit.id.endswith(_UNLIKELY), edit.parameters["instruction"] != EVERY, small[operation])
        seen[kind := (*key, edit.parameters["class"])] += 1
        keyed.append(((*key, seen[kind], len(keyed)), edit))
    return [edit for _, edit in sorted(keyed)]


def _bent(raw: np.ndarray, component: ComponentType) -> np.ndarray:
    """Change every element, so that changing it again does not restore it. A float keeps its exponent, and zero stays zero."""
    if not component.is_float:
        return _plus(1)(raw, component)
    sign, low = (component.bits_dtype.type(one) for one in (1 << component.bits - 1, 3))
    other = (raw ^ sign) & ~low | (raw + component.bits_dtype.type(1)) & low
    return np.where(raw & ~sign == 0, raw, other).astype(component.bits_dtype)


def probe(operation: Operation, trace: Trace) -> Substitute | None:
    """Build a step that changes what an operation gives, to see what depends on it; None if that is not known.

    Integers that the program computes become zero, which is an index of each array.
    """
    made = getattr(operation, "result", None)
    component = _component(made.type) if isinstance(made, Value) else None
    if made is not None and component is not None and not isinstance(made.type, ArrayType):
        is_index = isinstance(operation, ScalarArithmetic | InstanceIndex | BuiltInScalar) and not component.is_float
        step = _Changed(made, component, (lambda raw, _: np.zeros_like(raw)) if is_index else _bent)
        return step if step.alters(trace) else None
    stored = [place for place in _places(operation) if place.path[-1] in _DATA] if made is None else []
    return probe_of_operands(stored) if stored else None


def probe_of_operands(places: Sequence[Place]) -> Substitute:
    """Build a step that performs the operation with changed operands."""

    def step(state: State, operation: Any) -> None:
        changed = operation
        for place in places:
            component = _component(place.value.type)
            if component is not None and not isinstance(place.value, Operand):
                wrong = Value(f"{place.value.name} as a wrong device takes it", place.value.type)
                _written(state, place.value.name, component, _bent, wrong.name)
                changed = _with(changed, place.path, wrong)
        perform(state, changed)

    return step


def may_change(defect: Defect, trace: Trace) -> bool:
    """Tell whether a defect may change anything in a subcase."""
    with np.errstate(all="ignore"):
        return any(not isinstance(step, _Changed) or step.alters(trace) for step in defect.substitutes.values())


def _put(*places: tuple[Path, object]) -> Substitute:
    """Build a step that performs the operation with other operands at some places."""

    def step(state: State, operation: Any) -> None:
        for path, other in places:
            operation = _with(operation, path, other)
        perform(state, operation)

    return step


def _passed_on(value: AnyValue | Operand) -> Substitute:
    """Build a step that gives an operand as the result."""

    def step(state: State, operation: Any) -> None:
        if isinstance(value, Operand):
            state.scalars[operation.result.name] = state.scalar(value)
            return
        kinds: tuple[dict[str, Any], ...] = (state.matrices, state.scalars, state.aggregates)
        for of_kind in kinds:
            if value.name in of_kind:
                of_kind[operation.result.name] = of_kind[value.name]

    return step


def _again(path: Path) -> Substitute:
    """Build a step that performs the operation a second time, with its result as an operand."""

    def step(state: State, operation: Any) -> None:
        perform(state, operation)
        perform(state, _with(operation, path, operation.result))

    return step


def _twice(state: State, operation: Operation) -> None:
    perform(state, operation)
    perform(state, operation)


def _half(state: State, operation: Any) -> None:
    """Let only the first half of the instances perform the operation."""
    count = len(state.instances)
    if count < 2:
        raise ValueError("a single instance has no half")
    perform(state.part(np.arange(count // 2)), operation)


def _rounds(more: int) -> Substitute:
    """Build a step that runs a loop some rounds more than it should."""

    def step(state: State, operation: Any) -> None:
        trips = np.maximum(trip_counts(state, operation) + more, 0)
        repeat(state, operation, range(int(trips.max(initial=0))), trips)

    return step


@dataclass(frozen=True)
class _SingleEdit:
    """A mistake in one operation.

    Attributes:
        name: of the entry in the glossary's area ``single_edit``.
        step: what the device does in place of the operation.
        where: parameters of the defect, except of those that name the operation.
        back: how many values before the operation the other value is; 0 for one that has another place.
    """

    name: str
    step: Substitute
    where: Mapping[str, str] = dataclasses.field(default_factory=dict)
    back: int = 0

    @property
    def alike(self) -> tuple[str, ...]:
        """What the same mistake in other operations of the kind has in common."""
        return (self.where["operand"], str(self.back)) if self.back else tuple(self.where.values())


Chosen = Callable[[Operation, list[Place]], list[Place]]
"""Returns the operands of a wide operation that may be wrong."""


def single_edits(program: Program, chosen: Chosen = lambda _, places: places) -> Iterator[Defect]:
    """Yield the single edits of the operations of ``program``: first each mistake in all instructions of a kind, in all addresses, and in
    all comparisons; then in each of several instructions of a kind alone.

    Args:
        program: the program.
        chosen: leaves out operands of wide operations.
    """
    earlier: list[AnyValue] = []
    given: dict[Operand, None] = {}
    accesses: list[Any] = []
    kinds: dict[tuple[str, ...], dict[Operation, _SingleEdit]] = {}
    roles: dict[tuple[str, ...], dict[Operation, _SingleEdit]] = {}
    copies: dict[Operation, Stated] = {}
    for operation, stated in _everywhere(program):
        known = earlier
        if stated is not None:
            copies[operation] = stated
            loop: Any = stated.body[-1]
            known = [*results(loop), *chain.from_iterable(map(results, takewhile(partial(ne, operation), loop.body)))]
        is_loop = stated is not None and operation is stated.body[-1]
        found = _of_copying_loop() if is_loop else _edits_of(operation, known, program.arrays, chosen)
        for edit in chain(found, _of_pointer(operation, accesses), _of_given(operation, given)):
            kinds.setdefault((_kind(operation), edit.name, *edit.alike), {})[operation] = edit
            if (role := _role(edit.where.get("operand", ""))) is not None:
                alike = {**edit.where, "operand": role[1]}
                roles.setdefault((role[0], edit.name, *alike.values()), {})[operation] = replace(edit, where=alike)
        if stated is None:
            earlier.extend(results(operation))
        given.update(
            (place.value, None) for place in _places(operation) if isinstance(place.value, Operand) and place.value.source in _LOADED
        )
        if _pointer(operation) is not None:
            accesses.append(operation)
    for (kind, *_), edits in (*kinds.items(), *roles.items()):
        first, *others = edits.values()
        if any(edit.where != first.where for edit in others):
            first = replace(first, where={**first.where, "other": "the last value" if first.back == 1 else "the last value but one"})
        yield _defect(first, _steps(edits, copies), EVERY, kind)
    for (kind, *_), edits in kinds.items():
        if len(edits) > 1:
            for operation, edit in edits.items():
                yield _defect(edit, _steps({operation: edit}, copies), _name(operation), kind)


def _steps(edits: Mapping[Operation, _SingleEdit], copies: Mapping[Operation, Stated]) -> Mapping[Operation, Substitute]:
    """Return the steps of edits; those of operations inside loops that copy arrays are part of a step in place of the loop's effect."""
    steps: dict[Operation, Substitute] = {}
    inside: dict[Stated, dict[Operation, Substitute]] = {}
    for operation, edit in edits.items():
        stated = copies.get(operation)
        if stated is None or isinstance(operation, Loop):
            steps[stated or operation] = edit.step
        else:
            inside.setdefault(stated, {})[operation] = edit.step
    return steps | {stated: in_copies(wrong) for stated, wrong in inside.items()}


def _of_copying_loop() -> Iterator[_SingleEdit]:
    yield _SingleEdit("operand_one_more", in_copies({}, 1), {"operand": "limit"})
    yield _SingleEdit("operand_one_less", in_copies({}, -1), {"operand": "limit"})


def _role(operand: str) -> tuple[str, str] | None:
    """Return in what several classes of operations share an operand, and its name there."""
    if operand in _ADDRESSES:
        return "access", "its first index"
    return ("comparison", operand.removeprefix("condition.")) if operand.startswith("condition.") else None


def _kind(operation: Operation) -> str:
    """Return the class of an operation, and which of the instructions of the class it is."""
    which = [getattr(operation, name) for name in ("operator", "conversion", "which") if hasattr(operation, name)]
    return " ".join([type(operation).__name__, *(_told(one) for one in which if isinstance(one, str | enum.Enum))])


def _everywhere(program: Program) -> Iterator[tuple[Operation, Stated | None]]:
    """Yield the operations that the reference model performs, also those of the functions that other instructions call; and those of loops
    that copy arrays, each with its loop.
    """
    for operation in flattened(program.operations, effects=True):
        if isinstance(operation, Stated) and (loop := copying_loop(operation)) is not None:
            yield from ((one, operation) for one in (loop, *loop.body))
        elif not isinstance(operation, Stated | Effect | PerInvocation):
            yield operation, None
        if not isinstance(operation, Call):
            for function in _functions(operation).values():
                yield from ((one, None) for one in flattened(function.body, effects=True))


def _functions(operation: Operation) -> dict[str, Function]:
    return {name: field for name, field in vars(operation).items() if isinstance(field, Function)}


def _name(operation: Operation) -> str:
    made = next(iter(results(operation)), None)
    kind = _kind(operation)
    if made is not None:
        return f"the {kind} that gives {made.name}"
    return f"the {kind} of " + ", ".join(place.value.name for place in _places(operation) if isinstance(place.value, Value))


def _defect(edit: _SingleEdit, steps: Mapping[Operation, Substitute], instruction: ParameterValue, kind: str) -> Defect:
    return Defect(f"single_edit.{edit.name}", steps, {"instruction": instruction, "class": kind, **edit.where})


def _edits_of(operation: Operation, earlier: list[AnyValue], arrays: Sequence[Array], chosen: Chosen) -> Iterator[_SingleEdit]:
    places = list(_places(operation))
    given = [place for place in places if place.is_value]
    if len(given) > WIDE:
        own = chosen(operation, given)
        places = [place for place in places if not place.is_value or place in own]
    yield from _of_result(operation, given)
    if isinstance(operation, Loop):
        yield _SingleEdit("once_more", _rounds(1))
        yield _SingleEdit("once_less", _rounds(-1))
    for one, two in combinations((place for place in places if place.is_value), 2):
        if one.value.type == two.value.type and one.value != two.value:
            where = {"operand": one.words, "other": two.words}
            yield _SingleEdit("operands_exchanged", _put((one.path, two.value), (two.path, one.value)), where)
    for place in places:
        if place.is_value:
            yield from _of_operand(operation, place, given, earlier)
        else:
            for other in _others(operation, place, arrays):
                where = {"operand": place.words, "other": _told(other)}
                yield _SingleEdit("operand_other", _put((place.path, other)), where)
    for name, function in _functions(operation).items():
        parameters = function.parameters
        for at, (left, right) in enumerate(pairwise(parameters)):
            if passed_type(left) == passed_type(right):
                swapped = replace(function, parameters=(*parameters[:at], right, left, *parameters[at + 2 :]))
                yield _SingleEdit("parameters_exchanged", _put(((name,), swapped)), {"operand": left.name, "other": right.name})


def _pointer(operation: Any) -> tuple[Array, object] | None:
    """Return the array that an operation accesses, and the index at which it begins."""
    return (operation.array, operation.first) if hasattr(operation, "array") and hasattr(operation, "first") else None


def _of_pointer(operation: Any, accesses: Sequence[Any]) -> Iterator[_SingleEdit]:
    """Yield the edits that give an access the pointer of an earlier one."""
    own = _pointer(operation)
    if own is None:
        return
    alike = {_pointer(one): one for one in accesses if one.array.pointee == operation.array.pointee and _pointer(one) != own}
    for number, one in enumerate(list(alike.values())[: -_EARLIER - 1 : -1]):
        where = {"operand": "pointer", "other": f"the pointer of {_name(one)}"}
        yield _SingleEdit("operand_earlier", _put((("array",), one.array), (("first",), one.first)), where, number + 1)


def _of_given(operation: Operation, given: Iterable[Operand]) -> Iterator[_SingleEdit]:
    """Yield the edits that load another operand of the program, which an earlier operation has."""
    for place in _places(operation):
        if isinstance(place.value, Operand) and place.value.source in _LOADED:
            alike = [one for one in given if one.type == place.value.type and one != place.value]
            for one in alike[: -_EARLIER - 1 : -1]:
                yield _SingleEdit("operand_earlier", _put((place.path, one)), {"operand": place.words, "other": one.name})


def _told(constant: Any) -> str:
    if isinstance(constant, Array):
        return constant.name
    return constant.name or str(constant.value) if isinstance(constant, enum.Enum) else str(constant)


def _of_operand(operation: Operation, place: Place, given: list[Place], earlier: list[AnyValue]) -> Iterator[_SingleEdit]:
    where = {"operand": place.words}
    if place.path[-1] == "stride":
        yield _SingleEdit("operand_sixteen_more", _Changed(place.value, place.value.type, _plus(16), place.path), where)
    component = _component(place.value.type)
    for name, change, kinds in _changes(place.value.type):
        assert component is not None, "it changes components"
        if name != "of_first_instance" or not isinstance(place.value, Operand):
            yield _SingleEdit(f"operand_{name}", _Changed(place.value, component, change, place.path), where | kinds)
    alike = {one.value: one.words for one in given if one.value.type == place.value.type and one.value != place.value}
    inside = [field for field in vars(operation).values() if isinstance(field, tuple)]
    for part in chain.from_iterable(inside):
        if isinstance(part, Part) and not isinstance(part, Operation):
            alike |= {one: one.name for one in results(part) if one.type == place.value.type and one != place.value}
    for other, words in alike.items():
        yield _SingleEdit("operand_sibling", _put((place.path, other)), where | {"other": words})
    before = [one for one in earlier if one.type == place.value.type and one != place.value and one not in alike]
    for number, value in enumerate(before[: -_EARLIER - 1 : -1]):
        yield _SingleEdit("operand_earlier", _put((place.path, value)), where | {"other": value.name}, number + 1)


def _of_result(operation: Operation, given: list[Place]) -> Iterator[_SingleEdit]:
    made = getattr(operation, "result", None)
    if not isinstance(made, Value):
        if not any(results(operation)):
            yield from (_SingleEdit(name, step) for name, step in (("skipped", skipped), ("twice", _twice), ("half", _half)))
        return
    component = _component(made.type)
    for name, change, kinds in _changes(made.type):
        assert component is not None, "it changes components"
        yield _SingleEdit(f"result_{name}", _Changed(made, component, change), kinds)
    for place in given:
        if place.value.type == made.type:
            yield _SingleEdit("passed_on", _passed_on(place.value), {"operand": place.words})
            if component is not made.type:
                yield _SingleEdit("again", _again(place.path), {"operand": place.words})
