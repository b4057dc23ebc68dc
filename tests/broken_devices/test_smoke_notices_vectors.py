"""Devices with one defect in instructions on cooperative vectors, for one type: the smoke tier must notice each."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.faults import Fault, Faults
from cts.embedded.types.spirv_types import CooperativeVector, MatrixType
from cts.embedded.types.values import expand
from generators.spirv.enumerants import Op
from tests.broken_devices import vector_faults as faults
from tests.broken_devices.smoke import noticed, wrong

PROFILE = "universal"


def in_type(name: str, fault: Fault, function: int | None = None) -> Fault:
    """Return the fault only for results of a component type, and for one function of GLSL.std.450."""

    def of_type(handler):
        broken = fault(handler)

        def chosen(translation, words):
            number = getattr(translation.types[words[0]], "number", None)
            is_it = number is not None and number.component.name == name and (function is None or words[3] == function)
            return (broken if is_it else handler)(translation, words)

        return chosen

    return of_type


@pytest.mark.parametrize("component", ["f16", "f32"])
@pytest.mark.parametrize(("name", "number"), [("Step", 48), ("Exp", 27), ("Log", 28), ("Tanh", 21), ("Atan", 18)])
def test_functions_of_another_component(component, name, number):
    device = wrong(PROFILE, Faults({Op.ExtInst: in_type(component, faults.with_result(faults.last_first), number)}))
    assert noticed("vector_elementwise", device, component=component, operation=name)


def unrounded(handler):
    """Return products in 64 bits; a later sum then rounds only once."""

    def broken(translation, words):
        type_, run = translation.types[words[0]], handler(translation, words)

        def execute():
            one, other = (expand(translation.values[word], type_.count) for word in words[2:4])
            return tuple(np.multiply(*pair, dtype=np.float64) for pair in zip(one, other, strict=True))

        return execute if isinstance(type_, CooperativeVector) else run

    return broken


@pytest.mark.parametrize("component", ["f16", "f32"])
def test_products_that_are_contracted_with_sums(component):
    device = wrong(PROFILE, Faults({Op.FMul: in_type(component, unrounded)}))
    assert noticed("vector_elementwise", device, component=component, operation="contraction")


@pytest.mark.parametrize("type_", ["f32", "s32", "u32", "s8", "u8"])
def test_bitcasts_that_lose_a_bit(type_):
    def without_lowest(parts):
        return [(part.view(f"u{part.itemsize}") & ~np.asarray(1, f"u{part.itemsize}")).view(part.dtype) for part in map(np.array, parts)]

    device = wrong(PROFILE, Faults({Op.Bitcast: in_type(type_, faults.with_result(without_lowest))}))
    assert noticed("vector_conversion", device, to=type_, by="bits")


@pytest.mark.parametrize("row", ["s8.s8.s8.s32.s32", "f16.f16.f16.f32.f32", "f16.f16.f16.f16.f16"])
@pytest.mark.parametrize("kept", [0, 16], ids=["ignored", "cut_to_16_bits"])
def test_wrong_offsets_of_biases(row, kept):
    device = wrong(PROFILE, Faults({Op.CooperativeVectorMatrixMulAddNV: faults.with_scalar(8, faults.kept_bits(kept))}))
    assert noticed("vector_muladd", device, row=row, bias_first=("zero", "odd", "far"))


def at_most_signed(parts):
    """Return integers that a conversion by way of signed integers can give."""
    return [np.minimum(part, np.uint32(2**31 - 1)) for part in parts]


def as_signed(handler):
    """Read unsigned integers of 32 bits as signed ones."""

    def broken(translation, words):
        run, type_ = handler(translation, words), translation.types[words[0]]

        def execute():
            given = expand(translation.values[words[2]], type_.count)
            return tuple(np.asarray(part).view(np.int32).astype(np.float32) for part in given)

        return execute if isinstance(type_, CooperativeVector) else run

    return broken


@pytest.mark.parametrize("form", ["alone", "back"])
def test_conversions_by_way_of_signed_integers(form):
    to_unsigned = Faults({Op.ConvertFToU: in_type("u32", faults.with_result(at_most_signed))})
    assert noticed("vector_conversion", wrong(PROFILE, to_unsigned), to="u32", form=form, **{"from": "f32"})
    to_float = Faults({Op.ConvertUToF: in_type("f32", as_signed)})
    assert noticed("vector_conversion", wrong(PROFILE, to_float), to="f32", form=form, **{"from": "u32"})


@pytest.mark.parametrize(("form", "source", "target"), [("alone", "f32", "u32"), ("kept", "f32", "u32"), ("back", "u32", "f32")])
def test_matrix_conversions_by_way_of_signed_integers(form, source, target):
    def fault(handler):
        def broken(translation, words):
            run, type_ = handler(translation, words), translation.types[words[0]]
            is_it = isinstance(type_, MatrixType) and type_.number.component.name == "u32"
            return (lambda: np.minimum(run(), np.uint32(2**31 - 1))) if is_it else run

        return broken

    assert noticed("conversion", wrong(PROFILE, Faults({Op.ConvertFToU: fault})), form=form, to=target, **{"from": source})
