"""Each kind of hardware whose rows are in ``cases/units.yaml`` runs cases of each family that asks for units."""

from __future__ import annotations

import pytest

from cts.conformance.support import Support
from cts.embedded.profile import load_profile
from cts.kinds.pinned_needs import pinned_needs
from generators.casebook import Family, expand
from tests.suite import casebook

LEAST = 3000
"""The least number of nightly cases that each profile supports."""


def supported(family: Family, device: Support) -> int:
    """Count the nightly cases of a family that a device runs, by their pinned needs."""
    return sum(pinned_needs(case) is not None and device.missing(case) is None for case in expand(family, "nightly"))


@pytest.mark.parametrize("profile", ["intel-xe2", "intel-xe-hpg"])
def test_a_device_with_the_rows_of_one_unit_runs_cases_of_each_family_that_asks_for_units(profile: str) -> None:
    device = Support(load_profile(profile).description)
    counts = {family.name: supported(family, device) for family in casebook() if any(product.unit for product in family.products)}
    assert [name for name, count in counts.items() if not count] == []
    assert sum(counts.values()) >= LEAST
