"""Coordinates, reductions, functions of elements and changes of use of SPV_EXT_cooperative_matrix_maintenance1: vectors derived by hand, in
the reference model and on the embedded device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.machine.elements import MAPPINGS
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.expected import Exact
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES
from tests.reference.golden_programs import in_order, reduction
from tests.reference.maintenance1_programs import coordinates, per_element, use_change
from tests.reference.programs import as_bits
from tests.reference.test_golden_vectors import stored_by, vectors


def gives(program: Program, subcase: Subcase, bits: np.ndarray) -> None:
    """Check that the reference model leaves exactly ``bits`` (rows, columns) in ``d_out``, and so does the embedded device with every
    mapping."""
    expected = evaluate(program, subcase)
    (placed,) = expected.placed
    assert isinstance(placed.permitted, Exact)
    assert placed.permitted.bits[0].tolist() == bits.tolist()
    # In subgroups of four, all invocations have as many components, so their loops do not diverge (KHR-UNI-01).
    profile = replace(load_profile("universal"), subgroup_size=4)
    for mapping in MAPPINGS:
        device = EmbeddedDevice(profile, mapping=mapping)
        assert stored_by(program, subcase, expected, device).view(bits.dtype).tolist() == in_order(bits).ravel().tolist(), mapping


@pytest.mark.parametrize("vector", vectors("maintenance1.yaml", "coordinates"))
def test_each_component_has_the_coordinate_of_its_element(vector: dict[str, Any]) -> None:
    component = COMPONENT_TYPES[vector["type"]]
    program, subcase = coordinates(vector)
    if "result" in vector:
        gives(program, subcase, as_bits(vector["result"], component))
        return
    (placed,) = evaluate(program, subcase).placed
    bits = placed.permitted.bits[0]
    for row, column, number in vector["parts"]:
        assert bits[row, column] == number
    gives(program, subcase, bits)


@pytest.mark.parametrize("vector", vectors("maintenance1.yaml", "reductions"))
def test_lines_are_combined(vector: dict[str, Any]) -> None:
    gives(*reduction(vector, maintenance1=True), as_bits(vector["result"], COMPONENT_TYPES[vector["type"]]))


@pytest.mark.parametrize("vector", vectors("maintenance1.yaml", "elements"))
def test_a_function_has_row_column_and_element(vector: dict[str, Any]) -> None:
    gives(*per_element(vector), as_bits(vector["result"], COMPONENT_TYPES[vector["type"]]))


@pytest.mark.parametrize("vector", vectors("maintenance1.yaml", "uses"))
def test_elements_keep_their_places_when_the_use_changes(vector: dict[str, Any]) -> None:
    gives(*use_change(vector), as_bits(vector["result"], COMPONENT_TYPES[vector["types"][1]]))
