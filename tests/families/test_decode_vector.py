"""Mistakes of devices with vector decode functions must change a stored element of several cases, or they might go unnoticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from cts.defects.decode_vector import decode_vector_defects
from cts.defects.glossary import glossary
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.tensors.decode import chosen_groups, places_in_groups
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.reference.evaluate import evaluate
from cts.verdict.effort import Budget, Effort
from cts.verdict.expected import OneOf
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, build
from tests.families.decode_choices import cases
from tests.families.evidence import is_seen

Places = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]

ENOUGH = 2
PERMITTED = "decode_vector.struct_of_scalar_function"
"""A mistake that the text can be read to permit (F-DV-1)."""

IDS = [id_ for id_ in glossary().entries if id_.startswith("decode_vector.") and id_ != PERMITTED]


@cache
def seen() -> Counter[str]:
    """Count the cases of the smoke tier that show each defect, up to ENOUGH."""
    found: Counter[str] = Counter()
    for case in cases("smoke"):
        built = build(case)
        missing = {defect.id: defect for defect in decode_vector_defects(built.program) if found[defect.id] < ENOUGH}
        if missing:
            subcase = built.subcases(built.program)[0]
            found.update(id_ for id_, defect in missing.items() if is_seen(built.program, subcase, defect))
    return found


def judged(case: Case, profile: str, faults: Faults = NO_FAULTS) -> CaseResult:
    return judge(
        case, DeviceHolder(lambda: EmbeddedDevice(load_profile(profile), faults=faults)), "spirv", "smoke", effort=Effort(budget=Budget(0))
    )


@pytest.mark.parametrize(("lanes", "feature"), [(2, "cooperativeMatrixDecodeVector"), (8, "longVector")])
def test_a_feature_that_the_device_lacks_is_named(lanes: int, feature: str) -> None:
    case = next(case for case in cases("smoke") if case.parameters.lanes == lanes and case.parameters.component.name == "f16")
    result = judged(case, "nvidia-h200")
    assert result.verdict is Verdict.NOT_SUPPORTED
    assert result.code == f"missing.feature.{feature}"


def reversed_components(places: Places) -> Places:
    def performed(inside: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        group, component = places(inside, width)
        return group, width - 1 - component

    return performed


def groups_one_later(places: Places) -> Places:
    def performed(inside: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        group, component = places(inside + 1, width)
        return group, component

    return performed


@pytest.mark.parametrize("fault", [reversed_components, groups_one_later])
def test_a_device_that_calls_the_function_wrongly_fails(fault: Callable[[Places], Places]) -> None:
    always = {chosen_groups: lambda _: lambda seed, site, instance, count: np.ones(count, bool)}
    faults = Faults(operations={**always, places_in_groups: fault})
    some = [case for case in cases("smoke") if case.parameters.component.name == "f16" and case.parameters.lanes == 2][:8]
    verdicts = [judged(case, "universal", faults).verdict for case in some]
    assert verdicts.count(Verdict.FAIL) >= ENOUGH


@pytest.mark.parametrize("id_", IDS)
def test_several_cases_show_it(id_: str) -> None:
    assert seen()[id_] >= ENOUGH


def test_functions_of_decode_vector_agree() -> None:
    for case in cases("smoke"):
        if case.parameters.functions == "agree":
            built = build(case)
            expected = evaluate(built.program, built.subcases(built.program)[0])
            assert not any(isinstance(placed.expected, OneOf) for placed in expected.placed), case.id
