"""A SPIR-V module under construction: sections in their order, ids, shared declarations, capabilities with their extensions.

A section is a list of words. There is no object per instruction, so a module of 150 instructions takes a fraction of a millisecond.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from generators.program.shape import LATEST, Version
from generators.spirv.enumerants import (
    MAGIC,
    AddressingModel,
    Capability,
    Decoration,
    ExecutionMode,
    ExecutionModel,
    FunctionControl,
    MemoryModel,
    Op,
    StorageClass,
)
from generators.spirv.versions import extension_of, extensions_beyond, version_word
from generators.stages import DrawnStage

_INTERFACE = frozenset({StorageClass.Input, StorageClass.Output})
"""Storage classes of the variables in an entry point's interface before SPIR-V 1.4. Later, the interface has all of them."""


@functools.lru_cache(maxsize=4096)
def string_words(text: str) -> tuple[int, ...]:
    """Encode a literal string: UTF-8, terminated by a zero byte, padded to whole words."""
    data = text.encode()
    data += b"\0" * (4 - len(data) % 4)
    return struct.unpack(f"<{len(data) // 4}I", data)


@dataclass(frozen=True)
class _EntryPoint:
    """The words of a complete entry point: OpEntryPoint, its execution modes, and its function."""

    declaration: list[int]
    modes: list[int]
    function: list[int]


class Module:
    """Collects the sections of one module with one entry point, or several in succession.

    Ids are assigned on demand. Types and constants that are equal are declared once; names and decorations may be added at any time.
    ``maintenance1``: see Program.
    """

    def __init__(self, version: Version = LATEST, maintenance1: bool = False) -> None:
        self._version = version
        self._maintenance1 = maintenance1
        self._bound = 1
        self._capabilities: set[Capability] = set()
        self._names: list[int] = []
        self._decorations: list[int] = []
        self._declarations: list[int] = []
        self._code: list[int] = []
        self._globals: list[int] = []
        self._functions: list[int] = []
        self._once: dict[Hashable, int] = {}
        self._modes: list[tuple[int, ...]] = []
        self._imports: list[int] = []
        self._entries: list[_EntryPoint] = []

    def new_id(self, name: str = "") -> int:
        """Return a fresh id, with an OpName if ``name`` is not empty."""
        result = self._bound
        self._bound += 1
        if name:
            words = string_words(name)
            self._names += (len(words) + 2 << 16 | Op.Name, result, *words)
        return result

    def require(self, *capabilities: Capability) -> None:
        """Declare capabilities, and their extensions with them."""
        self._capabilities.update(capabilities)

    def instruction_set(self, name: str) -> int:
        """Return the id of an extended instruction set, which is imported once."""

        def declare() -> int:
            result = self.new_id()
            text = string_words(name)
            self._imports += (len(text) + 2 << 16 | Op.ExtInstImport, result, *text)
            return result

        return self.once(("instruction set", name), declare)

    def execution_mode(self, mode: ExecutionMode, *literals: int) -> None:
        """Add an OpExecutionMode of the entry point."""
        self._modes.append((mode, *literals))

    def member_name(self, type_: int, member: int, name: str) -> None:
        """Add an OpMemberName."""
        words = string_words(name)
        self._names += (len(words) + 3 << 16 | Op.MemberName, type_, member, *words)

    def decorate(self, target: int, decoration: Decoration, *parameters: int) -> None:
        """Add an OpDecorate."""
        self._decorations += (len(parameters) + 3 << 16 | Op.Decorate, target, decoration, *parameters)

    def decorate_member(self, type_: int, member: int, decoration: Decoration, *parameters: int) -> None:
        """Add an OpMemberDecorate."""
        self._decorations += (len(parameters) + 4 << 16 | Op.MemberDecorate, type_, member, decoration, *parameters)

    def once(self, key: Hashable, declare: Callable[[], int]) -> int:
        """Return the id of ``declare()``, which is called the first time that ``key`` is asked for."""
        result = self._once.get(key)
        if result is None:
            result = self._once[key] = declare()
        return result

    def new_type(self, op: Op, *operands: int, name: str = "") -> int:
        """Declare a new type, even if an equal one exists (for decorated aggregates and pointers)."""
        result = self.new_id(name)
        self._declarations += (len(operands) + 2 << 16 | op, result, *operands)
        return result

    def type(self, op: Op, *operands: int) -> int:
        """Return the id of a type, which is declared once."""
        key = (op, *operands)
        result = self._once.get(key)
        if result is None:
            result = self._once[key] = self.new_type(op, *operands)
        return result

    def new_constant(self, op: Op, type_: int, *operands: int, name: str = "", result: int | None = None) -> int:
        """Add a new constant instruction, even if an equal one exists (for specialization constants); ``result`` is its id if that is
        assigned already."""
        if result is None:
            result = self.new_id(name)
        self._declarations += (len(operands) + 3 << 16 | op, type_, result, *operands)
        return result

    def constant(self, op: Op, type_: int, *operands: int) -> int:
        """Return the id of a constant, which is declared once."""
        key = (op, type_, *operands)
        result = self._once.get(key)
        if result is None:
            result = self._once[key] = self.new_constant(op, type_, *operands)
        return result

    def variable(self, pointer: int, storage: StorageClass, name: str, *initializer: int) -> int:
        """Declare a variable of the module, which joins the entry point's interface; ``initializer`` is the id of a constant or absent."""
        return self._declared(self.new_constant(Op.Variable, pointer, storage, *initializer, name=name), storage)

    def untyped_variable(self, pointer: int, storage: StorageClass, data: int, name: str) -> int:
        """Declare an OpUntypedVariableKHR of the module: ``data`` is the type of its contents. It joins the interface as others do."""
        return self._declared(self.new_constant(Op.UntypedVariableKHR, pointer, storage, data, name=name), storage)

    def _declared(self, variable: int, storage: StorageClass) -> int:
        if self._version >= (1, 4) or storage in _INTERFACE:
            self._globals.append(variable)
        return variable

    def use_input(self, variable: int) -> None:
        """Add a variable of Input storage to the interface of the entry point under construction."""
        if variable not in self._globals:
            self._globals.append(variable)

    def instruction(self, op: Op, *operands: int) -> None:
        """Add an instruction without a result to the function."""
        self._code += (len(operands) + 1 << 16 | op, *operands)

    def value(self, op: Op, type_: int, *operands: int, result: int | None = None) -> int:
        """Add an instruction with a result to the function; ``result`` is its id if that is assigned already."""
        if result is None:
            result = self._bound
            self._bound += 1
        self._code += (len(operands) + 3 << 16 | op, type_, result, *operands)
        return result

    @contextmanager
    def function(self, result_type: int, type_: int, name: str, control: FunctionControl) -> Iterator[int]:
        """Add a further function from the code added in the ``with`` block, from its parameters to its last terminator; yield its id."""
        outer, self._code = self._code, []
        result = self.new_id(name)
        self._code += (5 << 16 | Op.Function, result_type, result, control, type_)
        yield result
        self._code.append(1 << 16 | Op.FunctionEnd)
        self._functions += self._code
        self._code = outer

    def label(self, label: int) -> None:
        """Begin a block."""
        self._code += (2 << 16 | Op.Label, label)

    def end_entry_point(self, name: str, local_size: Sequence[int], literals: bool = False) -> None:
        """End an entry point: the code collected so far is its body, from its first label to its terminator. Another one may follow.

        Args:
            name: the name of the entry point.
            local_size: ids of the constants of the local size in x, y, z (LocalSizeId).
            literals: they are the numbers themselves (LocalSize).
        """
        op, mode = (Op.ExecutionMode, ExecutionMode.LocalSize) if literals else (Op.ExecutionModeId, ExecutionMode.LocalSizeId)
        self._end_entry_point(name, ExecutionModel.GLCompute, [(op, mode, *local_size)])

    def end_drawn_entry_point(self, name: str, stage: DrawnStage) -> None:
        """End an entry point of another stage as ``end_entry_point`` does."""
        if stage == "vertex":
            self._end_entry_point(name, ExecutionModel.Vertex, [])
        elif stage == "raygen":
            self.require(Capability.RayTracingKHR)
            self._end_entry_point(name, ExecutionModel.RayGenerationKHR, [])
        else:
            self._end_entry_point(name, ExecutionModel.Fragment, [(Op.ExecutionMode, ExecutionMode.OriginUpperLeft)])

    def _end_entry_point(self, name: str, model: ExecutionModel, own_modes: Sequence[tuple[int, ...]]) -> None:
        """End an entry point. Each of ``own_modes`` is an opcode, the execution mode and its operands."""
        void = self.type(Op.TypeVoid)
        function_type = self.type(Op.TypeFunction, void)
        main = self.new_id(name)
        words = string_words(name)
        interface = len(words) + len(self._globals)
        declaration = [interface + 3 << 16 | Op.EntryPoint, model, main, *words, *self._globals]
        modes: list[int] = []
        for op, *own in own_modes:
            modes += (len(own) + 2 << 16 | op, main, *own)
        for mode in self._modes:
            modes += (len(mode) + 2 << 16 | Op.ExecutionMode, main, *mode)
        function = [5 << 16 | Op.Function, void, main, FunctionControl.None_, function_type, *self._code, 1 << 16 | Op.FunctionEnd]
        self._entries.append(_EntryPoint(declaration, modes, function))
        self._code, self._globals, self._modes = [], [], []

    def assemble(self) -> bytes:
        """Return the module with all entry points that have ended, little-endian.

        Raises:
            GeneratorError: the module uses an instruction or enumerant that its version lacks, with or without an extension.
        """
        physical = Capability.PhysicalStorageBufferAddresses in self._capabilities
        addressing = AddressingModel.PhysicalStorageBuffer64 if physical else AddressingModel.Logical
        words: list[int] = [*self._imports, 3 << 16 | Op.MemoryModel, addressing, MemoryModel.Vulkan]
        for entry in self._entries:
            words += entry.declaration
        for entry in self._entries:
            words += entry.modes
        words += self._names
        words += self._decorations
        words += self._declarations
        for entry in self._entries:
            words += entry.function
        words += self._functions
        extensions = {extension_of(capability, self._version, self._maintenance1) for capability in self._capabilities} - {""}
        if self._version < LATEST:
            extensions |= extensions_beyond(self._packed(extensions, words))
        return self._packed(extensions, words)

    def _packed(self, extensions: set[str], words: Sequence[int]) -> bytes:
        """Return the module: its header, capabilities and ``extensions``, and then ``words``."""
        head: list[int] = [MAGIC, version_word(self._version), 0, self._bound, 0]
        for capability in sorted(self._capabilities):
            head += (2 << 16 | Op.Capability, capability)
        for extension in sorted(extensions):
            text = string_words(extension)
            head += (len(text) + 1 << 16 | Op.Extension, *text)
        return struct.pack(f"<{len(head) + len(words)}I", *head, *words)
