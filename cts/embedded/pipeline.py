"""A kernel, ready to run on the interpreter: its module is translated once, and each dispatch binds its buffers and runs its workgroups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cts.devices.device import DeviceFailure, DeviceTimeout, OutOfMemory, Step, UndefinedBehaviour
from cts.embedded.diagnostics import (
    Malformed,
    NotSupported,
    NotValidSpirv,
    UndefinedUse,
    Unsupported,
    Violation,
    instruction_text,
    reading,
)
from cts.embedded.faults import replaceable
from cts.embedded.instructions.control_flow import prepare_functions
from cts.embedded.instructions.invocations.built_ins import built_in, check_built_in, check_drawn_built_in, drawn_built_in
from cts.embedded.machine.pointers import BytePointer, Cell, CellPointer, DescriptorArray, ImagePlace
from cts.embedded.memory.memory import Memory, stray_writes
from cts.embedded.module.declarations import declare
from cts.embedded.module.module import Variable
from cts.embedded.module.source_lines import source_line
from cts.embedded.module.translation import Handler, Translation
from cts.embedded.observations import static_severity
from cts.embedded.rules import CHECKS, RULES
from cts.embedded.settings import Settings
from cts.embedded.types.limits import Exhausted
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.spirv_types import Array, size_of
from cts.embedded.types.values import UNDEFINED
from cts.embedded.undefined.recovery import UNDEFINED_RULE, Recovery
from generators.kernel import BufferSlot, Dispatch, Kernel, Outcome
from generators.passes import PassBarrier
from generators.spirv.enumerants import Decoration, Op, StorageClass
from generators.spirv.reader import HEADER_WORDS


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

    def __init__(self, kernel: Kernel, subgroup_size: int, settings: Settings, handlers: Mapping[Op, Handler]) -> None:
        self.kernel = kernel
        self._settings = settings
        self._built_in = settings.faults.performing(built_in)
        self._ordered = settings.faults.performing(ordered_workgroups)
        self._passed_on = settings.faults.performing(passed_on)
        self._choices: np.random.Generator | None = None
        with reading():
            translation = Translation(kernel, subgroup_size, settings, handlers, RULES, CHECKS)
        try:
            translation.machine.recovery = Recovery(translation, settings.observations) if settings.strict else None
            declare(translation, subgroup_size)
            prepare_functions(translation)
            self._translation = translation
            self._connect()
        except (Exhausted, Malformed, Violation, UndefinedUse, Unsupported) as error:
            if isinstance(error, Violation) and settings.observations is not None:
                translation.machine.index = translation.index
                translation.machine.forbid(error.rule, error.text, severity=static_severity(error.rule))
            raise _explained(translation, translation.index, error) from error

    @property
    def warnings(self) -> tuple[str, ...]:
        """The kernel's violations of tolerated positions, once each."""
        return tuple(self._translation.machine.warnings)

    def take_apart(self) -> None:
        """Free the pipeline's memory at once: its parts refer to each other, and Python would have to search for them."""
        machine = self._translation.machine
        self._translation.functions.clear()
        machine.recovery = None
        machine.values.clear()
        machine.constants.clear()

    def _connect(self) -> None:
        """Collect the properties of variables that every dispatch needs."""
        self._buffer_variables: list[tuple[Variable, int, int]] = []
        self._push_constants: list[int] = []
        self._workgroup: list[_Shared] = []
        self._cells: list[tuple[int, Cell, int | None, int]] = []
        types = self._translation.types
        for variable in self._translation.variables.values():
            id_, storage, pointee = variable.id, variable.storage, variable.data
            if storage is StorageClass.PushConstant:
                self._push_constants.append(id_)
            elif storage is StorageClass.Workgroup:
                self._connect_workgroup(id_, pointee, bool(variable.initializer))
            elif storage in (StorageClass.StorageBuffer, StorageClass.Uniform, StorageClass.UniformConstant):
                number, binding = (
                    (self._translation.decoration(id_, which) or (default,))[0]
                    for which, default in ((Decoration.DescriptorSet, 0), (Decoration.Binding, -1))
                )
                self._buffer_variables.append((variable, number, binding))
            elif storage in CELL_STORAGE:
                self._translation.budget.take(self._translation.value_bytes(pointee), "the variable", id_)
                which = self._translation.decoration(id_, Decoration.BuiltIn)
                if which is not None and self.kernel.draw is not None:
                    check_drawn_built_in(which[0], types[pointee], storage, self.kernel.draw)
                elif which is not None:
                    check_built_in(which[0], types[pointee])
                read = None if which is None or storage is not StorageClass.Input else which[0]
                self._cells.append((id_, Cell(types[pointee], self._translation.name(id_)), read, variable.initializer))

    def _connect_workgroup(self, id_: int, data: int, is_initialized: bool) -> None:
        """Note a workgroup variable. Aliased blocks share memory: all begin at the same byte (WL-ALI-01)."""
        translation = self._translation
        # A variable of another entry point has no memory.
        size = size_of(translation.types[data]) if translation.uses(id_) else 0
        is_aliased = translation.decoration(id_, Decoration.Aliased) is not None and translation.is_block(data)
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
        except (Malformed, Violation, UndefinedUse, Unsupported) as error:
            raise _explained(self._translation, machine.index, error) from error
        except DeviceTimeout as error:
            line = source_line(self._translation, machine.index)
            place = instruction_text(self.kernel.spirv, machine.index) if line is None else f"{line}: {line.text}"
            raise DeviceTimeout(f"{error}; the last one was at {place}", step=Step.DISPATCH, spent=False) from error

    def _run(self, dispatch: Dispatch) -> Outcome:
        translation, machine = self._translation, self._translation.machine
        self._choices = np.random.default_rng(self._settings.choices) if self._settings.weak else None
        memories = self._buffers(dispatch)
        machine.begin_dispatch()
        machine.workgroups = dispatch.workgroups
        machine.index = translation.first_function
        passes = self.kernel.passes
        if passes is None:
            self._run_workgroups()
        else:
            for number in range(dispatch.passes):
                before = [memory.data.copy() if memory.writable else memory.data for memory in memories]
                _put(self._pushed, passes.offset, number, 4)
                self._run_workgroups()
                if number < dispatch.passes - 1:
                    self._pass_on(memories, before, passes.barrier)
        written = [(slot, memory) for slot, memory in zip(self.kernel.buffers, memories, strict=True) if slot.written]
        layouts = self._settings.matrix_layouts
        outputs = {
            slot.name: memory.data if slot.opaque is None else layouts.taken_out(slot.opaque, memory.data) for slot, memory in written
        }
        return Outcome(outputs, stray_writes(memories))

    def _run_workgroups(self) -> None:
        """Run the entry point in each workgroup of a dispatch."""
        translation, machine = self._translation, self._translation.machine
        main = translation.functions[translation.entry]
        for workgroup in self._ordered(machine.workgroups):
            machine.begin_workgroup(workgroup)
            self._begin_workgroup()
            machine.call(main, ())

    def _pass_on(self, memories: Sequence[Memory], before: Sequence[np.ndarray], barrier: PassBarrier) -> None:
        """Perform the barrier between two passes. ``before``: the contents of the memories before the first of them."""
        self._translation.machine.steps = 0
        for memory, earlier in zip(memories, before, strict=True):
            if memory.writable:
                memory.data[:] = self._passed_on(memory.data, earlier)
            if barrier != "none":
                memory.order(makes_visible=barrier != "execution")

    def _buffers(self, dispatch: Dispatch) -> list[Memory]:
        """Return the buffers' memories with their contents. Write their addresses to the push constants and into buffers."""
        space, slots = self._translation.space, self.kernel.buffers
        push_constants = np.frombuffer(dispatch.push_constants, np.uint8).copy()
        space.clear()
        memories = [self._memory(slot, contents) for slot, contents in zip(slots, dispatch.contents, strict=True)]
        bases = {memory.name: memory.base for memory in memories}
        pointed_to = {name for slot in slots for _, name in slot.addresses}
        for slot, memory in zip(slots, memories, strict=True):
            if slot.address_offset is not None or slot.name in pointed_to:
                space.add(memory)
            if slot.address_offset is not None:
                _put(push_constants, slot.address_offset, memory.base, 8)
            if slot.opaque is not None and slot.opaque.pitch_offset is not None:
                _put(push_constants, slot.opaque.pitch_offset, self._settings.matrix_layouts.pitch(slot.opaque), 4)
            if slot.addresses:
                memory.data = memory.data.copy()
            for at, name in slot.addresses:
                _put(memory.data, at, bases[name], 8)
        self._pushed = push_constants
        self._bind(memories, push_constants)
        return memories

    def _memory(self, slot: BufferSlot, contents: np.ndarray) -> Memory:
        """Return the memory of a buffer or an image, at an address of its own."""
        layouts, opaque = self._settings.matrix_layouts, slot.opaque
        data = contents.copy() if slot.written else contents
        if opaque is not None:
            data = layouts.put_in(opaque, contents)
        memory = Memory(
            slot.name,
            data,
            "buffer" if slot.image is None else "image",
            self._translation.space.place(data.size if slot.windows is None else slot.windows.span),
            slot.written,
            strict=self._settings.strict,
            robust=self.kernel.robust and slot.binding is not None,
            windows=slot.windows,
            forbid=self._translation.machine.forbid,
            choices=self._choices,
        )
        if opaque is not None:
            memory.matrices = layouts.held(opaque, slot.name)
        memory.hold(slot.matrices)
        return memory

    def _bind(self, memories: Sequence[Memory], push_constants: np.ndarray) -> None:
        """Point the variables of the module to memories."""
        translation, constants, strict = self._translation, self._translation.machine.constants, self._settings.strict
        forbid = translation.machine.forbid
        bound: dict[tuple[int, int], dict[int, BytePointer | ImagePlace]] = {}
        for slot, memory in zip(self.kernel.buffers, memories, strict=True):
            if slot.binding is not None:
                place = BytePointer(memory, 0) if slot.image is None else ImagePlace(slot.image, memory)
                bound.setdefault((slot.descriptor_set, slot.binding), {})[slot.element] = place
        for variable, number, binding in self._buffer_variables:
            descriptors = bound.get((number, binding), {})
            if 0 in descriptors and not variable.is_descriptor_array:
                constants[variable.id] = descriptors[0]
                continue
            # If nothing is bound, any access is out of bounds.
            empty = np.zeros(0, np.uint8)
            nothing = BytePointer(Memory(translation.name(variable.id), empty, "buffer", strict=strict, forbid=forbid), 0)
            if variable.is_descriptor_array:
                contents = translation.types[variable.data]
                assert isinstance(contents, Array)
                # An array without a length ends after the last bound descriptor.
                count = max(descriptors, default=-1) + 1 if contents.length is None else contents.length
                constants[variable.id] = DescriptorArray(descriptors, count, nothing)
            else:
                constants[variable.id] = nothing
        block = Memory("push constants", push_constants, "buffer", writable=False, strict=strict, forbid=forbid)
        for id_ in self._push_constants:
            constants[id_] = BytePointer(block, 0)

    def _begin_workgroup(self) -> None:
        translation, values = self._translation, self._translation.values
        for shared in self._workgroup:
            size, initialized = shared.size, shared.is_initialized
            data = np.zeros(size, np.uint8) if initialized or not self._settings.strict else np.full(size, 0xCD, np.uint8)
            name = ", ".join(translation.name(id_) for id_ in shared.ids)
            strict, forbid = self._settings.strict, translation.machine.forbid
            memory = Memory(name, data, "workgroup", defined=initialized, strict=strict, forbid=forbid, choices=self._choices)
            place = BytePointer(memory, 0)
            for id_ in shared.ids:
                values[id_] = place
        draw = self.kernel.draw
        for id_, cell, built_in_input, initializer in self._cells:
            values[id_] = CellPointer(cell, (), self._settings.mapping)
            if built_in_input is not None and draw is not None:
                cell.value = drawn_built_in(built_in_input, draw)
            elif built_in_input is not None:
                cell.value = self._built_in(translation, built_in_input, cell.type)
            elif initializer:
                cell.value = values[initializer]
            else:
                cell.value = UNDEFINED if self._settings.strict else translation.zero(cell.type)


@replaceable
def ordered_workgroups(counts: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Return the numbers of all workgroups of a dispatch, in the order in which they run. Any order is allowed."""
    return [(x, y, z) for z, y, x in product(*map(range, reversed(counts)))]


@replaceable
def passed_on(contents: np.ndarray, before: np.ndarray) -> np.ndarray:  # noqa: ARG001 (faults use it)
    """Return what the next dispatch of a submission finds in a buffer, after a barrier.

    Args:
        contents: its bytes after the dispatch, uint8.
        before: its bytes before the dispatch.
    """
    return contents


def _put(data: np.ndarray, at: int, number: int, size: int) -> None:
    """Write a number of ``size`` bytes at byte ``at``."""
    data[at : at + size] = np.frombuffer(number.to_bytes(size, "little"), np.uint8)


def _explained(translation: Translation, index: int, error: Exception) -> DeviceFailure:
    instruction, name, word = "the module", "", HEADER_WORDS
    if index >= 0:
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
