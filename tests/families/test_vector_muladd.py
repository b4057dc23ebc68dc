"""vector_muladd shows devices that convert inputs, locate matrices and biases, or treat invocations wrongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.defects.known import known_defects
from cts.devices.device import VectorRow
from cts.devices.holder import DeviceHolder
from cts.diagnosis.shown import changes, prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Fault, Faults
from cts.embedded.instructions.vectors.cooperative_vector_matmul import converted_input
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.engine.selection import device_rows
from cts.verdict.verdict import Verdict
from generators.casebook import Tier, build, expand, find_case
from generators.families.nv_cooperative_vector.vector_muladd import Parameters
from generators.kernel import Dispatch, Kernel, Outcome
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, judged, verdict_on
from tests.suite import casebook

MULADD = Op.CooperativeVectorMatrixMulAddNV
MATRIX_OFFSET, BIAS_OFFSET, STRIDE = 5, 8, 14
"""Indices of these operands of the instruction."""

NUMBERS = {"row": "s32.s8.s8.s32.s32", "float": "f32.s8.s8.s32.s32", "packed": "u32.s8packed.s8.s32.s32", "f16": "f16.f16.f16.f16.f16"}

Offsets = Callable[[np.ndarray, np.ndarray], np.ndarray]


def with_operand(at: int, change: Offsets) -> Fault:
    """Return a fault that changes an operand of a multiply. ``change`` gets its numbers in every invocation, and which invocations
    execute."""

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            run, id_ = handler(translation, words), words[at]

            def execute():
                values, machine = translation.values, translation.machine
                given = values[id_]
                values[id_] = change(np.broadcast_to(np.asarray(given, np.uint32), machine.lanes), machine.mask)
                result = run()
                values[id_] = given
                return result

            return execute

        return broken

    return fault


def of_first_lane(numbers: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Give every invocation the number of the first invocation that executes."""
    return np.full_like(numbers, numbers[np.flatnonzero(mask)[0]])


def in_sixteen_bits(numbers: np.ndarray, _: np.ndarray) -> np.ndarray:
    return numbers & np.uint32(0xFFFF)


def without_padding(numbers: np.ndarray, _: np.ndarray) -> np.ndarray:
    return numbers - np.uint32(16)


def of_pairs(numbers: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Give both invocations of a pair the number of the even one."""
    return np.repeat(numbers[::2], 2)[: numbers.size]


def rounded(function: Callable[[np.ndarray], np.ndarray]) -> Fault:
    """Return a fault that makes conversions of floats to integers round by another rule."""

    def fault(convert):
        def broken(rows, type_, signed, as_, count):
            if not type_.is_float or as_.component.is_float:
                return convert(rows, type_, signed, as_, count)
            return convert(function(rows), type_, signed, as_, count)

        return broken

    return fault


def half_up(numbers: np.ndarray) -> np.ndarray:
    return np.floor(numbers + numbers.dtype.type(0.5))


def wrapping(convert):
    """Keep the low bits of an integer that does not fit."""

    def broken(rows, type_, signed, as_, count):
        if type_.is_float or as_.packed or as_.component.is_float:
            return convert(rows, type_, signed, as_, count)
        return rows.astype(as_.component.dtype)

    return broken


def unsigned(convert):
    """Read all integers as unsigned."""
    return lambda rows, type_, signed, as_, count: convert(rows, type_, False, as_, count)


def bytes_reversed(convert):
    """Unpack elements starting with the highest bits."""
    return lambda rows, type_, signed, as_, count: convert(rows.byteswap() if as_.packed else rows, type_, signed, as_, count)


WRONG = {
    "all invocations have one matrix": (
        Faults({MULADD: with_operand(MATRIX_OFFSET, of_first_lane)}),
        "f16",
        [
            "/matrices:alternate",
            "/layout:training/matrices:alternate",
            "/matrices:clustered/control:half",
            "/matrices:unique/invocations:7",
        ],
    ),
    "pairs of invocations have one matrix": (
        Faults({MULADD: with_operand(MATRIX_OFFSET, of_pairs)}),
        "f16",
        ["/matrices:alternate", "/layout:inferencing/matrices:unique"],
    ),
    "all invocations have one bias": (
        Faults({MULADD: with_operand(BIAS_OFFSET, of_first_lane)}),
        "row",
        ["/matrices:alternate", "/matrices:clustered/control:half", "/layout:column/matrices:unique"],
    ),
    "offsets of matrices have 16 bits": (
        Faults({MULADD: with_operand(MATRIX_OFFSET, in_sixteen_bits)}),
        "f16",
        ["/first:far/matrices:alternate", "/first:far/source:buffer"],
    ),
    "offsets of biases have 16 bits": (
        Faults({MULADD: with_operand(BIAS_OFFSET, in_sixteen_bits)}),
        "f16",
        ["/bias_first:far/matrices:alternate", "/bias_first:far/source:buffer"],
    ),
    "the stride is the least one": (
        Faults({MULADD: with_operand(STRIDE, without_padding)}),
        "f16",
        ["/source:push_constant", "/layout:column/source:push_constant"],
    ),
    "inputs are truncated": (Faults(operations={converted_input: rounded(np.trunc)}), "float", ["", "/layout:training", "/form:network"]),
    "ties go up": (Faults(operations={converted_input: rounded(half_up)}), "float", ["", "/size:3x17", "/form:network"]),
    "inputs wrap": (Faults(operations={converted_input: wrapping}), "row", ["", "/form:network", "/form:again"]),
    "inputs are unsigned": (Faults(operations={converted_input: unsigned}), "row", ["", "/layout:inferencing"]),
    "packed inputs begin with the highest bits": (Faults(operations={converted_input: bytes_reversed}), "packed", ["", "/layout:column"]),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_device_fails(what):
    faults, row, cases = WRONG[what]
    for parameters in cases:
        assert verdict_on(f"vector_muladd[row:{NUMBERS[row]}{parameters}]", Broken(faults=faults)) is Verdict.FAIL, parameters


def test_the_right_device_passes():
    for id_ in {f"vector_muladd[row:{NUMBERS[row]}{parameters}]" for _, row, cases in WRONG.values() for parameters in cases}:
        assert verdict_on(id_, Broken()) is Verdict.PASS, id_


def over_padding(id_: str, multiple: int) -> Broken:
    """Return a device that rounds the columns of a case's only matrix, which is row-major, up to a multiple, and pads the input with
    zeros."""
    parameters = find_case(casebook(), id_).parameters
    assert isinstance(parameters, Parameters)
    rows, columns = parameters.size
    first, stride = 64, -(-columns * 2 // 16) * 16 + 16

    def outcome(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        weights = dispatch.contents[[slot.name for slot in kernel.buffers].index("weights")]
        lines = weights[first : first + rows * stride].reshape(rows, stride).view(np.float16)
        poisoned = ~np.isfinite(lines[:, columns : -(-columns // multiple) * multiple].astype(np.float64)).all(axis=1)
        target = outcome.outputs["target"].copy()
        results = target[16:].reshape(parameters.invocations, -1)[:, : rows * 2].copy().view(np.float16)
        results[:, poisoned] = np.nan
        target[16:].reshape(parameters.invocations, -1)[:, : rows * 2] = results.view(np.uint8)
        return replace(outcome, outputs={**outcome.outputs, "target": target})

    return Broken(outcome=outcome)


@pytest.mark.parametrize("size", ["5x7", "13x13", "31x33", "3x2"])
@pytest.mark.parametrize("multiple", [4, 8])
def test_a_multiply_that_reads_padding_fails(size: str, multiple: int) -> None:
    id_ = f"vector_muladd[row:f16.f16.f16.f16.f16{'' if size == '5x7' else f'/size:{size}'}]"
    with np.errstate(invalid="ignore"):
        result = judged(id_, over_padding(id_, multiple))
    assert (result.verdict, result.code) == (Verdict.FAIL, "fail.value")


FAR = "vector_muladd[row:f16.f16.f16.f16.f16/first:beyond]"


def test_the_diagnosis_names_reads_of_the_padding_of_a_matrix_far_from_the_start() -> None:
    """The case has only a few windows of its buffer."""
    case = find_case(casebook(), FAR)
    (program,) = build(case).program.all
    at = next(one for one in prepared(case, program) if one[1].name == "pattern:kept_width")
    assert all(changes(defect, at) for defect in known_defects(program) if defect.id == "vector_multiply.padding_read")


@pytest.mark.parametrize("profile", ["universal", "nvidia-h200"])
def test_every_row_of_a_profile_is_there(profile):
    family = casebook().family("vector_muladd")
    rows = EmbeddedDevice(load_profile(profile)).description.vector_rows
    listed = next(parameter for parameter in family.parameters if parameter.name == "row").values
    assert rows
    assert {".".join(row.types) for row in rows} <= set(listed)


UNLISTED = [
    ("s16.s8.s8.s32.s32", False),
    ("f32.f32.f16.f16.f32", False),
    ("u32.u8packed.s8.u32.u32", False),
    ("f16.e4m3.e4m3.f16.f16", True),
    ("s32.s8.s8.s32.s32", True),
    ("f16.s16.u8.s32.u32", False),
]
"""Rows that no family lists, and whether the device supports transposition with them."""


@pytest.mark.parametrize(("types", "transposes"), UNLISTED)
def test_a_row_that_only_a_device_has_takes_cases_of_a_listed_row_and_passes(types, transposes):
    """The embedded device has only that row, so a case of any other row would not be supported."""
    device = EmbeddedDevice(replace(load_profile("universal"), vector_rows=(VectorRow(*types.split("."), transposes),)))
    (label,) = device_rows(replace(device.description, kind="vulkan", rows=()))
    assert label == (f"{types}.t" if transposes else types)
    family = casebook().family("vector_muladd")
    listed = len(expand(family, Tier.NIGHTLY))
    added = expand(family, Tier.NIGHTLY, [label])[listed:]
    assert added
    assert {str(found.parameters.row) for found in added} == {label}
    assert any(found.parameters.transpose for found in added) == transposes
    for found in added[:: 1 + len(added) // 6]:
        assert judge(find_case(casebook(), found.id), DeviceHolder(lambda: device), "spirv", "nightly").verdict is Verdict.PASS


def test_a_transposition_that_a_device_lacks_is_named():
    device = EmbeddedDevice(replace(load_profile("universal"), vector_rows=(VectorRow("f16", *["f16"] * 4, transpose=False),)))
    cases = expand(casebook().family("vector_muladd"), Tier.NIGHTLY)
    found = next(one for one in cases if one.parameters.transpose and str(one.parameters.row) == "f16.f16.f16.f16.f16")
    result = judge(found, DeviceHolder(lambda: device), "spirv", "nightly")
    assert (result.verdict, result.code) == (Verdict.NOT_SUPPORTED, "missing.row.vector_multiply")


def test_smoke_has_cases_of_a_row_that_only_a_device_has():
    family = casebook().family("vector_muladd")
    added = expand(family, Tier.SMOKE, ["s16.s8.s8.s32.s32"])[len(expand(family, Tier.SMOKE)) :]
    assert added
    assert {found.id for found in added} <= {found.id for found in expand(family, Tier.NIGHTLY, ["s16.s8.s8.s32.s32"])}
