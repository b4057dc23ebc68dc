"""Robust access: the required checks, and the detection of devices with other checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.requirements import missing
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from cts.reference.evaluate import evaluate
from cts.verdict.codes import Reason
from cts.verdict.compare import compare, compare_quality
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.errors import Rule
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.values import MatrixType
from generators.spirv.emit import emit
from generators.types import Layout, Scope, StorageClass, Use
from tests.broken_rules import breaks
from tests.suite import casebook
from tests.undefined import undefined

CUTS = ("line", "part", "first", "none", "far", "huge")


def case_of(access="load", cut="part", layout="row", stride="padded", pointee="component", component="f16", use="a", subgroups=2):
    return find_case(
        casebook(),
        f"robustness[component:{component}/use:{use}/shape:16x16/access:{access}/layout:{layout}/stride:{stride}/cut:{cut}/pointee:{pointee}/subgroups:{subgroups}]",
    )


def run(case, robust=True, strict=True):
    """Return the values that the reference allows and the results of the embedded device."""
    built = build(case)
    program = built.program
    arranged = arrange(built)
    device = EmbeddedDevice(load_profile("universal"), strict=strict)
    outcomes = device.run(replace(kernel(program, emit(program)), robust=robust), arranged.dispatches)
    return program, arranged, outcomes


def elements(offsets: np.ndarray, size: int) -> np.ndarray:
    return offsets[..., None] + np.arange(size)


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize("cut", CUTS)
def test_an_access_beyond_the_range_is_undefined_unless_the_kernel_asks_for_robust_access(access, cut):
    with undefined("KHR-MEM-02"):
        run(case_of(access, cut), robust=False)


@pytest.mark.parametrize("cut", CUTS)
def test_a_store_that_is_not_checked_goes_astray(cut):
    _, _, outcomes = run(case_of("store", cut), robust=False, strict=False)
    assert all(outcome.stray for outcome in outcomes)
    _, _, checked = run(case_of("store", cut))
    assert not any(outcome.stray for outcome in checked)


def _garbage(bits: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    return np.where(beyond, 0x2A2A, bits)


def _whole_matrix(bits: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    return np.where(beyond.any(axis=(1, 2), keepdims=True), 0, bits)


def _whole_line(bits: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    return np.where(beyond.any(axis=2, keepdims=True), 0, bits)


def _whole_workgroup(bits: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    return np.where(beyond.any(), 0, bits)


def _last_element(bits: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    return np.where(beyond, bits[~beyond].ravel()[-1], bits)


@pytest.mark.parametrize(
    ("broken", "fails"), [(_garbage, True), (_whole_matrix, False), (_whole_line, False), (_whole_workgroup, True), (_last_element, True)]
)
def test_a_load_that_gives_something_else_is_seen(broken: Callable[..., np.ndarray], fails: bool):
    """A device may check a matrix, or a part of it, as a whole; this is permitted, but not expected (F-KHR-38)."""
    program, arranged, outcomes = run(case_of("load", "part"))
    for want, before, outcome in zip(arranged.expected, arranged.before, outcomes, strict=True):
        assert not compare(program, want, before, outcome)
        (placed,) = want.placed
        bits = placed.expected.bits
        assert ((bits == 0).sum(axis=(1, 2)) == [0, 120]).all()
        spoiled = broken(bits, bits == 0).astype(np.uint16)
        outputs = {"target": outcome.outputs["target"].copy()}
        outputs["target"][elements(placed.offsets, 2)] = spoiled[..., None].view(np.uint8)
        spoiled_outcome = replace(outcome, outputs=outputs)
        assert bool(compare(program, want, before, spoiled_outcome)) is fails
        if not fails:
            assert [mismatch.position for mismatch in compare_quality(want, before, spoiled_outcome)] == ["F-KHR-38"]


@pytest.mark.parametrize("lost", [1, 8])
def test_a_store_that_drops_elements_in_bounds_is_seen(lost):
    program, arranged, outcomes = run(case_of("store", "part"))
    for want, before, outcome in zip(arranged.expected, arranged.before, outcomes, strict=True):
        assert not compare(program, want, before, outcome)
        assert not compare_quality(want, before, outcome)
        (placed,) = want.placed
        assert placed.offsets.size == 256 + 136
        for part, fails in ((placed.offsets[..., -lost:], False), (placed.offsets[..., :lost], True)):
            dropped = elements(part, 2)
            outputs = {"target": outcome.outputs["target"].copy()}
            outputs["target"][dropped] = before["target"][dropped]
            without = replace(outcome, outputs=outputs)
            # The first elements are of a matrix that is in bounds.
            assert bool(compare(program, want, before, without)) is fails
            assert fails or [mismatch.position for mismatch in compare_quality(want, before, without)] == ["F-KHR-38"]


@pytest.mark.parametrize("feature", ["cooperativeMatrixRobustBufferAccess", "robustBufferAccess2", "pipelineRobustness"])
def test_a_missing_feature_that_robust_access_needs_is_named(feature):
    description = load_profile("universal").description
    program = build(case_of()).program
    built = kernel(program, emit(program))
    assert missing(built, description) is None
    lacking = replace(description, features=dict(description.features) | {feature: False})
    assert missing(built, lacking) == Reason(f"missing.feature.{feature}", f"feature {feature}")
    assert missing(replace(built, robust=False), lacking) is None


def test_a_hardware_device_without_the_feature_runs_none_of_it():
    program = build(case_of()).program
    lack = missing(kernel(program, emit(program)), load_profile("nvidia-h200").description)
    assert lack is not None
    assert "cooperativeMatrixRobustBufferAccess" in lack.text


@pytest.mark.parametrize(("storage", "robust"), [(StorageClass.PHYSICAL_STORAGE_BUFFER, True), (StorageClass.STORAGE_BUFFER, False)])
def test_the_model_refuses_what_no_descriptor_bounds_and_what_nobody_asked_to_bound(storage, robust):
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(U32), 4, storage, "input")
    type_ = MatrixType(U32, Scope.SUBGROUP, 4, 4, Use.A)
    builder.load("matrix", type_, source, builder.literal(0), builder.literal(4), Layout.ROW_MAJOR, robust=robust)
    with breaks(Rule.NOT_BOUNDS_CHECKED if robust else Rule.OUT_OF_BOUNDS):
        evaluate(builder.build(), Subcase("one", {"source": np.zeros(16, np.uint8)}))


def test_a_robust_access_in_an_arm_also_needs_the_features():
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(U32), 64, StorageClass.STORAGE_BUFFER, "input")
    type_ = MatrixType(U32, Scope.SUBGROUP, 16, 16, Use.ACCUMULATOR)
    with builder.arm() as inside:
        builder.load("m", type_, source, builder.literal(0), builder.literal(16), Layout.ROW_MAJOR, robust=True)
    builder.branch(Condition(builder.literal(1), "less", builder.literal(2)), inside, [])
    assert builder.build().robust
