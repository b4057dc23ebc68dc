"""Floats of 4, 6 and 8 bits (SPV_EXT_ocp_microscaling_types)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedded.assembly import shader, store, words

CAPABILITIES = ("Float4EXT", "Float6EXT", "Float8UnsignedE8M0EXT", "BitcastExtractEXT", "Int8", "StorageBuffer8BitAccess")
TYPES = """
%e2m1 = OpTypeFloat 4 Float4E2M1EXT
%e2m3 = OpTypeFloat 6 Float6E2M3EXT
%e3m2 = OpTypeFloat 6 Float6E3M2EXT
%ue8m0 = OpTypeFloat 8 Float8UnsignedE8M0EXT
%u8x4 = OpTypeVector %u8 4
%u8x2 = OpTypeVector %u8 2
%e2m1x2 = OpTypeVector %e2m1 2
%e2m1x4 = OpTypeVector %e2m1 4
%f32x4 = OpTypeVector %f32 4
"""
LOADED = """
%from = OpAccessChain %ptr_in %input %s32_0 %lane
%word = OpLoad %u32 %from
%bytes = OpBitcast %u8x4 %word
%byte = OpCompositeExtract %u8 %bytes 0
"""
RESULT = f"""
%bits = OpBitcast %u32 %float
{store("%bits")}
"""


def left(result, body: str, given: np.ndarray) -> list[float]:
    module = shader(LOADED + body + RESULT, TYPES, capabilities=CAPABILITIES)
    return result(module, given, 16, dtype=np.float32).tolist()


@pytest.mark.parametrize(
    ("type_", "offset", "given", "want"),
    [
        ("e2m1", 0, (0x21, 0x43, 0x65, 0x7F), [0.5, 1.5, 3, -6]),
        ("e2m1", 4, (0x21, 0x43, 0xA5, 0x7F), [1, 2, -1, 6]),
        ("e2m1", 2, (0b001000, 0b011100, 0b1000, 0), [1, 6, 1, 0]),
        ("e2m3", 0, (0b011111, 0b000001, 0b100001, 0b001000), [7.5, 0.125, -0.125, 1]),
        ("e3m2", 1, (0b0111110, 0b0000010, 0b1000010, 0b0011000), [28, 0.0625, -0.0625, 1]),
    ],
)
def test_bits_of_an_integer_become_a_narrow_float(type_, offset, given, want, result) -> None:
    body = f"%narrow = OpBitcastExtractEXT %{type_} %byte %u32_{offset}\n%float = OpFConvert %f32 %narrow"
    assert left(result, body, words(*given)) == want


def test_an_offset_may_differ_between_invocations(result) -> None:
    body = "%narrow = OpBitcastExtractEXT %e2m1 %byte %lane\n%float = OpFConvert %f32 %narrow"
    assert left(result, body, words(0x02, 0x04, 0x08, 0x10)) == [1, 1, 1, 1]


def test_a_vector_is_taken_from_a_vector(result) -> None:
    body = """
%narrow = OpBitcastExtractEXT %e2m1x4 %bytes %u32_4
%wide = OpFConvert %f32x4 %narrow
%float = OpVectorExtractDynamic %f32 %wide %lane
"""
    assert left(result, body, words(*[0x71615141] * 4)) == [2, 3, 4, 6]


def test_a_byte_becomes_two_floats(result) -> None:
    body = """
%pair = OpBitcast %e2m1x2 %byte
%second = OpCompositeExtract %e2m1 %pair 1
%float = OpFConvert %f32 %second
"""
    assert left(result, body, words(0x10, 0x20, 0x30, 0xF0)) == [0.5, 1, 1.5, -6]


def test_a_scale_is_a_power_of_two(result) -> None:
    body = "%scale = OpBitcast %ue8m0 %byte\n%float = OpFConvert %f32 %scale"
    found = left(result, body, words(127, 128, 0, 255))
    assert found[:3] == [1, 2, 2.0**-127]
    assert np.isnan(found[3])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("%narrow = OpBitcastExtractEXT %e2m1 %byte %u32_5\n%float = OpFConvert %f32 %narrow", "beyond the 8 bits of the base"),
        ("%narrow = OpBitcastExtractEXT %u8 %word %u32_0\n%float = OpConvertUToF %f32 %narrow", "Result-12468"),
        ("%f = OpBitcast %f32 %word\n%n = OpBitcastExtractEXT %e2m1 %f %u32_0\n%float = OpFConvert %f32 %n", "Base-12469"),
        ("%f = OpBitcast %f32 %word\n%n = OpFConvert %e2m1 %f\n%float = OpFConvert %f32 %n", "OpFConvert-12466"),
    ],
)
def test_violations_of_the_extension_are_reported(body, told, forbidden) -> None:
    assert told in str(forbidden(shader(LOADED + body + RESULT, TYPES, capabilities=CAPABILITIES)))


def test_half_a_byte_has_no_place_in_memory(forbidden) -> None:
    declared = "%row = OpTypeArray %e2m1 %u32_4\n%ptr_row = OpTypePointer Workgroup %row\n%ptr_narrow = OpTypePointer Workgroup %e2m1"
    body = """
%narrow = OpBitcastExtractEXT %e2m1 %byte %u32_0
%place_of = OpAccessChain %ptr_narrow %kept %lane
OpStore %place_of %narrow
%float = OpFConvert %f32 %narrow
"""
    variable = "%kept = OpVariable %ptr_row Workgroup"
    module = shader(LOADED + body + RESULT, f"{TYPES}{declared}\n{variable}", capabilities=CAPABILITIES)
    assert "in memory that has bytes [SPV_EXT_ocp_microscaling_types" in str(forbidden(module))
