"""Structured control flow: selections and loops, with OpPhi for the values of arms and iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program import control_flow as language
from generators.program.operation import Hint, Operation
from generators.program.values import AnyValue, Operand
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import LoopControl, Op, SelectionControl
from generators.spirv.shader import LoopBlocks, Shader, emits
from generators.spirv.values import compute, type_id

_SELECTIONS: Mapping[Hint, SelectionControl] = MappingProxyType(
    {"none": SelectionControl.None_, "for": SelectionControl.Flatten, "against": SelectionControl.DontFlatten}
)

_RELATIONS: Mapping[language.Relation, tuple[Op, Op, Op]] = MappingProxyType(
    {
        "equal": (Op.IEqual, Op.IEqual, Op.FOrdEqual),
        "not_equal": (Op.INotEqual, Op.INotEqual, Op.FOrdNotEqual),
        "less": (Op.ULessThan, Op.SLessThan, Op.FOrdLessThan),
        "less_equal": (Op.ULessThanEqual, Op.SLessThanEqual, Op.FOrdLessThanEqual),
        "greater": (Op.UGreaterThan, Op.SGreaterThan, Op.FOrdGreaterThan),
        "greater_equal": (Op.UGreaterThanEqual, Op.SGreaterThanEqual, Op.FOrdGreaterThanEqual),
    }
)
"""The comparison of unsigned integers, of signed ones, and of floats."""


def emit_condition(shader: Shader, condition: language.Condition) -> int:
    """Emit a comparison; return the id of the boolean.

    Raises:
        GeneratorError: two types are compared.
    """
    left, right = condition.left, condition.right
    if left.type != right.type:
        raise GeneratorError(Rule.TYPES_DIFFER, f"{left.name} and {right.name} are compared: give them one type")
    op = _RELATIONS[condition.relation][2 if left.type.is_float else left.type.is_signed]
    return shader.module.value(op, shader.module.type(Op.TypeBool), shader.id(left), shader.id(right))


@emits(language.Select)
def emit_select(shader: Shader, select: language.Select) -> None:
    """Emit OpSelect of scalars or cooperative vectors."""
    type_ = type_id(shader, select.result.type)
    condition = emit_condition(shader, select.condition)
    then, otherwise = shader.id(select.then), shader.id(select.otherwise)
    shader.module.value(Op.Select, type_, condition, then, otherwise, result=shader.define(select.result))


@emits(language.Branch)
def emit_branch(shader: Shader, branch: language.Branch) -> None:
    """Emit a branch. An arm without operations has no block: control continues at the merge block. If neither arm has operations, one still
    gets a block."""
    module = shader.module
    decision = emit_condition(shader, branch.condition)
    merge, here = module.new_id("merge"), shader.block
    bare = not branch.then and not branch.otherwise
    named = (("then", branch.then), ("otherwise", branch.otherwise))
    blocks = [(module.new_id(name) if body or bare else merge, body) for name, body in named]
    module.instruction(Op.SelectionMerge, merge, _SELECTIONS[branch.hint])
    module.instruction(Op.BranchConditional, decision, *(label for label, _ in blocks))
    ends = [here if label == merge else _arm(shader, label, body, merge) for label, body in blocks]
    shader.begin_block(merge)
    _merge(shader, branch.merged, ends)


@emits(language.Switch)
def emit_switch(shader: Shader, switch: language.Switch) -> None:
    """Emit a switch. Its arms end at the merge block, or at the continue target of a loop."""
    module = shader.module
    labels = [module.new_id(f"case_{arm.literals[0]}") for arm in switch.arms]
    default, merge = module.new_id("default"), module.new_id("merge")
    pairs = [word for arm, label in zip(switch.arms, labels, strict=True) for literal in arm.literals for word in (literal, label)]
    # A function may have to load the selector, and nothing comes between the next two instructions.
    selector = shader.id(switch.selector)
    module.instruction(Op.SelectionMerge, merge, _SELECTIONS[switch.hint])
    module.instruction(Op.Switch, selector, default, *pairs)
    ends = []
    for label, arm in zip(labels, switch.arms, strict=True):
        if not arm.continues:
            ends.append(_arm(shader, label, arm.body, merge))
        elif shader.loops:
            shader.loops[-1].skipped.append(_arm(shader, label, arm.body, shader.loops[-1].proceed))
        else:
            raise GeneratorError(Rule.EXIT_PLACE, "an arm continues outside a loop")
    ends.append(_arm(shader, default, switch.default, merge))
    shader.begin_block(merge)
    _merge(shader, switch.merged, ends)


@emits(language.Exit)
def emit_exit(shader: Shader, operation: language.Exit) -> None:
    """Emit a selection with one arm that does not return to the merge block."""
    module = shader.module
    decision = emit_condition(shader, operation.condition)
    leave, stay = module.new_id(operation.kind), module.new_id("stay")
    module.instruction(Op.SelectionMerge, stay, SelectionControl.None_)
    module.instruction(Op.BranchConditional, decision, leave, stay)
    shader.begin_block(leave)
    shader.emit(operation.body)
    if operation.kind == "return":
        emit_return(shader, operation.returned)
    elif operation.kind == "discard":
        module.instruction(Op.Kill)
    elif not shader.loops:
        raise GeneratorError(Rule.EXIT_PLACE, f"a {operation.kind} is outside a loop")
    elif operation.kind == "break":
        module.instruction(Op.Branch, shader.loops[-1].merge)
    else:
        shader.loops[-1].skipped.append(shader.block)
        module.instruction(Op.Branch, shader.loops[-1].proceed)
    shader.begin_block(stay)


@emits(language.ReturnBoth)
def emit_return_both(shader: Shader, operation: language.ReturnBoth) -> None:
    """Emit a selection whose arms both return; the block after it is never reached."""
    module = shader.module
    decision = emit_condition(shader, operation.condition)
    yes, no, merge = (module.new_id(name) for name in ("then", "otherwise", "unreachable"))
    module.instruction(Op.SelectionMerge, merge, SelectionControl.None_)
    module.instruction(Op.BranchConditional, decision, yes, no)
    ways = ((yes, operation.then, operation.then_returned), (no, operation.otherwise, operation.otherwise_returned))
    for label, body, returned in ways:
        shader.begin_block(label)
        shader.emit(body)
        emit_return(shader, returned)
    shader.begin_block(merge)


def emit_return(shader: Shader, returned: AnyValue | Operand | None) -> None:
    """Emit the end of a function that returns ``returned``, or nothing."""
    if returned is None:
        shader.module.instruction(Op.Return)
    else:
        shader.module.instruction(Op.ReturnValue, shader.id(returned))


def _arm(shader: Shader, label: int, body: Sequence[Operation], merge: int) -> int:
    """Emit one arm; return the label of the block that it ends with."""
    shader.begin_block(label)
    shader.emit(tuple(body))
    end = shader.block
    shader.module.instruction(Op.Branch, merge)
    return end


def _merge(shader: Shader, merged: Sequence[language.Merged], ends: Sequence[int]) -> None:
    for item in merged:
        words = [word for source, end in zip(item.sources, ends, strict=True) for word in (shader.id(source), end)]
        compute(shader, Op.Phi, item.result, *words)


_LOOPS: Mapping[Hint, LoopControl] = MappingProxyType(
    {"none": LoopControl.None_, "for": LoopControl.Unroll, "against": LoopControl.DontUnroll}
)


@emits(language.Loop)
def emit_loop(shader: Shader, loop: language.Loop) -> None:
    """Emit a loop that carries matrices and scalars.

    The header holds the phis and the condition, so its values are known after the loop, even after zero iterations or an exit in the body.
    With ``continue``, the continue target has its own phis, since more than one block leads there.
    """
    module = shader.module
    phis = [(type_id(shader, one.current.type), *map(shader.id, (one.current, one.initial, one.next))) for one in loop.carried]
    limit, start, step, index = shader.id(loop.limit), shader.id(loop.start), shader.id(loop.step), shader.define(loop.index)
    u32 = scalar(module, U32)
    has_continue = any(language.leaves_iteration(operation, "continue") for operation in loop.body)
    header, inside, proceed, merge = (module.new_id(f"{loop.index.name}_{part}") for part in ("header", "body", "continue", "merge"))
    before, after = shader.block, module.new_id(f"{loop.index.name}_next")
    handed = [module.new_id() if has_continue else following for _, _, _, following in phis]
    module.instruction(Op.Branch, header)
    shader.begin_block(header)
    module.value(Op.Phi, u32, start, before, after, proceed, result=index)
    for (type_, result, initial, _), following in zip(phis, handed, strict=True):
        module.value(Op.Phi, type_, initial, before, following, proceed, result=result)
    more = module.value(Op.ULessThan, module.type(Op.TypeBool), index, limit)
    module.instruction(Op.LoopMerge, merge, proceed, _LOOPS[loop.hint])
    module.instruction(Op.BranchConditional, more, inside, merge)
    shader.begin_block(inside)
    blocks = LoopBlocks(merge, proceed)
    shader.loops.append(blocks)
    shader.emit(loop.body)
    shader.loops.pop()
    last = shader.block
    module.instruction(Op.Branch, proceed)
    shader.begin_block(proceed)
    if has_continue:
        for (type_, current, _, following), result in zip(phis, handed, strict=True):
            unchanged = [word for label in blocks.skipped for word in (current, label)]
            module.value(Op.Phi, type_, following, last, *unchanged, result=result)
    module.value(Op.IAdd, u32, index, step, result=after)
    module.instruction(Op.Branch, header)
    shader.begin_block(merge)


@emits(language.PerInvocation, language.Stated)
def emit_body(shader: Shader, operation: language.PerInvocation | language.Stated) -> None:
    """Emit the code."""
    shader.emit(operation.body)
