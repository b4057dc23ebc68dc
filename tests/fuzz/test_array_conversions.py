"""Random conversions of arrays: they are defined, both readings agree on them, and the draw on which a wrong device fails is found and
shrunk."""

from __future__ import annotations

from dataclasses import replace

from cts.commands.fuzzing import ARRAY_CONVERSION, Fuzzer, check_known
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.matrices.array_conversion import placed
from cts.embedded.profile import load_profile
from generators.fuzz.array_conversions import DRAWS_PER_FORM, describe, draw, simpler, size
from generators.types import Use
from tests.families.test_array_conversion import rows_of_neighbours

COUNT = 10 * DRAWS_PER_FORM


def fuzzer(faults: Faults = NO_FAULTS, known: tuple[str, ...] = ()) -> Fuzzer:
    device = DeviceHolder(lambda: EmbeddedDevice(load_profile("universal"), faults=faults))
    return Fuzzer(5, device, "spirv", known, ARRAY_CONVERSION)


def test_both_readings_agree() -> None:
    *_, tally = fuzzer().run(draw, 0, COUNT, 1)
    assert (tally.judged, tally.differences, tally.unsupported) == (COUNT, [], {})


def test_draws_of_a_form_share_a_program_and_differ_in_numbers() -> None:
    drawn = [draw(1, index) for index in range(DRAWS_PER_FORM)]
    assert len({one.form for one in drawn}) == 1
    assert len({one.number for one in drawn}) == DRAWS_PER_FORM


def test_every_use_and_size_is_drawn() -> None:
    drawn = [draw(2, index * DRAWS_PER_FORM) for index in range(200)]
    assert {one.use for one in drawn} == set(Use)
    assert {one.subgroup_size for one in drawn} == {4, 8, 16, 32, 64}
    assert {one.parts for one in drawn} == {1, 2, 4}
    assert any(one.lines < one.subgroup_size for one in drawn)


def test_a_wrong_device_is_found_and_shrunk() -> None:
    wrong = fuzzer(Faults(operations={placed: rows_of_neighbours}))
    *_, tally = wrong.run(draw, 0, COUNT, 1)
    (found, *_) = tally.differences
    *_, best = found, *wrong.shrink(found)
    assert size(best.addressing) <= size(found.addressing)
    assert "subgroups of" in describe(best.addressing)


def test_a_known_defect_is_counted_apart() -> None:
    known = ("array_conversion.next_invocation",)
    check_known(draw, 5, known, ARRAY_CONVERSION)
    faulty = Faults(operations={placed: lambda place: lambda type_, lines, arrays: place(type_, lines, _rolled(arrays, lines))})
    *_, tally = fuzzer(faulty, known).run(draw, 0, COUNT, 1)
    assert (tally.differences, tally.known > 0) == ([], True)


def _rolled(arrays, lines):  # type: ignore[no-untyped-def]
    result = arrays.copy()
    result[:, :lines] = result[:, :lines].take(range(1, lines + 1), axis=1, mode="wrap")
    return result


def test_simpler_draws_have_less() -> None:
    for index in range(0, 40 * DRAWS_PER_FORM, DRAWS_PER_FORM):
        one = replace(draw(3, index), start=0)
        assert all(size(candidate) < size(one) for candidate in simpler(one))
