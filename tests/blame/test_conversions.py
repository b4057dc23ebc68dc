"""A conversion of layouts that fails by one command is tried by each command alone."""

from __future__ import annotations

from dataclasses import replace

from cts.blame.evidence import Found, Step
from cts.blame.gathering import Bench, investigate
from cts.blame.rules import conclude
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.plan import checked_settings
from generators.casebook import find_case
from tests.suite import casebook

CASE = "vector_layout_conversion[types:f16.e4m3.f16/layouts:row-training-column/size:13x7/commands:alternate]"


class WrongOnTheDevice(EmbeddedDevice):
    """Its device command changes a byte of each matrix."""

    def convert(self, call):
        return [self._wrong(one, call) for one in super().convert(call)]

    @staticmethod
    def _wrong(answer, call):
        if call.command == "host" or answer.destination is None:
            return answer
        memory = answer.destination.copy()
        memory[300] ^= 1
        return replace(answer, destination=memory)


def test_a_conversion_is_tried_by_each_command_alone():
    options = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "isolation", "step_timeout"))
    settings = checked_settings({"device": "embedded:universal", **options})
    bench = Bench(settings, casebook(), lambda _: DeviceHolder(lambda: WrongOnTheDevice(load_profile("universal"))), lambda _: ())
    found = investigate(find_case(casebook(), CASE), bench).facts
    assert (found.of(Step.HOST_COMMAND), found.of(Step.EMBEDDED)) == (Found.PASSES, Found.PASSES)
    assert found.of(Step.DEVICE_COMMAND) in (Found.SAME, Found.DIFFERS)
    assert conclude(found).rule == "form_of_command"
