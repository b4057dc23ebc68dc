"""Defects of loads and stores with tensor addressing: coordinates, bounds, units, and another instance's layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.reference.state import State
from cts.reference.tensor import layout_state
from cts.reference.tensor_access import Place, addressed, load_at, place, store_at
from cts.reference.tensor_addressing import Addresses
from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.tensor_access import TensorLoad, TensorStore, moved_matrix
from generators.types import ClampMode, ComponentType

Access = TensorLoad | TensorStore

_16_BITS = 0xFFFF
_S32_MAX = 0x7FFFFFFF
_COMPARING = frozenset({ClampMode.CONSTANT, ClampMode.CLAMP_TO_EDGE})
"""Modes in which a dimension may be beyond 2^31 and is compared with coordinates (F-TA-6)."""

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
_CLAMPS: tuple[tuple[Clamp, str, frozenset[ClampMode]], ...] = (
    (_to_edge, "tensor_access.clamped_to_edge", frozenset({ClampMode.CONSTANT, ClampMode.REPEAT, ClampMode.REPEAT_MIRRORED})),
    (_repeated, "tensor_access.repeated", frozenset({ClampMode.CONSTANT, ClampMode.CLAMP_TO_EDGE, ClampMode.REPEAT_MIRRORED})),
    (_EXACT_MIRROR, "tensor_access.mirrored", frozenset({ClampMode.CONSTANT, ClampMode.CLAMP_TO_EDGE, ClampMode.REPEAT})),
    (_repeated_once, "tensor_access.repeated_by_remainder", frozenset({ClampMode.REPEAT})),
    (_unsigned(_to_edge), "tensor_access.clamped_unsigned", frozenset({ClampMode.CLAMP_TO_EDGE})),
    (_unsigned(_repeated), "tensor_access.repeated_unsigned", frozenset({ClampMode.REPEAT})),
    (_unsigned(_EXACT_MIRROR), "tensor_access.mirrored_unsigned", frozenset({ClampMode.REPEAT_MIRRORED})),
    (_float_remainder, "tensor_access.remainder_by_floats", frozenset({ClampMode.REPEAT})),
    (_float_mirror, "tensor_access.remainder_by_floats", frozenset({ClampMode.REPEAT_MIRRORED})),
    (_wrapped_once, "tensor_access.moved_by_one_period", frozenset({ClampMode.REPEAT})),
    (_mirrored_once, "tensor_access.mirrored_once", frozenset({ClampMode.REPEAT_MIRRORED})),
    (_mirrored(lambda size: 2 * size - 1), "tensor_access.mirrored_period_odd", frozenset({ClampMode.REPEAT_MIRRORED})),
    (_mirrored(lambda size: 2 * size), "tensor_access.mirrored_period_even", frozenset({ClampMode.REPEAT_MIRRORED})),
)

Readdress = Callable[[State, Access, Addresses], Addresses]


def _at(state: State, access: Access, found: Addresses, coordinate: np.ndarray, outside: np.ndarray) -> Addresses:
    """Return the addresses of other coordinates in the tensor."""
    layout = layout_state(state, access.layout)
    skipped = found.clipped | outside
    coordinate = np.where(skipped[..., None], 0, coordinate)
    block, within = np.divmod(coordinate, layout.block_size[:, None, None, :])
    index = (block * layout.stride[:, None, None, :]).sum(axis=-1)
    return replace(found, index=np.where(skipped, 0, index), outside=outside & ~found.clipped, block=block, within=within)


def _coordinates(state: State, access: Access, found: Addresses) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates in the tensor before they are clamped, and the sizes of its dimensions."""
    layout = layout_state(state, access.layout)
    return found.span + layout.offset[:, None, None, :], layout.dimension[:, None, None, :]


def _clamped(clamp: Clamp) -> Readdress:
    def readdress(state: State, access: Access, found: Addresses) -> Addresses:
        coordinate, size = _coordinates(state, access, found)
        out = (coordinate < 0) | (coordinate >= size)
        moved = np.where(out, clamp(coordinate, size), coordinate)
        # An element that is still out of bounds becomes the nearest element, so the access stays inside memory.
        return _at(state, access, found, np.clip(moved, 0, size - 1), np.zeros_like(found.outside))

    return readdress


def _mirrored_in_bounds(state: State, access: Access, found: Addresses) -> Addresses:
    """Keep coordinates in bounds unchanged, except for a dimension of one element, whose period is zero."""
    _, size = _coordinates(state, access, found)
    if ((size == 1).any(axis=-1) & ~found.clipped).any():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a coordinate in bounds modulo the period of a dimension of size 1 divides by zero")
    return found


def _first_beside_one(state: State, access: Access, found: Addresses) -> Addresses:
    """Choose the tensor's first address: a remainder by zero lets a compiler choose any."""
    coordinate, size = _coordinates(state, access, found)
    if not (size == 1).any():
        return found
    return _at(state, access, found, np.zeros_like(coordinate), np.zeros_like(found.outside))


def _to_constant(state: State, access: Access, found: Addresses) -> Addresses:
    coordinate, size = _coordinates(state, access, found)
    outside = np.asarray(((coordinate < 0) | (coordinate >= size)).any(axis=-1))
    return _at(state, access, found, coordinate, outside)


def _signed_dimension(state: State, access: Access, found: Addresses) -> Addresses:
    """Compare with sizes as signed numbers: beyond 2^31 - 1 they are negative."""
    coordinate, size = _coordinates(state, access, found)
    signed = np.where(size > _S32_MAX, size - (1 << 32), size)
    out = (coordinate < 0) | (coordinate >= signed)
    if access.layout.type.clamp_value is ClampMode.CLAMP_TO_EDGE and isinstance(access, TensorLoad):
        moved = np.where(out, np.maximum(np.minimum(coordinate, signed - 1), 0), coordinate)
        return _at(state, access, found, moved, np.zeros_like(found.outside))
    return _at(state, access, found, coordinate, np.asarray(out.any(axis=-1)))


def _checked_in_one(which: int) -> Readdress:
    """Check the bounds of one dimension alone; clamp the others to the edge."""

    def readdress(state: State, access: Access, found: Addresses) -> Addresses:
        coordinate, size = _coordinates(state, access, found)
        out = (coordinate < 0) | (coordinate >= size)
        return _at(state, access, found, np.clip(coordinate, 0, size - 1), np.asarray(out[..., which]))

    return readdress


def _turned_matrix(state: State, access: Access, found: Addresses) -> Addresses:
    """Count elements down the columns."""
    rows, columns = found.index.shape[1:]
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    number = column * rows + row
    return _respanned(state, access, found, np.broadcast_to(number, found.index.shape))


def _respanned(state: State, access: Access, found: Addresses, number: np.ndarray) -> Addresses:
    """Return the addresses of elements with these numbers in the slice, clamped to the edge."""
    layout = layout_state(state, access.layout)
    span = np.zeros_like(found.span)
    for dimension in range(span.shape[-1] - 1, -1, -1):
        number, span[..., dimension] = np.divmod(number, layout.span[:, dimension][:, None, None])
    size = layout.dimension[:, None, None, :]
    return _at(state, access, found, np.clip(span + layout.offset[:, None, None, :], 0, size - 1), np.zeros_like(found.outside))


def _by_rows(state: State, access: Access, found: Addresses) -> Addresses:
    """Use rows and columns of the matrix as coordinates of the last two dimensions, and ignore the span."""
    coordinate, size = _coordinates(state, access, found)
    if coordinate.shape[-1] < 2:
        return found
    layout = layout_state(state, access.layout)
    rows, columns = found.index.shape[1:]
    span = np.zeros_like(found.span)
    span[..., -2], span[..., -1] = np.arange(rows)[None, :, None], np.arange(columns)[None, None, :]
    moved = span + layout.offset[:, None, None, :]
    return _at(state, access, found, np.clip(moved, 0, size - 1), np.zeros_like(found.outside))


def _not_wrapped(state: State, access: Access, found: Addresses) -> Addresses:
    """Do not wrap the outermost coordinate at its span."""
    layout = layout_state(state, access.layout)
    rows, columns = found.index.shape[1:]
    number = np.arange(rows * columns).reshape(1, rows, columns)
    inner = layout.span[:, 1:].prod(axis=1)[:, None, None]
    span = found.span.copy()
    span[..., 0] = number // inner
    size = layout.dimension[:, None, None, :]
    return _at(state, access, found, np.clip(span + layout.offset[:, None, None, :], 0, size - 1), np.zeros_like(found.outside))


def _in_block(state: State, access: Access, found: Addresses) -> Addresses:
    """Add the place in the block to the index, which should count blocks only."""
    layout = layout_state(state, access.layout)
    extra = (found.within * layout.stride[:, None, None, :]).sum(axis=-1)
    return replace(found, index=found.index + np.where(found.accessed, extra, 0))


def _in_bits(bits: int) -> Readdress:
    """Build addressing whose indices in the tensor have only ``bits`` bits."""

    def readdress(_: State, __: Access, found: Addresses) -> Addresses:
        return replace(found, index=found.index % (1 << bits))

    return readdress


def _readdressed(readdress: Readdress) -> Substitute:
    def step(state: State, access: Access) -> None:
        found = readdress(state, access, addressed(state, access))
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


def _in_bytes(_: Access, at: Place) -> Place:
    return replace(at, unit=1)


def _in_pointees(access: Access, at: Place) -> Place:
    return replace(at, unit=access.array.pointee.bytes)


def _from_the_beginning(_: Access, at: Place) -> Place:
    return replace(at, start=np.zeros_like(at.start))


def _first_in_components(access: Access, at: Place) -> Place:
    return replace(at, start=at.start // access.array.pointee.bytes * at.unit)


def _first_in_16_bits(_: Access, at: Place) -> Place:
    return replace(at, start=at.start & _16_BITS)


_UNITS: tuple[tuple[Relocate, str], ...] = (
    (_in_pointees, "tensor_access.number_in_pointees"),
    (_first_in_components, "tensor_access.pointer_in_components"),
)


def _component(access: Access) -> ComponentType:
    return moved_matrix(access).type.component


def _of_first_instance(_: Access, at: Place) -> Place:
    return replace(at, start=np.full_like(at.start, at.start[0]))


def _layout_of_first_instance(state: State, access: Access) -> None:
    own = state.aggregates[access.layout.name]
    state.aggregates[access.layout.name] = tuple(np.broadcast_to(part[:1], part.shape) for part in own)
    found = addressed(state, access)
    state.aggregates[access.layout.name] = own
    access_at(state, access, found, place(state, access))


def _nothing(state: State, operation: TensorStore) -> None:
    """Skip the store."""


def mirroring_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of mirrored loads in bounds: a dimension of one element has a period of zero."""
    if mirroring := [load for load in every(program.operations, TensorLoad) if load.layout.type.clamp_value is ClampMode.REPEAT_MIRRORED]:
        yield Defect("tensor_access.in_bounds_mirrored", dict.fromkeys(mirroring, _readdressed(_mirrored_in_bounds)))
        yield Defect("tensor_access.in_bounds_mirrored_to_first", dict.fromkeys(mirroring, _readdressed(_first_beside_one)))


def tensor_access_defects(program: Program, blocks: bool) -> Iterator[Defect]:
    """Yield defects of the tensor loads and stores of ``program``; ``blocks``: whether a layout sets block sizes."""
    accesses: list[Access] = [*every(program.operations, TensorLoad), *every(program.operations, TensorStore)]
    if not accesses:
        return
    loads = [access for access in accesses if isinstance(access, TensorLoad)]
    modes = {access.layout.type.clamp_value for access in accesses}
    for clamp, id_, of in _CLAMPS:
        those = [load for load in loads if load.layout.type.clamp_value in of]
        if those:
            yield Defect(id_, dict.fromkeys(those, _readdressed(_clamped(clamp))))
    moving = [load for load in loads if load.layout.type.clamp_value not in (ClampMode.UNDEFINED, ClampMode.CONSTANT)]
    if moving:
        yield Defect("tensor_access.constant_out_of_bounds", dict.fromkeys(moving, _readdressed(_to_constant)))
    stores = [access for access in accesses if isinstance(access, TensorStore)]
    if modes - {ClampMode.UNDEFINED}:
        for which, name in ((0, "outermost"), (-1, "innermost")):
            steps: dict[Operation, Substitute] = dict.fromkeys(accesses, _readdressed(_checked_in_one(which)))
            yield Defect("tensor_access.bounds_of_one_dimension", steps, {"dimension": name})
    if comparing := [access for access in accesses if access.layout.type.clamp_value in _COMPARING]:
        yield Defect("tensor_access.dimension_signed", dict.fromkeys(comparing, _readdressed(_signed_dimension)))
    if stores and modes - {ClampMode.UNDEFINED}:
        yield Defect("tensor_access.store_clamped", dict.fromkeys(stores, _readdressed(_clamped(_to_edge))))
        yield Defect("tensor_access.store_repeated", dict.fromkeys(stores, _readdressed(_clamped(_repeated))))
    readdressing: tuple[tuple[Readdress, str], ...] = (
        (_turned_matrix, "tensor_access.counted_down_columns"),
        (_by_rows, "tensor_access.matrix_for_slice"),
        (_not_wrapped, "tensor_access.outermost_without_end"),
        (_in_bits(20), "tensor_access.index_in_20_bits"),
        (_in_bits(24), "tensor_access.index_in_24_bits"),
        *([(_in_block, "tensor_access.place_in_block_added")] if blocks else []),
    )
    for readdress, id_ in readdressing:
        yield Defect(id_, dict.fromkeys(accesses, _readdressed(readdress)))
    relocating: tuple[tuple[Relocate, str], ...] = (
        (_in_bytes, "tensor_access.number_in_bytes"),
        (_from_the_beginning, "tensor_access.pointer_ignored"),
        (_first_in_16_bits, "tensor_access.pointer_in_16_bits"),
        *(_UNITS if any(access.array.pointee.bytes != _component(access).bytes for access in accesses) else ()),
    )
    for relocate, id_ in relocating:
        yield Defect(id_, dict.fromkeys(accesses, _relocated(relocate)))
    if program.instances > 1:
        yield Defect("tensor_access.tensor_of_first_instance", dict.fromkeys(accesses, _relocated(_of_first_instance)))
        yield Defect("tensor_access.layout_of_first_instance", dict.fromkeys(accesses, _layout_of_first_instance))
    if stores:
        yield Defect("tensor_access.not_stored", dict.fromkeys(stores, _nothing))
