"""The device after one that a known failure will cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from cts.devices.device import DeviceTimeout, DeviceUnavailable, Step
from cts.devices.holder import DeviceHolder
from cts.devices.spec import DeviceSpec
from cts.engine.attempts import Attempts
from cts.engine.judging import Judging
from cts.engine.selection import Selection
from cts.engine.session import Settings
from cts.verdict.known_failures import KnownFailure, KnownFailures, Selector
from generators.casebook import Case, Casebook, Tier
from generators.kernel import Dispatch, Outcome

from .conftest import Scripted


class Holder(DeviceHolder):
    """Counts how often another device is begun."""

    begun = 0

    def begin(self) -> None:
        self.begun += 1


def late(_: Sequence[Dispatch]) -> list[Outcome]:
    raise DeviceTimeout("late", step=Step.PIPELINE)


@pytest.mark.parametrize(("ends", "begun"), [(("timeout.pipeline",), 1), (("timeout.pipeline", "pass"), 0), (("timeout",), 0)])
def test_it_is_begun_meanwhile_if_the_case_always_ends_in_the_compiler(casebook: Casebook, case: Case, ends: tuple[str, ...], begun: int):
    entry = KnownFailure("known", (), (), (Selector(case.family),), ends, (), None, "what", "", (), "", "", "", limit=3.0)
    known = KnownFailures(entries=(entry,))
    settings = Settings(Tier.SMOKE, "spirv", DeviceSpec("embedded", "universal"), Scripted.description, "", True, 60.0, known=known)
    holder = Holder(lambda: Scripted(late))
    judging = Judging(settings, Selection(casebook, Tier.SMOKE, (), {}, None, Attempts(1, {})), holder, None)
    # The double fails the control, too.
    with suppress(DeviceUnavailable):
        list(judging.judge(case))
    assert holder.begun == begun
