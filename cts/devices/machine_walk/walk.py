"""Walks back from a wrong element: from the store that wrote it, through the instructions that made the value, to the loads."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.devices.executed.instructions.matrices import SIZE, MultiplyAccumulate, factors, results
from cts.devices.executed.instructions.table import load_meanings
from cts.devices.executed.operands import FIRST_VECTOR
from cts.devices.machine_walk.recorder import Event
from cts.devices.machine_walk.registers import Operand, register
from cts.verdict.machine import MachineLine, MachineWalk

Named = Callable[[int], str]
"""Names the place of a byte in this process: an array, and a byte of it."""

MOST_LINES = 40

_MOST_STEPS = 2000
"""How many executions of instructions to follow, those of loops included."""

_BOTH = frozenset({0, 1})
"""Both halves of a register."""

_FROM_LANES = ("v_permlane", "v_readlane", "v_writelane", "ds_bpermute")
"""What the mnemonics begin with of instructions that read other lanes."""


def walk(events: Sequence[Event], host: int, size: int, generation: str, named: Named) -> MachineWalk:
    """Return the way back from an element.

    Args:
        events: what was executed, in order.
        host: the address of the element in this process.
        size: of the element in bytes.
        generation: of the chip.
        named: names a place in memory.
    """
    for index in reversed(range(len(events))):
        if (found := events[index].lane_at(host)) is not None:
            return _Walk(events, generation, named).begin(index, *found, size)
    return MachineWalk("no instruction that was executed stored it")


class _Walk:
    def __init__(self, events: Sequence[Event], generation: str, named: Named) -> None:
        self._events, self._generation, self._named = events, generation, named
        self._lines: dict[tuple[int, str], MachineLine] = {}
        self._executions: dict[tuple[int, str], set[int]] = {}
        self._heap: list[tuple[int, int, int, int, bool]] = []
        self._known: set[tuple[int, int, int]] = set()

    def begin(self, index: int, lane: int, number: int, byte: int, size: int) -> MachineWalk:
        """Return the way back from a store of one lane."""
        event = self._events[index]
        place = int(event.seen.places[lane])
        x, y, z = (place >> 10 * axis & 1023 for axis in range(3))
        what = f"stored by lane {lane} of {len(event.active)}, invocation ({x}, {y}, {z}) of its workgroup"
        data = event.use.reads[0]
        self._add(index, lane, "", {0})
        half = frozenset({byte // 2}) if size <= 2 and data.half is None else _BOTH if data.half is None else frozenset({data.half})
        self._seek(index, lane, data.code + number, _word(event, 0, number, lane), half)
        steps = 0
        while self._heap and steps < _MOST_STEPS:
            back, lane, code, word, upper = heapq.heappop(self._heap)
            steps += 1
            if not self._visit(-back, lane, code, word, upper):
                return MachineWalk(what, tuple(self._lines.values()), more=True)
        return MachineWalk(what, tuple(self._lines.values()), more=bool(self._heap))

    def _add(self, index: int, lane: int, result: str, shown: set[int] | None = None, note: str = "") -> bool:
        """Add a line, or count it if it is there. Return whether there is room."""
        event = self._events[index]
        key = event.offset, event.instruction.mnemonic
        executions = self._executions.setdefault(key, set())
        executions.add(index)
        if (line := self._lines.get(key)) is not None:
            self._lines[key] = replace(line, times=len(executions))
            return True
        if len(self._lines) == MOST_LINES:
            return False
        sources = tuple(
            f"{operand.text} = {_shown(event, place, lane)}"
            for place, operand in enumerate(event.use.reads)
            if operand.is_register and (shown is None or place in shown)
        )
        self._lines[key] = MachineLine(event.offset, event.use.text, result, sources, note)
        return True

    def _seek(self, before: int, lane: int, code: int, word: int, halves: frozenset[int] = _BOTH) -> None:
        """Find the instructions before one that wrote a register's value."""
        wave = self._events[before].seen
        left = set(halves)
        for index in reversed(range(before)):
            event = self._events[index]
            if event.seen is not wave:
                continue
            for operand in event.use.writes:
                if not operand.code <= code < operand.code + operand.count:
                    continue
                everywhere = code < FIRST_VECTOR or event.instruction.mnemonic.startswith("v_writelane")
                if not everywhere and not event.active[lane]:
                    continue
                written = _BOTH if operand.half is None else {operand.half}
                if not left & written:
                    continue
                left -= written
                if (index, lane, code) not in self._known:
                    self._known.add((index, lane, code))
                    heapq.heappush(self._heap, (-index, lane, code, word, 0 not in halves))
            if not left:
                return

    def _visit(self, index: int, lane: int, code: int, word: int, upper: bool) -> bool:
        """Add the line of an instruction that wrote a register, and follow what it read. Return whether there was room."""
        event = self._events[index]
        name = next(one for one in event.use.writes if one.code <= code < one.code + one.count)
        result = f"{name.text if name.count == 1 else register(code).text} = {_in_words(word, name)}"
        meaning = load_meanings(self._generation).get(event.instruction.mnemonic)
        if isinstance(meaning, MultiplyAccumulate):
            return self._multiplication(index, lane, code, upper, result, meaning)
        if event.use.memory:
            place = event.place_of(lane, code - name.code)
            return self._add(index, lane, result, note="" if place is None else f"from {self._named(place)}")
        if event.instruction.dpp is not None or event.instruction.mnemonic.startswith(_FROM_LANES):
            return self._add(index, lane, result, note="its operand is from another lane, which is not followed")
        if code < FIRST_VECTOR and event.instruction.mnemonic.startswith("v_readfirstlane"):
            lane = int(np.argmax(event.active))
        for place, operand in self._followed(event, lane, name):
            for number in range(operand.count if operand.is_register else 0):
                halves = _BOTH if operand.half is None else frozenset({operand.half})
                self._seek(index, lane, operand.code + number, _word(event, place, number, lane), halves)
        return self._add(index, lane, result)

    def _followed(self, event: Event, lane: int, written: Operand) -> list[tuple[int, Operand]]:
        """Return the operands from which a result comes, with their places: only one of two that are exchanged, or chosen."""
        places = list(enumerate(event.use.reads))
        if event.instruction.mnemonic.startswith("v_swap"):
            return [places[event.use.writes.index(written)]]
        if event.instruction.mnemonic.startswith("v_cndmask"):
            chosen = _word(event, 2, lane // 32, lane) >> lane % 32 & 1 if places[2][1].is_register else 0
            return [places[chosen], places[2]]
        return places

    def _multiplication(self, index: int, lane: int, code: int, upper: bool, result: str, meaning: MultiplyAccumulate) -> bool:
        """Add the line of a multiplication of matrices, and follow the row of A, the column of B and the element of C."""
        event = self._events[index]
        lanes = len(event.active)
        number = code - event.use.writes[0].code
        rows = results(meaning.repeated, lanes)[0][lane]
        per_word = len(rows) // event.use.writes[0].count
        row, column = int(rows[number * per_word + (upper and per_word == 2)]), lane % SIZE
        inner = factors(meaning.repeated, lanes)[1]
        told = []
        for place, line in ((0, row), (1, column)):
            there = [one for one in range(lanes) if one % SIZE == line and (one < SIZE or not meaning.repeated)]
            there.sort(key=lambda one: int(inner[one][0]))
            words = np.stack([np.asarray(event.values[place])[:, one] for one in there])
            kind = "row" if place == 0 else "column"
            of = f"{'AB'[place]}, {kind} {line}, in lanes {', '.join(map(str, there))}"
            told.append(f"{of}: {' '.join(_elements(words, (meaning.a, meaning.b)[place]))}")
            for one in there:
                for word in range(event.use.reads[place].count):
                    self._seek(index, one, event.use.reads[place].code + word, _word(event, place, word, one))
        c = event.use.reads[2]
        if c.is_register:
            value = _word(event, 2, number, lane)
            told.insert(0, f"C: v{c.code - FIRST_VECTOR + number} = {_in_words(value, c)}")
            self._seek(index, lane, c.code + number, value)
        return self._add(index, lane, result, set(), "; ".join(told))


def _word(event: Event, place: int, number: int, lane: int) -> int:
    values = event.values[place]
    return int(values[number][lane]) if isinstance(values, np.ndarray) else int(values[number])


def _shown(event: Event, place: int, lane: int) -> str:
    operand = event.use.reads[place]
    words = [_word(event, place, number, lane) for number in range(operand.count)]
    if len(words) == 1:
        return _in_words(words[0], operand)
    return " ".join(f"{word:#010x}" for word in words[:8]) + (" …" if len(words) > 8 else "")


def _in_words(word: int, operand: Operand) -> str:
    """Return a register's value in hexadecimal, and as the float that it may be."""
    if operand.half is not None:
        word = word >> 16 * operand.half & 0xFFFF if operand.code >= FIRST_VECTOR else word
        return f"{word:#06x}" + _float(word, operand.type)
    return f"{word:#010x}" + _float(word, operand.type, packed=True)


def _float(word: int, type_: str, packed: bool = False) -> str:
    if type_ == "f32":
        return f" ({np.uint32(word).view(np.float32):.9g})"
    if type_ == "f16":
        return f" ({', '.join(f'{half:.5g}' for half in np.array([word], np.uint32).view(np.float16)[: 1 + packed])})"
    return ""


def _elements(words: np.ndarray, type_: str) -> Iterator[str]:
    """Yield the elements in registers, floats of 16 bits as numbers and others in hexadecimal."""
    if type_ in ("f16", "bf16"):
        halves = np.ascontiguousarray(words).view(np.uint16).ravel()
        values = halves.view(np.float16) if type_ == "f16" else (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
        yield from (f"{value:.5g}" for value in values)
    else:
        yield from (f"{byte:02x}" for byte in np.ascontiguousarray(words).view(np.uint8).ravel())
