"""Vector decode functions in SPIR-V: the operand, its capability and its extension, and vectors of eight components."""

from __future__ import annotations

import pytest

from generators.casebook import build, find_case
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from tests.suite import casebook

CASE = "decode_vector[component:f16/lanes:{}/block:8/decode:planes/place:split/loads:{}]"


def text(lanes: int, loads: str = "one") -> str:
    return disassemble(emit(build(find_case(casebook(), CASE.format(lanes, loads))).program))


@pytest.mark.parametrize(("lanes", "is_long"), [(2, False), (4, False), (8, True)])
def test_the_function_follows_the_scalar_one(lanes: int, is_long: bool) -> None:
    module = text(lanes)
    (load,) = (line for line in module.splitlines() if "OpCooperativeMatrixLoadTensorNV" in line)
    assert load.endswith("DecodeFunc|DecodeVectorFunc %decode %decode_group")
    assert "OpCapability CooperativeMatrixDecodeVectorNV" in module
    assert 'OpExtension "SPV_NV_cooperative_matrix_decode_vector"' in module
    assert f"= OpTypeVector %half {lanes}" in module
    assert ("OpCapability LongVectorEXT" in module) is is_long
    assert ('OpExtension "SPV_EXT_long_vector"' in module) is is_long


def test_a_load_without_it_has_the_scalar_function_alone() -> None:
    loads = [line.rpartition(" None ")[2] for line in text(2, "several").splitlines() if "OpCooperativeMatrixLoadTensorNV" in line]
    assert loads == [
        "DecodeFunc|DecodeVectorFunc %decode %decode_group",
        "DecodeFunc %decode",
        "DecodeFunc|DecodeVectorFunc %hash %hash_group",
    ]
