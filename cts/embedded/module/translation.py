"""Translates a module for one kernel: its declarations (see ``declarations``), and functions for its instructions.

The handler of an instruction checks its static rules, and returns a function without arguments that executes it and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from cts.embedded.diagnostics import NotSupported, Unsupported
from cts.embedded.faults import replaceable
from cts.embedded.machine.machine import Function, Machine, Run
from cts.embedded.machine.pointers import AddressPointer
from cts.embedded.memory.memory import AddressSpace
from cts.embedded.memory.ordering import Manner, Reach
from cts.embedded.module.module import Module
from cts.embedded.module.references import UNDERSTOOD
from cts.embedded.module.structure import check_structure
from cts.embedded.settings import Settings
from cts.embedded.types.limits import Budget
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

Words = tuple[int, ...]
Handler = Callable[["Translation", Words], Run]
Rule = Callable[["Translation", Words], None]
"""Checks the static rules of an instruction; raises Malformed, Violation or Unsupported."""

Check = Callable[["Translation", Op, Words], None]
"""Checks every instruction, before its own rule."""

Operation = TypeVar("Operation", bound=Callable[..., Any])

RESULT_OPS = frozenset(op for op in Op if GRAMMAR.instructions[op].is_typed)

_NON_PRIVATE = int(MemoryAccess.NonPrivatePointer)


class Translation(Module):
    """One kernel's module, specialized.

    Attributes:
        kernel: the kernel that has the module.
        settings: the device's settings.
        machine: runs the module.
        values: the machine's values.
        index: number of the instruction that is being translated, for messages.
        specialized: SpecId -> the kernel's value.
        is_outline: whether only the external resources are read, so the defaults of constants need not be sizes that work.
        demotes: whether invocations may become helper invocations.
        functions: id -> function; filled when functions are prepared.
        function_types: id of a function -> its type.
        budget: the memory that is left.
        stored: id of a pointer -> the type in memory, if it differs from the pointee.
        read_only: ids of pointers through which the kernel must not write.
        space: the buffers with addresses.

    Args:
        handlers: opcode -> handler.
        rules: opcode -> rule.
        checks: apply to every instruction.
    """

    def __init__(
        self,
        kernel: Kernel,
        subgroup_size: int,
        settings: Settings,
        handlers: Mapping[Op, Handler],
        rules: Mapping[Op, Rule],
        checks: Sequence[Check] = (),
    ) -> None:
        super().__init__(kernel.spirv)
        opcodes = {op for op, _, _ in self.instructions}
        lacking = {op for op in opcodes - UNDERSTOOD if op not in handlers}
        for op, _, position in self.instructions if lacking else ():
            if op in lacking:
                name, of = f"Op{op.name}", " or ".join(GRAMMAR.instructions[op].capabilities)
                what = f"{name}, of the capability {of}" if of else name
                raise NotSupported(f"SPIR-V word {position}: the embedded device does not support this: {what}", name)
        check_structure(self.instructions, self.bound)
        self.demotes = Op.DemoteToHelperInvocation in opcodes
        self.kernel = kernel
        self.settings = settings
        # Specialization constants are computed by a machine before its size is known.
        self.machine = Machine(self.bound, settings)
        self.values = self.machine.values
        self.index = -1
        self.specialized = {s.constant_id: s.value for s in kernel.specialization}
        if kernel.local_size_constant_id is not None:
            self.specialized[kernel.local_size_constant_id] = kernel.local_size_x(subgroup_size)
        self.is_outline = False
        self.functions: dict[int, Function] = {}
        self.function_types: dict[int, FunctionType] = {}
        self.budget = Budget(settings.limits.memory)
        self.stored: dict[int, Type] = {}
        self.read_only: set[int] = set()
        self.space = AddressSpace()
        self._handlers = handlers
        self._rules = rules
        self._checks = checks
        self._null = self.performing(null)
        self._filled = self.performing(filled)

    def performing(self, operation: Operation) -> Operation:
        """Return the function that performs an operation on this device: see ``Faults.performing``."""
        return self.settings.faults.performing(operation)

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

    def value_bytes(self, type_id: int) -> int:
        """Return the most bytes that a value of a type takes."""
        return self.extents[type_id].value_bytes(self.machine.lanes, self.machine.subgroups)

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
        case Vector() | Array():
            # All elements are one value, so a large array costs no more than its tuple.
            return (translation.zero(constituent_type(type_, 0)),) * constituent_count(type_)
        case Struct():
            return tuple(map(translation.zero, type_.members))
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
