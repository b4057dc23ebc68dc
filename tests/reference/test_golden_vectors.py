"""The reference model and the embedded device agree with results derived by hand from the specification's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.instructions.tensors.decode import chosen_groups
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.elements import gather
from cts.verdict.expected import Exact, Expected, Interval, OneOf, ValueSet
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.numerics.formats import is_nan
from generators.program.program import Program, Subcase
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, ComponentType
from tests.agreement import agreed
from tests.broken_rules import breaks
from tests.reference.golden_programs import conversion, in_order, reduction, tensor_load, tensor_store
from tests.reference.programs import as_bits, as_bytes, flags, load_program, muladd, store_program
from tests.reference.vector_programs import accumulation, function_program, multiply
from tests.reference.vector_programs import conversion as vector_conversion
from tests.suite import plain
from tests.undefined import undefined

VECTORS = Path(__file__).parents[2] / "golden" / "vectors"


def vectors(file: str, key: str) -> list[Any]:
    content = plain(VECTORS / file)
    return [pytest.param(vector, id=vector["name"]) for vector in content[key]]


def single(allowed: ValueSet, value: Any) -> np.ndarray:
    """Return whether each element allows ``value``."""
    bits = as_bits([[value]], allowed.component)[0, 0]
    return allowed.contains(np.full_like(allowed.bits, bits))


def outcome(program: Program, subcase: Subcase, expected: Expected) -> tuple[np.ndarray, np.ndarray]:
    """Return the final and the initial bytes of ``d_out`` on the embedded device."""
    before = initial_contents(program, subcase, expected)
    device = EmbeddedDevice(load_profile("universal"))
    (found,) = device.run(kernel(program, emit(program)), [dispatch(program, subcase, before)])
    return found.outputs["d_out"], before["d_out"]


def is_undefined(program: Program, subcase: Subcase, why: str) -> None:
    """Expect that the reference model refuses the program for this reason, and the embedded device stops it."""
    with breaks(*why.split("|")):
        evaluate(program, subcase)
    with undefined(*why.split("|")):
        outcome(program, subcase, Expected(()))


def gives(program: Program, subcase: Subcase, bits: np.ndarray) -> None:
    """Check that both leave exactly ``bits`` (rows, columns) in ``d_out``."""
    expected = evaluate(program, subcase)
    (placed,) = expected.placed
    assert isinstance(placed.permitted, Exact)
    assert placed.permitted.bits[0].tolist() == bits.tolist()
    assert outcome(program, subcase, expected)[0].view(bits.dtype).tolist() == in_order(bits).ravel().tolist()


@pytest.mark.parametrize("vector", [*vectors("muladd_integer.yaml", "vectors"), *vectors("muladd_float.yaml", "vectors")])
def test_multiply_add(vector: dict[str, Any]) -> None:
    sides = [vector[name] for name in "abc"]
    a, b, c = (as_bits(side["rows"], COMPONENT_TYPES[side["type"]])[None] for side in sides)
    result = vector.get("result", vector["c"])
    component = COMPONENT_TYPES[result["type"]]
    case = muladd((*(side["type"] for side in sides), result["type"]), a, b, c, flags(vector.get("operands", [])))
    if "undefined" in vector:
        with breaks(vector["undefined"]):
            evaluate(case.program, case.subcase)
        return
    expected = evaluate(case.program, case.subcase)
    (placed,) = expected.placed
    if "rows" in result:
        assert isinstance(placed.expected, Exact)
        assert placed.expected.bits[0].tolist() == as_bits(result["rows"], component).tolist()
    for value in result.get("allowed", []):
        assert single(placed.expected, value).all(), value
    for value in result.get("refused", []):
        assert not single(placed.expected, value).any(), value
    if all(values.shape[2].bit_count() == 1 for values in (a, b, c)):
        # Rows of other lengths lack the alignment that the device requires (KHR-ALIGN-01).
        got = outcome(case.program, case.subcase, expected)[0].view(component.bits_dtype).reshape(placed.expected.shape)
        assert placed.expected.contains(got).all()


@pytest.mark.parametrize("vector", vectors("load_store.yaml", "loads"))
def test_load(vector: dict[str, Any]) -> None:
    component = COMPONENT_TYPES[vector["place"]["type"]]
    program, subcase = load_program(vector["place"], as_bytes(as_bits(vector["memory"], component)))
    (placed,) = evaluate(program, subcase).placed
    assert isinstance(placed.permitted, Exact)
    assert placed.permitted.bits[0].tolist() == as_bits(vector["rows"], component).tolist()


def written(expected: Expected, memory: list[int | None], component: ComponentType) -> None:
    """Check that the reference model writes ``memory``, and does not write the places with None."""
    (placed,) = expected.placed
    found: list[int | None] = [None] * len(memory)
    for offset, bits in zip(placed.offsets.flat, placed.permitted.bits.flat, strict=True):
        assert offset % component.bytes == 0
        found[offset // component.bytes] = int(bits)
    assert found == memory


@pytest.mark.parametrize("vector", vectors("load_store.yaml", "stores"))
def test_store(vector: dict[str, Any]) -> None:
    component = COMPONENT_TYPES[vector["place"]["type"]]
    length = len(vector["memory"]) * component.bytes
    program, subcase = store_program(vector["place"], as_bits(vector["rows"], component), length)
    if "undefined" in vector:
        with breaks(vector["undefined"]):
            evaluate(program, subcase)
    else:
        written(evaluate(program, subcase), vector["memory"], component)


@pytest.mark.parametrize("vector", [*vectors("tensor_addressing.yaml", "loads"), *vectors("decode.yaml", "vectors")])
def test_tensor_load(vector: dict[str, Any]) -> None:
    program, subcase = tensor_load(vector)
    if "undefined" in vector:
        is_undefined(program, subcase, vector["undefined"])
    else:
        gives(program, subcase, as_bits(vector["rows"], COMPONENT_TYPES[vector["tensor"]["type"]]))


def stored_by(program: Program, subcase: Subcase, expected: Expected, device: EmbeddedDevice) -> np.ndarray:
    """Return the final bytes of ``d_out`` on a device."""
    before = initial_contents(program, subcase, expected)
    return device.run(kernel(program, emit(program)), [dispatch(program, subcase, before)])[0].outputs["d_out"]


@pytest.mark.parametrize("vector", vectors("decode_vector.yaml", "vectors"))
def test_load_of_groups(vector: dict[str, Any]) -> None:
    program, subcase = tensor_load(vector)
    component = COMPONENT_TYPES[vector["tensor"]["type"]]
    single_ones = as_bits(vector["rows"], component)
    pairs = zip(vector["rows"], vector["group_rows"], strict=True)
    filled = [[one if two is None else two for one, two in zip(*rows, strict=True)] for rows in pairs]
    in_groups = as_bits(filled, component)
    expected = evaluate(program, subcase)
    (placed,) = expected.placed
    assert isinstance(placed.expected, OneOf)
    scalar, vector_ones = (choice[0].tolist() for choice in placed.expected.choices)
    assert scalar == single_ones.tolist()
    assert vector_ones == in_groups.tolist()
    always = Faults(operations={chosen_groups: lambda _: lambda seed, site, instance, count: np.ones(count, bool)})
    got = stored_by(program, subcase, expected, EmbeddedDevice(load_profile("universal"), faults=always)).view(component.bits_dtype)
    assert got.tolist() == in_order(in_groups).ravel().tolist()
    for seed in range(8):
        some = stored_by(program, subcase, expected, EmbeddedDevice(load_profile("universal"), choices=seed))
        assert placed.expected.contains(gather(some, placed.offsets, component)).all()


@pytest.mark.parametrize("vector", vectors("tensor_addressing.yaml", "stores"))
def test_tensor_store(vector: dict[str, Any]) -> None:
    program, subcase = tensor_store(vector)
    if "undefined" in vector:
        is_undefined(program, subcase, vector["undefined"])
        return
    component = COMPONENT_TYPES[vector["tensor"]["type"]]
    expected = evaluate(program, subcase)
    written(expected, vector["memory"], component)
    after, before = (contents.view(component.bits_dtype).tolist() for contents in outcome(program, subcase, expected))
    assert after == [old if new is None else new for new, old in zip(vector["memory"], before, strict=True)]


@pytest.mark.parametrize("vector", vectors("reductions.yaml", "vectors"))
def test_reduction(vector: dict[str, Any]) -> None:
    gives(*reduction(vector), as_bits(vector["result"], COMPONENT_TYPES[vector["type"]]))


@pytest.mark.parametrize("vector", vectors("conversions.yaml", "vectors"))
def test_conversion(vector: dict[str, Any]) -> None:
    program, subcase = conversion(vector)
    if "undefined" in vector:
        is_undefined(program, subcase, vector["undefined"])
        return
    component = COMPONENT_TYPES[vector["types"][1]]
    expected = evaluate(program, subcase)
    (placed,) = expected.placed
    allowed = placed.expected
    assert not isinstance(allowed, Interval)
    for place, listed in enumerate(vector["to"]):
        wanted = set(as_bits([listed], component)[0].tolist())
        assert {int(choice[0, 0, place]) for choice in allowed.choices} == wanted, vector["from"][place]
    for value in vector.get("refused", ()):
        bits = as_bits([[value]], component)[0, 0]
        inside = allowed.contains(np.full_like(allowed.bits, bits))[0, 0]
        assert [bool(found) for found in inside] == [
            bits in as_bits([listed], component) or (is_nan(bits, component) and bool(allowed.any_nan[0, 0, place]))
            for place, listed in enumerate(vector["to"])
        ]
        assert not inside.all(), value
    got = outcome(program, subcase, expected)[0].view(component.bits_dtype).reshape(allowed.shape)
    assert allowed.contains(got).all()


def is_refused(program: Program, subcase: Subcase, why: str) -> None:
    """Expect that the reference model refuses the program for this reason; a device may still give a result."""
    with breaks(why):
        evaluate(program, subcase)


def elements(allowed: ValueSet, values: list[Any]) -> np.ndarray:
    """Return whether each element of the first invocation allows its value."""
    bits = np.broadcast_to(as_bits(values, allowed.component), allowed.bits.shape)
    return allowed.contains(np.ascontiguousarray(bits))[0]


@pytest.mark.parametrize("vector", vectors("cooperative_vectors.yaml", "conversions"))
def test_input_of_a_matrix_vector_multiply(vector: dict[str, Any]) -> None:
    program, subcase = vector_conversion(vector)
    if "undefined" in vector:
        is_refused(program, subcase, vector["undefined"])
        return
    (placed,) = evaluate(program, subcase).placed
    assert isinstance(placed.expected, Exact)
    assert placed.expected.bits[0, 0].tolist() == as_bits(vector["to"], placed.component).tolist()
    also = vector.get("also", vector["to"])
    assert elements(placed.permitted, also).all()
    assert ("also" in vector) != isinstance(placed.permitted, Exact)
    if "refused" in vector:
        assert not elements(placed.permitted, vector["refused"]).any()
    agreed(program, subcase)


@pytest.mark.parametrize("vector", vectors("cooperative_vectors.yaml", "products"))
def test_matrix_vector_multiply(vector: dict[str, Any]) -> None:
    program, subcase = multiply(vector)
    if "undefined" in vector:
        is_refused(program, subcase, vector["undefined"])
        return
    (placed,) = evaluate(program, subcase).placed
    assert isinstance(placed.expected, Exact)
    assert placed.expected.bits[:, 0].tolist() == [as_bits(vector["result"], placed.component).tolist()] * 3
    assert ("also" in vector) != isinstance(placed.permitted, Exact)
    for value in vector.get("also", []):
        assert single(placed.permitted, value).all(), value
    for value in vector.get("refused", []):
        assert not single(placed.permitted, value).any(), value
    agreed(program, subcase)


@pytest.mark.parametrize("vector", vectors("cooperative_vectors.yaml", "sums"))
def test_accumulation(vector: dict[str, Any]) -> None:
    program, subcase = accumulation(vector)
    if "undefined" in vector:
        is_refused(program, subcase, vector["undefined"])
        return
    (placed,) = evaluate(program, subcase).placed
    assert isinstance(placed.permitted, Exact)
    assert placed.permitted.bits[0].tolist() == as_bits(vector["after"], placed.component).tolist()
    assert placed.offsets.min() == (0 if "a" in vector else 16)
    agreed(program, subcase)


@pytest.mark.parametrize("vector", vectors("cooperative_vectors.yaml", "functions"))
def test_function_of_vectors(vector: dict[str, Any]) -> None:
    program, subcase = function_program(vector)
    if "undefined" in vector:
        is_refused(program, subcase, vector["undefined"])
        return
    (placed,) = evaluate(program, subcase).placed
    for value in vector["allowed"]:
        assert single(placed.expected, value).all(), value
    for value in vector["refused"]:
        assert not single(placed.permitted, value).any(), value
    agreed(program, subcase)


def test_every_vector_has_a_derivation_and_requirements() -> None:
    for file in VECTORS.glob("*.yaml"):
        for group in plain(file).values():
            for vector in group:
                assert vector["derivation"], vector["name"]
                assert vector["requirements"], vector["name"]


def test_every_requirement_of_a_vector_exists() -> None:
    known = "".join(path.read_text() for path in (VECTORS.parents[1] / "cases" / "requirements").glob("*.yaml"))
    for file in VECTORS.glob("*.yaml"):
        for group in plain(file).values():
            for vector in group:
                assert not [id_ for id_ in vector["requirements"] if f"  {id_}:\n" not in known], vector["name"]
