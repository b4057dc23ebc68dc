"""Recorded evidence: known failures of NVIDIA's driver in a published run, each with the published result of the embedded device."""

from __future__ import annotations

from dataclasses import replace

from cts.blame.evidence import Evidence, Found, Step
from cts.blame.gathering import explanation, facts_of
from cts.blame.rules import conclude
from cts.journal.journal import journal_of, read
from cts.journal.published import FOLDER
from cts.verdict.fault import Party
from cts.verdict.verdict import ENDED_WELL, Verdict
from tests.suite import REPOSITORY

PARTIES = {
    "four-large-accumulators": Party.COMPILER,
    "constant-b-loses-signs": Party.DRIVER,
    "block-strides-rounded-down": Party.DRIVER,
    "mirrored-dimension-of-one": Party.DRIVER,
    "slow-tensor-loads": Party.COMPILER,
    "edge-of-endless-dimension": Party.DRIVER,
    "float8-converted-on-the-device": Party.DRIVER,
    "odd-sums-add-to-the-next-element": Party.DRIVER,
    "nan-between-rows": Party.DRIVER,
}


def test_recorded_failures_of_nvidia_are_the_drivers_fault():
    published = REPOSITORY / FOLDER
    run = read(journal_of(published / "nvidia-h200-580.159.04-nightly"))
    failures = {one.id: one for one in run if one.verdict is Verdict.KNOWN_FAIL}
    embedded = read(journal_of(published / "embedded-nightly"))
    right = {one.id for one in embedded if one.id in failures and one.verdict in ENDED_WELL}
    found = set()
    for id_ in right:
        # The record has the verdict of the list of known failures; the code keeps what happened.
        failure = replace(failures[id_], verdict=Verdict(failures[id_].code.partition(".")[0]))
        evidence = (Evidence(Step.FIRST, Found.SAME), Evidence(Step.SECOND, Found.SAME), Evidence(Step.EMBEDDED, Found.PASSES))
        found.add((failure.known, conclude(facts_of(failure, (*evidence, explanation(failure)))).party))
    assert found == set(PARTIES.items())
