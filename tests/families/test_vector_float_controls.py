"""The cases of vector_float_controls reveal devices that ignore execution modes, and distinguish required results from results that the
text leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.defects.float_controls import float_control_defects
from cts.defects.glossary import glossary
from cts.devices.device import VectorRow
from cts.devices.holder import DeviceHolder
from cts.diagnosis.shown import prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.module.float_controls import Corrections, corrections
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.verdict.verdict import Verdict
from generators.casebook import build, expand, find_case
from generators.inputs.float_controls import nan_bits
from generators.numerics.formats import is_nan
from generators.spirv.enumerants import ExecutionMode, Op
from generators.types import COMPONENT_TYPES
from tests.broken_devices.doubles import Broken, verdict_on
from tests.families.blind_spots import is_shown
from tests.suite import casebook, programs

PLAIN = str.maketrans("[]", "()")
SMOKE = expand(casebook().family("vector_float_controls"), "smoke")


def case(operation, *parameters, component="f16"):
    """Return a case's id; ``parameters`` are in the order of ids."""
    return "/".join((f"vector_float_controls[component:{component}", f"operation:{operation}", *parameters)) + "]"


def contrary(_):
    """Truncate and flush wherever no mode forbids it."""

    def instead(translation, op, number):
        modes = {mode for mode, width in translation.float_modes if width == number.bits}
        rounded = op in (Op.FAdd, Op.FSub, Op.FMul, Op.FConvert, Op.VectorTimesScalar)
        return Corrections(
            truncates=rounded and (ExecutionMode.RoundingModeRTE not in modes or number.component.name == "bf16"),
            flushes=ExecutionMode.DenormPreserve not in modes or op is Op.FDiv,
        )

    return instead


@pytest.mark.parametrize("found", SMOKE, ids=lambda found: str(found.id).translate(PLAIN))
def test_a_device_that_does_what_no_mode_forbids_passes(found):
    verdict = verdict_on(found.id, Broken(faults=Faults(operations={corrections: contrary})))
    assert verdict is (Verdict.NOT_SUPPORTED if found.parameters.component.name == "bf16" or "to:bf16" in found.id else Verdict.PASS)


def changed(change, dtype=np.uint16):
    """Return a device that changes the components of each result, vectors of 8 components of ``dtype``, but not the bytes between them."""

    def outcome(kernel, dispatch, outcome):
        size = 8 * np.dtype(dtype).itemsize
        slots = outcome.outputs["result"][16:].reshape(32, -1)
        slots[:, :size] = change(np.ascontiguousarray(slots[:, :size]).view(dtype)).astype(dtype).view(np.uint8)
        return outcome

    return Broken(outcome=outcome)


F16 = COMPONENT_TYPES["f16"]
quieted = changed(lambda bits: np.where(is_nan(bits, F16), bits | 0x200, bits))
lost = changed(lambda bits: np.where(is_nan(bits, F16), 0, bits))
flushed = changed(lambda bits: np.where((bits & 0x7C00) == 0, bits & 0x8000, bits))
SPECIAL, FLUSH = "special:preserve", "denormals:flush"


@pytest.mark.parametrize(
    ("parameters", "device", "verdict"),
    [
        ((SPECIAL,), quieted, Verdict.QUALITY_WARNING),
        ((SPECIAL,), lost, Verdict.FAIL),
        ((SPECIAL, "way:dynamic"), lost, Verdict.FAIL),
        ((SPECIAL, "access:memory"), lost, Verdict.QUALITY_WARNING),
        ((SPECIAL, "access:loaded"), lost, Verdict.QUALITY_WARNING),
        ((SPECIAL, "access:stored"), quieted, Verdict.QUALITY_WARNING),
        ((FLUSH,), flushed, Verdict.FAIL),
        ((FLUSH, "access:memory"), flushed, Verdict.QUALITY_WARNING),
    ],
)
def test_changes_by_instructions_of_whole_vectors_are_quality_warnings(parameters, device, verdict):
    assert verdict_on(case("move", *parameters), device) is verdict


def test_a_bitcast_must_keep_denormals_and_should_keep_nan():
    def zeroed(nan):
        def change(bits):
            exponent, digits = bits & 0x7F800000, bits & 0x7FFFFF
            return np.where((digits != 0) & (exponent == (0x7F800000 if nan else 0)), 0, bits)

        return changed(change, np.uint32)

    for way in ("to_bits", "from_bits"):
        assert verdict_on(case("move", SPECIAL, f"way:{way}", component="f32"), zeroed(nan=True)) is Verdict.QUALITY_WARNING
        assert verdict_on(case("move", FLUSH, f"way:{way}", component="f32"), zeroed(nan=False)) is Verdict.FAIL


def test_a_number_should_win_over_nan():
    """If one argument is NaN, the result NaN is permitted but not expected."""
    number = case("NMin", SPECIAL)
    found = find_case(casebook(), number)
    ((_, subcase, want, *_),) = prepared(found, build(found).program)
    (placed,) = want.placed
    loaded = [subcase.inputs[name][16:].reshape(32, -1)[:, :16].copy().view(np.uint16) for name in ("left", "right")]
    has_nan = np.logical_or(*(is_nan(bits, F16) for bits in loaded))[:, None, :]
    both_nan = np.logical_and(*(is_nan(bits, F16) for bits in loaded))[:, None, :]
    assert has_nan.any()
    wrong = np.full(placed.expected.bits.shape, 0x7E00, np.uint16)
    assert placed.permitted.contains(wrong)[has_nan].all()
    assert (placed.expected.contains(wrong)[has_nan] == both_nan[has_nan]).all()
    finite = np.logical_and(*((bits & 0x7C00) != 0x7C00 for bits in loaded))[:, None, :]
    assert not placed.permitted.contains(wrong)[finite].any()


def test_each_defect_changes_a_result_of_some_smoke_case():
    permitted = {"float_modes.moved_nan_quieted", "float_modes.moved_nan_replaced"}
    wanted = {id_ for id_ in glossary().entries if id_.startswith("float_modes.")} - permitted
    shown = set()
    for found, program in programs("vector_float_controls", "smoke"):
        defects = [defect for defect in float_control_defects(program) if defect.id not in shown]
        for at in prepared(found, program) if defects else ():
            shown |= {defect.id for defect in defects if defect.id not in shown and is_shown(defect, at)}
    assert shown == wanted


def test_moves_have_every_pattern_of_8_bits_and_every_nan_of_16():
    e5m2, bf16 = COMPONENT_TYPES["e5m2"], COMPONENT_TYPES["bf16"]
    assert sorted(nan_bits(e5m2, (32, 8), 0, np.random.default_rng(0)).ravel().tolist()) == list(range(256))
    found = find_case(casebook(), case("move", SPECIAL, component="bf16"))
    built = build(found)
    (drawn,) = [subcase for subcase in built.subcases() if subcase.name == "pattern:nan/part:0"]
    bits = drawn.inputs["left"][16:].reshape(32, -1)[:, :16].copy().view(np.uint16)
    assert len(set(bits[is_nan(bits, bf16)].tolist())) == 2 * 127


def with_row(row):
    """Return an embedded device that has one more row of cooperative vectors."""
    profile = load_profile("universal")
    return EmbeddedDevice(replace(profile, vector_rows=(*profile.vector_rows, row)))


@pytest.mark.parametrize(
    "found",
    [found for found in expand(casebook().family("vector_float_controls"), "nightly") if "bf16" in found.id],
    ids=lambda found: str(found.id).translate(PLAIN),
)
def test_a_device_with_vectors_of_bf16_passes(found):
    device = with_row(VectorRow("bf16", "f16", "f16", "f16", "f16", transpose=False))
    assert judge(found, DeviceHolder(lambda: device), "spirv", "nightly").verdict is Verdict.PASS
