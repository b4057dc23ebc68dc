"""The frame of a program's shader: its interface and the ids of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from generators.errors import GeneratorError, Rule
from generators.program.arrays import AtomicAdd
from generators.program.interface import interface
from generators.program.memory import Array, Inner
from generators.program.operation import Operation
from generators.program.program import LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID, Program
from generators.program.reading import Reading
from generators.program.values import (
    AnyValue,
    CooperativeVectorType,
    Extent,
    MatrixType,
    Operand,
    PointerType,
    ScalarValue,
    Selected,
    Value,
    extent,
)
from generators.program.workgroup import Barrier
from generators.spirv.declarations import (
    STORAGE,
    U32,
    constant,
    cooperative_vector,
    element_pointer,
    literal,
    matrix,
    pointee_in,
    pointer,
    scalar,
    scalar_in,
    untyped_pointer,
    with_stride,
)
from generators.spirv.enumerants import BuiltIn, Capability, Decoration, ExecutionMode, Op, StorageClass
from generators.spirv.module import Module
from generators.types import COMPONENT_TYPES, MemoryScope
from generators.types import StorageClass as ArrayStorage

DEFAULT_LOCAL_SIZE = 32
"""The local size in x of an unspecialized module."""

_EXPLICIT_LAYOUT = {8: Capability.WorkgroupMemoryExplicitLayout8BitAccessKHR, 16: Capability.WorkgroupMemoryExplicitLayout16BitAccessKHR}
"""Capabilities that scalars of a width need in explicitly laid out blocks of workgroup memory."""


@dataclass(frozen=True)
class _ArrayBase:
    """The start of access chains to the elements of an array.

    Attributes:
        base: id of the variable, or of the address.
        storage: its storage class.
        element: type of a pointer to an element.
        block: type of the block that contains the array, 0 if there is none.
    """

    base: int
    storage: StorageClass
    element: int
    block: int


@dataclass
class LoopBlocks:
    """The targets of a loop's exits.

    Attributes:
        merge, proceed: labels of the merge block and of the continue target.
        skipped: labels of the blocks that branch to the continue target by ``continue``.
    """

    merge: int
    proceed: int
    skipped: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    """A member of a block that the entry point and each function load for themselves.

    Attributes:
        block: the id of the variable. ``type``: the id of the member's type.
        member: its number.
    """

    block: int
    storage: StorageClass
    type: int
    member: int


emits: Reading[Shader] = Reading("generators.spirv")
"""The functions that add the instructions of an operation to a shader."""


class Shader:
    """A module with the interface of ``program`` and an open function, to which the emitters of operations add.

    Attributes:
        module: the module.
        program: the program to emit.
        local_size: ids of the local size in x, y and z; 0 outside compute.
        block: id of the block that is being emitted.
        handover_scope: the scope at which accesses to arrays that invocations share are made available and visible; None if barriers do
            that.
        variables: ids of the program's variables, by name.
        loops: the enclosing loops, innermost last.
    """

    block: int
    loops: list[LoopBlocks]

    def __init__(
        self,
        program: Program,
        declare_variables: Callable[[Shader], None] = lambda _: None,
        module: Module | None = None,
        literal_size: tuple[int, int, int] | None = None,
    ) -> None:
        """Begin the shader: in ``module`` if given, with ``literal_size`` as its own local size if given."""
        self.module = Module(program.shape.version, program.maintenance1) if module is None else module
        self.program = program
        self._literal_size = literal_size
        self.module.require(Capability.Shader, Capability.VulkanMemoryModel)
        for control in program.float_controls:
            self.module.require(Capability.named(control.mode.value))
            self.module.execution_mode(ExecutionMode.named(control.mode.value), control.width)
        if program.wide_indexing:
            self.module.require(Capability.Shader64BitIndexingEXT)
            self.module.execution_mode(ExecutionMode.Shader64BitIndexingEXT)
        self.variables: dict[str, int] = {}
        self.loops = []
        self._declare_variables = declare_variables
        self._values: dict[str, int] = {}
        self._in_function = 0
        self._operands: dict[str, int] = {}
        self._outside: dict[str, _Place] = {}
        self._matrix_types: dict[MatrixType, int] = {}
        self._arrays: dict[str, _ArrayBase] = {}
        self._descriptors: dict[str, int] = {}
        operations = program.every_operation
        self._synchronizes = any(isinstance(operation, Barrier | AtomicAdd) for operation in operations)
        self.handover_scope = _handover_scope(operations)
        # The local size comes first: for matrices of Workgroup scope, it must be known before their types (F-CM2-16).
        self.local_size = self._declare_local_size()
        self.begin_block(self.module.new_id("entry"))
        self._connect()

    def end_entry_point(self, name: str) -> None:
        """End the function of the entry point ``name``."""
        self.module.instruction(Op.Return)
        draw = self.program.shape.draw
        if draw is None:
            self.module.end_entry_point(name, *self._stated_local_size())
        else:
            self.module.end_drawn_entry_point(name, draw.stage)

    def _stated_local_size(self) -> tuple[tuple[int, int, int], bool]:
        """Return the local size, and whether it consists of literals."""
        if self._literal_size is not None:
            return self._literal_size, True
        match self.program.shape.local_size:
            case "literals":
                return self._literal_local_size(), True
            case "built_in":
                return (1, 1, 1), True
            case _:
                return self.local_size, False

    def invocations(self) -> int:
        """Return the id of the number of invocations in a workgroup; it is computed if y or z is not 1."""
        module, shape = self.module, self.program.shape
        x, y, z = self.local_size
        total = x
        for size, id_ in ((shape.y, y), (shape.z, z)):
            if size > 1:
                total = module.value(Op.IMul, scalar(module, U32), total, id_)
        return total

    def emit(self, operations: tuple[Operation, ...]) -> None:
        """Emit operations in order into the current block and the blocks that they open."""
        for operation in operations:
            emits.read(self, operation)

    def begin_block(self, label: int) -> None:
        """Begin the block with the id ``label``."""
        self.block = label
        self.module.label(label)

    def u32(self, value: int) -> int:
        """Return a u32 constant."""
        return constant(self.module, U32, value)

    def enter(self) -> dict[str, int]:
        """Begin a function, whose value names are local to it. Returns the argument of ``leave``."""
        outside, self._values = self._values, {}
        self._in_function += 1
        return outside

    def leave(self, outside: dict[str, int]) -> None:
        """End a function."""
        self._values = outside
        self._in_function -= 1

    def define(self, value: AnyValue) -> int:
        """Return the id of a value that the shader computes; the value need not be defined yet."""
        result = self._values.get(value.name)
        if result is None:
            result = self._values[value.name] = self.module.new_id(value.name)
        return result

    def id(self, value: AnyValue | Operand | Selected) -> int:
        """Return the id of a value from any source.

        Raises:
            GeneratorError: the program does not list the operand.
        """
        if isinstance(value, Selected):
            return self._selected(value)
        if isinstance(value, Value):
            return self.define(value)
        if value.source == "literal":
            return constant(self.module, value.type, _fixed(value))
        if self._in_function and value.name in self._outside:
            return self._load_member(self._outside[value.name], value.name)
        found = self._operands.get(value.name)
        if found is None:
            raise GeneratorError(Rule.UNDECLARED, f"operand {value.name}: list it in Program.operands")
        return found

    def base(self, array: Array) -> int:
        """Return the pointer to the block of an array in physical storage. A function other than the entry point loads it for itself."""
        if self._in_function:
            return self._load_member(self._outside[array.name], array.name)
        return self._base(array).base

    def matrix_type(self, type_: MatrixType) -> int:
        """Return the id of a matrix type."""
        result = self._matrix_types.get(type_)
        if result is None:
            rows, columns = self.extent(type_.rows), self.extent(type_.columns)
            # Scope and Use are IntEnum: a literal one is also an extent.
            result = self.module.once(
                ("matrix", type_.component.name, type_.scope, rows, columns, type_.use),
                lambda: matrix(self.module, type_, rows, columns, self.extent),
            )
            self._matrix_types[type_] = result
        return result

    def vector_type(self, type_: CooperativeVectorType) -> int:
        """Return the id of a cooperative vector type."""
        count = self.extent(type_.length)
        return self.module.once(("cooperative vector", type_.component.name, count), lambda: cooperative_vector(self.module, type_, count))

    def built_in(self, which: BuiltIn, name: str) -> int:
        """Load a u32 that the environment provides (three u32 for WorkgroupId, NumWorkgroups and LaunchId, four f32 for FragCoord)."""
        module = self.module
        type_ = scalar(module, U32)
        if which is BuiltIn.FragCoord:
            type_ = module.type(Op.TypeVector, scalar(module, COMPONENT_TYPES["f32"]), 4)
        if which in (BuiltIn.WorkgroupId, BuiltIn.NumWorkgroups, BuiltIn.LaunchIdKHR):
            type_ = module.type(Op.TypeVector, type_, 3)
        if which in (BuiltIn.SubgroupId, BuiltIn.NumSubgroups, BuiltIn.SubgroupSize, BuiltIn.SubgroupLocalInvocationId):
            module.require(Capability.GroupNonUniform)

        def declare() -> int:
            variable = module.variable(pointer(module, StorageClass.Input, type_), StorageClass.Input, name)
            module.decorate(variable, Decoration.BuiltIn, which)
            return variable

        variable = module.once(("built-in", which), declare)
        module.use_input(variable)
        return module.value(Op.Load, type_, variable)

    def pointee(self, array: Array) -> int:
        """Return the type of an element of ``array``."""
        storage = STORAGE[array.storage]
        if array.block is not None:
            self.module.require(Capability.WorkgroupMemoryExplicitLayoutKHR)
            if array.pointee.component.bits in _EXPLICIT_LAYOUT:
                self.module.require(_EXPLICIT_LAYOUT[array.pointee.component.bits])
        return pointee_in(self.module, array.pointee, storage)

    def element(self, array: Array, index: int) -> int:
        """Make a pointer to the element of ``array`` with the index in the id ``index``."""
        at = self._base(array)
        if array.other_stride is not None and index != self.u32(0):
            raise GeneratorError(
                Rule.POINTER_STRIDE,
                f"array {array.name}: because of its own array_stride, only element 0 has the same place under both "
                "strides; use the literal u32 0 as first element, and no copies",
            )
        physical = at.storage is StorageClass.PhysicalStorageBuffer
        return self._chain(array, at, at.element, self.base(array) if physical else at.base, index)

    def element_pointer(self, array: Array, index: int, type_: PointerType, result: int) -> int:
        """Make ``result`` a pointer of ``type_`` to the element of ``array`` with the index in the id ``index``."""
        at = self._base(array)
        return self._chain(array, at, element_pointer(self.module, type_), at.base, index, result)

    def descriptor_pointer(
        self, array: Array, which: int, is_constant: bool, index: int, type_: PointerType, non_uniform: bool, result: int
    ) -> None:
        """Make ``result`` a pointer of ``type_`` to an element of the buffer of a descriptor.

        Args:
            array: any array of the array of descriptors.
            which, index: ids of the indices of the descriptor and of the element.
            is_constant: whether ``which`` is a constant.
            non_uniform: whether the number of the descriptor may differ among scope instances.
            result: the id of the pointer.
        """
        variable = self._descriptors[array.descriptors]
        if not is_constant:
            self.module.require(Capability.StorageBufferArrayDynamicIndexing)
        pointer_ = element_pointer(self.module, type_)
        self.module.value(Op.AccessChain, pointer_, variable, which, self.u32(0), index, result=result)
        if non_uniform:
            self.module.require(Capability.ShaderNonUniform, Capability.StorageBufferArrayNonUniformIndexing)
            self.module.decorate(result, Decoration.NonUniform)

    def _chain(self, array: Array, at: _ArrayBase, element: int, base: int, index: int, result: int | None = None) -> int:
        within = self._within(array.inner, index)
        indices = (self.u32(0), *within) if at.block else within
        if array.is_untyped:
            return self.module.value(Op.UntypedAccessChainKHR, element, at.block, base, *indices, result=result)
        return self.module.value(Op.AccessChain, element, base, *indices, result=result)

    def _within(self, inner: Inner | None, index: int) -> tuple[int, ...]:
        """Return the access-chain indices of the element with the index in the id ``index``."""
        if inner is None:
            return (index,)
        module, u32, pitch = self.module, scalar(self.module, U32), self.u32(inner.pitch)
        outer, rest = (module.value(op, u32, index, pitch) for op in (Op.UDiv, Op.UMod))
        if not inner.head:
            return outer, rest
        return outer, self.u32(1), module.value(Op.ISub, u32, rest, self.u32(inner.head))

    def _base(self, array: Array) -> _ArrayBase:
        """Return the start of access chains into ``array``. An alias is declared at its first use."""
        found = self._arrays.get(array.name)
        if found is not None:
            return found
        owner = array.alias_of
        if owner is None:
            raise GeneratorError(Rule.UNDECLARED, f"array {array.name}: list it in Program.arrays")
        if array.storage is ArrayStorage.WORKGROUP and not array.is_untyped:
            return self._shared_array(array, is_aliased=True)
        if not array.is_untyped:
            raise GeneratorError(Rule.ALIAS, f"array {array.name}: only untyped pointers can see a buffer as another array")
        at = self._base(owner)
        shared = array.storage is ArrayStorage.WORKGROUP
        block = self._shared_block(array) if shared else self._array_block(array)
        result = self._arrays[array.name] = _ArrayBase(at.base, at.storage, self._element_pointer(array), block)
        return result

    def elements(self, array: Array, inner: ScalarValue | None = None) -> int:
        """Return a pointer to ``array`` as a whole, or to its inner array ``inner``; the pointee is an array."""
        at = self._base(array)
        if array.is_untyped or array.block is not None:
            raise GeneratorError(
                Rule.WHOLE_ARRAY, f"array {array.name}: a pointer to the whole array needs a typed pointer to plain memory"
            )
        if at.storage is StorageClass.Workgroup:
            return at.base
        base = self.base(array) if at.storage is StorageClass.PhysicalStorageBuffer else at.base
        if array.inner is None or inner is None:
            type_ = pointer(self.module, at.storage, self._array_type(array))
            return self.module.value(Op.AccessChain, type_, base, self.u32(0))
        type_ = pointer(self.module, at.storage, self._inner_elements(array, array.inner, self.pointee(array)))
        member = (self.u32(1),) if array.inner.head else ()
        return self.module.value(Op.AccessChain, type_, base, self.u32(0), self.id(inner), *member)

    def is_shared(self, array: Array) -> bool:
        """Tell whether invocations pass elements of ``array`` to each other across barriers. Its accesses must then not be private:
        availability and visibility operations do not apply to private accesses (Vulkan memory model)."""
        return self.is_shared_storage(array.storage) and (array.storage is ArrayStorage.WORKGROUP or array.role != "input")

    def is_shared_storage(self, storage: ArrayStorage) -> bool:
        """Tell whether invocations may pass elements of some array of ``storage`` to each other across barriers."""
        return storage is ArrayStorage.WORKGROUP or self._synchronizes

    def _declare_local_size(self) -> tuple[int, int, int]:
        module, shape = self.module, self.program.shape
        if self._literal_size is not None:
            x, y, z = self._literal_size
            return self.u32(x), self.u32(y), self.u32(z)
        if shape.draw is not None:
            return 0, 0, 0
        if self.program.subgroups % (shape.y * shape.z):
            raise GeneratorError(
                Rule.WORKGROUP_SHAPE,
                f"{self.program.subgroups} subgroups cannot be arranged {shape.y} along y and {shape.z} along z; give a multiple",
            )
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
        for name, constant_id, size in (("y", LOCAL_SIZE_Y_CONSTANT_ID, shape.y), ("z", LOCAL_SIZE_Z_CONSTANT_ID, shape.z)):
            id_ = module.new_constant(Op.SpecConstant, u32, size + 1, name=f"local_size_{name}")
            module.decorate(id_, Decoration.SpecId, constant_id)
            further.append(id_)
        return x, further[0], further[1]

    def _literal_local_size(self) -> tuple[int, int, int]:
        shape = self.program.shape
        if shape.invocations is not None:
            return shape.invocations, shape.y, shape.z
        if shape.subgroup_size is None:
            raise GeneratorError(Rule.SUBGROUP_SIZE, "a literal local size needs the subgroup size; give WorkgroupShape.subgroup_size")
        return self.program.subgroups // (shape.y * shape.z) * shape.subgroup_size, shape.y, shape.z

    def boolean(self, value: bool | Operand) -> int:
        """Return the id of a boolean constant; a specialization constant (u32) is true if it is not 0."""
        type_ = self.module.type(Op.TypeBool)
        if isinstance(value, Operand):
            return self.module.constant(Op.SpecConstantOp, type_, Op.INotEqual, self.id(value), self.u32(0))
        return self.module.constant(Op.ConstantTrue if value else Op.ConstantFalse, type_)

    def extent(self, value: Extent) -> int:
        """Return the id of an extent's constant."""
        if isinstance(value, int):
            return self.u32(value)
        return self.id(value)

    def _selected(self, value: Selected) -> int:
        module, flag = self.module, self.id(value.flag)
        boolean = module.type(Op.TypeBool)
        condition = module.constant(Op.SpecConstantOp, boolean, Op.INotEqual, flag, self.u32(0))
        chosen, otherwise = self.u32(value.chosen), self.u32(value.otherwise)
        return module.constant(Op.SpecConstantOp, scalar(module, U32), Op.Select, condition, chosen, otherwise)

    def _write_point_size(self) -> None:
        """Let each vertex be a point of a known size, as a point list requires (VUID 08773 of VkGraphicsPipelineCreateInfo)."""
        module, f32 = self.module, scalar(self.module, COMPONENT_TYPES["f32"])
        variable = module.variable(pointer(module, StorageClass.Output, f32), StorageClass.Output, "gl_PointSize")
        module.decorate(variable, Decoration.BuiltIn, BuiltIn.PointSize)
        module.instruction(Op.Store, variable, constant(module, COMPONENT_TYPES["f32"], 0x3F800000))

    def _connect(self) -> None:
        """Declare the interface and load operands and addresses, in the function's first block, which dominates all others."""
        module, places = self.module, interface(self.program)
        aliased = aliased_arrays(self.program)
        for operand in places.specialization:
            default = _fixed(operand) if operand.default is None else operand.default
            words = literal(operand.type, default)
            id_ = module.new_constant(Op.SpecConstant, scalar(module, operand.type), *words, name=operand.name)
            assert operand.constant_id is not None, f"{operand.name}: a specialization constant has a constant_id"
            module.decorate(id_, Decoration.SpecId, operand.constant_id)
            self._operands[operand.name] = id_

        self._declare_variables(self)
        if self.program.shape.stage == "vertex":
            self._write_point_size()

        for binding, array in places.bindings:
            block = self._array_block(array)
            variable = self._bound_variable(block, array.name, binding, array.pointers == "untyped_variable")
            self._arrays[array.name] = _ArrayBase(variable, StorageClass.StorageBuffer, self._element_pointer(array), block)

        for group in places.descriptor_arrays:
            count = self.u32(len(group.arrays))
            blocks = module.type(Op.TypeArray, self._array_block(group.arrays[0]), count)
            self._descriptors[group.name] = self._bound_variable(blocks, group.name, group.binding)

        for array in self.program.arrays:
            if array.storage is ArrayStorage.WORKGROUP:
                self._shared_array(array, is_aliased=array in aliased)

        pushed: list[_Member] = []
        blocks_of_addresses: list[int] = []
        for address in places.addresses:
            block = self._array_block(address.array)
            blocks_of_addresses.append(block)
            untyped = address.array.pointers == "untyped_variable"
            storage = StorageClass.PhysicalStorageBuffer
            type_ = untyped_pointer(module, storage) if untyped else pointer(module, storage, block)
            pushed.append((address.array.name, type_, address.offset))
        pushed += self._scalar_members([(m.operand, m.offset) for m in places.push_constants], StorageClass.PushConstant)
        if pushed:
            block = self._block("PushConstants", pushed)
            variable = module.variable(pointer(module, StorageClass.PushConstant, block), StorageClass.PushConstant, "push_constants")
            loaded = self._load_members(variable, StorageClass.PushConstant, pushed)
            for address, id_, block in zip(places.addresses, loaded, blocks_of_addresses, strict=False):
                element = self._element_pointer(address.array)
                self._arrays[address.array.name] = _ArrayBase(id_, StorageClass.PhysicalStorageBuffer, element, block)
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
        loaded = []
        for i, (name, type_, _) in enumerate(members):
            self._outside[name] = _Place(block, storage, type_, i)
            loaded.append(self._load_member(self._outside[name], name))
        return loaded

    def _load_member(self, place: _Place, name: str) -> int:
        module = self.module
        member = module.value(Op.AccessChain, pointer(module, place.storage, place.type), place.block, self.u32(place.member))
        return module.value(Op.Load, place.type, member, result=module.new_id(name))

    def _shared_array(self, array: Array, is_aliased: bool) -> _ArrayBase:
        """Declare an array of workgroup memory, in its own block if its layout is explicit."""
        module, storage = self.module, StorageClass.Workgroup
        if array.block is None:
            if array.array_stride is not None or array.pointer_stride is not None:
                raise GeneratorError(
                    Rule.EXPLICIT_LAYOUT, f"array {array.name}: workgroup memory has no explicit layout, so leave out array_stride"
                )
            if array.is_untyped or is_aliased:
                raise GeneratorError(
                    Rule.EXPLICIT_LAYOUT, f"array {array.name}: untyped pointers and aliases need an explicit layout; give the block"
                )
            element, length = self.pointee(array), self.extent(array.length)
            if array.inner is not None:
                element = module.type(Op.TypeArray, element, self.u32(array.inner.length))
                length = self.u32(extent(array.length) // array.inner.pitch)
            type_, block = module.type(Op.TypeArray, element, length), 0
        else:
            type_ = block = self._shared_block(array)
        if array.pointers == "untyped_variable":
            variable = module.untyped_variable(untyped_pointer(module, storage), storage, type_, array.name)
        else:
            variable = module.variable(pointer(module, storage, type_), storage, array.name)
        if is_aliased:
            module.decorate(variable, Decoration.Aliased)
        result = self._arrays[array.name] = _ArrayBase(variable, storage, self._element_pointer(array), block)
        return result

    def _shared_block(self, array: Array) -> int:
        """Return the type of an explicitly laid out block of workgroup memory that contains ``array``."""
        stride = array.pointee.bytes if array.array_stride is None else array.array_stride
        elements = with_stride(self.module, stride, Op.TypeArray, self.pointee(array), self.extent(array.length))
        return self._block(f"{array.name}_block", [("elements", elements, array.block or 0)])

    def _element_pointer(self, array: Array) -> int:
        storage, type_ = STORAGE[array.storage], self.pointee(array)
        if array.is_untyped:
            return untyped_pointer(self.module, storage)
        if array.ignored_stride is None:
            return pointer(self.module, storage, type_)
        return with_stride(self.module, array.ignored_stride, Op.TypePointer, storage, type_)

    def _inner_array(self, array: Array, inner: Inner, element: int) -> int:
        """Return the type of an inner array, or of the struct that contains it."""
        module, size = self.module, array.pointee.bytes
        members = self._inner_elements(array, inner, element)
        if not inner.head:
            return members
        head = with_stride(module, U32.bytes, Op.TypeArray, scalar(module, U32), self.u32(inner.head * size // U32.bytes))
        struct = module.new_type(Op.TypeStruct, head, members, name=f"{array.name}_item")
        for i, offset in enumerate((0, inner.head * size)):
            module.decorate_member(struct, i, Decoration.Offset, offset)
        return struct

    def _inner_elements(self, array: Array, inner: Inner, element: int) -> int:
        """Return the type of an inner array."""
        return with_stride(self.module, array.pointee.bytes, Op.TypeArray, element, self.u32(inner.length))

    def _array_block(self, array: Array) -> int:
        return self._block(f"{array.name}_block", [("elements", self._array_type(array), 0)], read_only=array.role == "input")

    def _array_type(self, array: Array) -> int:
        stride = array.pointee.bytes if array.array_stride is None else array.array_stride
        element = self.pointee(array)
        if array.inner is not None:
            element, stride = self._inner_array(array, array.inner, element), array.inner.pitch * array.pointee.bytes
        return with_stride(self.module, stride, Op.TypeRuntimeArray, element)

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

    def _bound_variable(self, block: int, name: str, binding: int, untyped: bool = False) -> int:
        module, storage = self.module, StorageClass.StorageBuffer
        if untyped:
            variable = module.untyped_variable(untyped_pointer(module, storage), storage, block, name)
        else:
            variable = module.variable(pointer(module, storage, block), storage, name)
        module.decorate(variable, Decoration.DescriptorSet, 0)
        module.decorate(variable, Decoration.Binding, binding)
        return variable


_Member = tuple[str, int, int]
"""Name, type and byte offset of a block's member."""


def aliased_arrays(program: Program) -> frozenset[Array]:
    """Return the arrays of workgroup memory that share their bytes with another block."""
    shared = [array for array in program.used_arrays if array.storage is ArrayStorage.WORKGROUP and not array.is_untyped]
    return frozenset(array.alias_of for array in shared if array.alias_of is not None)


def _fixed(operand: Operand) -> int:
    if operand.value is None:
        raise GeneratorError(Rule.DATA_MISSING, f"operand {operand.name}: its source is {operand.source}, so give its value in the case")
    return operand.value


def _handover_scope(operations: Sequence[Operation]) -> MemoryScope | None:
    """Return the widest scope that the memory operands of accesses give for a write."""
    atomics = {operation.scope for operation in operations if isinstance(operation, AtomicAdd)}
    barriers = {operation.scope for operation in operations if isinstance(operation, Barrier) and operation.handover == "access"}
    return max(atomics, default=None) or min(barriers, default=None)
