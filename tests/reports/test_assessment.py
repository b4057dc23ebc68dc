"""The sentences at the top of a case's page."""

from __future__ import annotations

import pytest

from cts.journal.record import result_of
from cts.verdict.verdict import Verdict
from reports.assessment import Party, Sure, assessment
from reports.verdicts import PAGED


@pytest.fixture
def assessed(example):
    """Return a function that assesses a failed case with this failure, or a case with this verdict."""

    def made(verdict="fail", failure=None, **changes):
        record = example.record("muladd[data:exact]", verdict, **changes)
        if failure is not None:
            example.fail(record, failure)
            record |= changes
        return assessment(result_of(record))

    return made


def wrong(example, **bounds):
    found = example.failure(16, 16, lambda row, column: row == 3)
    for element in found["elements"]:
        element.update(bounds)
    return found


def test_it_says_how_many_elements_of_what_are_wrong(example, assessed):
    assert assessed(failure=wrong(example)).what.startswith("16 of 512 elements of `d` in `D` have a wrong value in 1 of 3 subcases: ")


def test_it_says_that_elements_were_not_written(example, assessed):
    found = example.failure(16, 16, lambda row, column: row == 3, "not written")
    assert "were not written" in assessed(failure=found).what


def test_an_exact_value_is_probably_the_drivers_mistake(example, assessed):
    found = assessed(failure=wrong(example))
    assert (found.party, found.sure) == (Party.DRIVER, Sure.LIKELY)


def test_a_module_from_glsl_may_also_be_its_compilers_mistake(example, assessed):
    assert assessed(failure=wrong(example), front_end="glsl").party is Party.COMPILERS


def test_a_value_that_a_position_decides_depends_on_this_suites_reading(example, assessed):
    found = assessed(failure=wrong(example) | {"position": "F-KHR-1"})
    assert (found.sure, found.position) == (Sure.READING, "F-KHR-1")


@pytest.mark.parametrize(("bound", "sure"), [(1.0, Sure.POLICY), (0.1, Sure.LIKELY)])
def test_a_value_near_the_error_bound_depends_on_it(example, assessed, bound, sure):
    found = wrong(example, got=1.0, low=0.0, high=0.5, center=0.0, bound=bound, magnitude=1.0)
    assert assessed(failure=found).sure is sure


@pytest.mark.parametrize(
    ("code", "party"), [("fail.accepted", Party.VALIDATOR), ("fail.rejected", Party.VALIDATOR), ("fail.property.count", Party.DRIVER)]
)
def test_an_answer_that_only_this_suite_judges_depends_on_its_reading(assessed, code, party):
    found = assessed(code=code)
    assert (found.party, found.sure) == (party, Sure.READING)


def test_a_message_in_other_words_is_nobodys_mistake_yet(assessed):
    assert assessed(code="fail.message").party is Party.UNKNOWN


def test_a_slow_compiler_breaks_no_rule(assessed):
    assert assessed("timeout", step="pipeline").party is Party.NOBODY
    assert assessed("timeout", step="dispatch").party is Party.DRIVER


@pytest.mark.parametrize("verdict", PAGED)
def test_each_verdict_has_an_assessment(assessed, verdict):
    assert assessed(verdict).because != "this version of the suite does not know the verdict"


def test_a_mistake_of_the_suite_is_the_suites(assessed):
    assert assessed(Verdict.ERROR.value).party is Party.SUITE
