"""Conversions of matrices by both readings, compared with values worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.devices.layout_conversion import ConversionCall, ConversionInfo, Region
from cts.embedded.device import EmbeddedDevice
from cts.embedded.layout_conversion import converted as device_converted
from cts.embedded.profile import load_profile
from cts.reference.layout_conversion import Elements, converted, evaluate, placed
from cts.verdict.elements import scatter
from cts.verdict.expected import Expected
from cts.verdict.poison import covered
from generators.layout_conversion import LayoutConversion, MatrixForm
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from tests.suite import plain

VECTORS = plain(Path(__file__).parents[2] / "golden" / "vectors" / "layout_conversions.yaml")


def named(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def memory(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of a memory, with 0xee for arbitrary ones, and a mask of the bytes that matter."""
    parts = text.split()
    return np.array([0xEE if part == ".." else int(part, 16) for part in parts], np.uint8), np.array([part != ".." for part in parts])


def forms(vector: dict[str, Any]) -> tuple[MatrixForm, MatrixForm]:
    first, second = (
        MatrixForm(COMPONENT_TYPES[type_], VectorMatrixLayout[layout], stride)
        for type_, layout, stride in zip(vector["types"], vector["layouts"], vector["strides"], strict=True)
    )
    return first, second


@pytest.mark.parametrize("vector", VECTORS["bytes"], ids=named)
def test_bytes_of_the_reference_model(vector):
    rows, columns, (source, destination) = vector["rows"], vector["columns"], forms(vector)
    given, _ = memory(vector["given"])
    result, known = memory(vector["result"])
    assert (source.least_bytes(rows, columns), destination.least_bytes(rows, columns)) == (len(given), len(result))
    places = source.offsets(rows, columns)[..., None] + np.arange(source.component.bytes)
    bits = np.ascontiguousarray(given[places]).view(source.component.bits_dtype)[None, ..., 0]
    elements = evaluate(LayoutConversion(rows, columns, (source, destination), ("host",), bits))[1]
    (one,) = placed(elements, destination, "matrix", "matrix")
    filled = np.full(len(result), 0xEE, np.uint8)
    scatter(filled, one.offsets, one.expected.bits)
    assert filled.tolist() == result.tolist()
    assert covered(len(result), Expected((one,)), "matrix").tolist() == known.tolist()


@pytest.mark.parametrize("vector", VECTORS["bytes"], ids=named)
def test_bytes_of_the_embedded_device(vector):
    source, destination = forms(vector)
    given, _ = memory(vector["given"])
    result, _ = memory(vector["result"])
    info = ConversionInfo(
        vector["rows"],
        vector["columns"],
        source,
        destination,
        Region(given, 0, len(given)),
        Region(np.full(len(result), 0xEE, np.uint8), 0, len(result)),
    )
    (answer,) = EmbeddedDevice(load_profile("universal")).convert(ConversionCall("host", (info,)))
    assert (answer.result, answer.size) == (0, len(result))
    assert answer.destination is not None
    assert answer.destination.tolist() == result.tolist()


def numbers(vector: dict[str, Any], key: str, type_: int) -> np.ndarray:
    return np.array([int(bits, 16) for bits in vector[key]], COMPONENT_TYPES[vector["types"][type_]].bits_dtype)


@pytest.mark.parametrize("vector", VECTORS["numbers"], ids=named)
def test_numbers_of_the_reference_model(vector):
    source, destination = (COMPONENT_TYPES[name] for name in vector["types"])
    given = numbers(vector, "from", 0)
    shape = 1, 1, len(given)
    elements = Elements(source, given.reshape(shape), (), np.zeros(shape, bool))
    expectation = converted(elements, destination).expectation
    wanted = numbers(vector, "to", 1)
    assert expectation.expected.bits[0, 0].tolist() == wanted.tolist()
    warned = numbers(vector, "warned", 1) if "warned" in vector else wanted
    assert expectation.permitted.contains(warned.reshape(shape)).all()
    assert expectation.expected.contains(warned.reshape(shape))[0, 0].tolist() == (warned == wanted).tolist()
    for bits in numbers(vector, "refused", 1):
        inside = expectation.permitted.contains(np.full(shape, bits))[0, 0]
        assert not inside.any(), hex(bits)


@pytest.mark.parametrize("vector", VECTORS["numbers"], ids=named)
def test_numbers_of_the_embedded_device(vector):
    source, destination = (COMPONENT_TYPES[name] for name in vector["types"])
    found = device_converted(numbers(vector, "from", 0), source, destination)
    assert found.tolist() == numbers(vector, "to", 1).tolist()


@pytest.mark.parametrize("destination", ["e4m3", "e5m2"])
def test_both_readings_agree_on_every_half(destination):
    half, small = COMPONENT_TYPES["f16"], COMPONENT_TYPES[destination]
    bits = np.arange(1 << 16).astype(np.uint16)
    elements = converted(Elements(half, bits.reshape(1, 256, 256), (), np.zeros((1, 256, 256), bool)), small)
    got = device_converted(bits.reshape(1, 256, 256), half, small)
    assert elements.expectation.expected.contains(got).all()


def test_a_nan_may_become_anything_and_should_stay_one():
    nan = np.array([[[0x7E00]]], np.uint16)
    expectation = converted(Elements(COMPONENT_TYPES["f16"], nan, (), np.zeros((1, 1, 1), bool)), COMPONENT_TYPES["e5m2"]).expectation
    five = np.array([[[0x45]]], np.uint8)
    assert expectation.permitted.contains(five).all()
    assert not expectation.expected.contains(five).any()
    assert expectation.authority.quality == "F-CV-8"
