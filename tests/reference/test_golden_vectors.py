"""The reference model agrees with results derived by hand from the specification's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cts.reference.evaluate import evaluate
from cts.verdict.expected import ValueSet
from generators.errors import GeneratorError
from generators.types import COMPONENT_TYPES
from tests.reference.programs import as_bits, as_bytes, flags, load_program, muladd, store_program

VECTORS = Path(__file__).parents[2] / "golden" / "vectors"


def vectors(file: str, key: str) -> list[Any]:
    content = yaml.safe_load((VECTORS / file).read_text())
    return [pytest.param(vector, id=vector["name"]) for vector in content[key]]


def single(allowed: ValueSet, value: Any) -> np.ndarray:
    """Whether each element allows ``value``."""
    bits = as_bits([[value]], allowed.component)[0, 0]
    return allowed.contains(np.full_like(allowed.bits, bits))


@pytest.mark.parametrize("vector", [*vectors("muladd_integer.yaml", "vectors"), *vectors("muladd_float.yaml", "vectors")])
def test_multiply_add(vector: dict[str, Any]) -> None:
    sides = [vector[name] for name in "abc"]
    a, b, c = (as_bits(side["rows"], COMPONENT_TYPES[side["type"]])[None] for side in sides)
    result = vector.get("result", vector["c"])
    component = COMPONENT_TYPES[result["type"]]
    case = muladd((*(side["type"] for side in sides), result["type"]), a, b, c, flags(vector.get("operands", [])))
    if "undefined" in vector:
        with pytest.raises(GeneratorError, match=vector["undefined"]):
            evaluate(case.program, case.subcase)
        return
    (placed,) = evaluate(case.program, case.subcase).placed
    if "rows" in result:
        assert placed.expected.KIND == "exact"
        assert placed.expected.bits[0].tolist() == as_bits(result["rows"], component).tolist()
    for value in result.get("allowed", []):
        assert single(placed.expected, value).all(), value
    for value in result.get("refused", []):
        assert not single(placed.expected, value).any(), value


@pytest.mark.parametrize("vector", vectors("load_store.yaml", "loads"))
def test_load(vector: dict[str, Any]) -> None:
    component = COMPONENT_TYPES[vector["place"]["type"]]
    program, subcase = load_program(vector["place"], as_bytes(as_bits(vector["memory"], component)))
    (placed,) = evaluate(program, subcase).placed
    assert placed.expected.KIND == "exact"
    assert placed.expected.bits[0].tolist() == as_bits(vector["rows"], component).tolist()


@pytest.mark.parametrize("vector", vectors("load_store.yaml", "stores"))
def test_store(vector: dict[str, Any]) -> None:
    component = COMPONENT_TYPES[vector["place"]["type"]]
    length = len(vector["memory"]) * component.bytes
    program, subcase = store_program(vector["place"], as_bits(vector["rows"], component), length)
    if "undefined" in vector:
        with pytest.raises(GeneratorError, match=vector["undefined"]):
            evaluate(program, subcase)
        return
    (placed,) = evaluate(program, subcase).placed
    memory: list[int | None] = [None] * len(vector["memory"])
    for offset, bits in zip(placed.offsets.flat, placed.expected.bits.flat, strict=True):
        assert offset % component.bytes == 0
        memory[offset // component.bytes] = int(bits)
    assert memory == vector["memory"]


def test_every_vector_has_a_derivation_and_requirements() -> None:
    for file in VECTORS.glob("*.yaml"):
        for group in yaml.safe_load(file.read_text()).values():
            for vector in group:
                assert vector["derivation"], vector["name"]
                assert vector["requirements"], vector["name"]
