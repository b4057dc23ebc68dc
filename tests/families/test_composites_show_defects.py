"""An implementation's mistakes with components and aggregates must change a stored matrix, or they would go unnoticed."""

from dataclasses import replace

import numpy as np
import pytest

from cts.defects.defect import Defect, every
from cts.reference.composites import construct, copy_memory, insert
from cts.reference.elements import apply, components_updated
from cts.reference.evaluate import perform
from cts.reference.values import MatrixValue
from cts.reference.variables import changed, indices, part
from generators.casebook import build, find_case
from generators.program.composites import CompositeConstruct, CompositeInsert, CopyMemory
from generators.program.elements import ComponentsUpdated, ElementFunction
from generators.program.values import is_matrix
from generators.program.variables import VariableLoad, VariableStore
from tests.families.evidence import is_seen
from tests.suite import casebook

ELEMENTS = "elements[row:16x16x16.f16.f16.f32.f32/member:{}/layouts:rc/holder:{}/action:{}/condition:{}]"
INTEGERS = "elements[row:8x8x8.s8.s8.s32.s32/member:{}/layouts:rc/holder:{}/action:{}/condition:{}]"
AGGREGATES = "aggregates[row:16x16x16.f16.f16.f32.f32/holder:{}/count:{}/write:{}/read:{}/move:{}]"


def shows(case_id, kind, step):
    """Return whether a subcase of the case fails if ``step`` performs every operation of ``kind``."""
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    operations = every(program.operations, kind)
    assert operations, f"{case_id} has no {kind.__name__}"
    defect = Defect("", dict.fromkeys(operations, step))
    return any(is_seen(program, subcase, defect) for subcase in built.subcases())


def target_bits(state, update):
    variable = update.target
    path = indices(state, variable.type, update.target_path)
    found = part(state.variables[variable.name], path)
    return path, found.bits


def set_target(state, update, path, bits):
    variable = update.target
    value = MatrixValue(update.type.component, bits)
    state.variables[variable.name] = changed(variable.type, state.variables[variable.name], path, value)


def one_element_missed(state, update):
    path, before = target_bits(state, update)
    components_updated(state, update)
    after = target_bits(state, update)[1].copy()
    after[:, -1, -1] = before[:, -1, -1]
    set_target(state, update, path, after)


def updated_twice(state, update):
    components_updated(state, update)
    path, bits = target_bits(state, update)
    set_target(state, update, path, apply(state, update.function, MatrixValue(update.type.component, bits)))


def everywhere(state, update):
    components_updated(state, replace(update, condition="always"))


def below_unsigned(state, update):
    path, old = target_bits(state, update)
    source = part(state.variables[update.source.name], indices(state, update.source.type, update.source_path))
    new = apply(state, update.function, source)
    set_target(state, update, path, np.where(source.bits < np.uint8(update.threshold.value), new, old))


def without_addend(state, update):
    components_updated(state, replace(update, function=ElementFunction(update.function.factor)))


def first_of_the_array(state, update):
    components_updated(state, replace(update, target_path=(0,)))


@pytest.mark.parametrize(
    ("case_id", "step"),
    [
        (ELEMENTS.format("c", "plain", "other", "always"), one_element_missed),
        (ELEMENTS.format("a", "array", "move", "always"), one_element_missed),
        (ELEMENTS.format("b", "plain", "in_place", "odd_lane"), updated_twice),
        (INTEGERS.format("c", "plain", "in_place", "always"), updated_twice),
        (ELEMENTS.format("c", "plain", "other", "below"), everywhere),
        (INTEGERS.format("a", "plain", "other", "below"), below_unsigned),
        (INTEGERS.format("c", "plain", "other", "always"), without_addend),
        (ELEMENTS.format("c", "dynamic", "in_place", "always"), first_of_the_array),
    ],
)
def test_the_matrix_shows_what_is_wrong_with_its_components(case_id, step):
    assert shows(case_id, ComponentsUpdated, step)


def to_the_first(state, store):
    perform(state, replace(store, path=(0,)) if store.path else store)


def from_the_first(state, load):
    is_element = is_matrix(load.result) and load.path
    perform(state, replace(load, path=(0,)) if is_element else load)


def copied_backwards(state, copy):
    copy_memory(state, copy)
    state.variables[copy.target.name] = state.variables[copy.target.name][::-1]


def nothing_inserted(state, operation):
    insert(state, operation)
    state.aggregates[operation.result.name] = state.aggregates[operation.composite.name]


def constructed_backwards(state, operation):
    construct(state, operation)
    state.aggregates[operation.result.name] = state.aggregates[operation.result.name][::-1]


@pytest.mark.parametrize(
    ("case_id", "kind", "step"),
    [
        (AGGREGATES.format("array", 4, "operand", "constant", "none"), VariableStore, to_the_first),
        (AGGREGATES.format("array", 4, "constant", "operand", "none"), VariableLoad, from_the_first),
        (AGGREGATES.format("array", 2, "loop", "loop", "none"), VariableLoad, from_the_first),
        (AGGREGATES.format("array", 4, "constant", "constant", "exchange"), VariableLoad, from_the_first),
        (AGGREGATES.format("array", 3, "constant", "constant", "rotate"), VariableStore, to_the_first),
        (AGGREGATES.format("array", 4, "constant", "constant", "copy_memory"), CopyMemory, copied_backwards),
        (AGGREGATES.format("nested", 2, "constant", "constant", "insert"), CompositeInsert, nothing_inserted),
        (AGGREGATES.format("array", 5, "constant", "constant", "construct"), CompositeConstruct, constructed_backwards),
    ],
)
def test_the_matrices_show_what_is_wrong_with_their_aggregate(case_id, kind, step):
    assert shows(case_id, kind, step)


@pytest.mark.parametrize("move", ["load_store", "copy_memory", "copy_object", "construct", "parts"])
def test_a_copy_that_changes_with_its_original_shows(move):
    """After the move, a matrix of the original is replaced. If the two shared memory, the copy would also change."""
    case = find_case(casebook(), AGGREGATES.format("array", 4, "constant", "constant", move))
    program = build(case).program
    last = every(program.operations, VariableStore)[-1]
    assert last.variable.name == "box"

    def step(state, store):
        perform(state, store)
        perform(state, replace(store, variable=program.variables[1]))

    (subcase,) = build(case).subcases(program)
    assert is_seen(program, subcase, Defect("", {last: step}))
