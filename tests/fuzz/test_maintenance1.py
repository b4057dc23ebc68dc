"""Random chains of the operations of SPV_EXT_cooperative_matrix_maintenance1: both readings agree on them, and wrong devices are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cts.commands.fuzzing import MAINTENANCE1, Fuzzer, check_known
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.matrices.callbacks import call
from cts.embedded.profile import load_profile
from generators.fuzz.maintenance1 import (
    DRAWS_PER_FORM,
    Changed,
    Numbered,
    Numbers,
    Placed,
    Reduced,
    describe,
    draw,
    following,
    simpler,
    size,
)
from generators.program.values import MatrixType
from generators.spirv.enumerants import Op
from generators.types import COMPONENT_TYPES, ReduceMode, Scope, Use

COUNT = 30 * DRAWS_PER_FORM
FORMS = range(0, 200 * DRAWS_PER_FORM, DRAWS_PER_FORM)


def fuzzer(faults: Faults = NO_FAULTS, mapping: str = "interleaved", known: tuple[str, ...] = ()) -> Fuzzer:
    device = DeviceHolder(lambda: EmbeddedDevice(load_profile("universal"), mapping=mapping, faults=faults))
    return Fuzzer(7, device, "spirv", known, MAINTENANCE1)


@pytest.mark.parametrize("mapping", ["interleaved", "blocked"])
def test_both_readings_agree(mapping: str) -> None:
    *_, tally = fuzzer(mapping=mapping).run(draw, 0, COUNT, 1)
    assert (tally.judged, tally.differences, tally.unsupported) == (COUNT, [], {})


def test_draws_of_a_form_share_a_program_and_differ_in_data() -> None:
    drawn = [draw(1, index) for index in range(DRAWS_PER_FORM)]
    assert len({one.form for one in drawn}) == 1
    assert len({one.number for one in drawn}) == DRAWS_PER_FORM


def test_every_kind_of_step_is_drawn() -> None:
    chains = [draw(1, index) for index in FORMS]
    steps = [step for chain in chains for step in chain.steps]
    assert {chain.use for chain in chains} == set(Use)
    assert {chain.scope for chain in chains} == {Scope.SUBGROUP, Scope.WORKGROUP}
    assert {chain.component for chain in chains} == set(COMPONENT_TYPES)
    assert {step.mode for step in steps if isinstance(step, Reduced)} == set(ReduceMode)
    assert {step.what for step in steps if isinstance(step, Placed)} == {"number", "mask"}
    assert {step.use for step in steps if isinstance(step, Changed)} == set(Use)
    assert any(isinstance(step, Numbered) for step in steps)
    assert {len(chain.steps) for chain in chains} >= {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("component", "numbers", "step"),
    [
        ("f16", Numbers(1, 100), Reduced(ReduceMode.ROW_AND_COLUMN, "add", 8, 8)),
        ("f16", Numbers(1, 2047), Changed("bf16", Use.ACCUMULATOR)),
        ("f32", Numbers(0, 100), Changed("f32", Use.A)),
        ("s32", Numbers(-1, 100), Changed("f32", Use.A)),
        ("bf16", Numbers(1, 100), Numbered(1, 2)),
        ("u32", Numbers(1, 100), Reduced(ReduceMode.ROW, "add", 16, 8)),
    ],
    ids=[
        "sum that rounds",
        "number that rounds",
        "zero of a float",
        "minus one",
        "no arithmetic",
        "other rows",
    ],
)
def test_operations_without_a_certain_result_are_not_steps(component: str, numbers: Numbers, step: Any) -> None:
    type_ = MatrixType(COMPONENT_TYPES[component], Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
    assert following(type_, numbers, step) is None


def test_a_use_never_changes_from_a_to_b() -> None:
    type_ = MatrixType(COMPONENT_TYPES["u32"], Scope.SUBGROUP, 8, 8, Use.A)
    assert following(type_, Numbers(1, 2), Changed("u32", Use.B)) is None
    assert following(type_, Numbers(1, 2), Changed("u32", Use.ACCUMULATOR)) is not None


def test_a_change_of_use_may_change_the_sign_of_the_type_and_keeps_the_bits() -> None:
    type_ = MatrixType(COMPONENT_TYPES["s8"], Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
    found = following(type_, Numbers(-1, 100), Changed("u8", Use.B))
    assert found is not None
    assert found[1] == Numbers(0, 255)


def exchanged_coordinates(handler: Callable[..., Any]) -> Callable[..., Any]:
    def prepared(translation: Any, words: Any) -> Any:
        run = handler(translation, words)
        return lambda: run()[::-1]

    return prepared


def columns_moved(handler: Callable[..., Any]) -> Callable[..., Any]:
    def prepared(translation: Any, words: Any) -> Any:
        run = handler(translation, words)
        return lambda: np.roll(run(), 1, axis=2)

    return prepared


def arguments_exchanged(called: Callable[..., Any]) -> Callable[..., Any]:
    return lambda callback, lanes, arguments: called(callback, lanes, [arguments[1], arguments[0], *arguments[2:]])


@pytest.mark.parametrize(
    "faults",
    [
        Faults({Op.CooperativeMatrixGetCoordinateEXT: exchanged_coordinates}),
        Faults({Op.CooperativeMatrixConvertUseEXT: columns_moved}),
        Faults(operations={call: arguments_exchanged}),
    ],
    ids=["coordinates", "uses", "functions"],
)
def test_a_wrong_device_is_found_and_shrunk(faults: Faults) -> None:
    wrong = fuzzer(faults)
    *_, tally = wrong.run(draw, 0, COUNT, 1)
    (found, *_) = tally.differences
    *_, best = found, *wrong.shrink(found)
    assert size(best.addressing) <= size(found.addressing)
    assert len(best.addressing.steps) == 1
    assert describe(best.addressing).count("\n") == 1


def test_a_known_defect_is_counted_apart() -> None:
    known = ("coordinate.row_and_column_exchanged",)
    check_known(draw, 7, known, MAINTENANCE1)
    *_, tally = fuzzer(Faults({Op.CooperativeMatrixGetCoordinateEXT: exchanged_coordinates}), known=known).run(draw, 0, COUNT, COUNT)
    assert tally.known > 0


def test_simpler_draws_have_less() -> None:
    for index in FORMS[:60]:
        one = draw(3, index)
        assert all(size(candidate) < size(one) for candidate in simpler(one))
