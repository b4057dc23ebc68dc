"""Conversions of matrices, executed: the effect of SPV_EXT_float8's decoration on every instruction that accepts it (KHR-CVT-06)."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.dispatch import dispatch, kernel
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.values import MatrixType
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use


def converted(conversion: Conversion, source: str, target: str, values: list[float], saturating: bool) -> list[int]:
    """Return the bits of the first elements of an 8x8 matrix."""
    from_, to = COMPONENT_TYPES[source], COMPONENT_TYPES[target]
    builder = ProgramBuilder(Scope.SUBGROUP)
    given = builder.array("given", Pointee(from_), 64, StorageClass.STORAGE_BUFFER, "input")
    taken = builder.array("taken", Pointee(to), 64, StorageClass.STORAGE_BUFFER, "output")
    zero, stride = builder.literal(0), builder.literal(8)
    matrix = builder.load("matrix", MatrixType(from_, Scope.SUBGROUP, 8, 8, Use.A), given, zero, stride, Layout.ROW_MAJOR)
    builder.store(builder.convert("result", matrix, to, conversion, saturating), taken, zero, stride, Layout.ROW_MAJOR)
    program = builder.build()
    data = np.zeros(64, from_.dtype)
    data[: len(values)] = values
    contents = {"given": data.view(np.uint8), "taken": np.zeros(64 * to.bytes, np.uint8)}
    run = dispatch(program, Subcase("only", {"given": contents["given"]}), contents)
    (outcome,) = EmbeddedDevice(load_profile("universal")).run(kernel(program, emit(program)), [run])
    return outcome.outputs["taken"].view(to.bits_dtype)[: len(values)].tolist()


@pytest.mark.parametrize(
    ("conversion", "source", "values"),
    [
        (Conversion.S_TO_F, "s32", [70000, -70000, 3, 500000]),
        (Conversion.U_TO_F, "u32", [70000, 3000000000, 3, 57344]),
        (Conversion.F_TO_F, "f32", [70000.0, -70000.0, 3.0, 1e30]),
    ],
)
@pytest.mark.parametrize(("target", "largest"), [("e4m3", 0x7E), ("e5m2", 0x7B)])
def test_numbers_out_of_range_become_the_largest_value_if_asked_for(conversion, source, values, target, largest):
    got = converted(conversion, source, target, values, saturating=True)
    assert got == [largest | (0x80 if value < 0 else 0) if abs(value) > 3 else got[2] for value in values]
    plain = converted(conversion, source, target, values, saturating=False)
    assert plain[2] == got[2]
    assert plain[1] & 0x7F > largest


def test_the_instruction_says_how_integers_are_read() -> None:
    assert converted(Conversion.S_TO_F, "u8", "f32", [255, 128], False) == [0xBF800000, 0xC3000000]
    assert converted(Conversion.U_TO_F, "s8", "f32", [-1, -128], False) == [0x437F0000, 0x43000000]
    assert converted(Conversion.S_TO_S, "u8", "u32", [255, 1], False) == [0xFFFFFFFF, 1]
    assert converted(Conversion.U_TO_U, "s8", "u32", [-1, 1], False) == [0xFF, 1]
    assert converted(Conversion.F_TO_S, "f32", "u8", [-128.9, 127.9], False) == [0x80, 0x7F]
