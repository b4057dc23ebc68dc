"""Translates functions, blocks and calls for the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cts.embedded.diagnostics import Malformed, Unsupported, Violation
from cts.embedded.instructions.costs import cost
from cts.embedded.instructions.invocations.helper_invocations import without_helpers
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Block, Branch, Function, Phi, Return, Run, Unreachable
from cts.embedded.module.references import EXTENDED
from cts.embedded.module.translation import RESULT_OPS, Translation, Words
from cts.embedded.observations import static_severity
from cts.embedded.types.limits import MAX_CALL_DEPTH
from cts.embedded.types.spirv_types import FunctionType, Number, PointerType, Void
from generators.spirv.enumerants import Op
from generators.spirv.reader import Instruction

_VOID = Void()
_IGNORED = frozenset({Op.Nop, Op.Line, Op.NoLine, Op.LoopMerge, Op.SelectionMerge, Op.AssumeTrueKHR})


def prepare_functions(translation: Translation) -> None:
    """Prepare every function of the module.

    Raises:
        Violation: a static rule is broken; ``translation.index`` is the instruction.
        Unsupported: the interpreter lacks an instruction.
    """
    bodies: list[tuple[int, list[Instruction]]] = []
    for number, instruction in enumerate(translation.function_instructions, translation.first_function):
        if instruction.op is Op.Function:
            bodies.append((number, []))
            translation.index = number
            _declare(translation, instruction.operands)
        bodies[-1][1].append(instruction)
        if instruction.op in RESULT_OPS and instruction.op is not Op.Function:
            translation.set_type(instruction.operands[1], instruction.operands[0])
    _check_calls(translation, bodies)
    for first, body in bodies:
        _prepare(translation, first, body)
    if translation.entry not in translation.functions:
        translation.index = -1
        raise Violation("SPIR-V 2.4", f"no entry point '{translation.kernel.entry_point}'")


def _declare(translation: Translation, words: Words) -> None:
    type_ = translation.types[words[3]]
    if not isinstance(type_, FunctionType) or translation.types[words[0]] != type_.result:
        raise Malformed(f"a function of type %{words[3]} that returns %{words[0]}")
    translation.functions[words[1]] = Function((), type_.result, 0)
    translation.function_types[words[1]] = type_


def _check_parameters(translation: Translation, body: list[Instruction]) -> tuple[int, ...]:
    declared = translation.function_types[body[0].operands[1]].parameters
    parameters = tuple(i.operands[1] for i in body if i.op is Op.FunctionParameter)
    if tuple(translation.type_of[id_] for id_ in parameters) != declared:
        raise Malformed("the parameters do not fit the function's type")
    return parameters


def _check_calls(translation: Translation, bodies: list[tuple[int, list[Instruction]]]) -> None:
    """Refuse functions that call themselves, directly or through others, and calls that are nested too deeply."""
    called = {
        body[0].operands[1]: {i.operands[2]: n for n, i in enumerate(body, first) if i.op is Op.FunctionCall} for first, body in bodies
    }
    depth: dict[int, int] = {}
    for id_ in called:
        _nesting(translation, called, id_, (), depth)


def _nesting(
    translation: Translation, called: Mapping[int, Mapping[int, int]], id_: int, above: tuple[int, ...], known: dict[int, int]
) -> int:
    """Return how deeply calls are nested in a function, which the functions ``above`` call; ``known``: the depths found so far."""
    if id_ in known:
        return known[id_]
    deepest = 0
    for other, number in called[id_].items():
        translation.index = number
        if other == id_ or other in above:
            raise Malformed("a function calls itself, directly or through others")
        if len(above) < MAX_CALL_DEPTH:
            deepest = max(deepest, 1 + _nesting(translation, called, other, (*above, id_), known))
            translation.index = number
        if len(above) >= MAX_CALL_DEPTH or deepest > MAX_CALL_DEPTH:
            raise Unsupported(f"calls are nested more than {MAX_CALL_DEPTH} deep")
    known[id_] = deepest
    return deepest


def _prepare(translation: Translation, first: int, body: list[Instruction]) -> None:
    function = translation.functions[body[0].operands[1]]
    translation.index = first
    function.parameters = _check_parameters(translation, body)
    returns = not isinstance(function.result, Void)
    merges: dict[int, tuple[int, ...]] = {}
    block: Block | None = None
    for number, (op, words, _) in enumerate(body, first):
        translation.index = number
        if op is Op.Label:
            block = Block(words[0], 0)
            function.blocks[words[0]] = block
            function.entry = function.entry or words[0]
            continue
        if block is None:
            continue
        if op not in _APART and not (op in EXTENDED and translation.is_non_semantic(words)):
            size, is_typed = 0, op in RESULT_OPS
            if is_typed:
                size = translation.value_bytes(words[0])
                translation.budget.take(size, "the value", words[1])
            run = _prepared(translation, op, words)
            type_ = translation.types[words[0]] if is_typed else _VOID
            block.entries.append((words[1] if is_typed else 0, run, number, type_))
            if isinstance(type_, PointerType):
                function.pointers.append(words[1])
            block.cost += cost(translation, op, words, size)
        elif op is Op.LoopMerge:
            merges[block.label] = (words[0], words[1])
        elif op is Op.SelectionMerge:
            merges[block.label] = (words[0],)
        elif op is Op.Phi:
            translation.check_types(op, words)
            sources = dict(zip(words[3::2], words[2::2], strict=True))
            block.phis.append(Phi(words[1], translation.types[words[0]], sources))
        elif op is Op.Variable:
            function.begin.append(translation.prepare(op, words))
        elif op in _ENDS:
            translation.check_types(op, words)
            if op is Op.ReturnValue and (not returns or translation.type_of[words[0]] != function.result):
                raise Malformed("the returned value does not have the function's return type")
            if op is Op.Kill and function is not translation.functions[translation.entry]:
                raise Unsupported("this device executes OpKill in the entry point only")
            if op is Op.Return and returns:
                raise Malformed("a function that must return a value returns nothing")
            block.end, block.end_index = _ENDS[op](translation, words), number
            block = None
    if not function.blocks:
        raise Unsupported("a function without a body")
    for order, label in enumerate(_structured_order(function, merges)):
        function.blocks[label].order = order


def _prepared(translation: Translation, op: Op, words: Words) -> Run:
    """Return a function that executes an instruction.

    On a device that collects mistakes, an instruction that breaks a static rule gives zero.

    Raises:
        Violation: the instruction breaks a static rule, and the device stops at it or has no zero of its type.
    """
    try:
        return without_helpers(translation, op, words, translation.prepare(op, words))
    except Violation as error:
        if translation.settings.observations is None:
            raise
        zero = translation.zero(translation.types[words[0]]) if op in RESULT_OPS else None
        translation.machine.index = translation.index
        translation.machine.forbid(error.rule, error.text, severity=static_severity(error.rule))
        return lambda: zero


def _structured_order(function: Function, merges: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Return the labels in structured order: blocks of a construct, then its continue target, then its merge block.

    It is a reverse postorder that visits merge block and continue target first.
    """
    order: list[int] = []
    visited = {function.entry}

    def successors(label: int) -> Iterator[int]:
        yield from merges.get(label, ())
        end = function.blocks[label].end
        if isinstance(end, Branch):
            yield from reversed(end.targets)

    stack = [(function.entry, successors(function.entry))]
    while stack:
        label, rest = stack[-1]
        for following in rest:
            if following not in visited:
                visited.add(following)
                stack.append((following, successors(following)))
                break
        else:
            order.append(label)
            stack.pop()
    order.reverse()
    order += [label for label in function.blocks if label not in visited]
    return order


def _branch(_: Translation, words: Words) -> Branch:
    return Branch((words[0],))


def _branch_conditional(_: Translation, words: Words) -> Branch:
    return Branch((words[1], words[2]), words[0])


def _switch(translation: Translation, words: Words) -> Branch:
    type_ = translation.type_of[words[0]]
    assert isinstance(type_, Number), "the rule of OpSwitch"
    step = 3 if type_.bits > 32 else 2
    pairs = [words[i : i + step] for i in range(2, len(words), step)]
    literals = tuple(_literal(pair, type_.bits) for pair in pairs)
    return Branch((words[1], *(pair[-1] for pair in pairs)), words[0], literals)


_ENDS: Mapping[Op, Callable[[Translation, Words], Branch | Return | Unreachable]] = {
    Op.Branch: _branch,
    Op.BranchConditional: _branch_conditional,
    Op.Switch: _switch,
    Op.Return: lambda _, __: Return(),
    Op.Kill: lambda _, __: Return(),
    Op.ReturnValue: lambda _, words: Return(words[0]),
    Op.Unreachable: lambda _, __: Unreachable(),
}
"""Opcode of a terminator -> the function that translates it into the end of a block."""

_APART = frozenset({*_IGNORED, *_ENDS, Op.Phi, Op.Variable})
"""Instructions of blocks that are not among their entries."""


@executes(Op.FunctionCall)
def _function_call(translation: Translation, words: Words) -> Run:
    function, arguments = translation.functions[words[2]], words[3:]
    machine, values = translation.machine, translation.values

    def run() -> object:
        index = machine.index
        result = machine.call(function, [values[a] for a in arguments])
        machine.index = index
        return result

    return run


def _literal(words: Words, width: int) -> int:
    """Return a literal of ``width`` bits, low-order word first."""
    value = words[0] if width <= 32 else words[0] | words[1] << 32
    return value & (1 << width) - 1
