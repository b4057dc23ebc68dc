"""Components of the invocation: a loop over the length, with access chains that lead into matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from generators.errors import GeneratorError
from generators.program.elements import ElementUpdate
from generators.spirv.control_flow import counting_loop
from generators.spirv.declarations import U32, scalar
from generators.spirv.elementwise import less_than
from generators.spirv.enumerants import BuiltIn, Op, SelectionControl
from generators.spirv.shader import Shader
from generators.spirv.variables import part_pointer


def branch(shader: Shader, condition: int, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
    """Emits ``if (condition) then else otherwise``."""
    module = shader.module
    merge, blocks = module.new_id("merge"), [(module.new_id("then"), then)]
    if otherwise is not None:
        blocks.append((module.new_id("otherwise"), otherwise))
    module.instruction(Op.SelectionMerge, merge, SelectionControl.None_)
    module.instruction(Op.BranchConditional, condition, blocks[0][0], merge if otherwise is None else blocks[1][0])
    for label, body in blocks:
        shader.begin_block(label)
        body()
        module.instruction(Op.Branch, merge)
    shader.begin_block(merge)


def _applied(shader: Shader, update: ElementUpdate, value: int, turned: bool = False) -> int:
    """The function of a component; ``turned`` has the operands in the other order."""
    module, component = shader.module, update.type.component
    type_ = scalar(module, component)
    for operand, ops in ((update.function.factor, (Op.IMul, Op.FMul)), (update.function.addend, (Op.IAdd, Op.FAdd))):
        if operand is not None:
            pair = (value, shader.id(operand))
            value = module.value(ops[component.is_float], type_, *(pair[::-1] if turned else pair))
    return value


def _update(shader: Shader, update: ElementUpdate, index: int) -> None:
    """Updates the component with the id ``index`` through pointers."""
    module, component = shader.module, update.type.component
    type_ = scalar(module, component)
    value = module.value(Op.Load, type_, part_pointer(shader, update.source, update.source_path, index))

    def store(turned: bool = False) -> None:
        place = part_pointer(shader, update.target, update.target_path, index)
        module.instruction(Op.Store, place, _applied(shader, update, value, turned))

    bool_ = module.type(Op.TypeBool)
    match update.condition:
        case "always":
            store()
        case "below":
            assert update.threshold is not None, "a comparison has a threshold"
            branch(shader, module.value(less_than(component), bool_, value, shader.id(update.threshold)), store)
        case _:
            u32 = scalar(module, U32)
            lane = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
            odd = module.value(Op.BitwiseAnd, u32, lane, shader.u32(1))
            branch(shader, module.value(Op.INotEqual, bool_, odd, shader.u32(0)), store, lambda: store(turned=True))


def _insert(shader: Shader, update: ElementUpdate, index: int) -> None:
    """Updates the component with the number ``index`` by composite instructions on whole matrices."""
    module, type_ = shader.module, shader.matrix_type(update.type)
    source = module.value(Op.Load, type_, part_pointer(shader, update.source, update.source_path))
    value = module.value(Op.CompositeExtract, scalar(module, update.type.component), source, index)
    place = part_pointer(shader, update.target, update.target_path)
    target = module.value(Op.Load, type_, place)
    changed = module.value(Op.CompositeInsert, type_, _applied(shader, update, value), target, index)
    module.instruction(Op.Store, place, changed)
    if update.kept is not None and index == 0:
        module.instruction(Op.Store, part_pointer(shader, update.kept, ()), target)


def emit_element_update(shader: Shader, update: ElementUpdate) -> None:
    """Emits the leading components, then a loop over the others.

    Raises:
        GeneratorError: whole matrices would be handled where invocations diverge (KHR-UNI-01).
    """
    if update.leading_form == "composite" and update.condition != "always":
        raise GeneratorError("composite instructions take whole matrices, so that invocations must not diverge: use pointers (KHR-UNI-01)")
    module, u32 = shader.module, scalar(shader.module, U32)
    length = module.value(Op.CooperativeMatrixLengthKHR, u32, shader.matrix_type(update.type))
    for k in range(update.leading):
        there = module.value(Op.ULessThan, module.type(Op.TypeBool), shader.u32(k), length)
        if update.leading_form == "composite":
            branch(shader, there, partial(_insert, shader, update, k))
        else:
            branch(shader, there, partial(_update, shader, update, shader.u32(k)))
    index = module.new_id("component")
    counting_loop(shader, "component", shader.u32(update.leading), length, shader.u32(1), index, (), lambda: _update(shader, update, index))
