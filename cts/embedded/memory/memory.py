"""Memory as bytes, which checks each access: bounds, alignment, contents, and races."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from copy import copy
from typing import Protocol

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.memory.history import History
from cts.embedded.memory.ordering import Clock, Manner, MemoryKind, no_records
from cts.embedded.observations import Severity
from generators.kernel import HeldMatrix, StrayWrite
from generators.windows import Windows

BASE_ALIGNMENT = 256
"""Alignment of buffers and workgroup variables, in bytes."""

_GAP = 1 << 20
_FIRST_ADDRESS = 0x7F3A_4100_0000


class Forbids(Protocol):
    """Reports forbidden accesses: see ``Machine.forbid``."""

    def __call__(
        self, rule: str, text: str, where: np.ndarray | None = None, severity: Severity | None = None, cause: str = ""
    ) -> None: ...


def stop(rule: str, text: str, *_: object, **__: object) -> None:
    """Report a forbidden access by raising.

    Raises:
        Violation: always.
    """
    raise Violation(rule, text)


class Memory:
    """One buffer, workgroup variable, or push-constant block.

    Attributes:
        name: for messages.
        data: uint8 contents, of the whole buffer or of its windows.
        windows: the accessible windows of a large buffer; None if the whole buffer is accessible.
        base: address of the first byte.
        writable: whether the kernel may write it.
        kind: the kind of memory, which determines the barriers that cover it.
        strict: whether undefined behaviour is reported. If the device goes on after it, reads give zero and writes are dropped.
        forbid: reports undefined behaviour.
        robust: whether matrix accesses out of bounds are defined: they read zero and write nothing.
        stray: writes out of bounds or to read-only memory, if not strict.
        matrices: its matrices that conversions have written, by their first byte.

    With ``choices``, races are not reported: they choose which value a racing read gets, see ``history``.
    """

    def __init__(
        self,
        name: str,
        data: np.ndarray,
        kind: MemoryKind,
        base: int = 0,
        writable: bool = True,
        defined: bool = True,
        strict: bool = True,
        robust: bool = False,
        windows: Windows | None = None,
        forbid: Forbids = stop,
        choices: np.random.Generator | None = None,
    ) -> None:
        self.name = name
        self.data = data
        self.windows = windows
        self.kind = kind
        self.base = base
        self.writable = writable
        self.strict = strict
        self.robust = robust
        self.forbid = forbid
        self.stray: list[StrayWrite] = []
        self._views: dict[np.dtype, np.ndarray] = {}
        self._defined = None if defined else np.zeros(data.size, bool)
        shadowed = writable and strict
        self._writer = no_records(data.size) if shadowed else None
        self._history = History(data.size, choices) if shadowed and choices is not None else None
        self._was_defined = defined
        self._reader = no_records(data.size) if shadowed else None
        self._atomic: np.ndarray | None = None
        self._fixed: np.ndarray | None = None
        self.matrices: dict[int, HeldMatrix] = {}

    @property
    def size(self) -> int:
        """Size in bytes, as the kernel sees it."""
        return self.data.size if self.windows is None else self.windows.span

    @property
    def traced(self) -> bool:
        """True if accesses leave records."""
        return self._writer is not None

    @property
    def checked(self) -> bool:
        """True if accesses must say which bytes they touch."""
        return self._writer is not None or self._defined is not None

    def view(self, dtype: np.dtype) -> np.ndarray:
        """Return the contents as elements of ``dtype``, without an incomplete last one."""
        found = self._views.get(dtype)
        if found is None:
            count = self.data.size // dtype.itemsize
            found = self._views[dtype] = self.data[: count * dtype.itemsize].view(dtype)
        return found

    def bytes_at(self, places: np.ndarray) -> np.ndarray:
        """Return the bytes at any offsets, uint8 of the same shape. Bytes out of bounds are zero."""
        if not self.size:
            return np.zeros(places.shape, np.uint8)
        inside = (places >= 0) & (places < self.size)
        return np.where(inside, self.data[np.where(inside, places, 0)], 0).astype(np.uint8)

    def held(self, offsets: np.ndarray, size: int) -> np.ndarray:
        """Return the offsets in ``data`` of elements of ``size`` bytes at ``offsets``.

        If the memory has windows, every accessed byte must be in a window, because the other contents are unknown.

        Raises:
            Violation: an element is outside of the windows.
        """
        if self.windows is None:
            return offsets
        begin = self.windows.held(offsets)
        lost = (begin < 0) | (self.windows.held(offsets + (size - 1)) < 0)
        if lost.any():
            at = int(offsets[lost].min())
            raise Violation("KHR-MEM-02", f"an access to byte {at} of '{self.name}', whose {self.size} bytes have no window there")
        return begin

    def check_bounds(self, low: int, high: int, where: np.ndarray | None = None, in_windows: bool = False, what: str = "") -> bool:
        """Return whether bytes ``low`` up to ``high`` are in the memory.

        Args:
            low, high: first byte, and the byte after the last.
            where: the invocations that access bytes out of bounds.
            in_windows: whether the access calls ``held`` for its offsets.
            what: what is accessed there, for messages.

        Raises:
            Violation: the bytes are out of bounds, and the device stops at that.
            Unsupported: the memory has windows, which this access cannot handle.
        """
        if self.windows is not None and not in_windows:
            raise Unsupported("accesses to windows of a large buffer other than those of cooperative matrices")
        if low >= 0 and high <= self.size:
            return True
        if self.strict:
            has = f"'{self.name}', which has {self.size} bytes" if self.size else f"'{self.name}', to which nothing is bound"
            text = f"out of bounds: {what and f'{what}, '}bytes {low} to {high - 1} of {has}"
            self.forbid("KHR-MEM-02", text, where, Severity.ROBUSTNESS if self.robust else None, cause=self.name)
        return False

    def check_writable(self) -> bool:
        """Return whether the kernel may write here.

        Raises:
            Violation: the kernel may not write, and the memory is strict.
        """
        if self.writable:
            return True
        if self.strict:
            self.forbid("SPIR-V 3.20 NonWritable", f"a store to '{self.name}', which is read-only", cause=self.name)
        return False

    def define(self, places: np.ndarray | slice) -> None:
        """Note that bytes have been written."""
        if self._defined is not None:
            self._defined[places] = True

    def undefine(self, places: np.ndarray) -> None:
        """Note that bytes hold an undefined value."""
        if not places.size:
            return
        if self._defined is None:
            self._defined = np.ones(self.data.size, bool)
        self._defined[places] = False

    def defined_at(self, places: np.ndarray | slice) -> np.ndarray | None:
        """Return which bytes have a value; None if all have one."""
        if self._defined is None or not self.strict:
            return None
        found = self._defined[places]
        return None if found.all() else found

    def check_defined(self, places: np.ndarray | slice) -> None:
        """Check that bytes have been written.

        Raises:
            Violation: a byte has not been written.
        """
        if self._defined is not None and self.strict and not self._defined[places].all():
            defined = self._defined[places]
            held = self._holding(_first(places, defined))
            self.forbid("SPIR-V 3.3.8 OpVariable" if held is None else "CV-MM-19", self.uninitialised(places, defined), cause=self.name)

    def hold(self, matrices: Sequence[HeldMatrix]) -> None:
        """Note matrices in the contents. The bytes of those in an optimal layout have no value for any other access."""
        for matrix in matrices:
            self.matrices[matrix.at] = matrix
            if matrix.layout.is_optimal and not matrix.copied:
                self.undefine(np.arange(matrix.at, matrix.at + matrix.bytes))

    def _holding(self, at: int) -> HeldMatrix | None:
        """Return the matrix in an optimal layout that has byte ``at``."""
        held = (one for one in self.matrices.values() if one.layout.is_optimal and one.at <= at < one.at + one.bytes)
        return next(held, None)

    def uninitialised(self, places: np.ndarray | slice, defined: np.ndarray) -> str:
        """Describe the first byte without a value that is read."""
        at = _first(places, defined)
        held = self._holding(at)
        if held is not None:
            layout = held.layout.name.lower()
            return f"byte {at} of '{self.name}' is in the matrix '{held.name}', whose layout {layout} only the device knows"
        return f"nothing wrote byte {at} of '{self.name}' before this read"

    def order(self, makes_visible: bool) -> None:
        """Note that a pipeline barrier orders all earlier accesses before all later ones.

        Args:
            makes_visible: whether it makes writes available and visible. Otherwise later accesses race with them.
        """
        if self._writer is None or self._reader is None:
            return
        self._reader[:] = 0
        self._fixed = None
        if makes_visible:
            self._writer[:] = 0
            self._atomic = None

    def record_read(self, places: np.ndarray | slice, records: np.ndarray | int, clock: Clock, manner: Manner) -> Memory:
        """Note a read of bytes, and return the memory as that read sees it.

        Args:
            places: the bytes.
            records: the records of the access, of the same shape or broadcast to it.
            clock: the dispatch's clock.
            manner: how the access is made.

        Raises:
            Violation: the read races with a write.
        """
        if self._writer is None or self._reader is None:
            return self
        written, seen = self._writer[places], self
        if np.count_nonzero(written):
            conflicts = clock.conflicts(written, records, self.kind, manner, reads_write=True)
            self._refuse(conflicts, places, written, records, clock, manner, ("reads", "wrote"))
            if self._history is not None and conflicts.any():
                seen = copy(self)
                seen._views = {}
                seen.data = self._history.seen(
                    places, self.data, conflicts, lambda before: clock.conflicts(before, records, self.kind, manner, reads_write=True)
                )
        if self._atomic is not None:
            self._check_atomic(places, records, clock, manner, "reads")
        before = self._reader[places]
        left = clock.shared(before, records, self.kind) if np.count_nonzero(before) else records
        self._reader[places] = left
        if not isinstance(places, slice) and isinstance(left, np.ndarray):
            clash = self._reader[places] != left
            if np.count_nonzero(clash):
                self._reader[places[clash]] = clock.anonymous(np.broadcast_to(left, clash.shape)[clash])
        return seen

    def fix(self, places: np.ndarray) -> None:
        """Note that bytes have been read as if they were NonWritable: nothing may change them while the shader runs (CV-MM-26).

        Raises:
            Violation: the shader has changed a byte.
        """
        if self._writer is None:
            return
        changed = self._writer[places] != 0
        if self._atomic is not None:
            changed |= self._atomic[places] != 0
        if changed.any():
            self.forbid("CV-MM-26", f"a matrix or bias in '{self.name}' that the shader has changed", cause=self.name)
        if self._fixed is None:
            self._fixed = np.zeros(self.data.size, bool)
        self._fixed[places] = True

    def _check_fixed(self, places: np.ndarray | slice) -> None:
        if self._fixed is not None and self._fixed[places].any():
            self.forbid("CV-MM-26", f"a store to a matrix or bias in '{self.name}', which the shader uses", cause=self.name)

    def record_write(self, places: np.ndarray | slice, records: np.ndarray | int, clock: Clock, manner: Manner) -> None:
        """Note a write of bytes; see ``record_read`` for the arguments.

        Raises:
            Violation: the write races with another access.
        """
        if self._writer is None or self._reader is None:
            return
        self._check_fixed(places)
        written, read = self._writer[places], self._reader[places]
        if np.count_nonzero(written):
            conflicts = clock.conflicts(written, records, self.kind, manner, reads_write=False)
            self._refuse(conflicts, places, written, records, clock, manner, ("writes", "wrote"))
        if np.count_nonzero(read):
            conflicts = clock.conflicts(read, records, self.kind, manner, reads_write=False)
            self._refuse(conflicts, places, read, records, clock, manner, ("writes", "read"))
        if self._atomic is not None:
            self._check_atomic(places, records, clock, manner, "writes")
        if self._history is not None:
            self._history.keep(places, self.data, written, self._was_defined)
        self._writer[places] = records
        if not isinstance(places, slice) and isinstance(records, np.ndarray):
            left = self._writer[places]
            self._refuse(left != records, places, left, records, clock, None, ("writes", "also writes"))

    def record_atomic(self, places: np.ndarray, records: np.ndarray | int, clock: Clock, manner: Manner) -> None:
        """Note atomic accesses, which do not race with each other.

        Raises:
            Violation: an access races with one that is not atomic.
        """
        if self._writer is None or self._reader is None:
            return
        self._check_fixed(places)
        if self._atomic is None:
            self._atomic = np.zeros(self.data.size, np.int64)
        for before, did in ((self._writer[places], "wrote"), (self._reader[places], "read")):
            if np.count_nonzero(before):
                conflicts = clock.conflicts(before, records, self.kind, manner, reads_write=False)
                self._refuse(conflicts, places, before, records, clock, manner, ("accesses atomically", did))
        before = self._atomic[places]
        self._atomic[places] = clock.shared(before, records, self.kind)

    def _check_atomic(self, places: np.ndarray | slice, records: np.ndarray | int, clock: Clock, manner: Manner, what: str) -> None:
        assert self._atomic is not None
        before = self._atomic[places]
        if np.count_nonzero(before):
            conflicts = clock.conflicts(before, records, self.kind, manner, reads_write=False)
            self._refuse(conflicts, places, before, records, clock, manner, (what, "accessed atomically"))

    def unrecorded(self) -> Memory:
        """Return the same memory for accesses that leave no records and race with none."""
        found = copy(self)
        found._writer = found._reader = found._atomic = None
        return found

    def _refuse(
        self,
        conflicts: np.ndarray,
        places: np.ndarray | slice,
        before: np.ndarray,
        records: np.ndarray | int,
        clock: Clock,
        manner: Manner | None,
        verbs: tuple[str, str],
    ) -> None:
        """Report the first of the accesses that race, if any do.

        Args:
            conflicts: which bytes of ``places`` race.
            places, before, records, clock: see ``record_read``; ``before`` has the records of the earlier accesses.
            manner: how the later access is made; None if both are made by one instruction.
            verbs: what the later access does, and what the earlier one did.
        """
        if self._history is not None or not np.count_nonzero(conflicts):
            return
        at = int(np.flatnonzero(conflicts)[0])
        place = places.start + at if isinstance(places, slice) else np.ravel(places)[at]
        then, now = int(np.ravel(before)[at]), int(np.broadcast_to(records, conflicts.shape).flat[at])
        why = "both with this instruction" if manner is None else clock.why(then, now, self.kind, manner)
        who, whom = clock.describe(now), clock.describe(then)
        # Unspecified invocations access a matrix.
        other = f"another invocation of {whom}" if who == whom else whom
        text = f"a race: {who} {verbs[0]} byte {place} of '{self.name}', which {other} {verbs[1]}: {why}"
        self.forbid("KHR-MEM-01", text, clock.mask(now), cause=self.name)


class AddressSpace:
    """The buffers that have device addresses. The addresses are far apart and have no simple relation to each other."""

    def __init__(self) -> None:
        self._memories: list[Memory] = []
        self._bases: list[int] = []
        self._next = _FIRST_ADDRESS

    def clear(self) -> None:
        """Remove all memories and their addresses."""
        self._memories.clear()
        self._bases.clear()
        self._next = _FIRST_ADDRESS

    def place(self, size: int) -> int:
        """Reserve an address for ``size`` bytes and return it."""
        base = self._next
        self._next += -(-(size + _GAP) // BASE_ALIGNMENT) * BASE_ALIGNMENT
        return base

    def add(self, memory: Memory) -> None:
        """Add ``memory``, so its address can be found."""
        at = bisect.bisect(self._bases, memory.base)
        self._bases.insert(at, memory.base)
        self._memories.insert(at, memory)

    def find(self, address: int) -> Memory:
        """Return the memory that contains an address or is close to it.

        Raises:
            Violation: the address is far from every memory.
        """
        at = bisect.bisect(self._bases, address) - 1
        for memory in self._memories[max(at, 0) : at + 2]:
            if memory.base - _GAP // 2 <= address < memory.base + memory.size + _GAP // 2:
                return memory
        raise Violation("KHR-MEM-02", f"address {address:#x} is in no buffer")


def stray_writes(memories: Sequence[Memory]) -> tuple[StrayWrite, ...]:
    """Return the stray writes of all memories."""
    return tuple(stray for memory in memories for stray in memory.stray)


def _first(places: np.ndarray | slice, defined: np.ndarray) -> int:
    """Return the first of some bytes that has no value."""
    undefined = int(np.flatnonzero(~defined)[0])
    return int(places.start + undefined) if isinstance(places, slice) else int(np.ravel(places)[undefined])
