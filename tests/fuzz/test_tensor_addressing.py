"""Random tensor addressing: the draws, the detection of wrong devices, and the shrinking of draws."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest

from cts.cli import main
from cts.commands.fuzzing import Difference, Fuzzer, check_known
from cts.devices.device import DeviceCrash, DeviceError
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.instructions.tensors.tensor import block_count
from cts.embedded.instructions.tensors.tensor_access import places_of
from cts.embedded.instructions.tensors.tensor_addressing import Layout, View
from cts.embedded.profile import load_profile
from cts.embedded.types.values import wide
from generators.errors import CtsError
from generators.fuzz.draws import DRAWS_PER_FORM, draw
from generators.fuzz.shrinking import simpler, size
from generators.fuzz.tensor_addressing import Addressing, describe, write
from generators.kernel import Dispatch, Kernel, Outcome
from generators.spirv.enumerants import TensorClampMode
from generators.types import ClampMode, StorageClass

SOME = range(0, 100 * DRAWS_PER_FORM, DRAWS_PER_FORM)


def fuzzer(seed: int = 3, faults: Faults = NO_FAULTS) -> Fuzzer:
    return Fuzzer(seed, DeviceHolder(lambda: EmbeddedDevice(load_profile("universal"), faults=faults)), "spirv")


def found(seed: int, count: int, faults: Faults) -> Difference:
    """Return the first draw that differs on a device with faults, shrunk."""
    judge = fuzzer(seed, faults)
    *_, tally = judge.run(draw, 0, count, 1)
    assert tally.differences, f"no difference in {tally.judged} draws"
    return list(judge.shrink(tally.differences[0]))[-1]


def test_the_same_seed_draws_the_same_programs_and_another_one_others():
    assert [draw(5, index) for index in range(60)] == [draw(5, index) for index in range(60)]
    assert [draw(5, index) for index in range(60)] != [draw(6, index) for index in range(60)]


def test_draws_of_a_form_differ_only_in_operands():
    draws = [draw(5, index) for index in range(DRAWS_PER_FORM)]
    assert len({one.form for one in draws}) == 1
    assert len(set(draws)) > DRAWS_PER_FORM // 2
    written = [write(one) for one in draws]
    assert all(one.program == written[0].program for one in written)
    assert len({tuple(one.operands.values()) for one in written}) == len(set(draws))


def test_draws_reach_every_part_of_the_addressing():
    draws = [draw(1, index) for index in SOME]
    assert {one.rank for one in draws} == {1, 2, 3, 4, 5}
    assert {one.mode for one in draws} == set(ClampMode)
    assert {one.access for one in draws} == {"load", "store"}
    assert {one.storage for one in draws} == {StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER}
    assert {setting for one in draws for setting, _ in one.steps} == {"dimension", "stride", "slice", "clamp_value", "block_size"}
    views = [one.view for one in draws if one.view is not None]
    assert {setting for view in views for setting, _ in view.steps} == {"dimension", "stride", "clip"}
    assert any(len(one.view.permutation) != one.rank for one in draws if one.view is not None)
    assert any(sum(setting == "slice" for setting, _ in one.steps) > 2 for one in draws)


def test_draws_are_defined_and_the_embedded_device_agrees():
    *_, tally = fuzzer(9).run(draw, 0, 5 * DRAWS_PER_FORM, 1)
    assert tally.judged == 5 * DRAWS_PER_FORM
    assert not tally.unsupported
    assert not tally.differences


def test_every_simpler_addressing_that_is_taken_is_smaller():
    for index in SOME[:20]:
        one = draw(2, index)
        assert describe(one)
        smaller = [each for each in simpler(one) if size(each) < size(one)]
        assert smaller
        assert one not in smaller


Change = Callable[[Layout, View | None], tuple[Layout, View | None]]


def addressing(change: Change) -> Faults:
    """Return a fault that makes tensor accesses use the layout and the view that ``change`` makes of the right ones."""

    def fault(right: Callable) -> Callable:
        return lambda machine, matrix, layout, view, store: right(machine, matrix, *change(layout, view), store)

    return Faults(operations={places_of: fault})


def clip_ignored(layout: Layout, view: View | None) -> tuple[Layout, View | None]:
    whole = (0, 0xFFFFFFFF)
    return layout, None if view is None else replace(view, clip_rows=whole, clip_columns=whole)


def not_permuted(layout: Layout, view: View | None) -> tuple[Layout, View | None]:
    return layout, None if view is None else replace(view, permutation=tuple(sorted(view.permutation)))


def innermost_stride_one(layout: Layout, view: View | None) -> tuple[Layout, View | None]:
    return replace(layout, stride=(*layout.stride[:-1], 1)), view


def repeat_as_edge(layout: Layout, view: View | None) -> tuple[Layout, View | None]:
    repeats = layout.clamp_mode is TensorClampMode.Repeat
    return replace(layout, clamp_mode=TensorClampMode.ClampToEdge if repeats else layout.clamp_mode), view


def blocks_forgotten(layout: Layout, view: View | None) -> tuple[Layout, View | None]:
    return replace(layout, block_size=(1,) * len(layout.block_size)), view


def only_dimension(one: Addressing) -> bool:
    return one.rank == 1 and one.view is None


CHANGES: dict[Change, Callable[[Addressing], bool]] = {
    clip_ignored: lambda one: one.rank == 1 and one.view is not None and [setting for setting, _ in one.view.steps] == ["clip"],
    not_permuted: lambda one: one.view is not None and len(one.view.permutation) == 2 and not any(s == "clip" for s, _ in one.view.steps),
    innermost_stride_one: lambda one: only_dimension(one) and [setting for setting, _ in one.steps] == ["dimension", "stride"],
    repeat_as_edge: lambda one: only_dimension(one) and one.mode is ClampMode.REPEAT and len(one.steps) == 2,
    blocks_forgotten: lambda one: only_dimension(one) and "block_size" in dict(one.steps) and len(one.steps) == 2,
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_broken_device_is_found_and_its_draw_is_made_small(change):
    small = found(4, 4000, addressing(change))
    assert CHANGES[change](small.addressing), describe(small.addressing)


class Dying(EmbeddedDevice):
    """Dies on every dispatch if ``alone``, otherwise only on several dispatches at once."""

    def __init__(self, alone: bool) -> None:
        super().__init__(load_profile("universal"))
        self.alone = alone

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        if len(dispatches) > 1 or self.alone:
            raise DeviceCrash("signal 11")
        return super().run(kernel, dispatches)


@pytest.mark.parametrize("alone", [True, False])
def test_a_device_that_dies_is_found_whether_or_not_a_draw_does_it_alone(alone):
    judge = Fuzzer(3, DeviceHolder(lambda: Dying(alone)), "spirv")
    *_, tally = judge.run(draw, 0, DRAWS_PER_FORM, 1)
    assert {one.verdict for one in tally.differences} == {"crash"}
    assert len(tally.differences) == (DRAWS_PER_FORM if alone else 1)
    assert ("in none alone" in tally.differences[0].message) is not alone
    sizes = [size(tally.differences[0].addressing), *(size(one.addressing) for one in judge.shrink(tally.differences[0]))]
    assert (len(sizes) > 1) is alone
    assert sizes == sorted(set(sizes), reverse=True)


def test_an_interrupt_while_shrinking_keeps_what_was_found_so_far(monkeypatch, capsys):
    def interrupted(self, difference):
        yield replace(difference, message="the simplest so far")
        raise KeyboardInterrupt

    monkeypatch.setattr(Fuzzer, "shrink", interrupted)
    differing(monkeypatch)
    assert main(["fuzz", "tensor_addressing", "--device", "embedded", "--seed", "4", "--count", "200"]) == 1
    printed = capsys.readouterr()
    assert "the simplest so far" in printed.out
    announced = [line for line in printed.err.splitlines() if line.startswith("draw ")]
    assert [line.split(": ")[1] for line in announced] == [
        "fail",
        "shrinking; Ctrl-C keeps the simplest so far",
        "interrupted, not all simpler programs were tried",
    ]


def differing(monkeypatch) -> None:
    """Make commands open embedded devices that ignore clip windows."""
    monkeypatch.setattr("cts.embedded.device.EmbeddedDevice", partial(EmbeddedDevice, faults=addressing(clip_ignored)))


FUZZ = ["fuzz", "tensor_addressing", "--device", "embedded", "--seed", "4", "--count", "200"]


@pytest.mark.parametrize(
    ("stop", "code", "said"),
    [
        (KeyboardInterrupt(), 1, "interrupted before all draws were run"),
        (DeviceError("the device cannot be opened any more"), 1, "cts: the device cannot be opened any more"),
    ],
)
def test_a_run_that_ends_early_keeps_its_findings(stop, code, said, monkeypatch, capsys, tmp_path):
    differing(monkeypatch)
    judge = Fuzzer._judge

    def ending(self, form, numbered, tally):
        if tally.differences:
            raise stop
        judge(self, form, numbered, tally)

    monkeypatch.setattr(Fuzzer, "_judge", ending)
    assert main([*FUZZ, "--maxfail", "1000", "--no-shrink", "--out", str(tmp_path)]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "80 draws on embedded, seed 4: 39 differ" in printed.out
    assert printed.out.count("reproduce: cts fuzz") == len(list(tmp_path.iterdir())) == 39


def test_draws_that_shrink_to_one_program_are_printed_once(monkeypatch, capsys):
    differing(monkeypatch)
    assert main([*FUZZ, "--maxfail", "3"]) == 1
    out = capsys.readouterr().out
    assert out.count("#version 460") == 1
    assert "tensor_addressing[4-41]: fail, shrunk to the same program as tensor_addressing[4-40]\n" in out
    assert out.count("reproduce: cts fuzz") == 3


def test_an_interrupt_before_anything_differs_says_what_was_judged(monkeypatch, capsys):
    run = Fuzzer.run

    def interrupted(self, *arguments):
        for number, tally in enumerate(run(self, *arguments)):
            yield tally
            if number == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(Fuzzer, "run", interrupted)
    assert main(FUZZ) == 130
    assert "80 draws on embedded, seed 4: 0 differ" in capsys.readouterr().out


def test_an_interrupt_while_shrinking_ends_all_shrinking(monkeypatch, capsys):
    def interrupted(self, difference):
        yield difference
        raise KeyboardInterrupt

    differing(monkeypatch)
    monkeypatch.setattr(Fuzzer, "shrink", interrupted)
    assert main([*FUZZ, "--maxfail", "3"]) == 1
    printed = capsys.readouterr()
    assert printed.err.count("shrinking") == 1
    assert printed.out.count("reproduce: cts fuzz") == 3


def test_a_device_that_is_gone_while_shrinking_costs_nothing_found(monkeypatch, capsys):
    def gone(self, difference):
        raise DeviceError("the device cannot be opened any more")

    differing(monkeypatch)
    monkeypatch.setattr(Fuzzer, "shrink", gone)
    assert main(FUZZ) == 1
    printed = capsys.readouterr()
    assert "cts: the device cannot be opened any more" in printed.err
    assert "reproduce: cts fuzz" in printed.out


def test_a_folder_that_cannot_be_written_costs_nothing_found(monkeypatch, capsys, tmp_path):
    differing(monkeypatch)
    (tmp_path / "tensor_addressing-4-40").touch()
    assert main([*FUZZ, "--maxfail", "2", "--no-shrink", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out.count("reproduce: cts fuzz") == 2
    assert "tensor_addressing-4-40: File exists; name another folder" in printed.err
    assert (tmp_path / "tensor_addressing-4-41" / "README.md").is_file()


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_device_that_supports_no_draw_was_not_tested(more, capsys):
    assert main(["fuzz", "tensor_addressing", "--device", "embedded:llvmpipe", "--count", "80", *more]) == 2
    printed = capsys.readouterr()
    assert printed.err == "cts: nothing was tested: embedded llvmpipe supports none of 80 draws: choose another --device\n"
    assert "feature cooperativeMatrixTensorAddressing" in printed.out


@pytest.mark.parametrize(
    ("id_", "nearest"),
    [("", ""), ("tensor_view.clip_ignore", "tensor_view.clip_ignored"), ("multiply_add.without_c", "tensor_")],
    ids=["empty", "misspelt", "of other programs"],
)
def test_ids_of_no_defect_of_the_draws_are_refused(id_, nearest, monkeypatch):
    monkeypatch.setattr("cts.commands.fuzzing.MOST_FORMS", 30)
    with pytest.raises(CtsError) as raised:
        check_known(draw, 4, ["tensor_view.clip_ignored", id_])
    assert nearest in str(raised.value)


def test_a_device_that_dies_and_does_not_come_back_is_found_all_the_same():
    devices = iter([Dying(alone=True)])

    def once() -> Dying:
        try:
            return next(devices)
        except StopIteration:
            raise DeviceError("the device cannot be opened any more") from None

    tallies = []
    with pytest.raises(DeviceError):
        tallies.extend(Fuzzer(3, DeviceHolder(once), "spirv").run(draw, 0, DRAWS_PER_FORM, 1))
    (difference,) = tallies[-1].differences
    assert difference.verdict == "crash"
    assert (
        difference.message == "signal 11\nin one submission with draws up to 39; none was run alone: the device cannot be opened any more"
    )


def test_the_command_prints_what_differs_and_writes_a_folder(monkeypatch, tmp_path, capsys):
    arguments = ["fuzz", "tensor_addressing", "--device", "embedded", "--seed", "4", "--count", "200", "--out", str(tmp_path)]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judged"] == 200
    differing(monkeypatch)
    assert main(arguments) == 1
    text = capsys.readouterr().out
    assert "view clip" in text
    assert "coopMatLoadTensorNV" in text or "coopMatStoreTensorNV" in text
    (folder,) = tmp_path.iterdir()
    assert {"README.md", "kernel.json", "module.spv", "shader.comp"} <= {entry.name for entry in folder.iterdir()}
    index = folder.name.rpartition("-")[2]
    readme = (folder / "README.md").read_text()
    assert f"--seed 4 --from {index} --count 1" in readme
    assert "adding what comes back" not in readme
    assert "fail on embedded, driver embedded 1:\n\n    wrong value: " in readme
    assert f"reproduce: cts fuzz tensor_addressing --seed 4 --from {index} --count 1 --front-end spirv --device embedded\n" in text
    assert main([*arguments[:6], "--from", index, "--count", "1"]) == 1
    assert "\n1 draw on embedded, seed 4: 1 differs (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["matrices"], "SUBJECT matrices: unknown"),
        (["tensor_addressing", "--seed", "x"], "--seed x: must be an integer of 0 or more"),
        (["tensor_addressing", "--count", "0"], "--count 0: expected an integer from 1 to"),
    ],
)
def test_bad_input_is_one_line(arguments, why, capsys):
    assert main(["fuzz", *arguments]) == 2
    assert why in capsys.readouterr().err


def test_a_place_that_takes_no_reports_is_named_before_anything_runs(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["fuzz", "tensor_addressing", "--device", "embedded", "--count", "1", "--out", str(tmp_path / "file")]) == 2
    assert "cannot write it: File exists; name another folder" in capsys.readouterr().err


def test_results_of_a_known_defect_are_counted_apart():
    rounded_down = Faults(operations={block_count: lambda right: lambda machine, dimension, size: wide(dimension) // wide(size)})
    device = DeviceHolder(lambda: EmbeddedDevice(load_profile("universal"), faults=rounded_down))
    count = 12 * DRAWS_PER_FORM
    *_, tally = Fuzzer(5, device, "spirv", ("tensor_layout.block_strides_rounded_down",)).run(draw, 0, count, count)
    assert tally.known
    assert not tally.differences
    *_, tally = Fuzzer(5, device, "spirv", ("tensor_view.clip_ignored",)).run(draw, 0, count, count)
    assert tally.differences
    assert not tally.known


class FoldsInBounds(EmbeddedDevice):
    """A device that crashes because it divides by the period of a dimension of one element, which is zero."""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        raise DeviceCrash("divided by zero")


def test_a_draw_that_a_known_defect_makes_undefined_is_not_run():
    addressing = replace(
        draw(1, 2937), component="f16", rank=2, mode=ClampMode.REPEAT_MIRRORED, steps=(("dimension", (1, 5)),), view=None, access="load"
    )
    device = DeviceHolder(lambda: FoldsInBounds(load_profile("universal")))
    *_, tally = Fuzzer(1, device, "spirv").run(lambda *_: addressing, 0, 2, 2)
    assert (tally.judged, tally.left_out, len(tally.differences)) == (2, 0, 2)
    *_, tally = Fuzzer(1, device, "spirv", ("tensor_access.in_bounds_mirrored", "tensor_access.in_bounds_mirrored_to_first")).run(
        lambda *_: addressing, 0, 2, 2
    )
    assert (tally.judged, tally.left_out, len(tally.differences)) == (0, 2, 0)
