"""The arrays of a program during evaluation: bytes, their status, and the stores that are still visible."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from cts.verdict.elements import byte_offsets, gather, scatter
from cts.verdict.expected import Authority, Exact, Expectation, Placed, one_set
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass

UNDEFINED, INITIAL, STORED, UNCERTAIN = 0, 1, 2, 3
"""Status of a byte: unknown; known from before; known from a store; or from a store with more than one allowed value."""


@dataclass
class Terms:
    """The terms of atomic additions to floats in memory, which bound the intermediate sums in any order.

    Attributes:
        quantum: by the byte offset of an element, the exponent of the smallest quantum of the element's terms, int32.
        magnitude: the sum of the terms' absolute values, float64.
        counted: which elements have terms, bool.
    """

    quantum: np.ndarray
    magnitude: np.ndarray
    counted: np.ndarray


@dataclass
class Memory:
    """One array, or for workgroup memory one copy of it for each workgroup, one after another.

    Attributes:
        array: its declaration.
        copies: 1 for a buffer.
        contents: uint8, ``copies`` * ``array.bytes``.
        status: the status of every byte, or None if all are known and do not change (an input).
        placed: visible stores of matrices, in order; their offsets count from the start of the first copy.
        background: bytes that plain copies wrote to a buffer and no matrix covers.
        terms: the terms of sums that invocations accumulate; None before the first.
    """

    array: Array
    copies: int
    contents: np.ndarray
    status: np.ndarray | None
    placed: list[Placed] = field(default_factory=list)
    background: list[Placed] = field(default_factory=list)
    terms: Terms | None = None

    def outside(self, rule: str, message: str) -> None:
        """Refuse an access beyond the array.

        Raises:
            GeneratorError: always.
        """
        raise GeneratorError(rule, message)

    def unwritten(self, message: str) -> None:
        """Refuse to read bytes that nothing has written.

        Raises:
            GeneratorError: always.
        """
        raise GeneratorError(Rule.UNWRITTEN, message)

    def held(self, offsets: np.ndarray, size: int) -> np.ndarray:
        """Return the positions in the contents, which may be windows, of elements of ``size`` bytes at byte ``offsets`` of the array.

        Raises:
            GeneratorError: no window holds an element.
        """
        windows = self.array.windows
        if windows is None:
            return offsets
        found = windows.held(offsets)
        lost = (found < 0) | (windows.held(offsets + (size - 1)) != found + (size - 1))
        if lost.any():
            self.outside(
                Rule.NO_WINDOW, f"the program accesses byte {int(offsets[lost][0]):,} of {self.array.name}, which no window holds; add one"
            )
        return np.where(lost, len(self.contents) + size, found)

    def load(self, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
        """Return the bits of the elements at ``offsets``.

        Raises:
            GeneratorError: some byte has no single possible value.
        """
        if self.status is not None:
            known = self.status[byte_offsets(offsets, component.bytes)]
            if (known == UNDEFINED).any():
                self.unwritten(f"the program reads bytes of {self.array.name} that nothing has written; write them first")
            if (known == UNCERTAIN).any():
                raise GeneratorError(
                    Rule.INEXACT_MEMORY, f"the program reloads from {self.array.name} floats that are not proved exact; use exact data"
                )
        return gather(self.contents, offsets, component)

    def store(
        self,
        offsets: np.ndarray,
        expectation: Expectation,
        what: str,
        cells: np.ndarray | None = None,
        matrix: tuple[int, int, int] | None = None,
    ) -> None:
        """Write elements; ``cells`` and ``matrix`` as in Placed.

        Raises:
            GeneratorError: elements overlap each other, or an earlier store in part, or the array is an input.
        """
        size = expectation.expected.component.bytes
        if self.status is None:
            raise GeneratorError(Rule.ROLE, f"the program stores to {self.array.name}, which is an input; give it the role inout")
        ordered = np.sort(offsets, axis=None)
        if (ordered[1:] - ordered[:-1] < size).any():
            raise GeneratorError(
                "F-KHR-1", f"elements of {what} overlap each other in {self.array.name}; space strides and first elements (F-KHR-1)"
            )
        # The first store to an output, the usual one, needs no place of each byte.
        if self.terms is not None or gather(self.status, offsets, expectation.expected.component).any():
            at = byte_offsets(offsets, size)
            if (self.status[at] > INITIAL).any():
                self._supersede(at, what)
            if self.terms is not None:
                self.terms.counted[at] = False
        scatter(self.contents, offsets, expectation.expected.bits)
        certain = isinstance(expectation.permitted, Exact) and expectation.may_be_dropped is None
        scatter(self.status, offsets, _of_each_byte(STORED if certain else UNCERTAIN, expectation.expected.component))
        self.placed.append(Placed(self.array.name, offsets, expectation, what, cells, matrix))

    def write(self, offsets: np.ndarray, component: ComponentType, bits: np.ndarray, what: str) -> None:
        """Write single elements, which later stores may cover in part; ``offsets`` and ``bits`` have one shape.

        Raises:
            GeneratorError: the array is an input, or an earlier store is covered in part.
        """
        if self.status is None:
            raise GeneratorError(Rule.ROLE, f"the program stores to {self.array.name}, which is an input; give it the role inout")
        at = byte_offsets(offsets, component.bytes)
        self._supersede(at, what)
        scatter(self.contents, offsets, bits)
        self.status[at] = INITIAL if self.array.storage is StorageClass.WORKGROUP else STORED
        if self.array.storage is not StorageClass.WORKGROUP:
            expectation = one_set(Exact(component, bits, either_zero=component.is_float))
            self.background.append(Placed(self.array.name, offsets, expectation, what))

    def _supersede(self, at: np.ndarray, what: str) -> None:
        """Drop the stores that bytes ``at`` cover."""
        touched = np.zeros(len(self.contents), bool)
        touched[at] = True
        visible = []
        for earlier in self.placed:
            hit = touched[byte_offsets(earlier.offsets, earlier.component.bytes)]
            if hit.any() and not hit.all():
                if self.array.storage is StorageClass.WORKGROUP and isinstance(earlier.expectation.permitted, Exact):
                    # The host sees workgroup memory only through copies, and its bytes are known.
                    continue
                raise GeneratorError(
                    Rule.PARTIAL_OVERLAP,
                    f"the store of {what} to {self.array.name} partly overlaps the store of {earlier.what}; cover all of it or nothing",
                )
            if not hit.any():
                visible.append(earlier)
        self.placed = visible
        self.background = [rest for earlier in self.background if (rest := _uncovered(earlier, touched)) is not None]

    def copy_from(self, source: Memory, backwards: bool = False) -> None:
        """Copy all of ``source`` here, element by element, in reverse if ``backwards``.

        Raises:
            GeneratorError: the arrays differ, bytes are undefined, or several workgroups write one buffer; or, in reverse, stored elements
                have another size than the array's elements.
        """
        target = self.array
        if (target.pointee, target.count) != (source.array.pointee, source.array.count):
            raise GeneratorError(
                Rule.COPY_ARRAYS, f"a copy from {source.array.name} to {target.name} needs arrays of one pointee and length"
            )
        if self.status is None:
            raise GeneratorError(Rule.ROLE, f"the program copies to {target.name}, which is an input; give it the role inout")
        if source.status is not None and (source.status == UNDEFINED).any():
            source.unwritten(f"the program copies bytes of {source.array.name} that nothing has written; write them first")
        if source.copies > self.copies:
            raise GeneratorError(Rule.COPY_WORKGROUPS, f"several workgroups copy to {target.name}; use one workgroup")
        if backwards:
            source = source.turned()
        repeat = self.copies // source.copies
        self.contents[:] = np.tile(source.contents, repeat)
        self.status[:] = STORED if source.status is None else np.tile(np.maximum(source.status, STORED), repeat)
        visible = [replace(placed, array=target.name) for placed in source.placed]
        if repeat > 1:
            # There are several copies of one store: keep only its bytes.
            if (self.status == UNCERTAIN).any():
                raise GeneratorError(
                    Rule.INEXACT_MEMORY,
                    f"several workgroups copy from {source.array.name} floats that are not proved exact; use exact data",
                )
            visible = []
        self.placed = visible
        if target.storage is StorageClass.WORKGROUP:
            self._forget_rest()
        else:
            self.background = self._rest(visible, source.array.name)

    def turned(self) -> Memory:
        """Return the memory with the elements of each copy in reverse order.

        Raises:
            GeneratorError: a store had elements of another size.
        """
        size = self.array.pointee.bytes
        last = self.array.count - 1

        def turn(data: np.ndarray) -> np.ndarray:
            return np.ascontiguousarray(data.reshape(self.copies, -1, size)[:, ::-1]).reshape(-1)

        placed = []
        for earlier in self.placed:
            if earlier.component.bytes != size:
                raise GeneratorError(
                    Rule.COPY_ELEMENT_SIZE, f"a copy backwards from {self.array.name} needs stored elements of the array's {size} bytes"
                )
            copy, element = np.divmod(earlier.offsets, self.array.bytes)
            placed.append(replace(earlier, offsets=copy * self.array.bytes + (last * size - element)))
        status = None if self.status is None else turn(self.status)
        return Memory(self.array, self.copies, turn(self.contents), status, placed)

    def _forget_rest(self) -> None:
        """Keep only matrices as stores after a copy to workgroup memory; the rest is background that they may overwrite in part."""
        background = np.ones(len(self.contents), bool)
        for placed in self.placed:
            background[byte_offsets(placed.offsets, placed.component.bytes)] = False
        assert self.status is not None
        self.status[background] = INITIAL

    def _rest(self, visible: list[Placed], source: str) -> list[Placed]:
        """Return the bytes that a copy wrote besides the elements of ``visible``."""
        component = self.array.pointee.component
        covered = np.zeros(len(self.contents), bool)
        for placed in visible:
            covered[byte_offsets(placed.offsets, placed.component.bytes)] = True
        whole = np.asarray(~covered.reshape(-1, component.bytes).any(axis=1))
        if np.count_nonzero(whole) * component.bytes != np.count_nonzero(~covered):
            component, whole = COMPONENT_TYPES["u8"], ~covered
        places = np.flatnonzero(whole).astype(np.int64) * component.bytes
        if len(places) == 0:
            return []
        lanes = self.array.pointee.lanes if len(places) == len(whole) and component is self.array.pointee.component else 1
        offsets = np.asarray(places.reshape(1, -1, lanes))
        bits = gather(self.contents, offsets, component)
        return [Placed(self.array.name, offsets, one_set(Exact(component, bits, either_zero=component.is_float)), f"the copy of {source}")]


@cache
def _of_each_byte(status: int, component: ComponentType) -> np.ndarray:
    """Return the status of an element whose bytes all have ``status``, unsigned, without dimensions."""
    return np.array(int.from_bytes(bytes([status] * component.bytes), "little"), component.bits_dtype)


def _uncovered(placed: Placed, touched: np.ndarray) -> Placed | None:
    """Return in one row the elements of ``placed`` without a ``touched`` byte (bool, by byte); ``placed`` itself if all remain, None if
    none does.

    Raises:
        GeneratorError: a part of an element is touched.
    """
    hit = touched[byte_offsets(placed.offsets, placed.component.bytes)]
    if not hit.any():
        return placed
    whole = hit.all(axis=-1)
    if (hit.any(axis=-1) != whole).any():
        raise GeneratorError(
            Rule.PARTIAL_ELEMENT,
            f"a store to {placed.array} covers a part of an element that {placed.what} wrote; use arrays of its component",
        )
    rest = ~whole
    if not rest.any():
        return None
    expectation = part_of(placed.expectation, rest, placed.what)
    return replace(placed, offsets=placed.offsets[rest].reshape(1, 1, -1), expectation=expectation, cells=None, matrix=None)


def part_of(expectation: Expectation, where: np.ndarray, what: str) -> Expectation:
    """Return the expectation of the elements for which ``where`` (bool) holds, in one row.

    Raises:
        GeneratorError: it has more than one value.
    """
    if not isinstance(expectation.permitted, Exact) or expectation.may_be_dropped is not None:
        raise GeneratorError(Rule.SEVERAL_VALUES, f"the store of {what} in part has more than one allowed value; use exact data")
    return one_set(expectation.permitted.part(where), expectation.authority)


def stored(expectation: Expectation, requirement: str) -> Expectation:
    """Return the expectation of a value when an instruction stores it: the basis of values that were only moved is its ``requirement``."""
    return expectation if expectation.authority.requirement else replace(expectation, authority=Authority(requirement))


def buffer(array: Array, data: np.ndarray | None) -> Memory:
    """Return the memory of a buffer before the program runs; ``data`` are the contents of an input or inout array.

    Raises:
        GeneratorError: the data are missing or of the wrong size.
    """
    size = array.bytes
    if array.role == "output":
        return Memory(array, 1, np.zeros(size, np.uint8), np.zeros(size, np.uint8))
    if data is None or data.dtype != np.uint8 or data.shape != (size,):
        raise GeneratorError(Rule.DATA_SIZE, f"array {array.name} needs data of {size} bytes (uint8, one dimension)")
    if array.role == "input":
        return Memory(array, 1, data, None)
    return Memory(array, 1, data.copy(), np.full(size, INITIAL, np.uint8))


def workgroup_memory(array: Array, workgroups: int) -> Memory:
    """Return the memory of a workgroup array, undefined at first."""
    return Memory(array, workgroups, np.zeros(workgroups * array.bytes, np.uint8), np.zeros(workgroups * array.bytes, np.uint8))
