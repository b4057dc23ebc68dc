"""Defects of loads and stores with tensor addressing: coordinates, bounds, units, and another instance's layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, every, in_all
from cts.defects.edits import of_first, skipped
from cts.defects.evaluation import Substitute
from cts.reference.state import State
from cts.reference.tensor import LayoutState, layout_state
from cts.reference.tensor_access import Place, addressed, load_at, place, store_at
from cts.reference.tensor_addressing import Addresses
from generators.errors import GeneratorError, Rule
from generators.program.program import Program
from generators.program.tensor_access import TensorLoad, TensorStore, moved_matrix
from generators.types import ClampMode

Access = TensorLoad | TensorStore

_S32_MAX = 0x7FFFFFFF
_COMPARING = (ClampMode.CONSTANT, ClampMode.CLAMP_TO_EDGE)
"""Modes in which a dimension may be beyond 2^31 and is compared with coordinates (F-TA-6)."""


@dataclass(frozen=True)
class Reading:
    """An access with tensor addressing, the right addresses of its elements, and its layout."""

    access: Access
    found: Addresses
    layout: LayoutState

    @property
    def unclamped(self) -> np.ndarray:
        """Coordinates in the tensor before clamping, (instances, rows, columns, rank)."""
        return np.asarray(self.found.span + self.layout.offset[:, None, None, :])

    @property
    def size(self) -> np.ndarray:
        """The sizes of the dimensions, which broadcast to the shape of ``unclamped``."""
        return self.layout.dimension[:, None, None, :]

    @property
    def outside(self) -> np.ndarray:
        """Which coordinates before clamping are out of bounds, bool."""
        return (self.unclamped < 0) | (self.unclamped >= self.size)

    @property
    def block_size(self) -> np.ndarray:
        """The block size, broadcast to the shape of ``coordinate``."""
        return np.broadcast_to(self.layout.block_size[:, None, None, :], self.found.block.shape)

    @property
    def coordinate(self) -> np.ndarray:
        """Coordinates in the tensor after clamping."""
        return np.asarray(self.found.block * self.block_size + self.found.within)

    def at(self, coordinate: np.ndarray, outside: np.ndarray | None = None) -> Addresses:
        """Return the addresses of other coordinates in the tensor; ``outside`` tells which elements are out of bounds, by default none."""
        outside = np.zeros_like(self.found.outside) if outside is None else outside
        skipped_ = self.found.clipped | outside
        block, within = np.divmod(np.where(skipped_[..., None], 0, coordinate), self.layout.block_size[:, None, None, :])
        index = (block * self.layout.stride[:, None, None, :]).sum(axis=-1)
        return replace(self.found, index=np.where(skipped_, 0, index), outside=outside & ~self.found.clipped, block=block, within=within)

    def spanned(self, span: np.ndarray) -> Addresses:
        """Return the addresses of other coordinates in the slice, clamped to the edge."""
        return self.at(np.clip(span + self.layout.offset[:, None, None, :], 0, self.size - 1))


Bend = Callable[[Reading], Addresses]
"""Returns the wrong addresses."""

Clamp = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes coordinates, (instances, rows, columns, rank), and sizes that broadcast to them, and returns other coordinates."""


def _to_edge(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(coordinate, 0, size - 1))


def _repeated(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray(coordinate % size)


def _repeated_once(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.asarray(np.fmod(coordinate + size, size))


def _wrapped_once(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.where(coordinate < 0, coordinate + size, np.where(coordinate >= size, coordinate - size, coordinate))


def _unsigned(clamp: Clamp) -> Clamp:
    """Read coordinates below zero as very large ones."""
    return lambda coordinate, size: clamp(np.asarray(coordinate & 0xFFFFFFFF), size)


def _mirrored(period: Callable[[np.ndarray], np.ndarray]) -> Clamp:
    def clamp(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
        length = np.maximum(period(size), 1)
        folded = coordinate % length
        return np.asarray(np.where(folded >= size, length - folded - (length - (2 * size - 2)) // 2, folded))

    return clamp


def _mirrored_once(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    return np.where(coordinate < 0, -coordinate, np.where(coordinate >= size, 2 * size - 2 - coordinate, coordinate))


def _float_remainder(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the remainder by a quotient of floats of 32 bits, which is exact below 2^24."""
    quotient = np.floor(coordinate.astype(np.float32) / size.astype(np.float32)).astype(np.int64)
    return np.asarray(coordinate - quotient * size)


def _float_mirror(coordinate: np.ndarray, size: np.ndarray) -> np.ndarray:
    period = np.maximum(2 * size - 2, 1)
    folded = _float_remainder(coordinate, period)
    return np.where(folded >= size, period - folded, folded)


_EXACT_MIRROR = _mirrored(lambda size: 2 * size - 2)
_EDGE, _REPEAT, _MIRRORED = ClampMode.CLAMP_TO_EDGE, ClampMode.REPEAT, ClampMode.REPEAT_MIRRORED
_CLAMPS: tuple[tuple[Clamp, str, tuple[ClampMode, ...]], ...] = (
    (_to_edge, "clamped_to_edge", (ClampMode.CONSTANT, _REPEAT, _MIRRORED)),
    (_repeated, "repeated", (ClampMode.CONSTANT, _EDGE, _MIRRORED)),
    (_EXACT_MIRROR, "mirrored", (ClampMode.CONSTANT, _EDGE, _REPEAT)),
    (_repeated_once, "repeated_by_remainder", (_REPEAT,)),
    (_unsigned(_to_edge), "clamped_unsigned", (_EDGE,)),
    (_unsigned(_repeated), "repeated_unsigned", (_REPEAT,)),
    (_unsigned(_EXACT_MIRROR), "mirrored_unsigned", (_MIRRORED,)),
    (_float_remainder, "remainder_by_floats", (_REPEAT,)),
    (_float_mirror, "remainder_by_floats", (_MIRRORED,)),
    (_wrapped_once, "moved_by_one_period", (_REPEAT,)),
    (_mirrored_once, "mirrored_once", (_MIRRORED,)),
    (_mirrored(lambda size: 2 * size - 1), "mirrored_period_odd", (_MIRRORED,)),
    (_mirrored(lambda size: 2 * size), "mirrored_period_even", (_MIRRORED,)),
)
"""A wrong way to clamp, and the modes that it may replace."""


def _clamped(clamp: Clamp) -> Bend:
    def bend(reading: Reading) -> Addresses:
        moved = np.where(reading.outside, clamp(reading.unclamped, reading.size), reading.unclamped)
        # An element that is still out of bounds becomes the nearest element, so the access stays inside memory.
        return reading.at(np.clip(moved, 0, reading.size - 1))

    return bend


def _mirrored_in_bounds(reading: Reading) -> Addresses:
    """Keep coordinates in bounds unchanged, except for a dimension of one element, whose period is zero."""
    if ((reading.size == 1).any(axis=-1) & ~reading.found.clipped).any():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a coordinate in bounds modulo the period of a dimension of size 1 divides by zero")
    return reading.found


def _first_beside_one(reading: Reading) -> Addresses:
    """Choose the tensor's first address: a remainder by zero lets a compiler choose any."""
    return reading.at(np.zeros_like(reading.unclamped)) if (reading.size == 1).any() else reading.found


def _to_constant(reading: Reading) -> Addresses:
    return reading.at(reading.unclamped, np.asarray(reading.outside.any(axis=-1)))


def _signed_dimension(reading: Reading) -> Addresses:
    """Compare with sizes as signed numbers: beyond 2^31 - 1 they are negative."""
    coordinate, access = reading.unclamped, reading.access
    signed = np.where(reading.size > _S32_MAX, reading.size - (1 << 32), reading.size)
    out = (coordinate < 0) | (coordinate >= signed)
    if access.layout.type.clamp_value is ClampMode.CLAMP_TO_EDGE and isinstance(access, TensorLoad):
        return reading.at(np.where(out, np.maximum(np.minimum(coordinate, signed - 1), 0), coordinate))
    return reading.at(coordinate, np.asarray(out.any(axis=-1)))


def _checked_in_one(which: int) -> Bend:
    """Check the bounds of one dimension alone; clamp the others to the edge."""
    return lambda reading: reading.at(np.clip(reading.unclamped, 0, reading.size - 1), reading.outside[..., which])


def _turned_matrix(reading: Reading) -> Addresses:
    """Count elements down the columns."""
    _, rows, columns = reading.found.index.shape
    number = np.arange(columns) * rows + np.arange(rows)[:, None]
    span = np.zeros_like(reading.found.span)
    for dimension in range(span.shape[-1] - 1, -1, -1):
        number, span[..., dimension] = np.divmod(number, reading.layout.span[:, dimension][:, None, None])
    return reading.spanned(span)


def _by_rows(reading: Reading) -> Addresses:
    """Use rows and columns of the matrix as coordinates of the last two dimensions, and ignore the span."""
    _, rows, columns = reading.found.index.shape
    span = np.zeros_like(reading.found.span)
    if span.shape[-1] < 2:
        return reading.found
    span[..., -2], span[..., -1] = np.arange(rows)[None, :, None], np.arange(columns)[None, None, :]
    return reading.spanned(span)


def _not_wrapped(reading: Reading) -> Addresses:
    """Do not wrap the outermost coordinate at its span."""
    _, rows, columns = reading.found.index.shape
    span = reading.found.span.copy()
    span[..., 0] = np.arange(rows * columns).reshape(1, rows, columns) // reading.layout.span[:, 1:].prod(axis=1)[:, None, None]
    return reading.spanned(span)


def _in_block(reading: Reading) -> Addresses:
    """Add the place in the block to the index, which should count blocks only."""
    found = reading.found
    extra = (found.within * reading.layout.stride[:, None, None, :]).sum(axis=-1)
    return replace(found, index=found.index + np.where(found.accessed, extra, 0))


def _in_bits(bits: int) -> Bend:
    """Build addressing whose indices in the tensor have only ``bits`` bits."""
    return lambda reading: replace(reading.found, index=reading.found.index % (1 << bits))


def bent(bend: Bend) -> Substitute:
    """Build an access with wrong addresses."""

    def step(state: State, access: Access) -> None:
        found = bend(Reading(access, addressed(state, access), layout_state(state, access.layout)))
        access_at(state, access, found, place(state, access))

    return step


def access_at(state: State, access: Access, found: Addresses, at: Place) -> None:
    """Load or store the elements at ``found`` of the tensor at ``at``."""
    if isinstance(access, TensorLoad):
        load_at(state, access, found, at)
    else:
        store_at(state, access, found, at)


Relocate = Callable[[Access, Place], Place]


def _relocated(relocate: Relocate) -> Substitute:
    def step(state: State, access: Access) -> None:
        access_at(state, access, addressed(state, access), relocate(access, place(state, access)))

    return step


_PLACES: tuple[tuple[Relocate, str], ...] = (
    (lambda _, at: replace(at, unit=1), "number_in_bytes"),
    (lambda _, at: replace(at, start=np.zeros_like(at.start)), "pointer_ignored"),
    (lambda _, at: replace(at, start=at.start & 0xFFFF), "pointer_in_16_bits"),
)

_UNITS: tuple[tuple[Relocate, str], ...] = (
    (lambda access, at: replace(at, unit=access.array.pointee.bytes), "number_in_pointees"),
    (lambda access, at: replace(at, start=at.start // access.array.pointee.bytes * at.unit), "pointer_in_components"),
)


def _layout_of_first_instance(state: State, access: Access) -> None:
    own = state.aggregates[access.layout.name]
    state.aggregates[access.layout.name] = tuple(map(of_first, own))
    found = addressed(state, access)
    state.aggregates[access.layout.name] = own
    access_at(state, access, found, place(state, access))


def mirroring_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of mirrored loads in bounds: a dimension of one element has a period of zero."""
    mirroring = [load for load in every(program.operations, TensorLoad) if load.layout.type.clamp_value is ClampMode.REPEAT_MIRRORED]
    yield from in_all("tensor_access.in_bounds_mirrored", mirroring, bent(_mirrored_in_bounds))
    yield from in_all("tensor_access.in_bounds_mirrored_to_first", mirroring, bent(_first_beside_one))


def tensor_access_defects(program: Program, blocks: bool) -> Iterator[Defect]:
    """Yield defects of the tensor loads and stores of ``program``; ``blocks``: whether a layout sets block sizes."""

    def of(name: str, chosen: Iterable[Access], step: Substitute, **kinds: str) -> Iterator[Defect]:
        return in_all(f"tensor_access.{name}", chosen, step, **kinds)

    def clamping(chosen: Iterable[Access], *modes: ClampMode) -> list[Access]:
        return [access for access in chosen if access.layout.type.clamp_value in modes]

    loads, stores = every(program.operations, TensorLoad), every(program.operations, TensorStore)
    accesses: list[Access] = [*loads, *stores]
    for clamp, name, modes in _CLAMPS:
        yield from of(name, clamping(loads, *modes), bent(_clamped(clamp)))
    yield from of("constant_out_of_bounds", clamping(loads, _EDGE, _REPEAT, _MIRRORED), bent(_to_constant))
    bounded = any(access.layout.type.clamp_value is not ClampMode.UNDEFINED for access in accesses)
    for which, dimension in ((0, "outermost"), (-1, "innermost")):
        yield from of("bounds_of_one_dimension", accesses if bounded else (), bent(_checked_in_one(which)), dimension=dimension)
    yield from of("dimension_signed", clamping(accesses, *_COMPARING), bent(_signed_dimension))
    yield from of("store_clamped", stores if bounded else (), bent(_clamped(_to_edge)))
    yield from of("store_repeated", stores if bounded else (), bent(_clamped(_repeated)))
    for bend, name in (
        (_turned_matrix, "counted_down_columns"),
        (_by_rows, "matrix_for_slice"),
        (_not_wrapped, "outermost_without_end"),
        (_in_bits(20), "index_in_20_bits"),
        (_in_bits(24), "index_in_24_bits"),
    ):
        yield from of(name, accesses, bent(bend))
    yield from of("place_in_block_added", accesses if blocks else (), bent(_in_block))
    other_units = any(access.array.pointee.bytes != moved_matrix(access).type.component.bytes for access in accesses)
    for relocate, name in (*_PLACES, *(_UNITS if other_units else ())):
        yield from of(name, accesses, _relocated(relocate))
    own = accesses if program.instances > 1 else ()
    yield from of("tensor_of_first_instance", own, _relocated(lambda _, at: replace(at, start=of_first(at.start))))
    yield from of("layout_of_first_instance", own, _layout_of_first_instance)
    yield from of("not_stored", stores, skipped)
