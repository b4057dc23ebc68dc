"""What a device may choose freely, and ways to choose otherwise than the embedded device does by itself.

A program whose results depend on such a choice gives other results on other devices, although it does nothing undefined. Each way is a
mapping of elements to invocations, or replaces operations of the device as a fault does (``faults``), by others that are as correct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.embedded.faults import Faults
from cts.embedded.instructions.arithmetic.elementwise import on_components
from cts.embedded.instructions.arithmetic.scalars import fused
from cts.embedded.instructions.matrices.muladd import float_product
from cts.embedded.instructions.memory.atomics import ordered_invocations, seen_number
from cts.embedded.instructions.vectors.cooperative_vector_matmul import float_products
from cts.embedded.machine.elements import MAPPINGS
from cts.embedded.machine.machine import Run
from cts.embedded.memory.memory import Memory
from cts.embedded.memory.ordering import Clock
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.pipeline import ordered_workgroups
from cts.embedded.settings import DEFAULT_MAPPING
from cts.embedded.types.spirv_types import CooperativeVector, MatrixType
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Decoration, GlslStd450, Op

_GLSL = "GLSL.std.450"


@dataclass(frozen=True)
class Way:
    """A way to make a free choice.

    Attributes:
        freedom: what is chosen.
        text: how it is chosen.
        mapping: how elements are spread over invocations.
        rounds: whether results may differ by roundings.
        faults: makes the operations for one device that choose so.
    """

    freedom: str
    text: str
    mapping: str = DEFAULT_MAPPING
    rounds: bool = False
    faults: Callable[[], Faults] = Faults


def _last_first(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments)[::-1]


def _one_after_another(_: Callable[..., Any]) -> Callable[[Any], Callable[..., np.ndarray]]:
    """Return an operation that adds products from the last to the first, and rounds each sum to 32 bits, or 64 for such results."""

    def made(result: MatrixType | CooperativeVector) -> Callable[..., np.ndarray]:
        dtype = result.number.dtype
        wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)

        def of_matrices(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
            total = c.astype(wide)
            for k in reversed(range(a.shape[2])):
                total = total + a[:, :, k, None].astype(wide) * b[:, None, k, :].astype(wide)
            return total.astype(dtype)

        def of_vectors(matrix: np.ndarray, vectors: np.ndarray, biases: np.ndarray | None) -> np.ndarray:
            start = np.zeros((vectors.shape[0], matrix.shape[0])) if biases is None else biases
            products: np.ndarray = of_matrices(vectors[None], matrix.T[None], start[None])[0]
            return products

        return of_matrices if isinstance(result, MatrixType) else of_vectors

    return made


def _contracting(handler: Handler) -> Handler:
    """Return a handler of OpFAdd that computes a product and its sum with one rounding, unless NoContraction forbids it."""

    def prepare(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)
        factors = None if isinstance(translation.types[words[0]], MatrixType) else _factors(translation, words)
        return run if factors is None else on_components(translation, translation.types[words[0]], factors, fused)

    return prepare


def _factors(translation: Translation, words: Words) -> Words | None:
    """Return the factors of a product that OpFAdd adds, if its block computes it, and the other summand."""
    if _is_exact(translation, words[1]) or translation.index < translation.first_function:
        return None
    for op, earlier, _ in reversed(translation.instructions[translation.first_function : translation.index]):
        if op is Op.Label:
            return None
        if op is Op.FMul and earlier[1] in words[2:] and words[2] != words[3] and not _is_exact(translation, earlier[1]):
            return (*earlier[2:], words[3] if earlier[1] == words[2] else words[2])
    return None


def _is_exact(translation: Translation, id_: int) -> bool:
    return translation.decoration(id_, Decoration.NoContraction) is not None


def _fusing(handler: Handler) -> Handler:
    """Return a handler of extended instructions whose Fma rounds once."""

    def prepare(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)
        if words[3] != GlslStd450.Fma or translation.instruction_sets.get(words[2]) != _GLSL:
            return run
        return on_components(translation, translation.types[words[0]], words[4:], fused)

    return prepare


class _Late:
    """Loads of atomics that get the number before the last write, which nothing orders before them, the first time.

    The memory model lets an atomic that only loads read an earlier number, unless the invocation wrote or read a later one, or the write
    happens before the load.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[int, int], tuple[Value, int, int, int]] = {}
        self._seen: set[tuple[int, int, int, int]] = set()
        self._informed: set[tuple[int, int]] = set()
        self._kept: list[Memory] = []

    def __call__(self, _: Callable[..., Value]) -> Callable[..., Value]:
        return self._read

    def _read(self, op: Op, place: tuple[Memory, int], lane: int, clock: Clock, latest: Value) -> Value:
        memory, index = place
        key = id(memory), index
        reader = *key, lane, clock.start
        if op is not Op.AtomicLoad:
            if op is not Op.AtomicStore:
                # It may have read what orders the writes of others before later loads.
                self._informed.add((lane, clock.serial))
            if key not in self._before or self._before[key][1] != clock.serial:
                # Memories stay alive, so their ids stay theirs.
                self._kept.append(memory)
                self._before[key] = latest, clock.serial, clock.start, lane
            self._seen.add(reader)
            return latest
        earlier, serial, start, writer = self._before.get(key, (latest, 0, 0, lane))
        is_concurrent = serial == clock.serial if start == clock.start else not clock.has_acquired
        if reader in self._seen or (lane, clock.serial) in self._informed or not is_concurrent or (writer == lane and start == clock.start):
            return latest
        self._seen.add(reader)
        return earlier


WAYS: tuple[Way, ...] = (
    *(
        Way("which invocation holds which element of a matrix", f"the mapping '{name}'", mapping=name)
        for name in MAPPINGS
        if name != DEFAULT_MAPPING
    ),
    Way("the order of workgroups", "the last one first", faults=lambda: Faults(operations={ordered_workgroups: _last_first})),
    Way(
        "the order of subgroups and invocations",
        "atomics of the last invocation first",
        faults=lambda: Faults(operations={ordered_invocations: _last_first}),
    ),
    Way(
        "the order and the roundings of multiply-adds",
        "sums of products from the last to the first, each rounded; products and sums of scalars rounded once",
        rounds=True,
        faults=lambda: Faults(instructions=_ROUNDINGS, operations={float_product: _one_after_another, float_products: _one_after_another}),
    ),
    Way(
        "when a write becomes visible",
        "atomic loads get the number before writes that nothing orders before them",
        faults=lambda: Faults(operations={seen_number: _Late()}),
    ),
)
"""The ways that a module is run in."""

_ROUNDINGS: Mapping[Op, Callable[[Handler], Handler]] = MappingProxyType({Op.FAdd: _contracting, Op.ExtInst: _fusing})
