"""Conversions with the decoration CooperativeMatrixTransposeEXT."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.device import UndefinedBehaviour
from tests.embedded.assembly import shader, words
from tests.embedded.conftest import run
from tests.embedded.matrices import load, matrix, store
from tests.embedded.test_use_changes import CONVERSIONS, DTYPES, EXTENDED, FROM

DECORATED = "OpDecorate %r CooperativeMatrixTransposeEXT"
NUMBERS = words(*range(100, 132))


def turned(op: str, to: str, from_: str = FROM, stride: int = 4, capabilities: tuple[str, ...] = (EXTENDED,), **options: object) -> bytes:
    body = load("from", stride="%u32_8") + f"%r = Op{op} %to %m\n" + store("r", stride=f"%u32_{stride}")
    return shader(body, from_ + to, DECORATED, capabilities=capabilities, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("use", [0, 1])
def test_a_change_of_use_moves_element_r_c_to_c_r(result, use) -> None:
    module = turned("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 8, 4, use))
    assert result(module, NUMBERS, 128).reshape(8, 4).tolist() == np.arange(100, 132).reshape(4, 8).T.tolist()


@pytest.mark.parametrize("use", [0, 1])
@pytest.mark.parametrize("op", CONVERSIONS)
def test_a_conversion_moves_element_r_c_to_c_r(result, op, use) -> None:
    source, target, given, want = CONVERSIONS[op]
    data = np.zeros(32, DTYPES[source])
    data[:2] = given
    from_, to = matrix("from", source, 4, 8, 2), matrix("to", target, 8, 4, use)
    module = turned(op, to, from_, stride=16 // np.dtype(DTYPES[target]).itemsize, buffer_type=target, input_type=source)
    got = result(module, data.view(np.uint8), 128, dtype=DTYPES[target])
    line = 16 // np.dtype(DTYPES[target]).itemsize
    assert [got[0], got[line]] == want


@pytest.mark.parametrize(("decoration", "defined"), [("", range(8)), (DECORATED, range(0, 16, 2))], ids=["plain", "transposed"])
def test_an_undefined_element_is_undefined_where_it_goes(decoration, defined) -> None:
    """Element e is component e // 4 of invocation e % 4. The first eight components are the upper half of the matrix, which a transposition
    moves to its left half."""
    inserted = [f"%m{i + 1} = OpCompositeInsert %from %u32_7 %m{i} {i}" for i in range(8)]

    def stops(component: int) -> bool:
        body = [
            "%m0 = OpUndef %from",
            *inserted,
            "%r = OpConvertUToF %to %m8",
            f"%x = OpCompositeExtract %f32 %r {component}",
            "%bits = OpConvertFToU %u32 %x",
            "%place = OpAccessChain %ptr_out %output %s32_0 %lane",
            "OpStore %place %bits\n",
        ]
        types = matrix("from", "u32", 8, 8, 2) + matrix("to", "f32", 8, 8, 1)
        try:
            run(shader("\n".join(body), types, decoration, capabilities=(EXTENDED,)))
        except UndefinedBehaviour:
            return True
        return False

    assert [component for component in range(16) if not stops(component)] == list(defined)


CHANGE, NARROWED = "CooperativeMatrixConvertUseEXT", "UConvert"
REFUSED = {
    "a bit cast": ("Bitcast", matrix("to", "s32", 8, 4, 0), FROM, (EXTENDED,), "M1-TR-04"),
    "a negation": ("SNegate", matrix("to", "u32", 8, 4, 2), FROM, (EXTENDED,), "M1-TR-04"),
    "sizes not swapped": (CHANGE, matrix("to", "u32", 4, 8, 0), FROM, (EXTENDED,), "M1-TR-01"),
    "sizes of a conversion not swapped": (NARROWED, matrix("to", "u8", 4, 8, 0), FROM, (EXTENDED,), "M1-TR-01"),
    "to an accumulator": (NARROWED, matrix("to", "u8", 8, 4, 2), FROM, (EXTENDED,), "M1-TR-01"),
    "from an A": (CHANGE, matrix("to", "u32", 8, 4, 2), matrix("from", "u32", 4, 8, 0), (EXTENDED,), "M1-TR-01"),
    "another scope": (NARROWED, matrix("to", "u8", 8, 4, 0, 2), FROM, (EXTENDED,), "M1-TR-01"),
    "another type": (CHANGE, matrix("to", "f32", 8, 4, 0), FROM, (EXTENDED,), "M1-USE-04"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_extension_does_not_allow_stops(forbidden, case) -> None:
    op, to, from_, capabilities, rule = REFUSED[case]
    assert forbidden(turned(op, to, from_, capabilities=capabilities), NUMBERS, 128).rule == rule
