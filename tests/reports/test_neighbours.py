"""The cases nearest to a failed one that passed, and the names of its axis values."""

from __future__ import annotations

import re

from reports import write
from reports.axis_names import axis_names
from reports.journals import read
from reports.neighbours import Difference, Neighbours, named_labels


def _nearest(example, tmp_path, failed, others):
    records = [example.record(failed, "device_lost"), *(example.record(id_, verdict) for id_, verdict in others)]
    run = read(example.write_journal(tmp_path, records))
    (result,) = (result for result in run.results if result.id == failed)
    return Neighbours(run.results).passed(result)


def test_the_passes_that_differ_in_the_fewest_values_come_first(example, tmp_path):
    others = [("f[c-y-2]", "pass"), ("f[a-y-2]", "pass"), ("f[b-x-1]", "pass"), ("f[a-x-2]", "pass")]
    found = _nearest(example, tmp_path, "f[a-x-1]", others)
    assert [neighbour.id for neighbour in found] == ["f[a-x-2]", "f[b-x-1]", "f[a-y-2]", "f[c-y-2]"]
    assert found[0].differences == (Difference(2, "1", "2"),)
    assert found[2].differences == (Difference(1, "x", "y"), Difference(2, "1", "2"))


def test_of_equally_near_ones_each_axis_has_its_turn(example, tmp_path):
    others = [("f[b-x-1]", "pass"), ("f[c-x-1]", "pass"), ("f[d-x-1]", "pass"), ("f[a-y-1]", "pass"), ("f[a-y-2]", "pass")]
    found = _nearest(example, tmp_path, "f[a-x-1]", others)
    assert [neighbour.id for neighbour in found] == ["f[a-y-1]", "f[b-x-1]", "f[c-x-1]", "f[d-x-1]", "f[a-y-2]"]


def test_only_passes_of_the_family_count(example, tmp_path):
    others = [("f[a-x-2]", "fail"), ("f[a-x-3]", "not_supported"), ("g[a-x-2]", "pass"), ("f[a-x-2-more]", "pass")]
    assert _nearest(example, tmp_path, "f[a-x-1]", others) == ()


def test_cases_that_differ_in_much_say_nothing(example, tmp_path):
    assert _nearest(example, tmp_path, "f[a-b-c-d-e]", [("f[1-2-3-4-e]", "pass")]) == ()


def test_there_are_five_at_most(example, tmp_path):
    assert len(_nearest(example, tmp_path, "f[a-0]", [(f"f[a-{number}]", "pass") for number in range(1, 9)])) == 5


def test_values_have_the_names_of_their_axes_where_there_are_as_many(tmp_path):
    folder = tmp_path / "khr"
    folder.mkdir()
    (folder / "f.yaml").write_text("axes: {type: [a], order: [x, y]}\n")
    (folder / "broken.yaml").write_text("axes: [")
    names = axis_names(tmp_path, {"f", "broken", "absent"})
    assert names == {"f": ("type", "order")}
    assert named_labels("f[a-x]", names["f"]) == {"type": "a", "order": "x"}
    assert named_labels("f[a-x-1]", names["f"]) == {}
    assert named_labels("f[a-x]", ()) == {}


def test_a_page_of_a_lost_device_names_its_values_and_the_nearest_case_that_passed(example, tmp_path):
    start, end = (
        "tensor_clamp[f16-acc-16x16-subgroup-1-3",
        "load-after-beside_one-part-odd-default-default-push_constant-u32-storage_buffer]",
    )
    records = [example.record(f"{start}-mirrored-{end}", "device_lost"), example.record(f"{start}-edge-{end}")]
    write(example.write_journal(tmp_path, records), tmp_path)
    (page,) = (path.read_text() for path in (tmp_path / "failures").iterdir())
    assert re.search(r"<dt>which</dt>\s*<dd>beside_one</dd>", page)
    assert re.search(rf"<code>{re.escape(start)}-edge-.*?</code>.*?<code>mode</code> edge, not mirrored", page, re.DOTALL)
