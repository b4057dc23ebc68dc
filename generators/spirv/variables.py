"""Variables of Function and Private storage: OpVariable, OpAccessChain, OpLoad, OpStore."""

from __future__ import annotations

from collections.abc import Sequence

from generators.errors import GeneratorError, Rule
from generators.program.construction import CooperativeVectorConstant, CooperativeVectorNull, MatrixConstant, MatrixNull
from generators.program.values import Operand, ValueType
from generators.program.variables import Initializer, Path, Variable, VariableLoad, VariableStore, part_type
from generators.spirv.construction import emit_constant, emit_null, is_specialized
from generators.spirv.declarations import pointer
from generators.spirv.enumerants import Op, StorageClass
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute, type_id

_STORAGE = {"function": StorageClass.Function, "private": StorageClass.Private}


def declare_variables(shader: Shader) -> None:
    """Declare every variable of the program at the start of the function's first block, the required place for Function storage."""
    declare(shader, shader.program.variables)


def variable_pointer(shader: Shader, variable: Variable) -> int:
    """Return the id of the type of a pointer to ``variable``."""
    return pointer(shader.module, _STORAGE[variable.storage], type_id(shader, variable.type))


def declare(shader: Shader, variables: Sequence[Variable]) -> None:
    """Declare variables. With Function storage they are in the current block, which must be the first of its function."""
    module = shader.module
    for variable in variables:
        start = () if variable.initializer is None else (_initializer(shader, variable.type, variable.initializer),)
        storage, type_ = _STORAGE[variable.storage], variable_pointer(shader, variable)
        if storage is StorageClass.Private:
            shader.variables[variable.name] = module.variable(type_, storage, variable.name, *start)
        else:
            shader.variables[variable.name] = module.value(Op.Variable, type_, storage, *start, result=module.new_id(variable.name))


def _initializer(shader: Shader, type_: ValueType, initializer: Initializer) -> int:
    """Return the id of a constant of ``type_``."""
    match initializer:
        case MatrixConstant() | CooperativeVectorConstant():
            emit_constant(shader, initializer)
            return shader.define(initializer.result)
        case MatrixNull() | CooperativeVectorNull():
            emit_null(shader, initializer)
            return shader.define(initializer.result)
        case Operand():
            return shader.id(initializer)
        case "null":
            return shader.module.constant(Op.ConstantNull, type_id(shader, type_))
    parts = [_initializer(shader, part_type(type_, (i,)), part) for i, part in enumerate(initializer)]
    op = Op.SpecConstantComposite if _is_specialized(initializer) else Op.ConstantComposite
    return shader.module.new_constant(op, type_id(shader, type_), *parts)


def _is_specialized(initializer: Initializer) -> bool:
    if isinstance(initializer, Operand):
        return initializer.source == "specialization"
    if isinstance(initializer, MatrixConstant | CooperativeVectorConstant):
        return is_specialized(initializer)
    return isinstance(initializer, tuple) and any(map(_is_specialized, initializer))


def part_pointer(shader: Shader, variable: Variable, path: Path) -> int:
    """Return a pointer to the part that ``path`` leads to.

    Raises:
        GeneratorError: the program does not list the variable.
    """
    base = shader.variables.get(variable.name)
    if base is None:
        raise GeneratorError(Rule.UNDECLARED, f"variable {variable.name}: list it in Program.variables")
    if not path:
        return base
    indices = [shader.u32(index) if isinstance(index, int) else shader.id(index) for index in path]
    type_ = pointer(shader.module, _STORAGE[variable.storage], type_id(shader, part_type(variable.type, path)))
    return shader.module.value(Op.AccessChain, type_, base, *indices)


@emits(VariableLoad)
def emit_variable_load(shader: Shader, load: VariableLoad) -> None:
    """Emit a load of a part."""
    place = part_pointer(shader, load.variable, load.path)
    compute(shader, Op.Load, load.result, place)


@emits(VariableStore)
def emit_variable_store(shader: Shader, store: VariableStore) -> None:
    """Emit a store to a part."""
    place = part_pointer(shader, store.variable, store.path)
    shader.module.instruction(Op.Store, place, shader.id(store.value))
