"""Nightly cases show the mistakes that compilers make with cooperative vectors: each row of the table is a device, and cases that fail on
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from cts.devices.requirements import missing_for
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Fault, Faults
from cts.embedded.instructions.vectors.cooperative_vector_matmul import converted_input, read_matrix
from cts.embedded.machine.machine import take_phis
from cts.embedded.profile import load_profile
from cts.embedded.types.values import expand as components_of
from cts.kinds.kernel import pinned_missing
from cts.verdict.verdict import Verdict
from generators.casebook import Tier, expand
from generators.kernel import Dispatch, Kernel, Outcome
from generators.numerics.rounding import nearest, to_bits
from generators.spirv.enumerants import Op
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from tests.broken_devices import vector_faults as faults
from tests.broken_devices.doubles import Broken, verdict_on
from tests.suite import casebook

LOAD, STORE = Op.CooperativeVectorLoadNV, Op.CooperativeVectorStoreNV
MULTIPLY, ADD = Op.CooperativeVectorMatrixMulNV, Op.CooperativeVectorMatrixMulAddNV
OUTER, SUM = Op.CooperativeVectorOuterProductAccumulateNV, Op.CooperativeVectorReduceSumAccumulateNV

Convert = Callable[..., np.ndarray]
F16 = "vector_muladd[row:f16.f16.f16.f16.f16"


def through(name: str) -> Fault:
    """Round floats to a narrower type before they become integers."""
    component = COMPONENT_TYPES[name]

    def fault(convert: Convert) -> Convert:
        def broken(rows: np.ndarray, type_: Any, signed: bool, as_: Any, count: int) -> np.ndarray:
            if type_.is_float and not as_.component.is_float:
                rows = np.nan_to_num(nearest(component, rows.astype(np.float64))).astype(rows.dtype)
            return convert(rows, type_, signed, as_, count)

        return broken

    return fault


def columns_lost(convert: Convert) -> Convert:
    """Take only 128 columns."""

    def broken(*arguments: Any) -> np.ndarray:
        found = convert(*arguments).copy()
        found[:, 128:] = 0
        return found

    return broken


def clamped_at_240(convert: Convert) -> Convert:
    """Clamp e4m3 to the largest number of a format with infinities."""

    def broken(rows: np.ndarray, type_: Any, signed: bool, as_: Any, count: int) -> np.ndarray:
        found = convert(rows, type_, signed, as_, count)
        if as_.component.name != "e4m3":
            return found
        return np.clip(found.astype(np.float64), -240, 240).astype(found.dtype)

    return broken


def with_padding(read: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Add the columns of a tile that are padding to the first column, as if the input had its first component there too."""

    def broken(translation: Any, places: Any, stored: Any, first: int, stride: int) -> np.ndarray:
        matrix = read(translation, places, stored, first, stride)
        if stored.layout is not VectorMatrixLayout.TRAINING_OPTIMAL:
            return matrix
        columns = -(-stored.columns * matrix.itemsize // 64) * 64 // matrix.itemsize
        wide = read(translation, places, replace(stored, columns=columns), first, stride)
        matrix[:, 0] += wide[:, stored.columns :].sum(axis=1)
        return matrix

    return broken


def from_the_end(convert: Convert) -> Convert:
    """Take the elements of a packed input from its last components."""

    def broken(rows: np.ndarray, type_: Any, signed: bool, as_: Any, count: int) -> np.ndarray:
        spare = rows.shape[1] - -(-count * as_.component.bytes // type_.bytes) if as_.packed else 0
        return convert(np.ascontiguousarray(rows[:, spare:]), type_, signed, as_, count)

    return broken


def clamped_to_24_bits(parts: list[Any]) -> list[Any]:
    """Clamp integers to 24 bits."""
    limit = 1 << 23
    return [np.clip(np.asarray(part).astype(np.int32), -limit, limit - 1).astype(np.uint32) for part in parts]


def one_after_the_other(_: Callable[..., None]) -> Callable[..., None]:
    """Set phis in order, so that a phi sees the new value of an earlier one."""

    def broken(machine: Any, phis: Any, arrivals: Any) -> None:
        for phi in phis:
            take_phis(machine, [phi], arrivals)

    return broken


def toward_zero(handler: Any) -> Any:
    """Round conversions to f16 toward zero."""
    f16 = COMPONENT_TYPES["f16"]

    def broken(translation: Any, words: Any) -> Any:
        run, type_ = handler(translation, words), translation.types[words[0]]
        number = getattr(type_, "number", None)
        if number is None or number.component is not f16 or not hasattr(type_, "count"):
            return run

        def execute() -> Any:
            given = components_of(translation.values[words[2]], type_.count)
            found = []
            for part, right in zip(given, components_of(run(), type_.count), strict=True):
                if np.asarray(part).dtype != np.float32:
                    found.append(right)
                    continue
                wide = np.asarray(part).astype(np.float64)
                cut = to_bits(wide, f16.precision, np.trunc)
                right_now = np.asarray(right).astype(np.float64)
                found.append(np.where(np.abs(right_now) > np.abs(wide), cut, right_now).astype(np.float16))
            return tuple(found)

        return execute

    return broken


def both(fault: Fault) -> dict[Op, Fault]:
    """Return the fault for both multiplies."""
    return {MULTIPLY: fault, ADD: fault}


def of_inputs(op: Op, change: faults.Components) -> Faults:
    """Return a device that changes inputs of multiplies that are results of ``op``."""
    return Faults(both(faults.with_vector_of(2, op, change)))


@dataclass(frozen=True)
class Row:
    """A mistake, and nightly cases that show it."""

    device: Faults
    pattern: Callable[[str], bool]


def has(*parts: str) -> Callable[[str], bool]:
    """Return whether an id has all parts; ``a|b`` is one of two."""
    return lambda id_: all(any(one in id_ for one in part.split("|")) for part in parts)


ROWS: Mapping[str, Row] = {
    "transposition is ignored": Row(
        Faults({MULTIPLY: faults.without_transposition(10), ADD: faults.without_transposition(13)}), has(F16, "transpose:true")
    ),
    "transposition of square matrices is ignored": Row(
        Faults({MULTIPLY: faults.without_transposition(10), ADD: faults.without_transposition(13)}),
        has(F16, "size:16x16", "transpose:true"),
    ),
    "columns beyond 128 are lost": Row(Faults(operations={converted_input: columns_lost}), has("vector_muladd", "x257")),
    "rows beyond 128 are lost": Row(Faults(both(faults.with_result(faults.zeros_beyond(128)))), has("vector_muladd", "size:257x17")),
    "loads end after 128 components": Row(
        Faults({LOAD: faults.with_result(faults.zeros_beyond(128))}), has("vector_load_store", "length:257")
    ),
    "operations end after 128 components": Row(
        Faults({op: faults.with_result(faults.zeros_beyond(128)) for op in (Op.IAdd, Op.IMul, Op.FMul, Op.FAdd, Op.FSub, Op.BitwiseXor)}),
        has("vector_elementwise", "length:129|length:257"),
    ),
    "f32 becomes an integer by way of f16": Row(Faults(operations={converted_input: through("f16")}), has("vector_muladd", "f32.s8.s8")),
    "f32 becomes an integer by way of bf16": Row(Faults(operations={converted_input: through("bf16")}), has("vector_muladd", "f32.s8.s8")),
    "extraction takes an index modulo 32": Row(
        Faults({Op.VectorExtractDynamic: faults.with_scalar(3, faults.kept_bits(5))}),
        has("vector_composites", "length:64|length:97", "form:extract"),
    ),
    "insertion takes an index modulo 32": Row(
        Faults({Op.VectorInsertDynamic: faults.with_scalar(4, faults.kept_bits(5))}),
        has("vector_composites", "length:64|length:97", "form:insert"),
    ),
    "loads come before stores": Row(Faults({LOAD: faults.before_the_store}), has("vector_load_store", "reload:")),
    "loads begin at the block": Row(
        Faults({LOAD: faults.with_pointer(2, faults.to_the_block)}), has("vector_load_store", "points_to:member")
    ),
    "stores begin at the block": Row(
        Faults({STORE: faults.with_pointer(0, faults.to_the_block)}), has("vector_load_store", "points_to:member")
    ),
    "matrices begin at the block": Row(Faults(both(faults.with_pointer(4, faults.to_the_block))), has("vector_muladd", "points_to:member")),
    "biases begin at the block": Row(Faults({ADD: faults.with_pointer(7, faults.to_the_block)}), has("vector_muladd", "points_to:member")),
    "sums begin at the block": Row(Faults({SUM: faults.with_pointer(0, faults.to_the_block)}), has("vector_training", "points_to:member")),
    "loads take the first invocation's pointer": Row(
        Faults({LOAD: faults.with_pointer(2, faults.of_first_pointer)}), has("vector_load_store", "points_to:own")
    ),
    "stores take the first invocation's pointer": Row(
        Faults({STORE: faults.with_pointer(0, faults.of_first_pointer)}), has("vector_load_store", "points_to:own")
    ),
    "matrices take the first invocation's pointer": Row(
        Faults(both(faults.with_pointer(4, faults.of_first_pointer))), has("vector_muladd", "points_to:own")
    ),
    "biases take the first invocation's pointer": Row(
        Faults({ADD: faults.with_pointer(7, faults.of_first_pointer)}), has("vector_muladd", "points_to:own")
    ),
    "sums take the first invocation's pointer": Row(
        Faults({SUM: faults.with_pointer(0, faults.of_first_pointer)}), has("vector_training", "points_to:own", "spread:turns")
    ),
    "multiplies are lost in functions": Row(Faults(both(faults.dropped_in_functions)), has("vector_muladd", "given:parameter")),
    "outer products are lost in functions": Row(Faults({OUTER: faults.dropped_in_functions}), has("vector_training", "place:function")),
    "sums are lost in functions": Row(Faults({SUM: faults.dropped_in_functions}), has("operation:reduce_sum", "place:function")),
    "the input is constructed in reverse": Row(of_inputs(Op.CompositeConstruct, faults.last_first), has(F16, "given:scalars")),
    "the input is a constant in reverse": Row(of_inputs(Op.ConstantComposite, faults.last_first), has(F16, "given:constant")),
    "the input is a replicated constant of one component": Row(
        of_inputs(Op.ConstantCompositeReplicateEXT, faults.zeros_beyond(1)), has(F16, "given:replicated")
    ),
    "the input is not null": Row(of_inputs(Op.ConstantNull, lambda parts: [np.float16(1)] * len(parts)), has(F16, "given:null")),
    "the input is a phi in reverse": Row(of_inputs(Op.Phi, faults.last_first), has(F16, "given:merged")),
    "the input is a parameter in reverse": Row(of_inputs(Op.FunctionParameter, faults.last_first), has(F16, "given:parameter")),
    "the input is a product in reverse": Row(of_inputs(ADD, faults.last_first), has(F16, "activation:none")),
    "the bias of an array with the matrices is elsewhere": Row(
        Faults({ADD: faults.with_bias_further_in_one_array}), has("vector_muladd", "arrays:together")
    ),
    "the square of a vector is lost": Row(Faults({OUTER: faults.dropped_if_same}), has("vector_training", "factors:same")),
    "the stride is the first invocation's": Row(
        Faults({ADD: faults.with_scalar(14, faults.of_first_lane), MULTIPLY: faults.with_scalar(11, faults.of_first_lane)}),
        has("vector_muladd", "strides:own"),
    ),
    "the stride has 12 bits": Row(
        Faults({ADD: faults.with_scalar(14, faults.kept_bits(12)), MULTIPLY: faults.with_scalar(11, faults.kept_bits(12))}),
        has("vector_muladd", "stride:page"),
    ),
    "packed inputs end with their last component": Row(
        Faults(operations={converted_input: from_the_end}), has("vector_muladd", "spare:one")
    ),
    "phis are set one after the other": Row(Faults(operations={take_phis: one_after_the_other}), has("vector_muladd", "given:exchanged")),
    "conversions round toward zero": Row(Faults({Op.FConvert: toward_zero}), has("vector_float_controls", "convert", "rounding:rte")),
    "padding is multiplied by the first component": Row(
        Faults(operations={read_matrix: with_padding}), has(F16, "layout:training", "converted_by:host")
    ),
    "e4m3 is clamped at 240": Row(Faults(operations={converted_input: clamped_at_240}), has("vector_muladd", "f16.e4m3.e4m3")),
    "sums are clamped to 24 bits": Row(
        Faults({MULTIPLY: faults.with_result(clamped_to_24_bits)}), has("vector_muladd", "3x640", "bias:none")
    ),
    "offsets of matrices have 24 bits": Row(
        Faults(both(faults.with_scalar(5, faults.kept_bits(24)))), has("vector_muladd", "first:beyond")
    ),
    "offsets of outer products have 16 bits": Row(
        Faults({OUTER: faults.with_scalar(1, faults.kept_bits(16))}), has("vector_training", "/m:131/", "targets:16")
    ),
    "an insertion changes its operand": Row(
        Faults({Op.CompositeInsert: faults.operand_changed}), has("vector_composites", "form:extract", "stores:all")
    ),
    "a replicated constant has 16 components": Row(
        Faults({STORE: faults.with_vector_of(2, Op.ConstantCompositeReplicateEXT, faults.zeros_beyond(16))}),
        has("vector_composites", "form:replicated_constant", "length:17|length:31|length:97|length:129"),
    ),
}
"""D5 to D9 of the suite's own list of mistakes, one row for each."""


_LEAST = 5
"""Minimum number of nightly cases for the H200 that show a mistake."""


@cache
def nightly() -> tuple[str, ...]:
    """Return the nightly cases of vectors that the H200 supports."""
    description = EmbeddedDevice(load_profile("nvidia-h200")).description
    names = [name for name in casebook().families if name.startswith("vector_")]
    cases = (found for name in names for found in expand(casebook().family(name), Tier.NIGHTLY))
    return tuple(case.id for case in cases if pinned_missing(case, lambda needs: missing_for(needs, description)) is None)


@pytest.mark.parametrize("what", ROWS)
def test_five_nightly_cases_fail(what: str) -> None:
    row = ROWS[what]
    device = Broken(faults=row.device)
    with np.errstate(all="ignore"):
        verdicts = (verdict_on(id_, device) for id_ in nightly() if row.pattern(id_))
        assert sum(1 for _ in islice((verdict for verdict in verdicts if verdict is Verdict.FAIL), _LEAST)) == _LEAST


class Unspecialized(Broken):
    """A device that ignores specialization constants."""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        assert kernel.specialization, "the module has no specialization constant"
        return super().run(replace(kernel, specialization=()), dispatches)


@pytest.mark.parametrize("id_", [id_ for id_ in nightly() if "source:specialization" in id_ or "count_from:specialization" in id_][::9])
def test_a_case_shows_its_specialization_constants(id_: str) -> None:
    """Without its constants, a module has wrong results or other undefined behaviour."""
    with np.errstate(all="ignore"):
        assert verdict_on(id_, Unspecialized()) in (Verdict.FAIL, Verdict.ERROR)
