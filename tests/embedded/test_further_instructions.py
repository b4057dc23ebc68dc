"""Subgroup instructions, GLSL.std.450, and integer instructions with two results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.embedded.observations import Observations
from tests.embedded.assembly import shader, store, words
from tests.embedded.conftest import run

LOADED = "%from = OpAccessChain %ptr_in %input %s32_0 %lane\n%x = OpLoad %u32 %from\n"


@pytest.mark.parametrize(
    ("instruction", "want"),
    [
        ("OpGroupNonUniformIAdd %u32 %u32_3 Reduce %x", [15, 15, 15, 15, 240, 240, 240, 240]),
        ("OpGroupNonUniformUMax %u32 %u32_3 Reduce %x", [8] * 4 + [128] * 4),
        ("OpGroupNonUniformIAdd %u32 %u32_3 InclusiveScan %x", [1, 3, 7, 15, 16, 48, 112, 240]),
        ("OpGroupNonUniformIAdd %u32 %u32_3 ExclusiveScan %x", [0, 1, 3, 7, 0, 16, 48, 112]),
        ("OpGroupNonUniformIMul %u32 %u32_3 ExclusiveScan %x", [1, 1, 2, 8, 1, 16, 512, 32768]),
        ("OpGroupNonUniformUMin %u32 %u32_3 ExclusiveScan %x", [2**32 - 1, 1, 1, 1, 2**32 - 1, 16, 16, 16]),
        ("OpGroupNonUniformSMax %u32 %u32_3 ExclusiveScan %x", [2**31, 1, 2, 4, 2**31, 16, 32, 64]),
        ("OpGroupNonUniformBitwiseAnd %u32 %u32_3 ExclusiveScan %x", [2**32 - 1, 1, 0, 0, 2**32 - 1, 16, 0, 0]),
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
    assert forbidden(shader(body)).rule == "SPIR-V 3.42.24"


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


BITS = {
    "FindILsb %x": lambda x: (x & -x).bit_length() - 1,
    "FindUMsb %x": lambda x: x.bit_length() - 1,
    "FindSMsb %x": lambda x: (x ^ -(x >> 31) & 2**32 - 1).bit_length() - 1,
}


@pytest.mark.parametrize("text", BITS)
def test_places_of_bits(text) -> None:
    values = [0, 1, 6, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFE, 0x00010000]
    got = run(extended(text), words(*values), 32, subgroups=2).outputs["output"].view(np.uint32)
    assert got.tolist() == [BITS[text](x) % 2**32 for x in values]


FLOATS = "%f32x2 = OpTypeVector %f32 2\n"


def on_floats(text: str) -> bytes:
    """Build a shader that executes the instruction on the input as f32 and stores its result as bits."""
    body = f"{LOADED}%f = OpBitcast %f32 %x\n%g = OpExtInst %f32 %glsl {text}\n%y = OpBitcast %u32 %g\n{store('%y')}"
    return shader(body, FLOATS, imports='%glsl = OpExtInstImport "GLSL.std.450"')


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("Pow %f %f32_2.0", lambda x: x**2),
        ("Ldexp %f %s32_-2", lambda x: x / 4),
        ("Asin %f", np.arcsin),
        ("SmoothStep %f32_0.5 %f32_2.0 %f", lambda x: (t := np.clip((x - 0.5) / 1.5, 0, 1)) * t * (3 - 2 * t)),
        ("Normalize %f", np.sign),
    ],
)
def test_extended_instructions_on_floats(text, function) -> None:
    values = np.array([0.25, 0.5, 0.75, 1.0], np.float32)
    module = on_floats(text)
    assert run(module, values.view(np.uint8), 16).outputs["output"].view(np.float32) == pytest.approx(function(values), rel=1e-6)


@pytest.mark.parametrize("text", ["Pow %f32_-1.0 %f", "SmoothStep %f32_2.0 %f32_0.5 %f"])
def test_a_result_that_the_instruction_leaves_undefined_is_refused(text, forbidden) -> None:
    assert "undefined" in str(forbidden(on_floats(text)))


def test_halves_in_a_word(result) -> None:
    body = """
%both = OpExtInst %f32x2 %glsl UnpackHalf2x16 %x
%swapped = OpVectorShuffle %f32x2 %both %both 1 0
%y = OpExtInst %u32 %glsl PackHalf2x16 %swapped
"""
    module = shader(LOADED + body + store("%y"), FLOATS, imports='%glsl = OpExtInstImport "GLSL.std.450"')
    assert result(module, words(0x3C004000, 0xBC007BFF, 0, 0x12345678), 16).tolist() == [0x40003C00, 0x7BFFBC00, 0, 0x56781234]


@pytest.mark.parametrize(
    ("instruction", "want"),
    [
        ("OpGroupNonUniformBallotBitCount %u32 %u32_3 Reduce %votes", [2] * 4),
        ("OpGroupNonUniformBallotBitCount %u32 %u32_3 InclusiveScan %votes", [0, 1, 1, 2]),
        ("OpGroupNonUniformBallotBitCount %u32 %u32_3 ExclusiveScan %votes", [0, 0, 1, 1]),
        ("OpGroupNonUniformBallotFindLSB %u32 %u32_3 %votes", [1] * 4),
        ("OpGroupNonUniformBallotFindMSB %u32 %u32_3 %votes", [3] * 4),
    ],
)
def test_the_bits_of_a_ballot(result, instruction, want) -> None:
    body = f"""
%odd = OpBitwiseAnd %u32 %lane %u32_1
%is_odd = OpIEqual %bool %odd %u32_1
%votes = OpGroupNonUniformBallot %u32x4 %u32_3 %is_odd
%value = {instruction}
{store("%value")}
"""
    module = shader(body, declarations="%u32x4 = OpTypeVector %u32 4")
    assert result(module, output=32, subgroups=2).tolist() == want * 2


def test_a_ballot_counts_no_bits_beyond_the_subgroup(result) -> None:
    body = f"""
%all = OpCompositeConstruct %u32x4 %u32_4294967295 %u32_4294967295 %u32_4294967295 %u32_4294967295
%value = OpGroupNonUniformBallotBitCount %u32 %u32_3 Reduce %all
{store("%value")}
"""
    module = shader(body, declarations="%u32x4 = OpTypeVector %u32 4")
    assert result(module, output=16).tolist() == [4] * 4


def test_a_clamp_to_nothing(forbidden) -> None:
    assert forbidden(extended("UClamp %x %u32_9 %u32_3")).rule == "GLSL.std.450 Clamp"


def test_an_instruction_that_is_not_there_is_named(forbidden) -> None:
    assert "does not support this: GLSL.std.450 InterpolateAtCentroid" in str(forbidden(extended("InterpolateAtCentroid %x")))
    assert "OpDPdx" in str(forbidden(shader("%y = OpDPdx %u32 %lane")))


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


@pytest.mark.parametrize(("offset", "count"), [(30, 3), (0xFFFFFFFF, 2), (0, 0xFFFFFFFF)])
def test_a_bit_field_beyond_the_word(forbidden, offset, count) -> None:
    body = f"{LOADED}%u = OpBitFieldInsert %u32 %x %x %u32_{offset} %u32_{count}"
    assert forbidden(shader(body)).rule == "SPIR-V 3.42.14"


def test_a_run_goes_on_after_a_bit_field_beyond_the_word() -> None:
    body = LOADED + "%much = OpISub %u32 %u32_0 %lane\n%u = OpBitFieldInsert %u32 %x %x %lane %much\n" + store("%u")
    observations = Observations()
    run(shader(body), words(1, 2, 3, 4), observations=observations)
    assert [one.rule for one in observations.all()] == ["SPIR-V 3.42.14"]


BALLOTS = "%u32x4 = OpTypeVector %u32 4"
BY_PARITY = """
%part = OpBitwiseAnd %u32 %lane %u32_1
%alike = OpGroupNonUniformPartitionEXT %u32x4 %part
"""


@pytest.mark.parametrize(
    ("operation", "want"),
    [
        ("PartitionedReduceEXT", [5, 10, 5, 10, 80, 160, 80, 160]),
        ("PartitionedInclusiveScanEXT", [1, 2, 5, 10, 16, 32, 80, 160]),
        ("PartitionedExclusiveScanEXT", [0, 0, 1, 2, 0, 0, 16, 32]),
    ],
)
def test_subsets_of_a_subgroup_combine_their_values(operation, want, result) -> None:
    body = f"{LOADED}{BY_PARITY}%y = OpGroupNonUniformIAdd %u32 %u32_3 {operation} %x %alike\n{store('%y')}"
    assert result(shader(body, BALLOTS), words(*(1 << i for i in range(8))), 32, subgroups=2).tolist() == want


def test_ballots_that_are_not_a_partition_are_refused(forbidden) -> None:
    own = "%own = OpCompositeConstruct %u32x4 %lane %u32_0 %u32_0 %u32_0"
    body = f"{own}\n%y = OpGroupNonUniformIAdd %u32 %u32_3 PartitionedReduceEXT %lane %own\n"
    assert "to which subset each invocation belongs" in str(forbidden(shader(body, BALLOTS)))


VOTES = """
%low = OpULessThan %bool %lane %u32_2
%here = OpULessThan %bool %lane %u32_3
"""


@pytest.mark.parametrize(
    ("instruction", "want"),
    [
        ("%v = OpSubgroupAllKHR %bool %low", [0, 0, 0]),
        ("%v = OpSubgroupAnyKHR %bool %low", [1, 1, 1]),
        ("%v = OpSubgroupAllEqualKHR %bool %here", [1, 1, 1]),
        ("%v = OpGroupNonUniformQuadAllKHR %bool %here", [1, 1, 1]),
        ("%v = OpGroupNonUniformQuadAnyKHR %bool %low", [1, 1, 1]),
    ],
)
def test_votes_of_the_invocations_that_execute(instruction, want, result) -> None:
    body = f"""{VOTES}
OpSelectionMerge %after None
OpBranchConditional %here %inside %after
%inside = OpLabel
{instruction}
%y = OpSelect %u32 %v %u32_1 %u32_0
{store("%y")}
OpBranch %after
%after = OpLabel
"""
    assert result(shader(body), output=16).tolist() == [*want, 0]


@pytest.mark.parametrize(
    ("instruction", "want"),
    [
        ("%y = OpSubgroupFirstInvocationKHR %u32 %x", [1] * 4),
        ("%y = OpSubgroupReadInvocationKHR %u32 %x %u32_2", [4] * 4),
        ("%b = OpSubgroupBallotKHR %u32x4 %low\n%y = OpCompositeExtract %u32 %b 0", [3] * 4),
    ],
)
def test_instructions_of_the_older_extension(instruction, want, result) -> None:
    module = shader(f"{LOADED}{VOTES}{instruction}\n{store('%y')}", BALLOTS)
    assert result(module, words(1, 2, 4, 8), 16).tolist() == want


def test_carries_of_vectors(result) -> None:
    declared = "%u32x2 = OpTypeVector %u32 2\n%both = OpTypeStruct %u32x2 %u32x2"
    body = f"""
{LOADED}
%pair = OpCompositeConstruct %u32x2 %x %u32_1
%ones = OpCompositeConstruct %u32x2 %u32_1 %u32_2
%sum = OpIAddCarry %both %pair %ones
%less = OpISubBorrow %both %pair %ones
%carry = OpCompositeExtract %u32 %sum 1 0
%borrow = OpCompositeExtract %u32 %less 1 1
%twice = OpIMul %u32 %borrow %u32_2
%y = OpIAdd %u32 %carry %twice
{store("%y")}
"""
    assert result(shader(body, declared), words(0, 2**32 - 1, 1, 2**32 - 1), 16).tolist() == [2, 3, 2, 3]
