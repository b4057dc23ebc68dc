"""OpCooperativeMatrixGetCoordinateEXT, from assembled modules."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.machine.elements import MAPPINGS
from tests.embedded.assembly import shader
from tests.embedded.matrices import NUMBERS, SQUARE, divergent, load, matrix, store
from tests.embedded.test_matrices import POINTERS, VARIABLE, element_loop

CAPABILITIES = ("CooperativeMatrixKHR", "CooperativeMatrixGetCoordinateEXT")
PAIR = "%pair = OpTypeVector %u32 2\n"
COORDINATE = "%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %i\n"
NUMBER = COORDINATE + (
    "%row = OpCompositeExtract %u32 %at 0\n%column = OpCompositeExtract %u32 %at 1\n"
    "%first = OpIMul %u32 %row %u32_4\n%number = OpIAdd %u32 %first %column\nOpStore %component %number"
)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (8, 4)])
def test_each_component_has_the_place_of_its_element(result, mapping, rows, columns) -> None:
    body = VARIABLE + load("square", stride="%u32_4") + "OpStore %v %m\n" + element_loop(NUMBER)
    body += "%changed = OpLoad %square %v\n" + store("changed", stride="%u32_4")
    module = shader(body, matrix("square", "u32", rows, columns, 2) + POINTERS + PAIR, capabilities=CAPABILITIES)
    given = np.zeros(rows * columns, np.uint32)
    got = result(module, given.view(np.uint8), 4 * rows * columns, subgroups=1, mapping=mapping)
    assert got.tolist() == list(range(rows * columns))


@pytest.mark.parametrize(
    ("lines", "capabilities", "says"),
    [
        ("%at = OpCooperativeMatrixGetCoordinateEXT %u32 %m %u32_0", CAPABILITIES, "M1-COORD-02"),
        ("%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %f32_4.0", CAPABILITIES, "M1-COORD-02"),
        ("%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %u32_16", CAPABILITIES, "M1-COORD-03"),
        ("%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %s32_-1", CAPABILITIES, "M1-COORD-03"),
        (divergent("%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %u32_0"), CAPABILITIES, "KHR-UNI-01"),
    ],
)
def test_forbidden_actions_stop_the_kernel(forbidden, lines, capabilities, says) -> None:
    assert says in str(forbidden(shader(load("square") + lines + "\n", SQUARE + PAIR, capabilities=capabilities), NUMBERS))


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_last_component_has_a_place_and_the_next_one_stops_the_kernel(result, forbidden, mapping) -> None:
    """A 4x4 matrix of a subgroup of 4 invocations has 4 components in each (M1-COORD-03)."""
    for index, allowed in ((3, True), (4, False)):
        lines = f"%at = OpCooperativeMatrixGetCoordinateEXT %pair %m %u32_{index}\n"
        module = shader(load("square", stride="%u32_4") + lines + store("m", stride="%u32_4"), SQUARE + PAIR, capabilities=CAPABILITIES)
        if allowed:
            result(module, NUMBERS, 64, subgroups=1, mapping=mapping)
        else:
            assert forbidden(module, NUMBERS, 64, subgroups=1, mapping=mapping).rule == "M1-COORD-03"
