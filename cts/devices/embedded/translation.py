"""A module made ready: its declarations, evaluated for one kernel, and what its instructions become.

Each group of instructions is a module with a table ``HANDLERS``: opcode -> a function that checks the static rules of one
instruction and returns what executes it, a callable without arguments that gives the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.devices.embedded.constants import constant_value
from cts.devices.embedded.diagnostics import Malformed, NotSupported, Unsupported, Violation
from cts.devices.embedded.limits import Budget, Extent, Limits, extent_of
from cts.devices.embedded.machine import Function, Machine, Run
from cts.devices.embedded.memory import AddressSpace
from cts.devices.embedded.ordering import MAX_INVOCATIONS, Manner, Reach
from cts.devices.embedded.references import UNDERSTOOD
from cts.devices.embedded.spirv_types import (
    Array,
    Bool,
    FunctionType,
    MatrixType,
    Number,
    PointerType,
    Struct,
    TensorLayoutType,
    TensorViewType,
    Type,
    Vector,
    has_matrix,
    has_no_bytes,
    member_count,
    member_type,
)
from cts.devices.embedded.structure import check_structure
from cts.devices.embedded.type_declarations import declared_type
from cts.devices.embedded.type_rules import RULES, need
from cts.devices.embedded.values import Value
from generators.kernel import Kernel
from generators.spirv.enumerants import (
    BuiltIn,
    Decoration,
    ExecutionMode,
    MemoryAccess,
    MemoryModel,
    Op,
    StorageClass,
)
from generators.spirv.grammar import GRAMMAR
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string
from generators.types import Scope

Words = tuple[int, ...]
Handler = Callable[["Translation", Words], Run]

RESULT_OPS = frozenset(op for op in Op if GRAMMAR.instructions[op].is_typed)

_NON_PRIVATE = int(MemoryAccess.NonPrivatePointer)
_TYPES = frozenset(op for op in Op if op.name.startswith("Type"))
_ARRAYS = frozenset({Op.TypeArray, Op.TypeRuntimeArray})
_VARIABLES = frozenset(
    {
        StorageClass.Input,
        StorageClass.Uniform,
        StorageClass.Workgroup,
        StorageClass.Private,
        StorageClass.PushConstant,
        StorageClass.StorageBuffer,
    }
)
"""Storage classes of variables outside of functions."""


class Translation:
    """One kernel's module, specialized.

    Attributes:
        kernel: whose module it is. ``strict``: see Machine.
        machine: what runs it; ``values``: the machine's.
        instructions: of the whole module; ``function_instructions``: from ``first_function``, the place of the first function, on.
        index: number of the instruction that is being translated, for messages.
        instruction_sets: names of extended instruction sets by id.
        entry: id of the entry point's function.
        types: by id. ``type_of``: by id of a value its type. ``type_ids``: by id of a value the id of its type.
        decorations: by id, then by decoration its parameters; ``member_decorations``: by (id, member).
        variables: module-scope variables: id, storage class, type of the contents, id of the initializer or 0.
        extents: by id of a type how large it is.
        functions: by id; filled when they are prepared. ``function_types``: by id of a function.
        limits: what the kernel may take. ``budget``: the memory that is left of it.
        read_only: ids of pointers through which nothing may be written.
        specialized: by SpecId the value of the kernel. ``local_size``: invocations in x, y, z.
        private_model: whether accesses are private unless they say otherwise (the Vulkan memory model).
        space: the buffers with addresses. ``cells``: variables without bytes, by id.
        fences: semantics of the memory barriers since the last control barrier.
        mapping: name of the mapping of matrix elements to invocations.
        capabilities: those that the module declares.
    """

    def __init__(
        self, kernel: Kernel, subgroup_size: int, mapping: str, strict: bool, handlers: Mapping[Op, Handler], limits: Limits
    ) -> None:
        self.kernel = kernel
        self.mapping = mapping
        self.strict = strict
        self._bound = read_header(kernel.spirv).bound
        self.instructions: list[Instruction] = list(read_instructions(kernel.spirv))
        for op, _, position in self.instructions:
            if op not in UNDERSTOOD and op not in handlers:
                name = f"Op{op.name}"
                raise NotSupported(f"SPIR-V word {position}: the embedded device does not have this: {name}", name)
        check_structure(self.instructions, self._bound)
        self.types: dict[int, Type] = {}
        self.type_of: dict[int, Type] = {}
        self.type_ids: dict[int, int] = {}
        self.decorations: dict[int, dict[int, Words]] = {}
        self.member_decorations: dict[tuple[int, int], dict[int, Words]] = {}
        self._names: dict[int, Words] = {}
        self._bytes: dict[int, int] = {}
        self.variables: list[tuple[int, StorageClass, int, int]] = []
        self.extents: dict[int, Extent] = {}
        self.functions: dict[int, Function] = {}
        self.function_types: dict[int, FunctionType] = {}
        self.limits = limits
        self.budget = Budget(limits.memory)
        self.read_only: set[int] = set()
        self.instruction_sets: dict[int, str] = {}
        self.private_model = False
        self.capabilities: set[int] = set()
        self.space = AddressSpace()
        self.cells: dict[int, Any] = {}
        self.fences: dict[str, int] = {}
        self.index = 0
        self.entry = 0
        self._handlers = handlers
        self._local_size_words: tuple[bool, Words] | None = None
        self._late: list[tuple[int, Op, Words]] = []
        # Constants of specialization need a machine to be computed on before its size is known.
        self.machine = Machine(self._bound, 1, 1, strict, limits.steps)
        self.values = self.machine.values
        self.specialized = {s.constant_id: s.value for s in kernel.specialization}
        self.specialized[kernel.local_size_constant_id] = kernel.subgroups * subgroup_size
        self.local_size = (1, 1, 1)
        self.first_function = 0
        self.function_instructions: list[Instruction] = []

    def declare(self, subgroup_size: int) -> None:
        """Evaluates everything before the first function; after it the machine has its size.

        Raises:
            Violation: a declaration breaks a static rule; ``index`` is the instruction.
            Unsupported: a declaration that the interpreter does not have.
        """
        self.first_function = self._read_declarations()
        self.local_size = self._find_local_size()
        lanes = math.prod(self.local_size)
        if not 1 <= lanes <= MAX_INVOCATIONS:
            raise Violation("VUID-RuntimeSpirv-x-06432", f"a workgroup of {lanes} invocations; at most {MAX_INVOCATIONS}")
        self._bytes.clear()
        early = self.values
        self.machine = Machine(self._bound, lanes, subgroup_size, self.strict, self.limits.steps)
        self.values = self.machine.values
        self.values[:] = early
        self._check_scopes()
        for index, op, words in self._late:
            self.index = index
            self._constant(op, words)
        self.machine.constants = list(self.values)
        self.function_instructions = self.instructions[self.first_function :]

    def prepare(self, op: Op, words: Words) -> Run:
        """What executes an instruction.

        Raises:
            Malformed: its operands do not have the types that it needs.
            Violation: it breaks a static rule.
            Unsupported: the interpreter does not have it.
        """
        handler = self._handlers.get(op)
        if handler is None:
            raise Unsupported(f"Op{op.name}")
        rule = RULES.get(op)
        if rule is not None:
            rule(self, words)
        return handler(self, words)

    def constant(self, id_: int) -> Value:
        """The value of a constant, or None if ``id_`` is not one."""
        return self.machine.constants[id_] if self.machine.constants else self.values[id_]

    def pointee(self, pointer: int) -> Type:
        """The type that a pointer value points to."""
        return self.types[self.pointee_id(pointer)]

    def target(self, pointer: PointerType) -> Type:
        """The type that a pointer type points to.

        Raises:
            Malformed: it is declared later.
        """
        if pointer.pointee not in self.types:
            raise Malformed(f"what the pointer leads to, %{pointer.pointee}, is declared later")
        return self.types[pointer.pointee]

    def pointee_id(self, pointer: int) -> int:
        """The id of the type that a pointer value points to.

        Raises:
            Malformed: it is no pointer.
        """
        type_ = self.type_of[pointer]
        if not isinstance(type_, PointerType):
            raise Malformed(f"%{pointer} is no pointer")
        return type_.pointee

    def value_bytes(self, type_id: int) -> int:
        """Bytes that a value of a type takes at most."""
        found = self._bytes.get(type_id)
        if found is None:
            found = self._bytes[type_id] = self.extents[type_id].value_bytes(self.machine.lanes, self.machine.subgroups)
        return found

    def name(self, id_: int) -> str:
        """The debug name of an id, for messages."""
        words = self._names.get(id_)
        return f"%{id_}" if words is None else read_string(words)[0]

    def storage(self, pointer: int) -> StorageClass:
        """The storage class of a pointer value."""
        type_ = self.type_of[pointer]
        if not isinstance(type_, PointerType):
            raise Malformed(f"%{pointer} is no pointer")
        return type_.storage

    def matrix_type(self, id_: int, rule: str, what: str) -> MatrixType:
        """The matrix type of a value.

        Raises:
            Violation: it is not a matrix; ``rule`` and ``what`` say so.
        """
        type_ = self.type_of[id_]
        if not isinstance(type_, MatrixType):
            raise Violation(rule, f"{what} is not a cooperative matrix")
        return type_

    def number_of(self, type_: Type) -> Number:
        """The number type of a scalar, vector or matrix."""
        while isinstance(type_, Vector):
            type_ = type_.element
        if isinstance(type_, MatrixType):
            return type_.number
        if isinstance(type_, Number):
            return type_
        raise Unsupported(f"arithmetic on {type_}")

    def manner(self, mask: int, available: Reach, visible: Reach) -> Manner:
        """How an access with Memory Operands ``mask`` takes part in ordering."""
        if not self.private_model:
            return Manner(False, Reach.BEYOND, Reach.BEYOND)
        return Manner(not mask & _NON_PRIVATE, available, visible)

    def zero(self, type_: Type) -> Value:
        """The null value of a type (OpConstantNull)."""
        match type_:
            case Number():
                return type_.dtype.type(0) if type_.is_float else 0
            case Bool():
                return False
            case MatrixType():
                return np.zeros((self.machine.instances(type_.scope), type_.rows, type_.columns), type_.number.dtype)
            case Vector() | Array() | Struct():
                return tuple(self.zero(member_type(type_, i)) for i in range(member_count(type_)))
            case TensorLayoutType() | TensorViewType():
                return self.zero(type_.state)
            case _:
                raise Unsupported(f"a null {type_}")

    def number_value(self, type_: Number, bits: int) -> Value:
        """A number from its bits."""
        bits &= type_.mask
        return np.array(bits, type_.component.bits_dtype).view(type_.dtype)[()] if type_.is_float else bits

    def splat(self, type_: MatrixType, value: Value) -> Value:
        """A matrix of one value, or of one for each instance (shape (instances,))."""
        shape = (self.machine.instances(type_.scope), type_.rows, type_.columns)
        if isinstance(value, np.ndarray):
            return np.broadcast_to(value[:, None, None], shape)
        return np.full(shape, value, type_.number.dtype)

    def _read_declarations(self) -> int:
        """Reads everything before the first function; gives the index of that."""
        for index, (op, words, _) in enumerate(self.instructions):
            self.index = index
            if op is Op.Function:
                return index
            self._declaration(op, words)
        raise Violation("SPIR-V 2.4", "the module has no function")

    def _declaration(self, op: Op, words: Words) -> None:
        declare = _DECLARE.get(op)
        if declare is not None:
            declare(self, words)
        elif op in RESULT_OPS:
            self._constant_or_late(op, words)
        elif op in _TYPES:
            type_ = declared_type(self, op, words)
            self.types[words[0]] = type_
            parts = words[1:] if op is Op.TypeStruct else words[1:2] if op in _ARRAYS else ()
            self.extents[words[0]] = extent_of(type_, [self.extents[id_] for id_ in parts])

    def _name(self, words: Words) -> None:
        self._names[words[0]] = words[1:]

    def _decorate(self, words: Words) -> None:
        self.decorations.setdefault(words[0], {})[words[1]] = words[2:]

    def _decorate_member(self, words: Words) -> None:
        self.member_decorations.setdefault((words[0], words[1]), {})[words[2]] = words[3:]

    def _capability(self, words: Words) -> None:
        self.capabilities.add(words[0])

    def _memory_model(self, words: Words) -> None:
        self.private_model = words[1] == MemoryModel.Vulkan

    def _entry_point(self, words: Words) -> None:
        if read_string(words[2:])[0] == self.kernel.entry_point:
            self.entry = words[1]

    def _execution_mode(self, words: Words) -> None:
        if words[0] == self.entry and words[1] in (ExecutionMode.LocalSize, ExecutionMode.LocalSizeId):
            self._local_size_words = (words[1] == ExecutionMode.LocalSizeId, words[2:5])

    def _import(self, words: Words) -> None:
        self.instruction_sets[words[0]] = read_string(words[1:])[0]

    def _variable(self, words: Words) -> None:
        id_ = words[1]
        self.set_type(id_, words[0])
        RULES[Op.Variable](self, words)
        pointer = self.types[words[0]]
        assert isinstance(pointer, PointerType)
        storage = pointer.storage
        contents = self.target(pointer)
        if storage not in _VARIABLES:
            raise Unsupported(f"a variable of {storage.name} storage")
        if Decoration.NonWritable in self.decorations.get(id_, {}):
            self.read_only.add(id_)
        if has_matrix(contents) and storage not in (StorageClass.Private, StorageClass.Function):
            raise Violation("KHR-TYPE-05", f"a cooperative matrix in {storage.name} storage; only Function and Private may have one")
        if has_no_bytes(contents) and storage not in (StorageClass.Private, StorageClass.Function):
            raise Violation("TA-OPQ-01", f"a tensor layout or view in {storage.name} storage, which it has no bytes for")
        self.variables.append((id_, storage, pointer.pointee, words[3] if len(words) > 3 else 0))

    def set_type(self, id_: int, type_id: int) -> None:
        """Notes the type of a value."""
        self.type_ids[id_] = type_id
        self.type_of[id_] = self.types[type_id]

    def _constant_or_late(self, op: Op, words: Words) -> None:
        self.set_type(words[1], words[0])
        if has_matrix(self.type_of[words[1]]):
            self._late.append((self.index, op, words))
        else:
            self._constant(op, words)

    def _constant(self, op: Op, words: Words) -> None:
        self.budget.take(self.value_bytes(words[0]), "the constant", words[1])
        self.values[words[1]] = constant_value(self, op, words)

    def _find_local_size(self) -> tuple[int, int, int]:
        words: Value = None
        for id_, decorations in self.decorations.items():
            if decorations.get(Decoration.BuiltIn) == (BuiltIn.WorkgroupSize,) and id_ in self.type_of and self.values[id_] is not None:
                words = self.values[id_]
        if words is None:
            if self._local_size_words is None:
                raise Violation("VUID-StandaloneSpirv-None-10685", f"no entry point '{self.kernel.entry_point}' with a LocalSize")
            is_id, words = self._local_size_words
            if is_id:
                words = tuple(self.values[w] if w in self.type_of else None for w in words)
        need(
            isinstance(words, tuple) and len(words) == 3 and all(w.__class__ is int for w in words), "the local size is not three integers"
        )
        x, y, z = words
        return x, y, z

    def _check_scopes(self) -> None:
        machine, matrices = self.machine, [t for t in self.types.values() if isinstance(t, MatrixType)]
        if matrices and self.local_size[0] % machine.subgroup_size:
            raise Violation(
                "VUID-VkPipelineShaderStageCreateInfo-module-08987",
                f"local size {self.local_size[0]} in x is not a multiple of the subgroup size {machine.subgroup_size}",
            )
        subgroups = machine.subgroups
        if any(t.scope is Scope.WORKGROUP for t in matrices) and subgroups & (subgroups - 1):
            raise Violation(
                "VUID-VkPipelineShaderStageCreateInfo-module-10169",
                f"matrices of Workgroup scope with {subgroups} subgroups, not a power of two",
            )


_DECLARE: Mapping[Op, Callable[[Translation, Words], None]] = MappingProxyType(
    {
        Op.Capability: Translation._capability,
        Op.Name: Translation._name,
        Op.Decorate: Translation._decorate,
        Op.DecorateId: Translation._decorate,
        Op.MemberDecorate: Translation._decorate_member,
        Op.MemoryModel: Translation._memory_model,
        Op.EntryPoint: Translation._entry_point,
        Op.ExecutionMode: Translation._execution_mode,
        Op.ExecutionModeId: Translation._execution_mode,
        Op.ExtInstImport: Translation._import,
        Op.Variable: Translation._variable,
    }
)
"""By opcode, what a declaration that is neither a type nor a constant leaves."""
