"""All single edits of a program: in one operation, in all of a kind, and in all that share a role."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, takewhile
from operator import ne
from typing import Any

from cts.defects.copying_loops import copying_loop, in_code, in_copies
from cts.defects.defect import Defect
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.defects.single_edits.of_operation import EARLIER, Chosen, SingleEdit, edits_of, functions_of, of_rounds, put, told
from cts.defects.single_edits.places import Path, places_of
from generators.program.control_flow import Loop, PerInvocation, Stated
from generators.program.functions import Call
from generators.program.memory import Array
from generators.program.operation import Effect, Operation
from generators.program.program import Program
from generators.program.values import AnyValue, Operand, Value, is_cooperative_vector, is_matrix, literal
from generators.program.walking import flattened, results

_ADDRESSES = frozenset({"first", "index", "offset"})
"""Operands that are an index of an access chain."""

_LOADED = frozenset({"push_constant", "buffer"})
"""Sources of operands that a shader loads."""

_UNLIKELY = ("of_first_instance", "narrowed", "sign_lost", "twice", "half", "again")
"""Ends of the names of mistakes that are tried after all others."""


def single_edits(program: Program, chosen: Chosen = lambda _, places: places) -> Iterator[Defect]:
    """Yield the single edits of the operations of ``program``: first each mistake in all instructions of a kind, in all addresses, and in
    all comparisons; then in each of several instructions of a kind alone.

    Args:
        program: the program.
        chosen: leaves out operands of wide operations.
    """
    earlier: list[AnyValue] = []
    loaded = list(dict.fromkeys(operand for operation, _ in _everywhere(program) for operand in _loaded(operation)))
    accesses: list[Any] = []
    kinds: dict[tuple[str, ...], dict[Operation, SingleEdit]] = {}
    roles: dict[tuple[str, ...], dict[Operation, SingleEdit]] = {}
    copies: dict[Operation, Stated] = {}
    parameters = _parameters(program)
    for operation, stated in _everywhere(program):
        known = [*earlier, *parameters.get(operation, ())]
        if stated is not None:
            copies[operation] = stated
            loop = copying_loop(stated)
            given = results(loop) if loop is not None else iter(())
            body = loop.body if loop is not None else tuple(flattened(stated.body))
            known = [*given, *chain.from_iterable(map(results, takewhile(partial(ne, operation), body)))]
        is_loop = stated is not None and isinstance(operation, Loop) and copying_loop(stated) is operation
        found = _of_copying_loop() if is_loop else edits_of(operation, known, program.arrays, chosen)
        kind = _kind(operation)
        for edit in chain(found, _of_pointer(operation, accesses), _of_given(operation, loaded)):
            kinds.setdefault((kind, edit.name, *edit.alike), {})[operation] = edit
            if (role := _role(operation, edit.where.get("operand", ""))) is not None:
                alike = {name: word.removeprefix("condition.") for name, word in edit.where.items()} | {"operand": role[1]}
                roles.setdefault((role[0], edit.name, *alike.values()), {})[operation] = replace(edit, where=alike)
        if stated is None:
            earlier.extend(results(operation))
        if _pointer(operation) is not None:
            accesses.append(operation)
    for (kind, *_), edits in (*kinds.items(), *roles.items()):
        first, *others = edits.values()
        if any(edit.where != first.where for edit in others):
            first = replace(first, where={**first.where, "other": "the last value" if first.back == 1 else "the last value but one"})
        yield _defect(first, _steps(edits, copies), EVERY, kind)
    yield from _of_loads(program, loaded)
    for (kind, *_), edits in kinds.items():
        if len(edits) > 1:
            for operation, edit in edits.items():
                yield _defect(edit, _steps({operation: edit}, copies), _name(operation), kind)


def _everywhere(program: Program) -> Iterator[tuple[Operation, Stated | None]]:
    """Yield the operations that the reference model performs, also those of the functions that other instructions call; and those of loops
    that copy arrays, each with its loop.
    """
    for operation in flattened(program.operations, effects=True):
        if isinstance(operation, Stated) and (loop := copying_loop(operation)) is not None:
            yield from ((one, operation) for one in (loop, *loop.body))
        elif isinstance(operation, Stated):
            yield from ((one, operation) for one in flattened(operation.body) if not isinstance(one, Stated))
        elif not isinstance(operation, Effect | PerInvocation):
            yield operation, None
        if not isinstance(operation, Call):
            for function in functions_of(operation).values():
                yield from ((one, None) for one in flattened(function.body, effects=True))


def _parameters(program: Program) -> dict[Operation, tuple[AnyValue, ...]]:
    """Return the values that functions get, by the operations of their bodies."""
    found: dict[Operation, tuple[AnyValue, ...]] = {}
    for operation in flattened(program.operations, effects=True):
        for function in functions_of(operation).values():
            given = tuple(one for one in function.parameters if isinstance(one, Value))
            found.update(dict.fromkeys(flattened(function.body, effects=True), given))
    return found


def _steps(edits: Mapping[Operation, SingleEdit], copies: Mapping[Operation, Stated]) -> Mapping[Operation, Substitute]:
    """Return the steps of edits; those of operations inside loops that copy arrays are part of a step in place of the loop's effect."""
    steps: dict[Operation, Substitute] = {}
    inside: dict[Stated, dict[Operation, Substitute]] = {}
    for operation, edit in edits.items():
        stated = copies.get(operation)
        if stated is None or copying_loop(stated) is operation:
            steps[stated or operation] = edit.step
        else:
            inside.setdefault(stated, {})[operation] = edit.step
    return steps | {stated: (in_code if copying_loop(stated) is None else in_copies)(wrong) for stated, wrong in inside.items()}


def _of_copying_loop() -> Iterator[SingleEdit]:
    yield SingleEdit("operand_one_more", in_copies({}, 1), {"operand": "limit"})
    yield SingleEdit("operand_one_less", in_copies({}, -1), {"operand": "limit"})
    yield from of_rounds(partial(in_copies, {}))


def _of_pointer(operation: Any, accesses: Sequence[Any]) -> Iterator[SingleEdit]:
    """Yield the edits that give an access the pointer of an earlier one."""
    own = _pointer(operation)
    if own is None:
        return
    alike = {_pointer(one): one for one in accesses if one.array.pointee == operation.array.pointee and _pointer(one) != own}
    for number, one in enumerate(list(alike.values())[: -EARLIER - 1 : -1]):
        where = {"operand": "pointer", "other": f"the pointer of {_name(one)}"}
        yield SingleEdit("operand_earlier", put((("array",), one.array), (("first",), one.first)), where, number + 1)


def _loaded(operation: Operation) -> Iterator[Operand]:
    """Yield the operands that a shader loads for an operation."""
    for place in places_of(operation):
        if isinstance(place.value, Operand) and place.value.source in _LOADED:
            yield place.value


def _of_given(operation: Operation, given: Sequence[Operand]) -> Iterator[SingleEdit]:
    """Yield the edits that take another loaded operand of the program: a shader may load all of them first."""
    loaded = set(_loaded(operation))
    for place in places_of(operation):
        if isinstance(place.value, Operand) and (place.value in loaded or place.path[-1] == "stride"):
            alike = [one for one in given if one.type == place.value.type and one != place.value]
            for one in alike[: 2 * EARLIER]:
                yield SingleEdit("operand_earlier", put((place.path, one)), {"operand": place.words, "other": one.name})


def _of_loads(program: Program, loaded: Sequence[Operand]) -> Iterator[Defect]:
    """Yield the mistakes in loads of operands: all give zero, or one gives zero or another operand of the program."""
    users = [(operation, place) for operation, stated in _everywhere(program) if stated is None for place in places_of(operation)]

    def instead(of: Collection[Operand], other: Callable[[Operand], Operand]) -> dict[Operation, Substitute]:
        wrong: dict[Operation, list[tuple[Path, object]]] = {}
        for operation, place in users:
            if isinstance(place.value, Operand) and place.value in of:
                wrong.setdefault(operation, []).append((place.path, other(place.value)))
        return {operation: put(*places) for operation, places in wrong.items()}

    def zero(one: Operand) -> Operand:
        return literal(one.type, 0)

    if every := instead(loaded, zero):
        yield _defect(SingleEdit("result_zero", put()), every, EVERY, "load of an operand")
    for at, one in enumerate(loaded):
        if not instead((one,), zero):
            continue
        name = f"the load of {one.name}"
        yield _defect(SingleEdit("result_zero", put()), instead((one,), zero), name, "load of an operand")
        for other in [two for two in loaded[:at] if two.type == one.type][-EARLIER:]:
            where = {"operand": "pointer", "other": f"the pointer of {other.name}"}
            wrong = instead((one,), lambda _, other=other: other)  # type: ignore[misc]
            yield _defect(SingleEdit("operand_earlier", put(), where, 1), wrong, name, "load of an operand")


def _pointer(operation: Any) -> tuple[Array, object] | None:
    """Return the array that an operation accesses, and the index at which it begins."""
    return (operation.array, operation.first) if hasattr(operation, "array") and hasattr(operation, "first") else None


def _role(operation: Any, operand: str) -> tuple[str, str] | None:
    """Return in what several classes of operations share an operand, and its name there."""
    if operand in _ADDRESSES:
        return "access", "its first index"
    if not operand.startswith("condition."):
        return None
    relation, type_ = ("less", None) if isinstance(operation, Loop) else (operation.condition.relation, operation.condition.left.type)
    numbers = "" if type_ is None or not (type_.is_float or type_.is_signed) else "float " if type_.is_float else "signed "
    return f"{numbers}{relation.replace('_', ' ')} comparison", operand.removeprefix("condition.")


def _kind(operation: Operation) -> str:
    """Return the class of an operation, and which of the instructions of the class it is."""
    which = [getattr(operation, name) for name in ("operator", "conversion", "which") if hasattr(operation, name)]
    return " ".join([type(operation).__name__, *(told(one) for one in which if isinstance(one, str | enum.Enum))])


def _name(operation: Operation) -> str:
    made = next(iter(results(operation)), None)
    kind = _kind(operation)
    if made is not None:
        return f"the {kind} that gives {made.name}"
    return f"the {kind} of " + ", ".join(place.value.name for place in places_of(operation) if isinstance(place.value, Value))


def _defect(edit: SingleEdit, steps: Mapping[Operation, Substitute], instruction: ParameterValue, kind: str) -> Defect:
    return Defect(f"single_edit.{edit.name}", steps, {"instruction": instruction, "class": kind, **edit.where})


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
            values = chain(results(operation), (place.value for place in places_of(operation)))
            small[operation] = not any(is_matrix(one) or is_cooperative_vector(one) for one in values)
        key = (edit.id.endswith(_UNLIKELY), edit.parameters["instruction"] != EVERY, small[operation])
        seen[kind := (*key, edit.parameters["class"])] += 1
        keyed.append(((*key, seen[kind], len(keyed)), edit))
    return [edit for _, edit in sorted(keyed)]
