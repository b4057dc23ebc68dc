"""Defects of the bodies of functions that instructions call: control flow, extended instructions, variables, casts and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.defects.callbacks import in_one_order, set_result
from cts.defects.defect import Defect, Each, every, result_of
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.callbacks import Argument, BlockPointers, applied, apply, arguments
from cts.reference.scalars import bits_of, numbers
from cts.reference.state import State
from cts.reference.trees import Tree
from generators.program.arrays import ArrayStore, AtomicOr
from generators.program.callbacks import PerElement, Reduce
from generators.program.control_flow import Branch, Condition, Exit, Loop, ReturnBoth, Switch
from generators.program.functions import Call, Function
from generators.program.operation import Operation
from generators.program.pointers import BlockLoad
from generators.program.program import Program
from generators.program.scalars import BOUNDED, Extended, ExtendedName, ScalarArithmetic, ScalarConvert
from generators.program.tensor_access import TensorLoad
from generators.program.values import Operand, StructType, Value, is_scalar, literal
from generators.program.variables import VariableLoad, part_type
from generators.program.walking import Change, changed, flattened, names_read, with_operands
from generators.types import COMPONENT_TYPES

Caller = PerElement | Reduce | TensorLoad
"""An instruction that calls a function."""

_U32, _S32 = COMPONENT_TYPES["u32"], COMPONENT_TYPES["s32"]
_ALWAYS = Condition(literal(_U32, 0), "equal", literal(_U32, 0))
_NEVER = Condition(literal(_U32, 0), "not_equal", literal(_U32, 0))
_NO_ARM = 0xFFFFFFFF


@defects_of("function", Caller)
def function_body_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the functions that instructions of ``program`` call."""
    callers: list[Caller] = every(program.operations, Reduce, PerElement)
    callers += [load for load in every(program.operations, TensorLoad) if load.decode is not None]
    for name, change in _CHANGES.items():
        yield from _of([one for one in callers if _rewritten(one, change) != one], name, _running(change))
    for name, wrong in _QUOTIENTS.items():
        yield from _of([one for one in callers if _has(one, _is_signed_quotient)], name, _performing(_is_signed_quotient, wrong))
    private = [one for one in callers if _has(one, lambda o: isinstance(o, VariableLoad) and o.variable.storage == "private")]
    yield from _of(private, "private_zero", _with_private(_zero))
    own = [one for one in private if _has(one, lambda o: isinstance(o, VariableLoad) and _is_set(o))]
    yield from _of(own if program.instances > 1 else [], "private_of_first_instance", _with_private(_of_first_instance))
    elements = [one for one in callers if isinstance(one, PerElement)]
    yield from _of(elements, "called_for_every_other_column", _for_pairs)
    read = set().union(*map(names_read, program.operations))
    marking = [one for one in elements if _has(one, _sets_bits)]
    yield from _of(marking, "bits_added", _performing(_sets_bits, _adding(np.add)))
    yield from _of(marking, "bits_inverted", _performing(_sets_bits, _adding(np.bitwise_xor)))
    yield from _of([one for one in elements if one.result.name not in read and _has(one, _writes)], "dropped_as_unused", _dropped)
    yield from _of([one for one in elements if _has(one, _writes)], "last_element_skipped", _without_last)
    yield from _of(marking, "called_for_padding", _for_padding)


def _function(caller: Caller) -> Mapping[str, ParameterValue]:
    return {"function": called(caller).name}


def called(caller: Caller) -> Function:
    """Return the function that an instruction calls."""
    function = caller.decode if isinstance(caller, TensorLoad) else caller.function
    assert function is not None, "the instruction calls a function"
    return function


def _has(caller: Caller, holds: Callable[[Operation], bool]) -> bool:
    return any(map(holds, flattened(called(caller).body)))


def _rewritten(caller: Caller, change: Change) -> Caller:
    """Return the instruction with a changed function."""
    function = called(caller)
    new = replace(function, body=changed(function.body, change))
    return replace(caller, decode=new) if isinstance(caller, TensorLoad) else replace(caller, function=new)


def _running(change: Change) -> Substitute:
    return lambda state, caller: in_one_order(state, _rewritten(caller, change))


def _performing(chosen: Callable[[Operation], bool], wrong: Callable[[State, Any], None]) -> Substitute:
    """Build a step whose function performs the ``chosen`` operations in the wrong way."""

    def step(state: State, caller: Caller) -> None:
        right = state.perform

        def performed(inside: State, operation: Operation) -> None:
            if chosen(operation):
                wrong(inside, operation)
            else:
                right(inside, operation)

        in_one_order(replace(state, perform=performed), caller)

    return step


def _is_signed_quotient(operation: Operation) -> bool:
    return isinstance(operation, ScalarArithmetic) and operation.operator == "divide" and operation.result.type.is_signed


def _rounded_down(state: State, operation: ScalarArithmetic) -> None:
    left, right = (numbers(state.scalar(value), operation.result.type) for value in (operation.left, operation.right))
    state.scalars[operation.result.name] = bits_of(left // right, operation.result.type)


def _as_unsigned(state: State, operation: ScalarArithmetic) -> None:
    state.scalars[operation.result.name] = state.scalar(operation.left) // state.scalar(operation.right)


_QUOTIENTS: Mapping[str, Callable[[State, ScalarArithmetic], None]] = MappingProxyType(
    {"quotient_rounded_down": _rounded_down, "quotient_of_unsigned": _as_unsigned}
)


def _is_set(load: VariableLoad) -> bool:
    """Tell whether the entry point, and not an initializer, sets the variable."""
    return load.variable.initializer is None


def _zero(tree: Tree) -> Tree:
    if isinstance(tree, tuple):
        return tuple(None if part is None else _zero(part) for part in tree)
    return np.zeros_like(tree) if isinstance(tree, np.ndarray) else tree


def _of_first_instance(tree: Tree) -> Tree:
    return np.full_like(tree, tree[0]) if isinstance(tree, np.ndarray) else tree


def _with_private(change: Callable[[Tree], Tree]) -> Substitute:
    """Build a step in which the module's private variables have other contents."""

    def step(state: State, caller: Caller) -> None:
        before = dict(state.variables)
        for variable in state.program.variables:
            tree = before.get(variable.name)
            if variable.storage == "private" and tree is not None:
                state.variables[variable.name] = change(tree)
        in_one_order(state, caller)
        state.variables.update(before)

    return step


def _for_pairs(state: State, operation: PerElement) -> None:
    """Call the function for even columns; give the next column the same result."""

    def even(argument: Argument) -> Argument:
        if isinstance(argument, np.ndarray) and argument.ndim == 3 and argument.shape[2] > 1:
            return argument[:, :, np.arange(argument.shape[2]) & ~1]
        return argument

    apply(state, operation, [even(argument) for argument in arguments(state, operation)])


def _writes(operation: Operation) -> bool:
    return isinstance(operation, ArrayStore | AtomicOr)


def _sets_bits(operation: Operation) -> bool:
    return isinstance(operation, AtomicOr)


def _adding(combine: np.ufunc) -> Callable[[State, AtomicOr], None]:
    """Return a step that combines the bits with those in memory in another way."""

    def step(state: State, operation: AtomicOr) -> None:
        array = operation.array
        component, memory = array.pointee.component, state.memories[array.owner.name]
        index = state.scalar(operation.index).astype(np.int64)
        places, word = np.unique(array.start + index * array.pointee.bytes, return_inverse=True)
        after = memory.load(places, component)
        combine.at(after, word, state.scalar(operation.value).astype(component.bits_dtype))
        memory.write(places[None, :, None], component, after[None, :, None], "single elements")

    return step


def _dropped(state: State, operation: PerElement) -> None:
    """Call nothing; the result is zero."""
    set_result(state, operation.result, np.zeros_like(state.matrices[operation.matrix.name].numbers))


def _without_last(state: State, operation: PerElement) -> None:
    """Call the function for every element except the last one, which stays unchanged."""
    elements = state.matrices[operation.matrix.name].numbers
    count, size = len(elements), elements[0].size

    def others(argument: np.ndarray) -> np.ndarray:
        return np.broadcast_to(argument, elements.shape).reshape(count, size)[:, :-1]

    result = elements.reshape(count, size).copy()
    result[:, :-1] = applied(state, operation.function, _each(others, arguments(state, operation)), state.instances[:, None])
    set_result(state, operation.result, result.reshape(elements.shape))


def _for_padding(state: State, operation: PerElement) -> None:
    """Also call the function for one more row and one more column of zeros, and drop their results."""
    rows, columns = operation.matrix.type.shape
    _, _, elements, *extra = arguments(state, operation)
    assert isinstance(elements, np.ndarray), "elements are numbers"
    shape = len(elements), rows + 1, columns + 1
    places = [np.broadcast_to(place.astype(np.uint32), shape) for place in np.indices(shape[1:])]
    padded = np.pad(elements, ((0, 0), (0, 1), (0, 1)))
    bits = applied(
        state,
        operation.function,
        [*places, padded, *_each(lambda one: np.pad(one, ((0, 0), (0, 1), (0, 1))) if one.shape == elements.shape else one, extra)],
        state.instances[:, None, None],
    )
    set_result(state, operation.result, bits[:, :-1, :-1])


def _each(change: Callable[[np.ndarray], np.ndarray], given: Sequence[Argument]) -> list[Argument]:
    """Change each array of arguments."""
    changed_arguments: list[Argument] = []
    for argument in given:
        if isinstance(argument, np.ndarray):
            changed_arguments.append(change(argument))
        else:
            assert not isinstance(argument, BlockPointers), "operations on elements get no pointers to blocks"
            changed_arguments.append([change(part) for part in argument])
    return changed_arguments


def _instead(kind: type[Operation], change: Callable[[Any], Sequence[Operation]]) -> Change:
    return lambda operation: change(operation) if isinstance(operation, kind) else (operation,)


def _leaving(kind: str, change: Callable[[Exit], Sequence[Operation]]) -> Change:
    return _instead(Exit, lambda operation: change(operation) if operation.kind == kind else (operation,))


def _decided(condition: Condition, operation: Operation) -> Sequence[Operation]:
    return (replace(operation, condition=condition),) if isinstance(operation, Branch | ReturnBoth) else (operation,)


def _default_taken(switch: Switch) -> Sequence[Operation]:
    return (replace(switch, selector=literal(_U32, _NO_ARM)),)


def _first_taken(switch: Switch) -> Sequence[Operation]:
    return (replace(switch, selector=literal(_U32, switch.arms[0].literals[0])),)


def _limited(trips: int, loop: Loop) -> Sequence[Operation]:
    return (replace(loop, limit=literal(_U32, trips)),)


def _other_operands(change: Callable[[Operand], Operand]) -> Change:
    """Build a change of operands that come from outside."""
    return lambda operation: (with_operands(operation, change),)


def _unspecialized(operand: Operand) -> Operand:
    return operand if operand.default is None else literal(operand.type, operand.default)


def _without_number(operand: Operand) -> Operand:
    return literal(operand.type, 0) if operand.source in ("push_constant", "buffer") else operand


def _first_part(load: VariableLoad) -> Sequence[Operation]:
    path = []
    for place, index in enumerate(load.path):
        is_member = isinstance(part_type(load.variable.type, load.path[:place]), StructType)
        path.append(index if is_member or isinstance(index, int) else 0)
    return (replace(load, path=tuple(path)),)


def _first_argument(call: Call) -> Sequence[Operation]:
    first = call.arguments[0] if call.arguments else None
    if call.result is None or not is_scalar(call.result) or not is_scalar(first) or first.type is not call.result.type:
        return (call,)
    return (ScalarConvert(call.result, first),)


def _extended(which: str, change: Callable[[Extended], Sequence[Operation]]) -> Change:
    return _instead(Extended, lambda operation: change(operation) if operation.which == which else (operation,))


def _other_extreme(operation: Extended) -> Sequence[Operation]:
    if operation.which == "minimum":
        return (replace(operation, which="maximum"),)
    return (replace(operation, which="minimum"),) if operation.which == "maximum" else (operation,)


def _without_lower_bound(clamp: Extended) -> Sequence[Operation]:
    return (Extended(clamp.result, "minimum", (clamp.operands[0], clamp.operands[2])),)


def _without_upper_bound(clamp: Extended) -> Sequence[Operation]:
    return (Extended(clamp.result, "maximum", clamp.operands[:2]),)


def _unchanged(operation: Extended) -> Sequence[Operation]:
    return (ScalarConvert(operation.result, operation.operands[0]),)


def _toward_zero(floor: Extended) -> Sequence[Operation]:
    whole = Value(f"{floor.result.name}_whole", _S32)
    return ScalarConvert(whole, floor.operands[0]), ScalarConvert(floor.result, whole)


def _without_addend(fused: Extended) -> Sequence[Operation]:
    return (ScalarArithmetic(fused.result, "multiply", fused.operands[0], fused.operands[1]),)


def _in_words(operation: Operation) -> Sequence[Operation]:
    """Let loads of parts of words count their index in words; an index beyond the block wraps."""
    if not isinstance(operation, BlockLoad) or operation.index is None:
        return (operation,)
    block = operation.pointer.type
    member = block.members[operation.member]
    ratio, length = _U32.bytes // member.component.bytes, member.length
    if ratio < 2 or length is None or length & (length - 1) or block.alignment > member.component.bytes:
        return (operation,)
    step, index = (Value(f"{operation.result.name}_{name}", _U32) for name in ("step", "index"))
    return (
        ScalarArithmetic(step, "multiply", operation.index, literal(_U32, ratio)),
        ScalarArithmetic(index, "and", step, literal(_U32, length - 1)),
        replace(operation, index=index),
    )


def _other_base(operation: Extended) -> Sequence[Operation]:
    others: Mapping[ExtendedName, ExtendedName] = {"exponential": "power_of_two", "power_of_two": "exponential"}
    return (replace(operation, which=others.get(operation.which, operation.which)),)


def _argument_of_bounded(operation: Extended) -> Sequence[Operation]:
    return _unchanged(operation) if operation.which in BOUNDED else (operation,)


_of = Each("function", "caller", result_of, _function)

_CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "early_return_ignored": _leaving("return", lambda _: ()),
        "early_return_always": _leaving("return", lambda one: (replace(one, condition=_ALWAYS),)),
        "branch_always_taken": partial(_decided, _ALWAYS),
        "branch_never_taken": partial(_decided, _NEVER),
        "switch_to_default": _instead(Switch, _default_taken),
        "switch_to_first": _instead(Switch, _first_taken),
        "break_ignored": _leaving("break", lambda _: ()),
        "continue_ignored": _leaving("continue", lambda _: ()),
        "loop_skipped": _instead(Loop, partial(_limited, 0)),
        "loop_once": _instead(Loop, partial(_limited, 1)),
        "constant_unspecialized": _other_operands(_unspecialized),
        "number_zero": _other_operands(_without_number),
        "first_part_loaded": _instead(VariableLoad, _first_part),
        "call_returns_first_argument": _instead(Call, _first_argument),
        "minimum_for_maximum": _instead(Extended, _other_extreme),
        "clamp_without_lower_bound": _extended("clamp", _without_lower_bound),
        "clamp_without_upper_bound": _extended("clamp", _without_upper_bound),
        "absolute_ignored": _extended("absolute", _unchanged),
        "floor_toward_zero": _extended("floor", _toward_zero),
        "addend_ignored": _extended("fused", _without_addend),
        "base_exchanged": _instead(Extended, _other_base),
        "bounded_function_ignored": _instead(Extended, _argument_of_bounded),
        "cast_index_in_words": _in_words,
        "stores_dropped": _instead(ArrayStore, lambda _: ()),
        "bits_not_set": _instead(AtomicOr, lambda _: ()),
    }
)
"""How each defect, by its name, changes the operations of a function."""
