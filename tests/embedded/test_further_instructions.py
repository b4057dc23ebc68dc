"""Subgroup instructions, GLSL.std.450, and integer instructions with two results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.embedded.assembly import shader, store, words
from tests.embedded.conftest import run

LOADED = "%from = OpAccessChain %ptr_in %input %s32_0 %lane\n%x = OpLoad %u32 %from\n"


@pytest.mark.parametrize(
    ("instruction", "want"),
    [
        ("OpGroupNonUniformIAdd %u32 %u32_3 Reduce %x", [15, 15, 15, 15, 240, 240, 240, 240]),
        ("OpGroupNonUniformUMax %u32 %u32_3 Reduce %x", [8] * 4 + [128] * 4),
        ("OpGroupNonUniformBroadcastFirst %u32 %u32_3 %x", [1] * 4 + [16] * 4),
        ("OpGroupNonUniformBroadcast %u32 %u32_3 %x %u32_2", [4] * 4 + [64] * 4),
        ("OpGroupNonUniformShuffleXor %u32 %u32_3 %x %u32_1", [2, 1, 8, 4, 32, 16, 128, 64]),
    ],
)
def test_subgroup_instructions_stay_in_their_subgroup(result, instruction, want) -> None:
    powers = words(*(1 << i for i in range(8)))
    assert result(shader(LOADED + f"%y = {instruction}\n" + store("%y")), powers, 32, subgroups=2).tolist() == want


def test_a_ballot_and_an_election(result) -> None:
    body = f"""
%odd = OpBitwiseAnd %u32 %lane %u32_1
%is_odd = OpIEqual %bool %odd %u32_1
%votes = OpGroupNonUniformBallot %u32x4 %u32_3 %is_odd
%bits = OpCompositeExtract %u32 %votes 0
%chosen = OpGroupNonUniformElect %bool %u32_3
%value = OpSelect %u32 %chosen %u32_100 %bits
{store("%value")}
"""
    module = shader(body, declarations="%u32x4 = OpTypeVector %u32 4")
    assert result(module, output=32, subgroups=2).tolist() == [100, 10, 10, 10] * 2


def test_the_value_of_an_inactive_invocation_is_not_read(forbidden) -> None:
    body = """
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %some %merge
%some = OpLabel
%y = OpGroupNonUniformBroadcast %u32 %u32_3 %lane %u32_3
OpBranch %merge
%merge = OpLabel
"""
    assert "not active" in forbidden(shader(body))


def as_signed(x: int) -> int:
    return x - 2**32 if x >> 31 else x


EXTENDED = {
    "UMin %x %u32_5": lambda x: min(x, 5),
    "UMax %x %u32_5": lambda x: max(x, 5),
    "UClamp %x %u32_3 %u32_9": lambda x: min(max(x, 3), 9),
    "SMin %x %u32_5": lambda x: min(as_signed(x), 5) % 2**32,
    "SAbs %x": lambda x: abs(as_signed(x)),
}


def extended(text: str) -> bytes:
    return shader(LOADED + f"%y = OpExtInst %u32 %glsl {text}\n" + store("%y"), imports='%glsl = OpExtInstImport "GLSL.std.450"')


@pytest.mark.parametrize("text", EXTENDED)
def test_extended_instructions_on_integers(text) -> None:
    module = extended(text)

    @settings(max_examples=10)
    @given(st.lists(st.integers(0, 2**32 - 1), min_size=4, max_size=4))
    def check(values: list[int]) -> None:
        got = run(module, words(*values), 16).outputs["output"].view(np.uint32)
        assert got.tolist() == [EXTENDED[text](x) for x in values]

    check()


def test_a_clamp_to_nothing(forbidden) -> None:
    assert "lower bound is above" in forbidden(extended("UClamp %x %u32_9 %u32_3"))


def test_an_instruction_that_is_not_there_is_named(forbidden) -> None:
    assert "does not have this: GLSL.std.450 Pow" in forbidden(extended("Pow %x %x"))
    assert "OpTranspose" in forbidden(shader("%y = OpTranspose %u32 %lane"))


PAIRS = "%pair = OpTypeStruct %u32 %u32\n"


@pytest.mark.parametrize(("op", "function"), [("OpUMulExtended", lambda x, y: x * y), ("OpIAddCarry", lambda x, y: x + y)])
def test_results_in_two_words(op, function) -> None:
    body = f"""
%index = OpIAdd %u32 %lane %u32_4
%other = OpAccessChain %ptr_in %input %s32_0 %index
%y = OpLoad %u32 %other
%both = {op} %pair %x %y
%low = OpCompositeExtract %u32 %both 0
%high = OpCompositeExtract %u32 %both 1
{store("%low")}
{store("%high", "%index", "next")}
"""
    module = shader(LOADED + body, PAIRS)

    @settings(max_examples=10)
    @given(st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8))
    def check(values: list[int]) -> None:
        got = run(module, words(*values), 32).outputs["output"].view(np.uint32).tolist()
        want = [function(x, y) for x, y in zip(values[:4], values[4:], strict=True)]
        assert got == [w % 2**32 for w in want] + [w >> 32 for w in want]

    check()


@settings(max_examples=20)
@given(value=st.integers(0, 2**32 - 1), offset=st.integers(0, 31), count=st.integers(0, 32))
def test_bit_fields(value, offset, count) -> None:
    count = min(count, 32 - offset)
    body = f"""
%u = OpBitFieldUExtract %u32 %x %u32_{offset} %u32_{count}
%s = OpBitFieldSExtract %u32 %x %u32_{offset} %u32_{count}
%i = OpBitFieldInsert %u32 %x %u32_{value ^ 0xFFFFFFFF} %u32_{offset} %u32_{count}
%first = OpIMul %u32 %lane %u32_3
%second = OpIAdd %u32 %first %u32_1
%third = OpIAdd %u32 %first %u32_2
{store("%u", "%first", "p")}
{store("%s", "%second", "q")}
{store("%i", "%third", "r")}
"""
    got = run(shader(LOADED + body), words(*[value] * 4), 48).outputs["output"].view(np.uint32).tolist()[:3]
    field = value >> offset & (1 << count) - 1
    signed_field = field - (1 << count) if count and field >> count - 1 else field
    where = (1 << count) - 1 << offset
    inserted = (value & ~where) | ((value ^ 0xFFFFFFFF) << offset & where)
    assert got == [field, signed_field % 2**32, inserted % 2**32]


def test_a_bit_field_beyond_the_word(forbidden) -> None:
    assert "ends beyond bit 32" in forbidden(shader(LOADED + "%u = OpBitFieldUExtract %u32 %x %u32_30 %u32_3"))
