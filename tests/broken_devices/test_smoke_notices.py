"""Devices with one defect each: the smoke tier of a family must notice the defect with the features of known devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Fault, Faults
from cts.embedded.instructions.invocations.built_ins import built_in
from cts.embedded.instructions.matrices.load_store import robust_load, robust_store
from cts.embedded.instructions.registry import handlers
from cts.embedded.machine.machine import take_phis
from cts.embedded.module.translation import filled, null
from cts.embedded.profile import load_profile
from cts.embedded.types.spirv_types import MatrixType
from cts.embedded.types.values import blend, settle
from generators.numerics.rounding import to_bits
from generators.spirv.enumerants import BuiltIn, Op
from generators.types import Use
from tests.broken_devices.smoke import noticed, wrong

TODAY = ("llvmpipe", "nvidia-h200")


class Defaults(EmbeddedDevice):
    """A device that leaves specialization constants at their defaults."""

    def run(self, kernel, dispatches):
        return super().run(replace(kernel, specialization=()), dispatches)


def matrices(result: Callable[[MatrixType, np.ndarray, list[np.ndarray]], np.ndarray]) -> Fault:
    """Return a fault that changes an instruction's matrix result; ``result`` computes it from the type, the right value and the
    operands."""

    def fault(right):
        def handler(translation, words):
            run, type_ = right(translation, words), translation.types[words[0]]
            if not isinstance(type_, MatrixType):
                return run
            return lambda: result(type_, run(), [translation.values[word] for word in words[2:]])

        return handler

    return fault


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("family", ["construction", "construction_operands"])
@pytest.mark.parametrize("use", [Use.A, Use.B])
def test_null_that_is_not_zero_for_one_use(profile, family, use):
    def ones(right):
        def broken(translation, type_):
            value = right(translation, type_)
            return np.ones_like(value) if isinstance(type_, MatrixType) and type_.use is use else value

        return broken

    assert noticed(family, wrong(profile, Faults(operations={null: ones})), origin="null")


@pytest.mark.parametrize("profile", TODAY)
def test_operands_constructed_only_by_the_first_subgroup(profile):
    def first_alone(right):
        def broken(translation, type_, value):
            matrix = right(translation, type_, value)
            return np.where(np.arange(len(matrix))[:, None, None] == 0, matrix, np.zeros_like(matrix))

        return broken

    assert noticed("construction_operands", wrong(profile, Faults(operations={filled: first_alone})), subgroups="4")


@pytest.mark.parametrize("profile", TODAY)
def test_scalars_that_keep_the_default_of_their_specialization_constant(profile):
    assert noticed("elementwise", Defaults(load_profile(profile), strict=False), source="specialization")


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("storage", ["storage_buffer", "physical_storage_buffer"])
def test_types_and_strides_that_keep_the_defaults_of_their_specialization_constants(profile, storage):
    assert noticed("specialization", Defaults(load_profile(profile), strict=False), storage=storage)


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
def test_arithmetic_on_unsigned_matrices(profile, component, use, op, result):
    fault = matrices(lambda type_, right, operands: result(type_, right, operands) if type_.number.component.name == component else right)
    assert noticed("elementwise", wrong(profile, Faults({op: fault})), component=component, use=use)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize(
    ("op", "operation"),
    [(Op.FMul, "multiply"), (Op.IMul, "multiply"), (Op.FNegate, "negate"), (Op.SNegate, "negate"), (Op.MatrixTimesScalar, "times_scalar")],
)
def test_arithmetic_around_a_multiply_add_lost(profile, op, operation):
    lost = Faults({op: matrices(lambda type_, right, operands: operands[0])})
    assert noticed("elementwise_muladd", wrong(profile, lost), operation=operation)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize(
    "op",
    [Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FNegate, Op.IAdd, Op.ISub, Op.IMul, Op.SDiv, Op.UDiv, Op.SNegate, Op.MatrixTimesScalar],
    ids=lambda op: op.name,
)
def test_results_of_the_first_subgroup_in_every_subgroup(profile, op):
    faults = Faults({op: matrices(lambda type_, right, operands: np.broadcast_to(right[:1], right.shape))})
    assert noticed("elementwise", wrong(profile, faults), subgroups=("2", "4"))


@pytest.mark.parametrize(
    ("op", "types", "result"),
    [
        (Op.UConvert, ("u8", "u32"), lambda type_, x: x.view(f"i{x.itemsize}").astype(type_.number.signed_dtype).view(type_.number.dtype)),
        (Op.SConvert, ("s8", "s32"), lambda type_, x: x.astype(type_.number.dtype)),
    ],
    ids=["unsigned-extended-with-sign", "signed-extended-with-zeros"],
)
def test_widening_with_the_other_sign(op, types, result):
    faults = Faults({op: matrices(lambda type_, right, operands: result(type_, operands[0]))})
    assert noticed("conversion", wrong("universal", faults), **dict(zip(("from", "to"), types, strict=True)))


@pytest.mark.parametrize("backwards", [False, True])
def test_phis_that_are_read_one_after_the_other(backwards):
    def one_by_one(machine, phis, arrivals):
        for phi in reversed(phis) if backwards else phis:
            value = machine.values[phi.sources[arrivals[0][0]]]
            for label, mask in arrivals[1:]:
                value = blend(phi.type, mask, machine.values[phi.sources[label]], value)
            value = settle(value, machine.mask)
            machine.values[phi.result] = value if machine.full else blend(phi.type, machine.mask, value, machine.values[phi.result])

    faults = Faults(operations={take_phis: lambda right: one_by_one})
    assert noticed("control_flow", wrong("llvmpipe", faults), form="swap")


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
def test_signed_relations_taken_for_unsigned(profile, unsigned, signed):
    faults = Faults({signed: lambda right: handlers()[unsigned]})
    assert noticed("control_flow", wrong(profile, faults), form="operands", integer="s32")


@pytest.mark.parametrize("profile", TODAY)
def test_stores_of_subgroups_that_have_gone_another_way(profile):
    def everywhere(right):
        def handler(translation, words):
            run, machine = right(translation, words), translation.machine

            def broken():
                mask, full = machine.mask, machine.full
                machine.mask, machine.full = machine.everyone, True
                run()
                machine.mask, machine.full = mask, full

            return broken

        return handler

    faults = Faults({Op.CooperativeMatrixStoreKHR: everywhere})
    assert noticed("control_flow", wrong(profile, faults), subgroups="4", workgroups="1", source="subgroup")


@pytest.mark.parametrize("bits", [16, 20, 24])
@pytest.mark.parametrize(("access", "operation"), [("load", robust_load), ("store", robust_store)], ids=["load", "store"])
def test_offsets_that_lose_their_upper_bits(bits, access, operation):
    def losing(right):
        return lambda memory, offsets, what: right(memory, offsets & (1 << bits) - 1, what)

    assert noticed("robustness", wrong("llvmpipe", Faults(operations={operation: losing})), access=access, cut="huge")


def with_rounded_factor(operand: int, bits: int) -> Faults:
    """Return a fault that makes multiply-adds keep only ``bits`` bits of the significand of operand A (0) or B (1)."""

    def fault(right):
        def handler(translation, words):
            run, values, factor = right(translation, words), translation.values, words[2 + operand]

            def broken():
                before = values[factor]
                if isinstance(before, np.ndarray) and before.dtype == np.float16:
                    values[factor] = to_bits(before.astype(np.float64), bits).astype(np.float16)
                result = run()
                values[factor] = before
                return result

            return broken

        return handler

    return Faults({Op.CooperativeMatrixMulAddKHR: fault})


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("family", ["muladd", "construction_operands", "conversion", "elementwise_muladd", "reduce"])
@pytest.mark.parametrize("operand", [0, 1], ids=["a", "b"])
@pytest.mark.parametrize("bits", [8, 10])
def test_factors_of_too_few_bits(profile, family, operand, bits):
    assert noticed(family, wrong(profile, with_rounded_factor(operand, bits)))


@pytest.mark.parametrize("profile", TODAY)
def test_number_of_subgroups_rounded_up_to_a_power_of_two(profile):
    def rounded(right):
        def broken(translation, which, type_):
            value = right(translation, which, type_)
            return 1 << (value - 1).bit_length() if which == BuiltIn.NumSubgroups else value

        return broken

    faults = Faults(operations={built_in: rounded})
    assert noticed("workgroup_shapes", wrong(profile, faults), subgroups="3", subgroup_size="device", full="if_possible")
