"""A failure quotes the requirement of the operation whose result is wrong, or of the defect that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from cts.devices.holder import DeviceHolder
from cts.diagnosis.quoted_requirement import of_defects, requirement
from cts.diagnosis.shown import BEYOND, outcome_of
from cts.engine.runner import judge
from cts.kinds.kernel import arrange
from cts.verdict.verdict import Verdict
from generators.casebook import Case, build, expand
from generators.errors import GeneratorError
from generators.kernel import Dispatch, Kernel, Outcome
from generators.program.reading import language
from tests.broken_devices.doubles import unhurried
from tests.broken_devices.null_device import NullDevice
from tests.families.evidence import chosen
from tests.suite import casebook


class Defective(NullDevice):
    """A device that gives the results of a defect for the subcases of one case."""

    def __init__(self, case: Case, id_: str) -> None:
        super().__init__()
        plan = arrange(build(case))
        self._outcomes: list[Outcome] = []
        for program, subcase, before in zip(plan.programs, plan.subcases, plan.before, strict=True):
            defect = chosen(known_defects(program), id_)[0]
            with np.errstate(all="ignore"):
                wrong = evaluate_defect(program, subcase, defect.substitutes, beyond=BEYOND)
            self._outcomes.append(outcome_of(program, wrong, before))

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        return self._outcomes


QUOTED = [
    ("decode_vector.component_by_column", "decode_vector", "DV-SEM-05"),
    ("decode_vector.groups_of_half", "decode_vector", "DV-SEM-03"),
    ("tensor_block.coordinates_exchanged", "tensor_block", "CM2-DEC-05"),
    ("tensor_block.first_block", "tensor_block", "CM2-DEC-04"),
    ("array_conversion.cast_reversed", "bitcast_arrays", "QC-BC-03"),
    ("array_conversion.start_ignored", "sub_arrays", "QC-SA-04"),
    ("vector_multiply.packed_high_bits_first", "vector_muladd", "CV-MM-08"),
    ("vector_multiply.input_wraps", "vector_muladd", "CV-MM-09"),
    ("vector_multiply.input_rounded", "vector_muladd", "CV-MM-10"),
    ("vector_multiply.input_sign_flag_inverted", "vector_muladd", "CV-MM-13"),
    ("vector_multiply.bias_dropped", "vector_muladd", "CV-MM-15"),
    ("vector_training.in_f16", "vector_training", "CV-OPA-03"),
    ("per_element.row_zero", "per_element", "CM2-PE-03"),
    ("reduce.rows_for_columns", "reduce", "CM2-RED-05"),
    ("use.transposition_left_out", "use_conversion", "CM2-TR-02"),
    ("tensor_layout.clamp_value_ignored", "tensor_clamp", "TA-CLV-01"),
    ("tensor_view.clip_ignored", "tensor_view", "TA-VCL-01"),
    ("multiply_add.sign_ignored", "muladd", "KHR-MAD-05"),
]

FIRST = {
    "decode_vector.component_by_column": "view:columns",
    "decode_vector.groups_of_half": "lanes:4/",
    "tensor_block.coordinates_exchanged": "decode:coordinates",
    "tensor_block.first_block": "place:over/",
    "tensor_view.clip_ignored": ":p10/",
    "use.transposition_left_out": "layouts:cr/",
}
"""Parts of the ids of cases that are tried first, since other defects explain the failures of most cases as well."""


@pytest.mark.parametrize(("id_", "family", "quoted"), QUOTED)
def test_a_failure_quotes_the_requirement_that_its_defect_breaks(id_: str, family: str, quoted: str) -> None:
    cases = expand(casebook().family(family), "smoke")
    for case in sorted(cases, key=lambda case: FIRST.get(id_, "") not in case.id):
        if quoted not in case.requirements or not all(chosen(known_defects(one), id_) for one in arrange(build(case)).programs):
            continue
        try:
            device = Defective(case, id_)
        except GeneratorError:
            # The specification says nothing about the results of the defect in this case.
            continue
        result = judge(case, DeviceHolder(lambda device=device: device), "spirv", "smoke", effort=unhurried())
        if result.verdict is Verdict.FAIL and [match.id for match in result.failures[0].matches][:1] == [id_]:
            assert result.failures[0].mismatch.requirement == quoted
            assert quoted in result.message
            return
    pytest.fail("no case shows the defect")


@pytest.mark.parametrize(
    ("family", "quoted"),
    [
        ("tensor_block", ("CM2-DEC-06",)),
        ("decode_vector", ("DV-SEM-01",)),
        ("array_conversion", ("QC-CC-04", "QC-CC-05", "QC-CX-02")),
        ("bitcast_arrays", ("QC-BC-03",)),
        ("sub_arrays", ("QC-SA-04",)),
    ],
)
def test_a_failure_without_an_explanation_quotes_the_operation_that_made_the_value(family: str, quoted: tuple[str, ...]) -> None:
    case = next(one for one in expand(casebook().family(family), "smoke") if set(quoted) & set(one.requirements))

    class Odd(NullDevice):
        def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
            rng = np.random.default_rng(1)
            outcomes = super().run(kernel, dispatches)
            noise = [{name: rng.integers(0, 256, data.size, np.uint8) for name, data in one.outputs.items()} for one in outcomes]
            return [replace(one, outputs=outputs) for one, outputs in zip(outcomes, noise, strict=True)]

    result = judge(case, DeviceHolder(Odd), "spirv", "smoke")
    elements = [failure.mismatch for failure in result.failures if failure.mismatch.matrix is not None]
    assert {mismatch.requirement for mismatch in elements} <= set(quoted)


def test_every_named_requirement_and_defect_exists() -> None:
    ids = {entry.id for entry in glossary().entries.values()}
    known = ids | {id_.partition(".")[0] for id_ in ids}
    assert set(of_defects()) <= known
    computed = [kind.rests_on for kind in language() if kind.rests_on]
    assert len(computed) == 5
    named = {id_ for listed in (*of_defects().values(), *computed) for id_ in listed}
    assert named <= set(casebook().requirements)


def test_wrong_bytes_keep_their_requirement() -> None:
    case = next(iter(expand(casebook().family("load_store"), "smoke")))
    result = judge(case, DeviceHolder(NullDevice), "spirv", "smoke")
    mismatch = result.failures[0].mismatch
    assert requirement(replace(mismatch, matrix=None, requirement=""), (), build(case).program, case.requirements) == ""
