"""Control flow around code that each invocation runs for itself on cooperative vectors or arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct
from generators.program.control_flow import Arm, Carried, Condition, Exit, Merged
from generators.program.functions import Function
from generators.program.values import (
    ArrayType,
    ArrayValue,
    CooperativeVector,
    CooperativeVectorType,
    Scalar,
    ScalarValue,
    Value,
    extent,
    is_aggregate,
    is_cooperative_vector,
)
from generators.program.vector_builder import VectorBuilder
from generators.types import ComponentType

Control = Literal["straight", "uniform", "half", "branches", "switch", "loop", "function", "variable"]
"""straight: all invocations, without control flow. uniform: a branch that all invocations take in the same direction, by a push constant.
half: only the odd invocations. branches: odd and even invocations in two arms, whose results are merged. switch: three arms, one of which
gives zeros. loop: a loop whose length differs between invocations and that carries the result. function: a function that the odd
invocations call. variable: the odd invocations put the result into a zero-initialized variable, which all invocations store."""

DIVERGENT: tuple[Control, ...] = ("half", "branches", "switch", "loop", "function", "variable")
"""The forms in which some invocations do not execute code that others execute."""

KEEPING: tuple[Control, ...] = ("straight", "uniform", "half", "branches", "loop")
"""The forms in which operands can be stored after the result."""

PATH = "path"
"""The operand (u32) that decides the uniform branch: 1 for its first arm."""

Computed = TypeVar("Computed", CooperativeVector, ArrayValue)
"""The result of an invocation's code: a vector, or an array of scalars."""

Passed = CooperativeVector | ScalarValue
"""The operands of code that computes vectors: a vector, or a scalar."""

ComputedType = CooperativeVectorType | ArrayType
"""The type of such a value."""


@dataclass(frozen=True)
class InvocationCode(Generic[Computed]):
    """Code that each invocation runs for itself.

    Attributes:
        load: loads operands; takes the start of their names and their slot (u32).
        compute: computes the result; takes the start of names and the operands.
        store: stores the result of ``compute``, and the vectors and arrays among the operands if they are kept.
        kept: whether the operands are stored too.
    """

    load: Callable[[str, ScalarValue], tuple[Computed | ScalarValue, ...]]
    compute: Callable[[str, Sequence[Computed | ScalarValue]], Computed]
    store: Callable[[Sequence[Computed]], None]
    kept: bool = False

    def results(self, prefix: str, slot: ScalarValue) -> tuple[Computed, ...]:
        """Add code that computes the results for the operands in ``slot``, and return them."""
        operands = self.load(prefix, slot)
        kept: list[Any] = [operand for operand in operands if _is_computed(operand)] if self.kept else []
        return self.compute(prefix, operands), *kept


def run(builder: ProgramBuilder, control: Control, code: InvocationCode[Computed], me: Scalar, lanes: int, type_: ComputedType) -> None:
    """Run ``code`` in the invocations of the dispatch, inside the builder's ``per_invocation``.

    Args:
        me: the index of the invocation.
        lanes: invocations of the dispatch.
        type_: the type of the result.
    """
    if control == "straight":
        code.store(code.results("", me))
        return
    if control == "loop":
        _loop(builder, code, me, lanes)
        return
    odd = builder.arithmetic("odd", "and", me, builder.literal(1))
    if control == "uniform":
        path = builder.operand(PATH, U32, "push_constant")
        _branches(builder, code, me, lanes, Condition(path, "equal", builder.literal(1)))
        return
    is_odd = Condition(odd, "equal", builder.literal(1))
    match control:
        case "half":
            with builder.arm() as then:
                code.store(code.results("", me))
            builder.branch(is_odd, then)
        case "branches":
            _branches(builder, code, me, lanes, is_odd)
        case "switch":
            _switch(builder, code, me, lanes, type_)
        case "function":
            with builder.arm() as then:
                code.store((_called(builder, code, me),))
            builder.branch(is_odd, then)
        case "variable":
            _variable(builder, code, me, is_odd, type_)


def _is_computed(value: object) -> bool:
    """Tell whether a value is a vector or an array."""
    return is_cooperative_vector(value) or is_aggregate(value)


def zeros(builder: ProgramBuilder, type_: Any, name: str = "zeros") -> Any:
    """Return zeros: a cooperative vector or an array of scalars, of ``type_``."""
    if isinstance(type_, CooperativeVectorType):
        return VectorBuilder(builder).null(name, type_)
    assert isinstance(type_, ArrayType), "invocations compute vectors and arrays"
    assert isinstance(type_.element, ComponentType), "arrays that invocations compute have scalars as elements"
    return builder.result_of(CompositeConstruct(Value(name, type_), (builder.literal(0, type_.element),) * extent(type_.length)))


def _mirrored(builder: ProgramBuilder, me: Scalar, lanes: int) -> Scalar:
    """Return the slot of the invocation's mirror image."""
    return builder.arithmetic("mirrored", "subtract", builder.literal(lanes - 1), me)


def _merged(sources: Sequence[Sequence[Computed]]) -> tuple[Merged, ...]:
    """Return the merges of two arms: for each result, one source from each arm."""
    return tuple(Merged(Value(f"met_{i}", every[0].type), tuple(every)) for i, every in enumerate(zip(*sources, strict=True)))


def _stored(code: InvocationCode[Computed], merged: Sequence[Merged]) -> None:
    code.store([one.result for one in merged])  # type: ignore[misc]


def _branches(builder: ProgramBuilder, code: InvocationCode[Computed], me: Scalar, lanes: int, condition: Condition) -> None:
    """Add a branch whose second arm computes with the operands of the mirror image."""
    with builder.arm() as then:
        first = code.results("then_", me)
    with builder.arm() as otherwise:
        second = code.results("else_", _mirrored(builder, me, lanes))
    merged = _merged((first, second))
    builder.branch(condition, then, otherwise, merged)
    _stored(code, merged)


def _switch(builder: ProgramBuilder, code: InvocationCode[Computed], me: Scalar, lanes: int, type_: ComputedType) -> None:
    with builder.arm() as own:
        first = code.results("own_", me)
    with builder.arm() as other:
        second = code.results("other_", _mirrored(builder, me, lanes))
    with builder.arm() as default:
        nothing = (zeros(builder, type_),)
    merged = _merged((first, second, nothing))
    selector = builder.arithmetic("selector", "modulo", me, builder.literal(3))
    builder.switch(selector, (Arm((0,), tuple(own)), Arm((2,), tuple(other))), default, merged)
    _stored(code, merged)


def _called(builder: ProgramBuilder, code: InvocationCode[Computed], me: Scalar) -> Computed:
    """Call a function, which takes all operands, and return its result."""
    operands = code.load("", me)
    parameters = tuple(Value(f"parameter_{i}", operand.type) for i, operand in enumerate(operands))
    with builder.arm() as body:
        returned = code.compute("inner_", parameters)  # type: ignore[arg-type]
    function = Function("computes", parameters, tuple(body), returned)
    result: Any = builder.call("called", function, operands)
    assert _is_computed(result)
    return result  # type: ignore[no-any-return]


def _variable(builder: ProgramBuilder, code: InvocationCode[Computed], me: Scalar, is_odd: Condition, type_: ComputedType) -> None:
    variable = builder.variable("held", type_)
    builder.set(variable, (), zeros(builder, type_))
    with builder.arm() as then:
        builder.set(variable, (), code.results("", me)[0])
    builder.branch(is_odd, then)
    held: Any = builder.get("held_after", variable)
    assert _is_computed(held)
    code.store((held,))


def _loop(builder: ProgramBuilder, code: InvocationCode[Computed], me: Scalar, lanes: int) -> None:
    """Compute the results of all slots up to the invocation's own, and keep the last."""
    begin = code.results("begin_", builder.literal(0))
    carried: list[Carried] = []
    current = [Value(f"current_{i}", one.type) for i, one in enumerate(begin)]
    index = Value("index", U32)
    enough = builder.arithmetic("enough", "add", me, builder.literal(1))
    with builder.loop(index, builder.literal(lanes), carried):
        builder.add(Exit("break", Condition(index, "equal", enough)))
        following = code.results("next_", index)
        carried += [Carried(*one) for one in zip(begin, current, following, strict=True)]
    code.store(current)


def path(drawn: int) -> dict[str, int]:
    """Return the operand of the uniform branch: its first arm for an odd number."""
    return {PATH: drawn & 1}
