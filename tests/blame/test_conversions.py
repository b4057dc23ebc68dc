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

ONE_COMMAND = "vector_layout_conversion[types:s8.s8.s8/layouts:row-row-row/commands:device]"
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


def investigated(id_):
    options = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "isolation", "step_timeout"))
    settings = checked_settings({"device": "embedded:universal", **options})
    bench = Bench(settings, casebook(), lambda _: DeviceHolder(lambda: WrongOnTheDevice(load_profile("universal"))), lambda _: ())
    return investigate(find_case(casebook(), id_), bench).facts


def test_a_conversion_is_tried_by_each_command_alone():
    found = investigated(CASE)
    assert (found.of(Step.HOST_COMMAND), found.of(Step.EMBEDDED)) == (Found.PASSES, Found.PASSES)
    assert found.of(Step.DEVICE_COMMAND) in (Found.SAME, Found.DIFFERS)
    assert conclude(found).rule == "form_of_command"


def test_the_case_itself_is_not_tried_again():
    found = investigated(ONE_COMMAND)
    assert found.of(Step.HOST_COMMAND) is Found.PASSES
    assert Step.DEVICE_COMMAND not in [one.step for one in found.evidence]
