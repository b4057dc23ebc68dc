"""A kernel, ready to run on the interpreter: its module is translated once, and each dispatch binds its buffers and runs its workgroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from cts.devices.device import DeviceFailure, OutOfMemory, Step, UndefinedBehaviour
from cts.embedded.diagnostics import (
    Malformed,
    NotSupported,
    NotValidSpirv,
    UndefinedUse,
    Unsupported,
    Violation,
    instruction_text,
)
from cts.embedded.faults import Faults
from cts.embedded.instructions.control_flow import prepare_functions
from cts.embedded.instructions.invocations.built_ins import built_in, check_built_in, check_drawn_built_in, drawn_built_in
from cts.embedded.machine.pointers import BytePointer, Cell, CellPointer, DescriptorArray, ImagePlace
from cts.embedded.memory.matrix_layouts import MatrixLayouts
from cts.embedded.memory.memory import Memory, OpaqueMemory, stray_writes
from cts.embedded.memory.ordering import MemoryKind
from cts.embedded.module.declarations import declare
from cts.embedded.module.translation import Handler, Translation
from cts.embedded.observations import Observations, static_severity
from cts.embedded.rules import CHECKS, RULES
from cts.embedded.types.limits import Exhausted, Limits
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.spirv_types import Array, size_of
from cts.embedded.types.values import UNDEFINED
from cts.embedded.undefined.recovery import UNDEFINED_RULE, Recovery
from generators.kernel import Dispatch, Kernel, Outcome
from generators.spirv.enumerants import Decoration, Op, StorageClass
from generators.spirv.reader import HEADER_WORDS, NotSpirv, UnknownInstruction


@dataclass(frozen=True)
class _Shared:
    """Workgroup memory: ``ids`` of its variables, its ``size`` in bytes, and whether the variables are initialized and aliased."""

    ids: tuple[int, ...]
    size: int
    is_initialized: bool
    is_aliased: bool


class Pipeline:
    """One kernel, ready to run.

    Raises:
        NotValidSpirv, NotSupported, OutOfMemory: see ``EmbeddedDevice.run``.
        UndefinedBehaviour: the module breaks a rule that does not depend on data.
    """

    def __init__(
        self,
        kernel: Kernel,
        subgroup_size: int,
        mapping: str,
        strict: bool,
        limits: Limits,
        handlers: Mapping[Op, Handler],
        faults: Faults,
        tolerated: frozenset[str],
        seed: int,
        choices: int,
        observations: Observations | None,
    ) -> None:
        self.kernel = kernel
        self._strict = strict
        self._built_in = faults.performing(built_in)
        try:
            layouts = MatrixLayouts(seed)
            translation = Translation(
                kernel, subgroup_size, mapping, strict, handlers, RULES, limits, faults, tolerated, CHECKS, layouts, choices
            )
        except NotSpirv as error:
            raise NotValidSpirv(f"not valid SPIR-V: {error}", error.word) from error
        except UnknownInstruction as error:
            raise NotSupported(f"SPIR-V word {error.word}: the embedded device does not support this: {error.name}", error.name) from error
        try:
            translation.machine.observations = observations
            translation.machine.recovery = Recovery(translation, observations) if strict else None
            declare(translation, subgroup_size)
            prepare_functions(translation)
            self._translation = translation
            self._connect()
        except (Exhausted, Malformed, Violation, UndefinedUse, Unsupported) as error:
            if isinstance(error, Violation) and observations is not None:
                translation.machine.index = translation.index
                translation.machine.forbid(error.rule, error.text, severity=static_severity(error.rule))
            raise _explained(translation, translation.index, error) from error

    @property
    def warnings(self) -> tuple[str, ...]:
        """The kernel's violations of tolerated positions, once each."""
        return tuple(self._translation.machine.warnings)

    def _connect(self) -> None:
        """Collect the properties of variables that every dispatch needs."""
        self._buffer_variables: list[tuple[int, str]] = []
        self._push_constants: list[int] = []
        self._descriptor_counts: dict[int, int] = {}
        self._workgroup: list[_Shared] = []
        self._cells: list[tuple[int, Cell, int | None, int]] = []
        types = self._translation.types
        for id_, storage, pointee, initializer in self._translation.variables:
            name = self._translation.name(id_)
            if storage is StorageClass.PushConstant:
                self._push_constants.append(id_)
            elif storage is StorageClass.Workgroup:
                self._connect_workgroup(id_, pointee, bool(initializer))
            elif storage in (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant):
                self._buffer_variables.append((id_, name))
                contents = types[pointee]
                if id_ in self._translation.descriptor_arrays and isinstance(contents, Array) and contents.length is not None:
                    self._descriptor_counts[id_] = contents.length
            elif storage in CELL_STORAGE:
                self._translation.budget.take(self._translation.value_bytes(pointee), "the variable", id_)
                which = self._translation.decorations.get(id_, {}).get(Decoration.BuiltIn)
                if which is not None and self.kernel.draw is not None:
                    check_drawn_built_in(which[0], types[pointee], storage, self.kernel.draw)
                elif which is not None:
                    check_built_in(which[0], types[pointee])
                read = None if which is None or storage is not StorageClass.Input else which[0]
                self._cells.append((id_, Cell(types[pointee], name), read, initializer))

    def _connect_workgroup(self, id_: int, data: int, is_initialized: bool) -> None:
        """Note a workgroup variable. Aliased blocks share memory: all begin at the same byte (WL-ALI-01)."""
        translation = self._translation
        # A variable of another entry point has no memory.
        size = size_of(translation.types[data]) if translation.uses(id_) else 0
        is_aliased = Decoration.Aliased in translation.decorations.get(id_, {}) and data in translation.blocks
        if is_aliased:
            before = next((shared for shared in self._workgroup if shared.is_aliased), None)
            if before is not None:
                self._workgroup.remove(before)
                translation.budget.take_shared(max(size - before.size, 0), id_)
                self._workgroup.append(_Shared((*before.ids, id_), max(size, before.size), is_initialized, True))
                return
        translation.budget.take_shared(size, id_)
        self._workgroup.append(_Shared((id_,), size, is_initialized, is_aliased))

    def run(self, dispatch: Dispatch) -> Outcome:
        """Run one dispatch."""
        machine = self._translation.machine
        try:
            with np.errstate(all="ignore"):
                return self._run(dispatch)
        except (Violation, UndefinedUse, Unsupported) as error:
            raise _explained(self._translation, machine.index, error) from error

    def _run(self, dispatch: Dispatch) -> Outcome:
        translation, machine = self._translation, self._translation.machine
        memories = self._buffers(dispatch)
        machine.begin_dispatch()
        machine.workgroups = dispatch.workgroups
        machine.index = translation.first_function
        main = translation.functions[translation.entry]
        for z, y, x in product(*(range(count) for count in reversed(dispatch.workgroups))):
            machine.begin_workgroup((x, y, z))
            self._begin_workgroup()
            machine.call(main, ())
        written = [(slot, memory) for slot, memory in zip(self.kernel.buffers, memories, strict=True) if slot.written]
        layouts = translation.matrix_layouts
        outputs = {
            slot.name: memory.data if slot.opaque is None else layouts.taken_out(slot.opaque, memory.data) for slot, memory in written
        }
        return Outcome(outputs, stray_writes(memories))

    def _buffers(self, dispatch: Dispatch) -> list[Memory]:
        """Return the buffers' memories with their contents. Write their addresses to the push constants and into buffers."""
        translation, constants = self._translation, self._translation.machine.constants
        forbid = translation.machine.forbid
        push_constants = np.frombuffer(dispatch.push_constants, np.uint8).copy()
        translation.space.clear()
        memories = []
        pointed_to = {name for slot in self.kernel.buffers for _, name in slot.addresses}
        bound: dict[tuple[int, int], dict[int, BytePointer | ImagePlace]] = {}
        for slot, contents in zip(self.kernel.buffers, dispatch.contents, strict=True):
            data = contents.copy() if slot.written else contents
            if slot.opaque is not None:
                data = translation.matrix_layouts.put_in(slot.opaque, contents)
            base = translation.space.place(data.size if slot.windows is None else slot.windows.span)
            robust = self.kernel.robust and slot.binding is not None
            kind: MemoryKind = "buffer" if slot.image is None else "image"
            memory = Memory(
                slot.name, data, kind, base, slot.written, strict=self._strict, robust=robust, windows=slot.windows, forbid=forbid
            )
            memories.append(memory)
            if slot.binding is not None:
                bound.setdefault((slot.descriptor_set, slot.binding), {})[slot.element] = (
                    BytePointer(memory, 0) if slot.image is None else ImagePlace(slot.image, memory)
                )
            if slot.opaque is not None:
                pitch = translation.matrix_layouts.pitch(slot.opaque)
                memory.opaque = OpaqueMemory(slot.opaque, pitch)
                if slot.opaque.pitch_offset is not None:
                    at = slot.opaque.pitch_offset
                    push_constants[at : at + 4] = np.frombuffer(pitch.to_bytes(4, "little"), np.uint8)
            if slot.address_offset is not None or slot.name in pointed_to:
                translation.space.add(memory)
            if slot.address_offset is not None:
                push_constants[slot.address_offset : slot.address_offset + 8] = np.frombuffer(base.to_bytes(8, "little"), np.uint8)
        bases = {memory.name: memory.base for memory in memories}
        for slot, memory in zip(self.kernel.buffers, memories, strict=True):
            if slot.addresses:
                memory.data = memory.data.copy()
            for at, name in slot.addresses:
                memory.data[at : at + 8] = np.frombuffer(bases[name].to_bytes(8, "little"), np.uint8)
        for id_, name in self._buffer_variables:
            decorations = translation.decorations.get(id_, {})
            place = decorations.get(Decoration.DescriptorSet, (0,))[0], decorations.get(Decoration.Binding, (-1,))[0]
            descriptors = bound.get(place, {})
            # If nothing is bound, any access is out of bounds.
            nothing = BytePointer(Memory(name, np.zeros(0, np.uint8), "buffer", strict=self._strict, forbid=forbid), 0)
            if id_ in translation.descriptor_arrays:
                # An array without a length ends after the last bound descriptor.
                count = self._descriptor_counts.get(id_, max(descriptors, default=-1) + 1)
                constants[id_] = DescriptorArray(descriptors, count, nothing)
            else:
                constants[id_] = descriptors.get(0, nothing)
        block = Memory("push constants", push_constants, "buffer", writable=False, strict=self._strict, forbid=forbid)
        for id_ in self._push_constants:
            constants[id_] = BytePointer(block, 0)
        return memories

    def _begin_workgroup(self) -> None:
        translation, values = self._translation, self._translation.values
        for shared in self._workgroup:
            size, initialized = shared.size, shared.is_initialized
            data = np.zeros(size, np.uint8) if initialized or not self._strict else np.full(size, 0xCD, np.uint8)
            name = ", ".join(translation.name(id_) for id_ in shared.ids)
            memory = Memory(name, data, "workgroup", defined=initialized, strict=self._strict, forbid=translation.machine.forbid)
            place = BytePointer(memory, 0)
            for id_ in shared.ids:
                values[id_] = place
        draw = self.kernel.draw
        for id_, cell, built_in_input, initializer in self._cells:
            values[id_] = CellPointer(cell, (), translation.mapping)
            if built_in_input is not None and draw is not None:
                cell.value = drawn_built_in(built_in_input, draw)
            elif built_in_input is not None:
                cell.value = self._built_in(translation, built_in_input, cell.type)
            elif initializer:
                cell.value = values[initializer]
            else:
                cell.value = UNDEFINED if self._strict else translation.zero(cell.type)


def _explained(translation: Translation, index: int, error: Exception) -> DeviceFailure:
    instruction, name, word = "the module", "", HEADER_WORDS
    if translation.instructions:
        at = translation.instructions[index]
        instruction, name, word = instruction_text(translation.kernel.spirv, index), f"Op{at.op.name}", at.position
    if isinstance(error, Exhausted):
        return OutOfMemory(f"{instruction}: {error}", step=Step.PIPELINE, spent=False)
    if isinstance(error, Malformed):
        return NotValidSpirv(f"not valid SPIR-V: SPIR-V word {word}: {instruction}: {error}", word)
    if isinstance(error, Unsupported):
        return NotSupported(f"{instruction}: the embedded device does not support this: {error}", name)
    if isinstance(error, UndefinedUse):
        return UndefinedBehaviour(f"{instruction}: {error} [{UNDEFINED_RULE}]", UNDEFINED_RULE)
    assert isinstance(error, Violation), "no other exception comes from a module"
    return UndefinedBehaviour(f"{instruction}: {error}", error.rule)
