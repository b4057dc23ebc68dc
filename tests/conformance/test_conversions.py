"""Results of layout conversions are judged again from the elements that they recorded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cts.conformance.rejudge import Described, Rejudging
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.embedded.profile import load_profile
from cts.engine.runner import result_of
from cts.journal.record import encode
from cts.journal.record import result_of as record_result
from cts.kinds import conversion
from cts.kinds.kind import Stopwatch
from cts.verdict.effort import Effort
from cts.verdict.known_failures import NONE_KNOWN
from cts.verdict.verdict import Verdict
from generators.casebook import Tier, find_case
from tests.suite import casebook

CASES = [
    "vector_layout_conversion[types:e4m3.e4m3.f16/layouts:column-inferencing-column/size:1x19]",
    "vector_layout_conversion[types:f16.e4m3.f16/layouts:column-inferencing-column/size:23x1/source_stride:wide]",
]


class ZerosPositive(Described):
    """A device that makes -0 to 0 in matrices of f16."""

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        answers = super().convert(call)
        for info, answer in zip(call.infos, answers, strict=True):
            if answer.destination is not None and info.to.component.name == "f16":
                words = answer.destination.view(np.uint16)
                words[words == 0x8000] = 0
        return answers


@pytest.fixture
def description():
    return load_profile("universal").description


def record_of(id_, description):
    case = find_case(casebook(), id_)
    judgement = conversion.judge(case, ZerosPositive(description), "spirv", Stopwatch(), Effort())
    return case, json.loads(encode(result_of(case, judgement, description, "spirv", Tier.NIGHTLY)))


@pytest.mark.parametrize("id_", CASES)
def test_a_permitted_element_of_a_conversion_is_accepted(id_, description):
    case, record = record_of(id_, description)
    recorded = record_result(record)
    assert recorded.verdict is Verdict.QUALITY_WARNING
    assert list(Rejudging(description, NONE_KNOWN).refusals(case, recorded)) == []


def test_an_element_that_is_not_permitted_is_refused(description):
    case, record = record_of(CASES[0], description)
    record["failures"][0]["elements"][0] |= {"got_bits": "0x3c00", "got": 1.0}
    found = list(Rejudging(description, NONE_KNOWN).refusals(case, record_result(record)))
    assert {one.id for one in found} >= {"result.verdict"}
