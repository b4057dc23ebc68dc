"""Devices that convert arrays or decode groups wrongly in some sizes only: cases of the nightly tier fail on each.

Every device is right where the sizes are common, so only a case with the size of the mistake shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from cts.embedded.faults import Faults
from cts.embedded.instructions.matrices.array_conversion import Lanes, placed, read_as, taken_apart
from cts.embedded.instructions.tensors.decode import places_in_groups
from cts.embedded.instructions.tensors.tensor_access import places_of
from cts.embedded.types.spirv_types import MatrixType, Number
from generators.casebook import Case, expand
from generators.parameters.vocabulary import USES
from generators.spirv.enumerants import Op
from generators.types import Use
from tests.broken_devices.smoke import fails, wrong
from tests.suite import casebook

LISTED = (32, 64, 128, 256)
"""The sizes of casts that GLSL lists, in bytes."""


@cache
def nightly(family: str, **labels: str) -> tuple[Case, ...]:
    """Return a family's nightly cases with these labels."""
    cases = expand(casebook().family(family), "nightly")
    return tuple(case for case in cases if labels.items() <= case.named.items())


def failures(
    family: str, profile: str, faults: Faults, most: int, first: Callable[[Mapping[str, str]], bool] = lambda _: True, **labels: str
) -> int:
    """Count the nightly cases that fail on a device, up to ``most``; those whose labels ``first`` chooses are tried first."""
    device = wrong(profile, faults)
    cases = sorted(nightly(family, **labels), key=lambda case: not first(case.named))
    return len(list(islice((case for case in cases if fails(case.id, device)), most)))


def lanes_modulo_64(lines: np.ndarray) -> np.ndarray:
    """Return lines in which line 64 is line 0 again, (subgroups, lines, components)."""
    return lines[:, np.arange(lines.shape[1]) % 64]


def first_64_components(lines: np.ndarray) -> np.ndarray:
    """Return lines whose components beyond 64 are zero."""
    return np.where(np.arange(lines.shape[2]) < 64, lines, 0).astype(lines.dtype)


def a_power_of_two(lines: np.ndarray) -> np.ndarray:
    """Return lines that are zero from the greatest power of two on."""
    return np.where(np.arange(lines.shape[1])[:, None] < 1 << lines.shape[1].bit_length() - 1, lines, 0).astype(lines.dtype)


def of_use(change: Callable[[np.ndarray], np.ndarray], *uses: Use) -> Callable[[MatrixType, np.ndarray], np.ndarray]:
    """Return a function of matrices (subgroups, rows, columns) that changes the lines of these uses."""

    def changed(type_: MatrixType, matrices: np.ndarray) -> np.ndarray:
        if type_.use not in uses:
            return matrices
        if type_.use is Use.B:
            return np.ascontiguousarray(change(matrices.swapaxes(1, 2)).swapaxes(1, 2))
        return change(matrices)

    return changed


def constructing(change: Callable[[MatrixType, np.ndarray], np.ndarray]) -> Faults:
    """Return a fault that changes matrices that are constructed from arrays."""
    return Faults(operations={placed: lambda right: lambda type_, lines, arrays: change(type_, right(type_, lines, arrays))})


def extracting(change: Callable[[MatrixType, np.ndarray], np.ndarray]) -> Faults:
    """Return a fault that changes matrices whose arrays are extracted."""
    return Faults(operations={taken_apart: lambda right: lambda type_, size, matrices: right(type_, size, change(type_, matrices))})


LARGE, PARTIAL = {"subgroup_size": "128"}, {"lines": "three_quarters"}
LINES = [
    (lanes_modulo_64, "a", LARGE),
    (lanes_modulo_64, "b", LARGE),
    (lanes_modulo_64, "acc", LARGE),
    (first_64_components, "acc", LARGE),
    (a_power_of_two, "a", PARTIAL),
    (a_power_of_two, "b", PARTIAL),
    (a_power_of_two, "acc", PARTIAL),
]


@pytest.mark.parametrize("profile", ["universal", "adreno"])
@pytest.mark.parametrize("conversion", [constructing, extracting])
@pytest.mark.parametrize(("mistake", "use", "labels"), LINES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_conversions_of_many_lines(mistake: Any, use: str, labels: dict[str, str], conversion: Any, profile: str) -> None:
    faults = conversion(of_use(mistake, USES[use]))
    assert failures("array_conversion", profile, faults, 5, use=use, **labels) == 5


def swapped_pairs(matrices: np.ndarray, of_columns: bool) -> np.ndarray:
    """Return matrices with neighbouring components of each row, or of each column, exchanged."""
    if of_columns:
        return swapped_pairs(matrices.swapaxes(1, 2), False).swapaxes(1, 2)
    return matrices.reshape(*matrices.shape[:2], -1, 2)[..., ::-1].reshape(matrices.shape)


def packing(op: Op, use: Use, size: int) -> Faults:
    """Return a fault that exchanges neighbours in the words of one use, in subgroups of one size."""
    constructs = op is Op.CompositeConstructCoopMatQCOM

    def fault(right: Any) -> Any:
        def handler(translation: Any, words: Any) -> Any:
            run, values, operand = right(translation, words), translation.values, words[2]
            result, given = translation.types[words[0]], translation.type_of[operand]
            matrix, array = (result, given) if constructs else (given, result)
            packs = matrix.use is use and matrix.number.bytes < array.element.bytes
            if not packs or translation.machine.subgroup_size != size:
                return run

            def broken() -> Any:
                if constructs:
                    return swapped_pairs(run(), use is Use.B)
                kept, values[operand] = values[operand], swapped_pairs(values[operand], use is Use.B)
                try:
                    return run()
                finally:
                    values[operand] = kept

            return broken

        return handler

    return Faults({op: fault})


@pytest.mark.parametrize(
    ("profile", "size"), [("universal", 16), ("universal", 32), ("universal", 64), ("universal", 128), ("adreno", 64), ("adreno", 128)]
)
@pytest.mark.parametrize("use", ["a", "b", "acc"])
@pytest.mark.parametrize("op", [Op.CompositeConstructCoopMatQCOM, Op.CompositeExtractCoopMatQCOM])
def test_the_order_of_components_in_words(op: Op, use: str, profile: str, size: int) -> None:
    faults = packing(op, USES[use], size)
    assert failures("array_conversion", profile, faults, 1, use=use, subgroup_size=str(size), elements="packed")


def casts(change: Callable[[Lanes], Lanes], applies: Callable[[int], bool]) -> Faults:
    """Return a fault that changes the results of casts of some sizes in bytes."""

    def fault(right: Any) -> Any:
        def broken(lanes: Lanes, to: Number) -> Lanes:
            found = right(lanes, to)
            return change(found) if applies(found.value.shape[1] * to.bytes) else found

        return broken

    return Faults(operations={read_as: fault})


def in_vectors_of_16_bytes(lanes: Lanes) -> Lanes:
    whole = lanes.value.shape[1] * lanes.value.dtype.itemsize // 16 * 16 // lanes.value.dtype.itemsize
    value = lanes.value.copy()
    value[:, whole:] = 0
    return replace(lanes, value=value)


def reversed_elements(lanes: Lanes) -> Lanes:
    return replace(lanes, value=np.ascontiguousarray(lanes.value[:, ::-1]))


@pytest.mark.parametrize("profile", ["universal", "adreno"])
@pytest.mark.parametrize(
    ("change", "applies"),
    [
        (in_vectors_of_16_bytes, lambda size: size % 16),
        (reversed_elements, lambda size: size < 32),
        (reversed_elements, lambda size: 32 < size < 256 and size not in LISTED),
        (reversed_elements, lambda size: size > 256),
    ],
    ids=["rest_of_16_bytes", "short", "between", "long"],
)
def test_casts_of_other_sizes_than_glsl_lists(change: Any, applies: Any, profile: str) -> None:
    assert failures("bitcast_arrays", profile, casts(change, applies), 5, lambda named: applies(int(named["bytes"]))) == 5


def test_casts_between_an_extraction_and_a_construction() -> None:
    def fault(right: Any) -> Any:
        def handler(translation: Any, words: Any) -> Any:
            run = right(translation, words)
            return lambda: run()[::-1]

        return handler

    faults = Faults({Op.BitCastArrayQCOM: fault})
    labels = {"way": "reconstruct", "back": "other"}
    assert failures("array_conversion", "universal", faults, 5, **labels) == 5
    assert failures("array_conversion", "universal", faults, 1, way="reconstruct", back="same") == 0


@pytest.mark.parametrize("profile", ["universal", "adreno"])
def test_parts_that_begin_at_48_at_most(profile: str) -> None:
    def fault(right: Any) -> Any:
        def handler(translation: Any, words: Any) -> Any:
            run, values = right(translation, words), translation.values

            def broken() -> Any:
                kept = values[words[3]]
                values[words[3]] = min(kept, 48) if isinstance(kept, int) else np.minimum(kept, 48)
                try:
                    return run()
                finally:
                    values[words[3]] = kept

            return broken

        return handler

    assert failures("sub_arrays", profile, Faults({Op.ExtractSubArrayQCOM: fault}), 5, part="last") == 5


def views(change: Callable[[Any, Any], Any]) -> Faults:
    """Return a fault that makes loads use the view that ``change`` computes from the right one."""

    def fault(right: Any) -> Any:
        return lambda machine, matrix, layout, view, store: right(machine, matrix, layout, view and change(view, layout), store)

    return Faults(operations={places_of: fault})


def adjacent_groups(width: int) -> Faults:
    """Return a fault that decodes the elements after the first of ``width`` columns as its neighbours in the block."""

    def fault(right: Any) -> Any:
        def broken(*arguments: Any) -> Any:
            places = right(*arguments)
            columns = np.arange(places.index.shape[1])
            first = columns // width * width
            inside = places.coord_in_block[:, :, first].copy()
            inside[-1] += columns - first
            if not places.reached.all() or (inside[-1] >= arguments[2].block_size[-1]).any():
                return places
            return replace(places, index=places.index[:, first], block_coord=places.block_coord[:, :, first], coord_in_block=inside)

        return broken

    return Faults(operations={places_of: fault})


VIEWS = {
    "dimensions_of_the_layout": (
        views(lambda view, layout: replace(view, has_dimensions=False, permutation=tuple(range(len(layout.span))))),
        ("rows", "columns", "again"),
    ),
    "strides_ignored": (
        views(lambda view, _: replace(view, stride=(view.dimension[1] * view.dimension[2], view.dimension[2], 1))),
        ("columns", "again"),
    ),
    "dimensions_in_order": (views(lambda view, _: replace(view, permutation=tuple(range(len(view.permutation))))), ("rows",)),
    "inner_stride_ignored": (views(lambda view, _: replace(view, stride=(*view.stride[:-1], 1))), ("columns",)),
    "groups_of_adjacent_columns": (adjacent_groups(2), ("columns",)),
}


@pytest.mark.parametrize(("mistake", "view"), [(mistake, view) for mistake, (_, seen) in VIEWS.items() for view in seen])
@pytest.mark.parametrize("family", ["decode_vector", "tensor_block"])
def test_views_with_their_own_dimensions(family: str, mistake: str, view: str) -> None:
    faults, _ = VIEWS[mistake]
    assert failures(family, "universal", faults, 1, view=view)


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("rank", ["1", "2", "3", "4", "5"])
def test_the_order_of_components_of_a_group(rank: str, width: int) -> None:
    def fault(right: Any) -> Any:
        def broken(last: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
            quotient, component = right(last, size)
            return quotient, size - 1 - component if size == width else component

        return broken

    faults = Faults(operations={places_in_groups: fault})
    assert failures("decode_vector", "universal", faults, 5, rank=rank, lanes=str(width)) == 5
