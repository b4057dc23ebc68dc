"""The search for causes in the published runs, without their known failures: it finds the conditions that golden/known_failures states by
hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cts.verdict.verdict import CaseResult, Verdict
from reports import read
from reports.causes import Cause, causes
from reports.causes.boxes import Box, phrase
from reports.causes.table import Table
from tests.suite import plain

ROOT = Path(__file__).parents[2]
RUNS = {"nvidia": "nvidia-h200-580.159.04-nightly", "lavapipe": "lavapipe-26.1.6-smoke"}

FOUND = {
    ("nvidia", "four-large-accumulators"): {"muladd": "form:accumulators and N of row >= 64 and scope:subgroup"},
    ("nvidia", "constant-b-loses-signs"): {
        "construction_operands": "b in constructed and origin:constant or splat_specialization and K of row <= 8"
    },
    ("nvidia", "block-strides-rounded-down"): {
        "tensor_block": "last:one or short and setting:again or before",
        "tensor_layout": "blocks:uneven and strides:default",
        "kernel_dequantised": "strides:default",
    },
    ("nvidia", "mirrored-dimension-of-one"): {"tensor_clamp": "mode:mirrored and which:beside_one"},
    ("nvidia", "edge-of-endless-dimension"): {"tensor_clamp": "access:load and mode:edge and outermost:endless"},
    ("nvidia", "float8-converted-on-the-device"): {
        # Two causes: they match different defects.
        "vector_muladd": ("converted_by:device and e4m3 in row", "converted_by:device and e5m2 in row"),
        "vector_stages": "e4m3 in row",
        "vector_layout_conversion": "commands:alternate and e4m3 in types",
    },
    ("nvidia", "slow-tensor-loads"): {"flexible": "does:tensor and size:4x4x2 or 4x8x1 or k1024 or k256 or m1024 or n1024 or n256"},
    ("nvidia", "odd-sums-add-to-the-next-element"): {"vector_training": "m odd and operation:both or reduce_sum"},
    ("nvidia", "nan-between-rows"): {
        "vector_muladd": "data:exact and form:again or single and given:exchanged or loaded or merged or parameter or scalars and "
        "layout:row and bias interpretation of row = f16 and columns of size not a multiple of 8",
        "vector_stages": "layout:row and bias interpretation of row = f16",
    },
    # One box for both: its one case shows the other failure, too.
    ("nvidia", "one-arm-of-a-ray-generation-shader"): {"vector_stages": "layout:row and bias interpretation of row = f16"},
    ("nvidia", "spare-components-move-inputs"): {"vector_muladd": "smallest size of size >= 4 and spare:one"},
    ("nvidia", "stride-of-the-loading-invocation"): {"vector_muladd": "strides:own"},
    ("nvidia", "vectors-of-32-bytes-in-turns"): {"vector_memory_order": "number of component = 32 and form:workgroups and length <= 8"},
    ("lavapipe", "stride-of-64-bits"): {"load_store": "integer:s64"},
    ("lavapipe", "muladd-overwrites-c"): {"muladd": "form:reuse and K of row >= 16"},
    ("lavapipe", "conversions-by-type-not-instruction"): {"conversion": "signs:crossed"},
    ("lavapipe", "structs-of-large-matrices"): {
        "aggregates": "holder:nested or struct and N of row >= 16",
        "elements": "holder:nested or struct and N of row >= 16",
    },
    ("lavapipe", "reductions-of-fragments"): {
        "reduce": "mode:column or row and smallest size of shape >= 16",
        "function_bodies": "instruction:reduce and source:specialization",
    },
    # One box for both: one code, one family, one axis.
    ("lavapipe", "copies-of-aggregates"): {"aggregates": "move:copy_memory or insert"},
    ("lavapipe", "insertions-into-aggregates"): {"aggregates": "move:copy_memory or insert"},
    ("lavapipe", "sides-of-256"): {"flexible": "size:m256 or n256"},
    ("lavapipe", "structs-for-per-element-functions"): {"per_element": "function:bundled or struct"},
    ("lavapipe", "stores-after-divided-barriers"): {"memory": "form:divided_plain"},
}
"""(run, known failure) -> the box, or the boxes, for each family in which the run has cases of the known failure."""

UNDECIDED = frozenset({"timeout.pipeline"})
"""Codes with some cases outside any box: sizes alone do not decide which pipelines take slightly longer than the limit."""


@dataclass(frozen=True)
class Findings:
    """A run without its known failures: the id of the known failure of each case, and the causes that are found without it."""

    results: Sequence[CaseResult]
    known: Mapping[str, str]
    causes: Sequence[Cause]

    def boxes(self, known: str) -> dict[str, set[Box]]:
        """Return the boxes of all causes that have cases of a known failure, by family."""
        found: dict[str, set[Box]] = {}
        for cause in self.causes:
            for family in {case.family for case in cause.results if self.known.get(case.id) == known}:
                found.setdefault(family, set()).update(one.box for one in cause.inside if one.family == family)
        return found


@cache
def findings(run: str) -> Findings:
    results = read(ROOT / "reports" / "published" / RUNS[run]).results
    known = {result.id: result.known for result in results if result.verdict is Verdict.KNOWN_FAIL}
    unknown = [
        replace(one, verdict=Verdict(one.code.partition(".")[0]), known="", reason=one.code) if one.id in known else one for one in results
    ]
    return Findings(unknown, known, causes(unknown))


@cache
def conditions(run: str) -> tuple[dict[str, Any], ...]:
    document = plain(ROOT / "golden" / "known_failures" / f"{run}.yaml")
    return tuple(cases for entry in document["failures"] for cases in entry["cases"])


def is_known(case: CaseResult, run: str) -> bool:
    return any(case.id == cases if isinstance(cases, str) else meets(case, cases) for cases in conditions(run))


def meets(case: CaseResult, cases: Mapping[str, Any]) -> bool:
    if case.family != cases["family"]:
        return False
    when = {name: [labels] if isinstance(labels, str) else labels for name, labels in cases.get("when", {}).items()}
    return all(name in case.parameters and any(fnmatchcase(case.parameters[name], one) for one in labels) for name, labels in when.items())


@pytest.mark.parametrize(("run", "known"), FOUND, ids=lambda value: value)
def test_the_box_of_a_finding_is_its_condition(run, known):
    assert {family: {phrase(box) for box in boxes} for family, boxes in findings(run).boxes(known).items()} == {
        family: {words} if isinstance(words, str) else {*words} for family, words in FOUND[run, known].items()
    }


@pytest.mark.parametrize("run", RUNS)
def test_every_known_failure_is_found(run):
    assert {id_ for of_run, id_ in FOUND if of_run == run} >= set(findings(run).known.values())
    for cause in findings(run).causes:
        if cause.verdict is not Verdict.QUALITY_WARNING:
            assert sum(one.failing for one in cause.inside) == len(cause.results) or cause.code in UNDECIDED


@pytest.mark.parametrize("run", RUNS)
def test_no_box_of_a_failure_has_a_case_that_no_finding_is_about(run):
    for cause in findings(run).causes:
        for inside in cause.inside:
            if cause.verdict is not Verdict.QUALITY_WARNING:
                # A quality warning shows the same defect in cases where anything is permitted.
                left_out = (Verdict.NOT_SUPPORTED, Verdict.QUALITY_WARNING)
                ran = [one for one in findings(run).results if one.family == inside.family and one.verdict not in left_out]
                within = Table([one.parameters for one in ran]).inside(inside.box)
                assert [one.id for one, is_inside in zip(ran, within, strict=True) if is_inside and not is_known(one, run)] == []


def test_a_stride_of_64_bits_that_is_unknown_when_the_pipeline_is_made_is_a_quality_warning():
    (cause,) = [cause for cause in findings("nvidia").causes if cause.code == "quality_warning.F-KHR-30"]
    assert cause.decided == ("12 of 12 cases with number of integer = 64 and source:buffer or push_constant are quality warnings; 0 pass",)


def test_one_bug_of_strides_is_one_cause_in_three_families():
    (cause,) = [cause for cause in findings("nvidia").causes if "tensor_layout" in cause.families]
    assert set(cause.families) == {"tensor_block", "tensor_layout", "kernel_dequantised"}
