"""Devices with one defect each: the run must fail, and the message must name the defect."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.faults import Faults
from cts.kinds.kernel import arrange
from cts.verdict.verdict import Verdict
from generators.casebook import build, find_case
from generators.kernel import Dispatch, Kernel, Outcome
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from generators.types import MatrixOperands
from tests.broken_devices.doubles import Broken, judged, verdict_on
from tests.suite import casebook

F16_MULADD = "muladd[row:16x16x16.f16.f16.f32.f32/data:exact/layouts:{}]"
S8_MULADD = "muladd[row:16x16x16.s8.s8.s32.s32/data:wrap]"
REUSE = "muladd[row:{}/data:{}/form:reuse]"
LOAD_STORE = (
    "load_store[component:u8/use:b/shape:16x32/subgroups:2/store:column"
    "/load_storage:{0}/store_storage:{0}/source:push_constant/first:minimal]"
)
LEAVING = {"break_late": 0, "continue_late": 3}
"""The iterations in which nightly cases leave a loop late."""


def patched(module: bytes, change: Callable[[Op, list[int]], None]) -> bytes:
    """Return ``module`` with the operands of its instructions changed in place."""
    words = list(struct.unpack(f"<{len(module) // 4}I", module))
    for instruction in read_instructions(module):
        operands = list(instruction.operands)
        change(instruction.op, operands)
        words[instruction.position + 1 : instruction.position + 1 + len(operands)] = operands
    return struct.pack(f"<{len(words)}I", *words)


def with_load_layouts_swapped(module: bytes) -> bytes:
    """Exchange row-major and column-major in every matrix load."""
    u32 = {operands[1]: operands[2] for op, operands, _ in read_instructions(module) if op is Op.Constant and len(operands) == 3}
    by_value = {value: id_ for id_, value in u32.items()}

    def swap(op: Op, operands: list[int]) -> None:
        if op is Op.CooperativeMatrixLoadKHR:
            operands[3] = by_value[1 - u32[operands[3]]]

    return patched(module, swap)


def without_flag(flag: MatrixOperands) -> Callable[[bytes], bytes]:
    """Build a change that clears one flag of every multiply-add."""

    def clear(op: Op, operands: list[int]) -> None:
        if op is Op.CooperativeMatrixMulAddKHR and len(operands) > 5:
            operands[5] &= ~flag

    return lambda module: patched(module, clear)


def with_array_zeroed(name: str) -> Callable[[Kernel, Dispatch], Dispatch]:
    """Build a change that makes the device read zeros from one array."""

    def zero(kernel: Kernel, dispatch: Dispatch) -> Dispatch:
        contents = [
            np.zeros_like(data) if slot.name == name else data for slot, data in zip(kernel.buffers, dispatch.contents, strict=True)
        ]
        return replace(dispatch, contents=tuple(contents))

    return zero


def leaving(name: str, start: int, stop: int) -> Callable[[Kernel, Dispatch, Outcome], Outcome]:
    """Build a device where bytes of an output keep their previous values."""

    def restore(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        before = next(data for slot, data in zip(kernel.buffers, dispatch.contents, strict=True) if slot.name == name)
        output = outcome.outputs[name].copy()
        output[start:stop] = before[start:stop]
        return Outcome({**outcome.outputs, name: output}, outcome.stray)

    return restore


def changing(name: str, byte: int) -> Callable[[Kernel, Dispatch, Outcome], Outcome]:
    """Build a device that flips one byte of an output."""

    def flip(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
        output = outcome.outputs[name].copy()
        output[byte] ^= 0xFF
        return Outcome({**outcome.outputs, name: output}, outcome.stray)

    return flip


@pytest.mark.parametrize("case_id", [F16_MULADD.format("rrrr"), S8_MULADD, LOAD_STORE.format("storage_buffer")])
def test_the_double_passes_without_a_defect(case_id):
    assert verdict_on(case_id, Broken()) is Verdict.PASS


def ids(result):
    """Return the ids of the explanations of a failed case, the likeliest first."""
    return [match.id for match in result.failures[0].matches]


def test_layouts_swapped_on_load():
    result = judged(LOAD_STORE.format("storage_buffer"), Broken(module=with_load_layouts_swapped))
    assert result.verdict is Verdict.FAIL
    assert "load_store.layout_swapped" in ids(result)


def test_layouts_swapped_on_every_load_of_a_multiply_add():
    result = judged(F16_MULADD.format("rrrr"), Broken(module=with_load_layouts_swapped))
    assert result.verdict is Verdict.FAIL
    assert "load_store.every_layout_swapped" in ids(result)


@pytest.mark.parametrize(("flag", "letter"), [(MatrixOperands.A_SIGNED, "A"), (MatrixOperands.B_SIGNED, "B")])
def test_one_sign_flag_ignored(flag, letter):
    result = judged(S8_MULADD, Broken(module=without_flag(flag)))
    assert result.verdict is Verdict.FAIL
    assert "multiply_add.sign_ignored" in ids(result)
    assert f"Matrix{letter}SignedComponents ignored" in result.message


@pytest.mark.parametrize("case_id", [F16_MULADD.format("rrrr"), S8_MULADD])
def test_c_dropped(case_id):
    result = judged(case_id, Broken(contents=with_array_zeroed("c")))
    assert result.verdict is Verdict.FAIL
    assert "multiply_add.without_c" in ids(result)


def test_an_explanation_of_all_subcases_wins_over_one_of_a_single_subcase():
    result = judged(S8_MULADD, Broken(module=without_flag(MatrixOperands.A_SIGNED)))
    listed = [failure.matches for failure in result.failures[:3]]
    assert listed
    assert all(one == listed[0] for one in listed)


def test_a_failed_float_says_why_it_has_one_value():
    result = judged(F16_MULADD.format("rrrr"), Broken(contents=with_array_zeroed("c")))
    case = build(find_case(casebook(), F16_MULADD.format("rrrr")))
    (proof,) = (placed.expected.proof for placed in arrange(case).expected[0].placed)
    assert (proof.precision, int(proof.margin_bits.min())) == (24, 13)
    assert result.failures[0].mismatch.grounds == str(proof)
    assert str(proof) in result.message


def test_one_element_left_unwritten():
    result = judged(F16_MULADD.format("rrrr"), Broken(outcome=leaving("d", 4 * (3 * 16 + 5), 4 * (3 * 16 + 6))))
    assert result.verdict is Verdict.FAIL
    assert result.code == "fail.unwritten"
    assert "(3, 5)" in result.message


def test_a_byte_written_between_rows():
    # The first tile begins at byte 16; its columns have 16 bytes and are 48 bytes apart.
    result = judged(LOAD_STORE.format("storage_buffer"), Broken(outcome=changing("target", 40)))
    assert result.verdict is Verdict.FAIL
    assert "padding" in result.message


def test_the_same_defect_after_workgroup_memory():
    result = judged(LOAD_STORE.format("workgroup"), Broken(module=with_load_layouts_swapped))
    assert result.verdict is Verdict.FAIL
    assert "load_store.layout_swapped" in ids(result)


def leaving_partial_sums_in_c(multiply_add):
    """Make a multiply-add over fragments of 8 columns that accumulates in C's registers and moves only the last sum to the result."""

    def handler(translation, words):
        values = translation.values
        run, columns = multiply_add(translation, words), translation.matrix_type(words[2], "KHR-MAD-01", "operand A").columns

        def overwriting():
            result = run()
            if columns > 8:
                a = values[words[2]]
                values[words[2]] = np.where(np.arange(columns) < columns - 8, a, np.zeros_like(a))
                values[words[4]], values[words[2]] = run(), a
            return result

        return overwriting

    return handler


OVERWRITING_C = Faults({Op.CooperativeMatrixMulAddKHR: leaving_partial_sums_in_c})


@pytest.mark.parametrize(("row", "data"), [("16x16x16.f16.f16.f32.f32", "exact"), ("16x16x32.u8.u8.u32.u32", "wrap")])
def test_c_overwritten_by_the_sum_of_the_first_fragments(row, data):
    """Mesa's lavapipe does this."""
    result = judged(REUSE.format(row, data), Broken(faults=OVERWRITING_C))
    assert result.verdict is Verdict.FAIL
    assert "fresh in d1" in result.message
    assert ids(result)[0] == "multiply_add.c_overwritten"
    assert "matches: matrix C, operand C of product, overwritten by the sum over all but the last 8 of K" in result.message
    assert "every operand C" not in result.message


@pytest.mark.parametrize("form", ["break_late", "continue_late"])
def test_c_overwritten_in_an_iteration_that_does_not_hand_on_its_sum(form):
    """The result of the loop is the C of the iteration that leaves it."""
    result = judged(f"control_flow[row:16x8x32.s8.s8.s32.s32/form:{form}/source:literal/n:{LEAVING[form]}]", Broken(faults=OVERWRITING_C))
    assert result.verdict is Verdict.FAIL
    assert "carried_3 in d0" in result.message
    assert ids(result)[0] == "multiply_add.c_overwritten"
    assert "matches: matrix carried_3, operand C of sum_8, overwritten by the sum over all but the last 8 of K" in result.message
