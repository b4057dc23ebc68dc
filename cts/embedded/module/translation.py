"""Translates a module for one kernel: its declarations (see ``declarations``), and functions for its instructions.

The handler of an instruction checks its static rules, and returns a function without arguments that executes it and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cts.embedded.diagnostics import Malformed, NotSupported, Unsupported, Violation
from cts.embedded.faults import Faults, replaceable
from cts.embedded.machine.machine import Function, Machine, Run
from cts.embedded.machine.pointers import AddressPointer
from cts.embedded.memory.matrix_layouts import PLAIN_LAYOUTS, MatrixLayouts
from cts.embedded.memory.memory import AddressSpace
from cts.embedded.memory.ordering import Manner, Reach
from cts.embedded.module.references import NON_SEMANTIC, UNDERSTOOD
from cts.embedded.module.structure import check_structure
from cts.embedded.types.limits import Budget, Extent, Limits
from cts.embedded.types.spirv_types import (
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
    constituent_count,
    constituent_type,
)
from cts.embedded.types.values import Value
from generators.kernel import Kernel
from generators.spirv.enumerants import (
    MemoryAccess,
    Op,
    StorageClass,
)
from generators.spirv.grammar import GRAMMAR
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string

Words = tuple[int, ...]
Handler = Callable[["Translation", Words], Run]
Rule = Callable[["Translation", Words], None]
"""Checks the static rules of an instruction; raises Malformed, Violation or Unsupported."""

Check = Callable[["Translation", Op, Words], None]
"""Checks every instruction, before its own rule."""

RESULT_OPS = frozenset(op for op in Op if GRAMMAR.instructions[op].is_typed)

_NON_PRIVATE = int(MemoryAccess.NonPrivatePointer)


class Translation:
    """One kernel's module, specialized.

    Attributes:
        kernel: the kernel that has the module.
        strict: see Machine.
        machine: runs the module.
        values: the machine's values.
        version: SPIR-V version of the module.
        instructions: the instructions of the whole module.
        first_function: index of the first instruction in a function.
        function_instructions: the instructions from there.
        names: id -> the words of its debug name.
        index: number of the instruction that is being translated, for messages.
        instruction_sets: id -> name of an extended instruction set.
        entry: id of the entry point's function.
        types: id -> type.
        type_of: id of a value -> its type.
        type_ids: id of a value -> id of its type.
        decorations: id -> decoration -> its parameters.
        member_decorations: (id, member) -> decoration -> its parameters.
        variables: module-scope variables: id, storage class, type of the contents, id of the initializer or 0.
        laid_out: ids of the types that are explicitly laid out, or need no layout.
        blocks: ids of the structures decorated with Block.
        has_buffer_blocks: whether Uniform storage may be a storage buffer, as before SPIR-V 1.3 (BufferBlock).
        interface: ids in the interface of the entry point.
        other_interfaces: ids in the interfaces of the other entry points.
        descriptor_arrays: ids of variables that are arrays of descriptors.
        extents: id of a type -> its extent.
        functions: id -> function; filled when functions are prepared.
        function_types: id of a function -> its type.
        limits: how much the kernel may use.
        budget: the memory that is left.
        stored: id of a pointer -> the type in memory, if it differs from the pointee.
        read_only: ids of pointers through which the kernel must not write.
        specialized: SpecId -> the kernel's value.
        local_size: invocations in x, y, z.
        private_model: whether accesses are private by default (the Vulkan memory model).
        space: the buffers with addresses.
        cells: id -> variable without bytes.
        fences: semantics of the memory barriers since the last control barrier.
        mapping: name of the mapping of matrix elements to invocations.
        capabilities: the capabilities that the module declares.
        float_modes: execution modes of float arithmetic, each with its width in bits.
        faults: deliberate mistakes of the device.
        matrix_layouts: the device's optimal layouts.
        choices: seed of the device's free choices.
        is_outline: whether only the external resources are read, so the defaults of constants need not be sizes that work.
    """

    def __init__(
        self,
        kernel: Kernel,
        subgroup_size: int,
        mapping: str,
        strict: bool,
        handlers: Mapping[Op, Handler],
        rules: Mapping[Op, Rule],
        limits: Limits,
        faults: Faults,
        tolerated: frozenset[str] = frozenset(),
        checks: Sequence[Check] = (),
        matrix_layouts: MatrixLayouts = PLAIN_LAYOUTS,
        choices: int = 0,
    ) -> None:
        self.kernel = kernel
        self.choices = choices
        self.is_outline = False
        self.matrix_layouts = matrix_layouts
        self._checks = checks
        self.mapping = mapping
        self.strict = strict
        header = read_header(kernel.spirv)
        self.version, self._bound = header.version, header.bound
        self.instructions: list[Instruction] = list(read_instructions(kernel.spirv))
        for op, _, position in self.instructions:
            if op not in UNDERSTOOD and op not in handlers:
                name = f"Op{op.name}"
                raise NotSupported(f"SPIR-V word {position}: the embedded device does not support this: {name}", name)
        check_structure(self.instructions, self._bound)
        self.types: dict[int, Type] = {}
        self.type_of: dict[int, Type] = {}
        self.type_ids: dict[int, int] = {}
        self.decorations: dict[int, dict[int, Words]] = {}
        self.member_decorations: dict[tuple[int, int], dict[int, Words]] = {}
        self.names: dict[int, Words] = {}
        self._bytes: dict[int, int] = {}
        self.variables: list[tuple[int, StorageClass, int, int]] = []
        self.laid_out: set[int] = set()
        self.blocks: set[int] = set()
        self.has_buffer_blocks = False
        self.interface: frozenset[int] = frozenset()
        self.other_interfaces: set[int] = set()
        self.descriptor_arrays: set[int] = set()
        self.extents: dict[int, Extent] = {}
        self.functions: dict[int, Function] = {}
        self.function_types: dict[int, FunctionType] = {}
        self.limits = limits
        self.budget = Budget(limits.memory)
        self.stored: dict[int, Type] = {}
        self.read_only: set[int] = set()
        self.instruction_sets: dict[int, str] = {}
        self.private_model = False
        self.capabilities: set[int] = set()
        self.float_modes: set[tuple[int, int]] = set()
        self.space = AddressSpace()
        self.cells: dict[int, Any] = {}
        self.index = 0
        self.entry = 0
        self.faults = faults
        self._handlers = handlers
        self._rules = rules
        self._null = faults.performing(null)
        self._filled = faults.performing(filled)
        # Specialization constants are computed by a machine before its size is known.
        self.machine = Machine(self._bound, 1, 1, strict, limits.steps, faults)
        self.machine.tolerated = tolerated
        self.values = self.machine.values
        self.specialized = {s.constant_id: s.value for s in kernel.specialization}
        if kernel.local_size_constant_id is not None:
            self.specialized[kernel.local_size_constant_id] = kernel.local_size_x(subgroup_size)
        self.local_size = (1, 1, 1)
        self.first_function = 0
        self.function_instructions: list[Instruction] = []

    def resize(self, lanes: int, subgroup_size: int) -> None:
        """Set the size of the machine. Keep its values."""
        self._bytes.clear()
        early, before = self.values, self.machine
        self.machine = Machine(self._bound, lanes, subgroup_size, self.strict, self.limits.steps, self.faults)
        self.machine.tolerated, self.machine.warnings = before.tolerated, before.warnings
        self.machine.wide_indexing = before.wide_indexing
        self.machine.observations, self.machine.recovery = before.observations, before.recovery
        self.values = self.machine.values
        self.values[:] = early

    def prepare(self, op: Op, words: Words) -> Run:
        """Return a function that executes an instruction.

        Raises:
            Malformed: the operands have the wrong types.
            Violation: the instruction breaks a static rule.
            Unsupported: the interpreter lacks the instruction.
        """
        handler = self._handlers.get(op)
        if handler is None:
            raise Unsupported(f"Op{op.name}")
        for check in self._checks:
            check(self, op, words)
        self.check_types(op, words)
        return handler(self, words)

    def check_types(self, op: Op, words: Words) -> None:
        """Check the types of an instruction's operands and result, if it has a rule for them.

        Raises:
            Malformed, Violation, Unsupported: see ``prepare``.
        """
        rule = self._rules.get(op)
        if rule is not None:
            rule(self, words)

    def constant(self, id_: int) -> Value:
        """Return the value of a constant, or None if ``id_`` is not one."""
        return self.machine.constants[id_] if self.machine.constants else self.values[id_]

    def pointee(self, pointer: int) -> Type:
        """Return the type that a pointer value points to."""
        return self.types[self.pointee_id(pointer)]

    def target(self, pointer: PointerType) -> Type:
        """Return the type that a pointer type points to.

        Raises:
            Malformed: the pointee is declared later, or the pointer is untyped.
        """
        if pointer.is_untyped:
            raise Malformed("an untyped pointer has no pointee type")
        if pointer.pointee not in self.types:
            raise Malformed(f"the pointee type %{pointer.pointee} is declared later")
        return self.types[pointer.pointee]

    def pointee_id(self, pointer: int) -> int:
        """Return the id of the type that a pointer value points to.

        Raises:
            Malformed: it is not a pointer.
        """
        type_ = self.type_of[pointer]
        if not isinstance(type_, PointerType):
            raise Malformed(f"%{pointer} is not a pointer")
        if type_.is_untyped:
            raise Malformed(f"%{pointer} is an untyped pointer, which has no pointee type")
        return type_.pointee

    def contents_of(self, variable: int) -> int:
        """Return the id of the type of the contents of a variable of the module."""
        return next(data for id_, _, data, _ in self.variables if id_ == variable)

    def is_non_semantic(self, words: Words) -> bool:
        """Return whether an extended instruction has no effect."""
        return self.instruction_sets.get(words[2], "").startswith(NON_SEMANTIC)

    def uses(self, variable: int) -> bool:
        """Return whether the entry point may use a variable of the module: it is in its interface, or in no interface."""
        return variable in self.interface or variable not in self.other_interfaces

    def is_untyped(self, pointer: int) -> bool:
        """Return whether a value is an untyped pointer."""
        type_ = self.type_of[pointer]
        return isinstance(type_, PointerType) and type_.is_untyped

    def value_bytes(self, type_id: int) -> int:
        """Return the most bytes that a value of a type takes."""
        found = self._bytes.get(type_id)
        if found is None:
            found = self._bytes[type_id] = self.extents[type_id].value_bytes(self.machine.lanes, self.machine.subgroups)
        return found

    def name(self, id_: int) -> str:
        """Return the debug name of an id, for messages."""
        words = self.names.get(id_)
        return f"%{id_}" if words is None else read_string(words)[0]

    def storage(self, pointer: int) -> StorageClass:
        """Return the storage class of a pointer value."""
        type_ = self.type_of[pointer]
        if not isinstance(type_, PointerType):
            raise Malformed(f"%{pointer} is not a pointer")
        return type_.storage

    def matrix_type(self, id_: int, rule: str, what: str) -> MatrixType:
        """Return the matrix type of a value.

        Raises:
            Violation: the value is not a matrix. The message has ``rule`` and ``what``.
        """
        type_ = self.type_of[id_]
        if not isinstance(type_, MatrixType):
            raise Violation(rule, f"{what} is not a cooperative matrix")
        return type_

    def number_of(self, type_: Type) -> Number:
        """Return the number type of a scalar, vector or matrix."""
        while isinstance(type_, Vector):
            type_ = type_.element
        if isinstance(type_, MatrixType):
            return type_.number
        if isinstance(type_, Number):
            return type_
        raise Unsupported(f"arithmetic on {type_}")

    def manner(self, mask: int, available: Reach, visible: Reach) -> Manner:
        """Return how an access with Memory Operands ``mask`` takes part in ordering."""
        if not self.private_model:
            return Manner(False, Reach.BEYOND, Reach.BEYOND)
        return Manner(not mask & _NON_PRIVATE, available, visible)

    def zero(self, type_: Type) -> Value:
        """Return the null value of a type (OpConstantNull)."""
        return self._null(self, type_)

    def number_value(self, type_: Number, bits: int) -> Value:
        """Return a number from its bits."""
        bits &= type_.mask
        return np.array(bits, type_.component.bits_dtype).view(type_.dtype)[()] if type_.is_float else bits

    def splat(self, type_: MatrixType, value: Value) -> Value:
        """Return a matrix of one value, or of one value for each instance (shape (instances,))."""
        return self._filled(self, type_, value)

    def set_type(self, id_: int, type_id: int) -> None:
        """Note the type of a value."""
        self.type_ids[id_] = type_id
        self.type_of[id_] = self.types[type_id]


@replaceable
def null(translation: Translation, type_: Type) -> Value:
    """Return the null value of a type.

    Raises:
        Unsupported: the interpreter has no null value of the type.
    """
    match type_:
        case Number():
            return type_.dtype.type(0) if type_.is_float else 0
        case Bool():
            return False
        case MatrixType():
            return np.zeros((translation.machine.instances(type_.scope), type_.rows, type_.columns), type_.number.dtype)
        case Vector() | Array() | Struct():
            return tuple(translation.zero(constituent_type(type_, i)) for i in range(constituent_count(type_)))
        case TensorLayoutType() | TensorViewType():
            return translation.zero(type_.state)
        case PointerType(StorageClass.PhysicalStorageBuffer):
            return AddressPointer(translation.space, 0)
        case _:
            raise Unsupported(f"a null {type_}")


@replaceable
def filled(translation: Translation, type_: MatrixType, value: Value) -> Value:
    """Return a matrix of one value, or of one value for each instance (shape (instances,))."""
    shape = (translation.machine.instances(type_.scope), type_.rows, type_.columns)
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value[:, None, None], shape)
    return np.full(shape, value, type_.number.dtype)
