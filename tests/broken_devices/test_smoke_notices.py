"""Devices with one defect each, which the smoke tier of a family must notice on what devices of today have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from cts.devices.embedded import load_store
from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.instructions import HANDLERS
from cts.devices.embedded.machine import Machine, blend, settle
from cts.devices.embedded.spirv_types import MatrixType
from cts.devices.embedded.translation import Handler, Translation
from cts.devices.embedded.workgroup import built_in
from generators.spirv.enumerants import BuiltIn, Op
from generators.types import Use
from tests.broken_devices.smoke import noticed

TODAY = ("llvmpipe", "nvidia-h200")


class Defaults(EmbeddedDevice):
    """A device that leaves specialization constants at their defaults."""

    def run(self, kernel, dispatches):
        return super().run(replace(kernel, specialization=()), dispatches)


def changed(op: Op, result: Callable[[MatrixType, np.ndarray, list[np.ndarray]], np.ndarray]) -> Mapping[Op, Handler]:
    """Handlers of which the one for ``op`` gives for matrices what ``result`` makes of the type, the right value and the operands."""
    handler = HANDLERS[op]

    def broken(translation, words):
        run, type_ = handler(translation, words), translation.types[words[0]]
        if not isinstance(type_, MatrixType):
            return run
        return lambda: result(type_, run(), [translation.values[word] for word in words[2:]])

    return MappingProxyType({**HANDLERS, op: broken})


@pytest.fixture
def handlers(monkeypatch):
    return lambda changes: monkeypatch.setattr("cts.devices.embedded.device.HANDLERS", changes)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("family", ["construction", "construction_operands"])
@pytest.mark.parametrize("use", [Use.A, Use.B])
def test_null_that_is_not_zero_for_one_use(monkeypatch, profile, family, use):
    def null(translation, type_):
        value = zero(translation, type_)
        return np.ones_like(value) if isinstance(type_, MatrixType) and type_.use is use else value

    zero = Translation.zero
    monkeypatch.setattr(Translation, "zero", null)
    assert noticed(family, profile, origin="null")


@pytest.mark.parametrize("profile", TODAY)
def test_operands_constructed_by_the_first_subgroup_alone(monkeypatch, profile):
    splat = Translation.splat

    def first(translation, type_, value):
        matrix = splat(translation, type_, value)
        return np.where(np.arange(len(matrix))[:, None, None] == 0, matrix, np.zeros_like(matrix))

    monkeypatch.setattr(Translation, "splat", first)
    assert noticed("construction_operands", profile, subgroups="4")


@pytest.mark.parametrize("profile", TODAY)
def test_scalars_that_keep_the_default_of_their_specialization_constant(profile):
    assert noticed("elementwise", profile, Defaults, source="specialization")


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize(("component", "use"), [("u8", "a"), ("u8", "b"), ("u32", "acc")])
@pytest.mark.parametrize(
    ("op", "result"),
    [
        (Op.ISub, lambda type_, right, operands: operands[1] - operands[0]),
        (Op.MatrixTimesScalar, lambda type_, right, operands: operands[0]),
        (Op.SDiv, lambda type_, right, operands: operands[0] // np.maximum(operands[1], 1)),
    ],
    ids=["difference-reversed", "scalar-lost", "signed-division-by-type"],
)
def test_arithmetic_on_unsigned_matrices(handlers, profile, component, use, op, result):
    handlers(
        changed(op, lambda type_, right, operands: result(type_, right, operands) if type_.number.component.name == component else right)
    )
    assert noticed("elementwise", profile, component=component, use=use)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize(
    ("op", "operation"),
    [(Op.FMul, "multiply"), (Op.IMul, "multiply"), (Op.FNegate, "negate"), (Op.SNegate, "negate"), (Op.MatrixTimesScalar, "times_scalar")],
)
def test_arithmetic_around_a_multiply_add_lost(handlers, profile, op, operation):
    handlers(changed(op, lambda type_, right, operands: operands[0]))
    assert noticed("elementwise_muladd", profile, operation=operation)


@pytest.mark.parametrize(
    ("op", "types", "result"),
    [
        (Op.UConvert, ("u8", "u32"), lambda type_, x: x.view(f"i{x.itemsize}").astype(type_.number.signed_dtype).view(type_.number.dtype)),
        (Op.SConvert, ("s8", "s32"), lambda type_, x: x.astype(type_.number.dtype)),
    ],
    ids=["unsigned-extended-with-sign", "signed-extended-with-zeros"],
)
def test_widening_with_the_other_sign(handlers, op, types, result):
    handlers(changed(op, lambda type_, right, operands: result(type_, operands[0])))
    assert noticed("conversion", "universal", **dict(zip(("from", "to"), types, strict=True)))


@pytest.mark.parametrize("backwards", [False, True])
def test_phis_that_are_read_one_after_the_other(monkeypatch, backwards):
    def choose(machine, phis, arrivals):
        for phi in reversed(phis) if backwards else phis:
            value = machine.values[phi.sources[arrivals[0][0]]]
            for label, mask in arrivals[1:]:
                value = blend(phi.type, mask, machine.values[phi.sources[label]], value)
            value = settle(value, machine.mask)
            machine.values[phi.result] = value if machine.full else blend(phi.type, machine.mask, value, machine.values[phi.result])

    monkeypatch.setattr(Machine, "_choose", choose)
    assert noticed("control_flow", "llvmpipe", form="swap")


@pytest.mark.parametrize(
    ("unsigned", "signed"),
    [
        (Op.ULessThan, Op.SLessThan),
        (Op.ULessThanEqual, Op.SLessThanEqual),
        (Op.UGreaterThan, Op.SGreaterThan),
        (Op.UGreaterThanEqual, Op.SGreaterThanEqual),
    ],
)
@pytest.mark.parametrize("profile", TODAY)
def test_signed_relations_taken_for_unsigned(handlers, profile, unsigned, signed):
    handlers({**HANDLERS, signed: HANDLERS[unsigned]})
    assert noticed("control_flow", profile, form="operands", integer="s32")


@pytest.mark.parametrize("profile", TODAY)
def test_stores_of_subgroups_that_have_gone_another_way(handlers, profile):
    def everywhere(translation, words):
        run, machine = HANDLERS[Op.CooperativeMatrixStoreKHR](translation, words), translation.machine

        def broken():
            mask, full = machine.mask, machine.full
            machine.mask, machine.full = machine.everyone, True
            run()
            machine.mask, machine.full = mask, full

        return broken

    handlers({**HANDLERS, Op.CooperativeMatrixStoreKHR: everywhere})
    assert noticed("control_flow", profile, subgroups="4", workgroups="1", source="subgroup")


@pytest.mark.parametrize("bits", [16, 20, 24])
@pytest.mark.parametrize("access", ["load", "store"])
def test_offsets_that_lose_their_upper_bits(monkeypatch, bits, access):
    function = getattr(load_store, f"robust_{access}")
    monkeypatch.setattr(load_store, f"robust_{access}", lambda memory, offsets, what: function(memory, offsets & (1 << bits) - 1, what))
    assert noticed("robustness", "llvmpipe", access=access, cut="huge")


@pytest.mark.parametrize("axis", [1, 2])
def test_stores_of_whole_lines_dropped(monkeypatch, axis):
    store = load_store.robust_store

    def broken(memory, offsets, data):
        inside = (offsets >= 0) & (offsets + data.itemsize <= memory.size)
        kept = np.broadcast_to(inside.all(axis=axis - 1, keepdims=True), offsets.shape)
        store(memory, np.where(kept, offsets, -1 << 20), data)

    monkeypatch.setattr(load_store, "robust_store", broken)
    assert noticed("robustness", "llvmpipe", access="store")


@pytest.mark.parametrize("profile", TODAY)
def test_number_of_subgroups_rounded_up_to_a_power_of_two(monkeypatch, profile):
    def rounded(translation, which, type_):
        value = built_in(translation, which, type_)
        return 1 << (value - 1).bit_length() if which == BuiltIn.NumSubgroups else value

    monkeypatch.setattr("cts.devices.embedded.device.built_in", rounded)
    assert noticed("workgroup_shapes", profile, subgroups="3", subgroup_size="device", full="if_possible")
