"""Readers of a failure must find the positions on which it depends, so a family names all positions that its cases need."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference import tensor_access
from cts.reference.evaluate import evaluate
from cts.reference.state import State
from cts.reference.tensor import layout_state, view_state
from cts.reference.tensor_addressing import linear_in_clip
from generators.casebook import build, expand
from generators.program.callbacks import PerElement, Reduce
from generators.program.control_flow import Branch
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import extent
from generators.program.walking import flattened
from generators.types import ClampMode, ReduceMode, Scope, StorageClass
from tests.suite import casebook

FAMILIES = [
    "control_flow",
    "control_flow_variables",
    "flexible",
    "function_pointers",
    "functions",
    "kernel_attention",
    "kernel_convolution",
    "kernel_dequantised",
    "kernel_product",
    "kernel_staged",
    "per_element",
    "reduce",
    "tensor_block",
    "tensor_clamp",
    "tensor_layout",
    "tensor_view",
]
MOVING = (ClampMode.REPEAT, ClampMode.REPEAT_MIRRORED)


def row_major(counts):
    """Return the row-major strides for the counts of each dimension, with the shape (instances, rank)."""
    strides = np.ones_like(counts)
    for dimension in range(counts.shape[1] - 2, -1, -1):
        strides[:, dimension] = strides[:, dimension + 1] * counts[:, dimension + 1]
    return strides


def of_clamping(operation, layout, found):
    mode, store = operation.layout.type.clamp_value, isinstance(operation, TensorStore)
    coordinate = found.span + layout.offset[:, None, None, :]
    before = (coordinate < 0) & ~found.clipped[..., None]
    beyond = (coordinate >= layout.dimension[:, None, None, :]) & ~found.clipped[..., None]
    if store:
        if found.outside.any() and mode not in (ClampMode.UNDEFINED, ClampMode.CONSTANT):
            yield "F-TA-18"
        return
    if mode is ClampMode.REPEAT_MIRRORED and (before | beyond).any():
        yield "F-TA-1"
    if mode in MOVING and before.any():
        yield "F-TA-4"
    if found.outside.any() and layout.clamp_value.any() and operation.result.type.component.bits < 32:
        yield "F-TA-16"


def of_blocks(operation, layout, found):
    decode = getattr(operation, "decode", None)
    if decode is not None and (found.outside | found.clipped).any():
        yield "F-TA-17"
    if decode is not None and operation.array.storage is StorageClass.STORAGE_BUFFER:
        yield "F-CM2-7"
    if not (layout.block_size > 1).any() or not found.accessed.any():
        return
    if decode is None:
        yield "F-CM2-8"
    up, down = (row_major(counts) for counts in (-(-layout.dimension // layout.block_size), layout.dimension // layout.block_size))
    if (up != down).any() and (layout.stride == up).all():
        yield "F-TA-13"
    elements = row_major(layout.dimension)
    if (layout.stride == elements).all() and (elements != up).any():
        yield "F-TA-14"


def of_numbers(operation, layout, view, found, shape):
    """Yield the positions that the numbers of the elements in the slice, the view and the clip window depend on."""
    columns = shape[1]
    row, column = (np.tile(places, (len(layout.span), 1, 1)) for places in np.indices(shape))
    number, sizes = row * columns + column, layout.span
    if view is not None:
        number, _ = linear_in_clip(row, column, columns, view)
        own = operation.view.type.has_dimensions
        sizes = view.dimension if (own if isinstance(own, bool) else extent(own)) else sizes
        offset, span = view.clip[:, 2], view.clip[:, 3]
        if ((offset + span > columns) & (span < columns)).any() and not found.clipped.all():
            yield "F-TA-9"
    if ((number >= sizes.prod(axis=1)[:, None, None]) & ~found.clipped).any():
        yield "F-TA-11"


def of_access(state, operation, found):
    layout = layout_state(state, operation.layout)
    view = None if operation.view is None else view_state(state, operation.view)
    matrix = operation.matrix if isinstance(operation, TensorStore) else operation.result
    yield from of_clamping(operation, layout, found)
    yield from of_blocks(operation, layout, found)
    yield from of_numbers(operation, layout, view, found, matrix.type.shape)


def of_operation(operation):
    match operation:
        case Reduce():
            yield from ("F-CM2-4", "F-CM2-14")
            if operation.mode is ReduceMode.COLUMN:
                yield "F-CM2-1"
            if not operation.matrix.type.component.is_float:
                yield "F-CM2-2"
        case PerElement() if any(parameter.type.name == "s32" for parameter in operation.function.parameters[:2]):
            yield "F-CM2-11"


def some_subgroups(state, positions):
    """Return whether only some subgroups of a workgroup continue."""
    if state.program.scope is not Scope.SUBGROUP:
        return False
    workgroups = state.instances // state.program.subgroups
    before = np.bincount(workgroups)
    after = np.bincount(workgroups[positions], minlength=len(before))
    return bool(((after > 0) & (after < before)).any())


@pytest.fixture
def rested_on(monkeypatch):
    """Return the positions on which a case depends."""
    found = set()
    addressed = tensor_access.addressed

    def noted(state, operation):
        addresses = addressed(state, operation)
        found.update(of_access(state, operation, addresses))
        return addresses

    def noting(method):
        def noted(state, positions):
            if some_subgroups(state, positions):
                found.add("F-KHR-24")
            return method(state, positions)

        return noted

    monkeypatch.setattr(tensor_access, "addressed", noted)
    for name in ("part", "narrow"):
        monkeypatch.setattr(State, name, noting(getattr(State, name)))

    def positions(case):
        found.clear()
        for program in build(case).program.all:
            operations = tuple(flattened(program.operations))
            for operation in operations:
                found.update(of_operation(operation))
            if any(isinstance(operation, TensorLoad | TensorStore | Branch) for operation in operations):
                evaluate(program, next(iter(build(case).subcases(program))))
        return set(found)

    return positions


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_names_the_positions_that_its_cases_rest_on(rested_on, name):
    family = casebook().family(name)
    unnamed = {}
    for case in expand(family, "smoke")[::2]:
        for position in rested_on(case) - set(family.positions):
            unnamed.setdefault(position, case.id)
    assert unnamed == {}
