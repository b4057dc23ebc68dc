"""Functions that matrix instructions call: emitted where they are first used, they stand after the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError
from generators.program.callbacks import (
    ArrayParameter,
    Binary,
    BlockRead,
    BlockType,
    Called,
    Choose,
    Constant,
    Converted,
    ElementFunction,
    ElementRead,
    Expression,
    Operator,
    Outside,
    Parameter,
    Part,
    PointerParameter,
    ScalarParameter,
    StructParameter,
    VectorParameter,
    Whole,
    promised_alignment,
)
from generators.program.conversion import conversions
from generators.program.memory import Pointee
from generators.spirv.declarations import constant, pointee_in, pointer, scalar, scalar_in
from generators.spirv.elementwise import less_than
from generators.spirv.enumerants import Decoration, MemoryAccess, Op, StorageClass
from generators.spirv.functions import CONTROLS
from generators.spirv.shader import Shader
from generators.types import ComponentType
from generators.types import StorageClass as ArrayStorage

_FLOAT: Mapping[Operator, Op] = MappingProxyType(
    {"add": Op.FAdd, "subtract": Op.FSub, "multiply": Op.FMul, "equal": Op.FOrdEqual, "less": Op.FOrdLessThan}
)
_INTEGER: Mapping[Operator, Op] = MappingProxyType(
    {
        "add": Op.IAdd,
        "subtract": Op.ISub,
        "multiply": Op.IMul,
        "and": Op.BitwiseAnd,
        "or": Op.BitwiseOr,
        "xor": Op.BitwiseXor,
        "shift_left": Op.ShiftLeftLogical,
        "equal": Op.IEqual,
    }
)


def callback(shader: Shader, function: ElementFunction) -> int:
    """The id of a function."""
    return shader.module.once(("callback", function.name), lambda: _declare(shader, function))


def callback_struct(shader: Shader, name: str, members: tuple[ComponentType, ...]) -> int:
    """The id of a struct of scalars."""
    module = shader.module
    return module.once(
        ("callback struct", name),
        lambda: module.new_type(Op.TypeStruct, *(scalar(module, member) for member in members), name=name),
    )


def _block(shader: Shader, block: BlockType) -> int:
    """The id of the struct of a block."""
    module, storage = shader.module, StorageClass.PhysicalStorageBuffer

    def declare() -> int:
        types = []
        for member in block.members:
            type_ = scalar_in(module, member.component, storage)
            if member.length is not None:
                element, length = type_, shader.u32(member.length)
                type_ = module.new_type(Op.TypeArray, element, length)
                module.decorate(type_, Decoration.ArrayStride, member.component.bytes)
            types.append(type_)
        result = module.new_type(Op.TypeStruct, *types, name=block.name)
        # glslang declares buffer references as Blocks; either is a struct with offsets.
        module.decorate(result, Decoration.Block)
        for i, member in enumerate(block.members):
            module.decorate_member(result, i, Decoration.Offset, member.offset)
        return result

    return module.once(("block", block), declare)


def _type(shader: Shader, parameter: Parameter) -> int:
    module = shader.module
    match parameter:
        case ScalarParameter():
            return scalar(module, parameter.component)
        case VectorParameter():
            return module.type(Op.TypeVector, scalar(module, parameter.component), parameter.lanes)
        case StructParameter():
            return callback_struct(shader, parameter.type_name, parameter.members)
        case ArrayParameter():
            return module.type(Op.TypeArray, scalar(module, parameter.component), shader.u32(parameter.length))
        case PointerParameter():
            return pointer(module, StorageClass.PhysicalStorageBuffer, _block(shader, parameter.block))


def _declare(shader: Shader, function: ElementFunction) -> int:
    module = shader.module
    result = scalar(module, function.result.component)
    types = [_type(shader, parameter) for parameter in function.parameters]
    outside = shader.block, shader.loops
    with module.function(result, module.type(Op.TypeFunction, result, *types), function.name, CONTROLS[function.control]) as id_:
        values = {
            parameter.name: module.value(Op.FunctionParameter, type_, result=module.new_id(parameter.name))
            for parameter, type_ in zip(function.parameters, types, strict=True)
        }
        shader.loops = []
        shader.begin_block(module.new_id(f"{function.name}_entry"))
        module.instruction(Op.ReturnValue, _Body(shader, values).emit(function.result))
    shader.block, shader.loops = outside
    return id_


class _Body:
    """Emits the expressions of one function, each once."""

    def __init__(self, shader: Shader, parameters: Mapping[str, int]) -> None:
        self.shader = shader
        self.parameters = parameters
        self.emitted: dict[Expression, int] = {}

    def emit(self, expression: Expression) -> int:
        """The id of the value of ``expression``."""
        result = self.emitted.get(expression)
        if result is None:
            result = self.emitted[expression] = self._emit(expression)
        return result

    def _emit(self, expression: Expression) -> int:
        shader, module = self.shader, self.shader.module
        type_ = scalar(module, expression.component)
        match expression:
            case ScalarParameter():
                return self.parameters[expression.name]
            case Constant():
                return constant(module, expression.component, expression.bits)
            case Outside():
                return shader.scalar(expression.operand)
            case Part():
                return module.value(Op.CompositeExtract, type_, self.parameters[expression.of.name], expression.index)
            case BlockRead():
                return self._block_read(expression, type_)
            case ElementRead():
                return self._element_read(expression, type_)
            case Binary():
                return self._binary(expression, type_)
            case Choose():
                condition = self.emit(expression.condition)
                return module.value(Op.Select, type_, condition, self.emit(expression.then), self.emit(expression.otherwise))
            case Converted():
                return self._converted(expression, type_)
            case Called():
                arguments = [
                    self.parameters[argument.name] if isinstance(argument, Whole) else self.emit(argument)
                    for argument in expression.arguments
                ]
                return module.value(Op.FunctionCall, type_, callback(shader, expression.function), *arguments)

    def _element_read(self, read: ElementRead, type_: int) -> int:
        shader = self.shader
        if read.array.storage is ArrayStorage.PHYSICAL_STORAGE_BUFFER:
            raise GeneratorError(f"a function reads {read.array.name} by an address that only its caller has; use another storage class")
        place = shader.element(read.array, self.emit(read.index))
        # What invocations hand each other through a barrier is not private (Vulkan memory model).
        operands = [MemoryAccess.NonPrivatePointer] if shader.is_shared(read.array) else []
        return shader.module.value(Op.Load, type_, place, *operands)

    def _block_read(self, read: BlockRead, type_: int) -> int:
        shader, module, storage = self.shader, self.shader.module, StorageClass.PhysicalStorageBuffer
        block = read.pointer.block
        member = block.members[read.member]
        indices = [shader.u32(read.member)]
        if read.index is not None:
            indices.append(self.emit(read.index))
        element = pointer(module, storage, pointee_in(module, Pointee(member.component), storage))
        place = module.value(Op.AccessChain, element, self.parameters[read.pointer.name], *indices)
        return module.value(Op.Load, type_, place, MemoryAccess.Aligned, promised_alignment(read))

    def _binary(self, expression: Binary, type_: int) -> int:
        module, component = self.shader.module, expression.component
        left, right = self.emit(expression.left), self.emit(expression.right)
        operator = expression.operator
        if operator in ("minimum", "maximum"):
            pair = (left, right) if operator == "minimum" else (right, left)
            less = module.value(less_than(component), module.type(Op.TypeBool), *pair)
            return module.value(Op.Select, type_, less, left, right)
        if operator == "less":
            return module.value(less_than(component), module.type(Op.TypeBool), left, right)
        if operator == "shift_right":
            op: Op | None = Op.ShiftRightArithmetic if component.is_signed else Op.ShiftRightLogical
            op = None if component.is_float else op
        else:
            op = (_FLOAT if component.is_float else _INTEGER).get(operator)
        if op is None:
            raise GeneratorError(f"'{operator}' has no instruction for {component}; use another type")
        return module.value(op, module.type(Op.TypeBool) if operator == "equal" else type_, left, right)

    def _converted(self, expression: Converted, type_: int) -> int:
        source, target = expression.value.component, expression.component
        value = self.emit(expression.value)
        if source is target:
            return value
        op = Op.named(conversions(source, target)[0].value)
        if op is Op.SConvert and not source.is_signed and target.bits > source.bits:
            # Widened as the unsigned number that it is, to the unsigned type of that width, which a bitcast then names signed.
            unsigned = self.shader.module.value(Op.UConvert, self.shader.module.type(Op.TypeInt, target.bits, 0), value)
            return self.shader.module.value(Op.Bitcast, type_, unsigned)
        return self.shader.module.value(op, type_, value)
