"""The frame of a program's shader: what it is connected to, and the ids of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from generators.errors import GeneratorError
from generators.program.arrays import AtomicAdd
from generators.program.control_flow import flattened
from generators.program.interface import interface
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID, Program
from generators.program.values import AnyValue, CooperativeVectorType, Extent, MatrixType, Operand, Selected, Value
from generators.program.workgroup import Barrier
from generators.spirv.declarations import (
    U32,
    constant,
    cooperative_vector,
    literal,
    matrix,
    pointee_in,
    pointer,
    runtime_array,
    scalar,
    scalar_in,
    strided_pointer,
)
from generators.spirv.enumerants import BuiltIn, Capability, Decoration, Op, StorageClass
from generators.spirv.float_controls import emit_float_controls
from generators.spirv.module import Module
from generators.types import MemoryScope
from generators.types import StorageClass as ArrayStorage

DEFAULT_LOCAL_SIZE = 32
"""The local size in x of a module that nobody specializes."""

ENTRY_POINT = "main"

_STORAGE = {
    ArrayStorage.STORAGE_BUFFER: StorageClass.StorageBuffer,
    ArrayStorage.WORKGROUP: StorageClass.Workgroup,
    ArrayStorage.PHYSICAL_STORAGE_BUFFER: StorageClass.PhysicalStorageBuffer,
}


@dataclass
class LoopBlocks:
    """Where the exits of a loop go.

    Attributes:
        merge, proceed: labels of the merge block and of the continue target.
        skipped: labels of the blocks from which ``continue`` goes there.
    """

    merge: int
    proceed: int
    skipped: list[int] = field(default_factory=list)


class Shader:
    """A module with the interface of ``program`` and an open function, to which the emitters of operations add.

    Attributes:
        module: the module.
        program: what is emitted.
        local_size: ids of the local size in x, y and z.
        block: id of the block that is being emitted.
        handover_scope: the scope at which accesses to arrays that invocations share are made available and visible; None where barriers
            do that.
        variables: ids of the program's variables, by name.
        loops: the loops around it, innermost last.
    """

    block: int
    loops: list[LoopBlocks]

    def __init__(
        self, program: Program, emit: Callable[[Shader, Operation], None], declare_variables: Callable[[Shader], None] = lambda _: None
    ) -> None:
        self.module = Module(program.shape.version)
        self.program = program
        self.module.require(Capability.Shader, Capability.VulkanMemoryModel)
        emit_float_controls(self.module, program)
        self.variables: dict[str, int] = {}
        self.loops = []
        self._emit = emit
        self._declare_variables = declare_variables
        self._values: dict[str, int] = {}
        self._in_function = 0
        self._operands: dict[str, int] = {}
        self._matrix_types: dict[MatrixType, int] = {}
        self._arrays: dict[str, tuple[int, StorageClass, int]] = {}
        operations = tuple(flattened(program.operations))
        self._synchronizes = any(isinstance(operation, Barrier | AtomicAdd) for operation in operations)
        self.handover_scope = _handover_scope(operations)
        # The local size comes first: where matrices have Workgroup scope, it must be known before their types (F-CM2-16).
        self.local_size = self._declare_local_size()
        self.begin_block(self.module.new_id("entry"))
        self._connect()

    def assemble(self) -> bytes:
        """Ends the function and gives the module's words."""
        self.module.instruction(Op.Return)
        match self.program.shape.local_size:
            case "literals":
                return self.module.assemble(ENTRY_POINT, self._literal_local_size(), literals=True)
            case "built_in":
                return self.module.assemble(ENTRY_POINT, (1, 1, 1), literals=True)
            case _:
                return self.module.assemble(ENTRY_POINT, self.local_size)

    def invocations(self) -> int:
        """The id of the number of invocations of a workgroup, computed where there is more than x to it."""
        module, shape = self.module, self.program.shape
        x, y, z = self.local_size
        total = x
        for extent, id_ in ((shape.y, y), (shape.z, z)):
            if extent > 1:
                total = module.value(Op.IMul, scalar(module, U32), total, id_)
        return total

    def emit(self, operations: tuple[Operation, ...]) -> None:
        """Emits operations in order into the current block and those that they open."""
        for operation in operations:
            self._emit(self, operation)

    def begin_block(self, label: int) -> None:
        """Begins the block with the id ``label``."""
        self.block = label
        self.module.label(label)

    def u32(self, value: int) -> int:
        """A u32 constant."""
        return constant(self.module, U32, value)

    def enter(self) -> dict[str, int]:
        """Begin a function: names that it gives its values are its own. Returns what ``leave`` takes."""
        outside, self._values = self._values, {}
        self._in_function += 1
        return outside

    def leave(self, outside: dict[str, int]) -> None:
        """End a function."""
        self._values = outside
        self._in_function -= 1

    def define(self, value: AnyValue) -> int:
        """The id of a value that the shader computes, which may be asked for before its definition."""
        result = self._values.get(value.name)
        if result is None:
            result = self._values[value.name] = self.module.new_id(value.name)
        return result

    def id(self, value: AnyValue | Operand | Selected) -> int:
        """The id of a value, wherever it comes from."""
        if isinstance(value, Selected):
            return self._selected(value)
        if isinstance(value, Value):
            return self.define(value)
        if value.source == "literal":
            return constant(self.module, value.type, _fixed(value))
        found = self._operands.get(value.name)
        if found is None:
            raise GeneratorError(f"operand {value.name}: list it in Program.operands")
        return found

    def matrix_type(self, type_: MatrixType) -> int:
        """The id of a matrix type."""
        result = self._matrix_types.get(type_)
        if result is None:
            rows, columns = self.extent(type_.rows), self.extent(type_.columns)
            # Scope and Use are IntEnum: a literal one is an extent, too.
            result = self.module.once(
                ("matrix", type_.component.name, type_.scope, rows, columns, type_.use),
                lambda: matrix(self.module, type_, rows, columns, self.extent),
            )
            self._matrix_types[type_] = result
        return result

    def vector_type(self, type_: CooperativeVectorType) -> int:
        """The id of a cooperative vector type."""
        count = self.extent(type_.length)
        return self.module.once(("cooperative vector", type_.component.name, count), lambda: cooperative_vector(self.module, type_, count))

    def built_in(self, which: BuiltIn, name: str) -> int:
        """A u32 (or, of WorkgroupId and NumWorkgroups, three) that the environment provides, loaded."""
        module = self.module
        type_ = scalar(module, U32)
        if which in (BuiltIn.WorkgroupId, BuiltIn.NumWorkgroups):
            type_ = module.type(Op.TypeVector, type_, 3)
        if which in (BuiltIn.SubgroupId, BuiltIn.NumSubgroups, BuiltIn.SubgroupSize, BuiltIn.SubgroupLocalInvocationId):
            module.require(Capability.GroupNonUniform)

        def declare() -> int:
            variable = module.variable(pointer(module, StorageClass.Input, type_), StorageClass.Input, name)
            module.decorate(variable, Decoration.BuiltIn, which)
            return variable

        return module.value(Op.Load, type_, module.once(("built-in", which), declare))

    def pointee(self, array: Array) -> int:
        """The type of an element of ``array``."""
        return pointee_in(self.module, array.pointee, _STORAGE[array.storage])

    def element(self, array: Array, index: int) -> int:
        """A pointer to the element of ``array`` whose number is in the id ``index``."""
        base, storage, element = self._arrays[array.name]
        if storage is StorageClass.PhysicalStorageBuffer and self._in_function:
            raise GeneratorError(f"array {array.name}: its address is known in the entry point alone; use a storage buffer")
        if array.other_stride is not None and index != self.u32(0):
            raise GeneratorError(
                f"array {array.name}: with an array_stride of its own only its element 0 has one place under both strides; "
                "use the literal u32 0 as first element, and no copies"
            )
        if storage is StorageClass.Workgroup:
            return self.module.value(Op.AccessChain, element, base, index)
        return self.module.value(Op.AccessChain, element, base, self.u32(0), index)

    def elements(self, array: Array) -> int:
        """A pointer to ``array`` as a whole, which has the type of an array."""
        base, storage, _ = self._arrays[array.name]
        if storage is StorageClass.Workgroup:
            return base
        if storage is StorageClass.PhysicalStorageBuffer and self._in_function:
            raise GeneratorError(f"array {array.name}: its address is known in the entry point alone; use a storage buffer")
        type_ = pointer(self.module, storage, self._array_type(array))
        return self.module.value(Op.AccessChain, type_, base, self.u32(0))

    def is_shared(self, array: Array) -> bool:
        """Whether invocations hand each other elements of ``array`` through barriers, so that its accesses must not be private:
        private accesses take no part in availability and visibility (Vulkan memory model)."""
        return array.storage is ArrayStorage.WORKGROUP or (self._synchronizes and array.role != "input")

    def _declare_local_size(self) -> tuple[int, int, int]:
        module, shape = self.module, self.program.shape
        if self.program.subgroups % (shape.y * shape.z):
            raise GeneratorError(f"{self.program.subgroups} subgroups cannot lie {shape.y} along y and {shape.z} along z; give a multiple")
        if shape.local_size == "literals":
            x, y, z = self._literal_local_size()
            return self.u32(x), self.u32(y), self.u32(z)
        u32 = scalar(module, U32)
        x = module.new_constant(Op.SpecConstant, u32, DEFAULT_LOCAL_SIZE, name="local_size")
        module.decorate(x, Decoration.SpecId, LOCAL_SIZE_CONSTANT_ID)
        if shape.local_size == "built_in":
            y, z = self.u32(shape.y), self.u32(shape.z)
            size = module.new_constant(Op.SpecConstantComposite, module.type(Op.TypeVector, u32, 3), x, y, z, name="workgroup_size")
            module.decorate(size, Decoration.BuiltIn, BuiltIn.WorkgroupSize)
            return x, y, z
        if shape.local_size == "x_constant":
            return x, self.u32(shape.y), self.u32(shape.z)
        further = []
        for name, constant_id, extent in (("y", LOCAL_SIZE_Y_CONSTANT_ID, shape.y), ("z", LOCAL_SIZE_Z_CONSTANT_ID, shape.z)):
            id_ = module.new_constant(Op.SpecConstant, u32, extent + 1, name=f"local_size_{name}")
            module.decorate(id_, Decoration.SpecId, constant_id)
            further.append(id_)
        return x, further[0], further[1]

    def _literal_local_size(self) -> tuple[int, int, int]:
        shape = self.program.shape
        if shape.invocations is not None:
            return shape.invocations, shape.y, shape.z
        if shape.subgroup_size is None:
            raise GeneratorError("a literal local size needs the subgroup size; give WorkgroupShape.subgroup_size")
        return self.program.subgroups // (shape.y * shape.z) * shape.subgroup_size, shape.y, shape.z

    def boolean(self, value: bool | Operand) -> int:
        """The id of a boolean constant; a specialization constant (u32) is true if it is not 0."""
        type_ = self.module.type(Op.TypeBool)
        if isinstance(value, Operand):
            return self.module.constant(Op.SpecConstantOp, type_, Op.INotEqual, self.id(value), self.u32(0))
        return self.module.constant(Op.ConstantTrue if value else Op.ConstantFalse, type_)

    def extent(self, value: Extent) -> int:
        """The id of the constant that an extent is."""
        if isinstance(value, int):
            return self.u32(value)
        return self.id(value)

    def _selected(self, value: Selected) -> int:
        module, flag = self.module, self.id(value.flag)
        boolean = module.type(Op.TypeBool)
        condition = module.constant(Op.SpecConstantOp, boolean, Op.INotEqual, flag, self.u32(0))
        chosen, otherwise = self.u32(value.chosen), self.u32(value.otherwise)
        return module.constant(Op.SpecConstantOp, scalar(module, U32), Op.Select, condition, chosen, otherwise)

    def _connect(self) -> None:
        """Declares the interface and loads operands and addresses, in the function's first block, which dominates all others."""
        module, places = self.module, interface(self.program)
        for operand in places.specialization:
            default = _fixed(operand) if operand.default is None else operand.default
            words = literal(operand.type, default)
            id_ = module.new_constant(Op.SpecConstant, scalar(module, operand.type), *words, name=operand.name)
            assert operand.constant_id is not None, f"{operand.name}: a specialization constant has a constant_id"
            module.decorate(id_, Decoration.SpecId, operand.constant_id)
            self._operands[operand.name] = id_

        self._declare_variables(self)

        for binding, array in places.bindings:
            variable = self._bound_variable(self._array_block(array), array.name, binding)
            self._arrays[array.name] = variable, StorageClass.StorageBuffer, self._element_pointer(array)

        for array in self.program.arrays:
            if array.storage is ArrayStorage.WORKGROUP:
                if array.array_stride is not None:
                    raise GeneratorError(f"array {array.name}: workgroup memory has no explicit layout, so leave out array_stride")
                type_ = module.type(Op.TypeArray, self.pointee(array), self.extent(array.length))
                variable = module.variable(pointer(module, StorageClass.Workgroup, type_), StorageClass.Workgroup, array.name)
                self._arrays[array.name] = variable, StorageClass.Workgroup, self._element_pointer(array)

        pushed: list[_Member] = []
        for address in places.addresses:
            block = pointer(module, StorageClass.PhysicalStorageBuffer, self._array_block(address.array))
            pushed.append((address.array.name, block, address.offset))
        pushed += self._scalar_members([(m.operand, m.offset) for m in places.push_constants], StorageClass.PushConstant)
        if pushed:
            block = self._block("PushConstants", pushed)
            variable = module.variable(pointer(module, StorageClass.PushConstant, block), StorageClass.PushConstant, "push_constants")
            loaded = self._load_members(variable, StorageClass.PushConstant, pushed)
            for address, id_ in zip(places.addresses, loaded, strict=False):
                element = self._element_pointer(address.array)
                self._arrays[address.array.name] = id_, StorageClass.PhysicalStorageBuffer, element
            for member, id_ in zip(places.push_constants, loaded[len(places.addresses) :], strict=True):
                self._operands[member.operand.name] = id_

        if places.operand_binding is not None:
            stored = self._scalar_members([(m.operand, m.offset) for m in places.operand_members], StorageClass.StorageBuffer)
            block = self._block("Operands", stored, read_only=True)
            variable = self._bound_variable(block, "operands", places.operand_binding)
            loaded = self._load_members(variable, StorageClass.StorageBuffer, stored)
            for member, id_ in zip(places.operand_members, loaded, strict=True):
                self._operands[member.operand.name] = id_

    def _scalar_members(self, operands: list[tuple[Operand, int]], storage: StorageClass) -> list[_Member]:
        return [(operand.name, scalar_in(self.module, operand.type, storage), offset) for operand, offset in operands]

    def _load_members(self, block: int, storage: StorageClass, members: list[_Member]) -> list[int]:
        module = self.module
        loaded = []
        for i, (name, type_, _) in enumerate(members):
            place = module.value(Op.AccessChain, pointer(module, storage, type_), block, self.u32(i))
            loaded.append(module.value(Op.Load, type_, place, result=module.new_id(name)))
        return loaded

    def _element_pointer(self, array: Array) -> int:
        storage, type_ = _STORAGE[array.storage], self.pointee(array)
        if array.other_stride is None:
            return pointer(self.module, storage, type_)
        return strided_pointer(self.module, storage, type_, array.other_stride)

    def _array_block(self, array: Array) -> int:
        return self._block(f"{array.name}_block", [("elements", self._array_type(array), 0)], read_only=array.role == "input")

    def _array_type(self, array: Array) -> int:
        stride = array.pointee.bytes if array.array_stride is None else array.array_stride
        return runtime_array(self.module, self.pointee(array), stride)

    def _block(self, name: str, members: list[_Member], read_only: bool = False) -> int:
        module = self.module
        block = module.new_type(Op.TypeStruct, *(type_ for _, type_, _ in members), name=name)
        module.decorate(block, Decoration.Block)
        for i, (member, _, offset) in enumerate(members):
            module.member_name(block, i, member)
            module.decorate_member(block, i, Decoration.Offset, offset)
            if read_only:
                module.decorate_member(block, i, Decoration.NonWritable)
        return block

    def _bound_variable(self, block: int, name: str, binding: int) -> int:
        module = self.module
        variable = module.variable(pointer(module, StorageClass.StorageBuffer, block), StorageClass.StorageBuffer, name)
        module.decorate(variable, Decoration.DescriptorSet, 0)
        module.decorate(variable, Decoration.Binding, binding)
        return variable


_Member = tuple[str, int, int]
"""Name, type and byte offset of a block's member."""


def _fixed(operand: Operand) -> int:
    if operand.value is None:
        raise GeneratorError(f"operand {operand.name}: its source is {operand.source}, so give its value in the case")
    return operand.value


def _handover_scope(operations: Sequence[Operation]) -> MemoryScope | None:
    """The widest scope that a write must reach by the operands of accesses."""
    atomics = {operation.scope for operation in operations if isinstance(operation, AtomicAdd)}
    barriers = {operation.scope for operation in operations if isinstance(operation, Barrier) and operation.handover == "access"}
    return max(atomics, default=None) or min(barriers, default=None)
