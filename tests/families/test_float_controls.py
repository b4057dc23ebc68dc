"""The cases of float_controls reveal devices that ignore execution modes, and distinguish every kind of mistake."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.float_controls import float_control_defects
from cts.defects.glossary import glossary
from cts.diagnosis.shown import prepared
from cts.embedded.faults import Faults
from cts.embedded.module.float_controls import Corrections, corrections
from cts.verdict.compare import compare_quality
from cts.verdict.elements import scatter
from cts.verdict.verdict import Verdict
from generators.casebook import Tier, build, expand, find_case
from generators.inputs.float_controls import nan_bits, nan_parts
from generators.kernel import Outcome
from generators.numerics.formats import is_nan
from generators.spirv.enumerants import ExecutionMode, Op
from generators.types import COMPONENT_TYPES
from tests.broken_devices.doubles import Broken, verdict_on
from tests.families.blind_spots import is_shown
from tests.suite import casebook, programs

TIER: Tier = "smoke"
PLAIN = str.maketrans("[]", "()")


def case(operation, *parameters, component="f16"):
    """Return a case's id; ``parameters`` are in the order of ids."""
    return "/".join((f"float_controls[component:{component}", f"operation:{operation}", *parameters)) + "]"


def negated_by_subtraction(handler):
    def instead(translation, words):
        values, operand = translation.values, words[2]
        return lambda: values[operand].dtype.type(0) - values[operand]

    return instead


def test_a_device_that_negates_by_subtraction_fails():
    wrong = Broken(faults=Faults({Op.FNegate: negated_by_subtraction}))
    assert verdict_on(case("negate", "special:preserve"), wrong) is Verdict.FAIL
    assert verdict_on(case("negate", "denormals:preserve"), wrong) is Verdict.PASS


def quieted(kernel, dispatch, outcome):
    """Change every NaN that the kernel wrote to a quiet NaN."""
    bits = outcome.outputs["result"].view(np.uint16)
    names = [] if kernel is None else [slot.name for slot in kernel.buffers]
    written = bits != dispatch.contents[names.index("result")].view(np.uint16) if names else np.ones(bits.shape, bool)
    bits[:] = np.where(written & is_nan(bits, COMPONENT_TYPES["f16"]), bits | 0x200, bits)
    return outcome


def test_a_move_that_changes_nan_is_a_quality_warning():
    moved = case("move", "special:preserve")
    assert verdict_on(moved, Broken(outcome=quieted)) is Verdict.QUALITY_WARNING
    found = find_case(casebook(), moved)
    at = {subcase.name: (want, before) for _, subcase, want, before, _ in prepared(found, build(found).program)}
    want, before = at["pattern:nan/part:0"]
    outputs = {name: data.copy() for name, data in before.items()}
    for placed in want.placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    assert not compare_quality(want, before, Outcome(outputs))
    found = compare_quality(want, before, quieted(None, None, Outcome(outputs)))
    assert [mismatch.kind for mismatch in found] == ["permitted, not expected"]
    assert verdict_on(case("negate", "special:preserve"), Broken(outcome=quieted)) is Verdict.PASS


PERMITTED = {"float_modes.moved_nan_quieted", "float_modes.moved_nan_replaced"}
"""Defects with results that are permitted but not expected."""


def test_each_defect_changes_a_result_of_some_smoke_case():
    """The results must differ; data that the reference model refuses do not count."""
    wanted = {id_ for id_ in glossary().entries if id_.startswith("float_modes.")} - PERMITTED
    shown = set()
    for found, program in programs("float_controls", TIER):
        defects = [defect for defect in float_control_defects(program) if defect.id not in shown]
        for at in prepared(found, program) if defects else ():
            for defect in defects:
                if defect.id not in shown and evaluates(defect, at) and is_shown(defect, at):
                    shown.add(defect.id)
    assert shown == wanted


def evaluates(defect, at):
    program, subcase, *_ = at
    try:
        evaluate_defect(program, subcase, defect.substitutes)
    except Exception:
        return False
    return True


def test_moves_have_every_nan_of_16_bits():
    f16 = COMPONENT_TYPES["f16"]
    rng = np.random.default_rng(0)
    parts = nan_parts(f16, 64)
    drawn = np.concatenate([nan_bits(f16, (1, 8, 8), part, rng).ravel() for part in range(parts)])
    assert parts == 32
    assert len(set(drawn.tolist())) == 2 * 1023
    assert is_nan(drawn, f16).all()


def test_moves_have_each_single_bit_of_wider_nans():
    f32 = COMPONENT_TYPES["f32"]
    drawn = nan_bits(f32, (1, 16, 16), 0, np.random.default_rng(0))
    assert is_nan(drawn, f32).all()
    assert {1 << bit for bit in range(22)} <= set((drawn & 0x7FFFFF).ravel().tolist())


def test_a_subcase_of_every_mode_is_drawn():
    patterns = {subcase.name for found in expand(casebook().family("float_controls"), TIER) for subcase in build(found).subcases()}
    assert {name.split("/")[0] for name in patterns} == {
        f"pattern:{name}" for name in ("between", "random", "denormals", "overflow", "special", "nan")
    }


def contrary(_):
    """Truncate and flush wherever no mode forbids it."""

    def instead(translation, op, number):
        modes = {mode for mode, width in translation.float_modes if width == number.bits}
        return Corrections(
            truncates=op in ROUNDED and (ExecutionMode.RoundingModeRTE not in modes or number.component.name == "bf16"),
            flushes=ExecutionMode.DenormPreserve not in modes or op is Op.FDiv,
        )

    return instead


ROUNDED = (Op.FAdd, Op.FSub, Op.FMul, Op.FConvert, Op.MatrixTimesScalar)


@pytest.mark.parametrize("found", expand(casebook().family("float_controls"), TIER), ids=lambda found: str(found.id).translate(PLAIN))
def test_a_device_that_does_what_no_mode_forbids_passes(found):
    device = Broken(faults=Faults(operations={corrections: contrary}))
    assert verdict_on(found.id, device) is Verdict.PASS
