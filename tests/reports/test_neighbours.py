"""The passing cases nearest to a failed one, and the parameters in which they differ from it."""

from __future__ import annotations

import re

from reports import write
from reports.journals import read
from reports.neighbours import Difference, Neighbours


def _nearest(example, tmp_path, failed, others):
    records = [example.record(failed, "device_lost"), *(example.record(id_, verdict) for id_, verdict in others)]
    run = read(example.write_journal(tmp_path, records))
    (result,) = (result for result in run.results if result.id == failed)
    return Neighbours(run.results).passed(result)


def _id(*labels, family="f"):
    return f"{family}[{'/'.join(f'{name}:{label}' for name, label in zip('pqrst', labels, strict=False))}]"


def test_the_passes_that_differ_in_the_fewest_parameters_come_first(example, tmp_path):
    others = [_id("c", "y", "2"), _id("a", "y", "2"), _id("b", "x", "1"), _id("a", "x", "2")]
    found = _nearest(example, tmp_path, _id("a", "x", "1"), [(id_, "pass") for id_ in others])
    assert [neighbour.id for neighbour in found] == [_id("a", "x", "2"), _id("b", "x", "1"), _id("a", "y", "2"), _id("c", "y", "2")]
    assert found[0].differences == (Difference("r", "1", "2"),)
    assert found[2].differences == (Difference("q", "x", "y"), Difference("r", "1", "2"))


def test_equally_near_passes_cover_each_parameter_in_turn(example, tmp_path):
    others = [_id("b", "x", "1"), _id("c", "x", "1"), _id("d", "x", "1"), _id("a", "y", "1"), _id("a", "y", "2")]
    found = _nearest(example, tmp_path, _id("a", "x", "1"), [(id_, "pass") for id_ in others])
    wanted = [_id("a", "y", "1"), _id("b", "x", "1"), _id("c", "x", "1"), _id("d", "x", "1"), _id("a", "y", "2")]
    assert [neighbour.id for neighbour in found] == wanted


def test_only_passes_of_the_family_count(example, tmp_path):
    others = [(_id("a", "2"), "fail"), (_id("a", "3"), "not_supported"), (_id("a", "2", family="g"), "pass")]
    assert _nearest(example, tmp_path, _id("a", "1"), others) == ()


def test_a_parameter_that_one_of_them_does_not_have_is_a_difference(example, tmp_path):
    (found,) = _nearest(example, tmp_path, "f[p:a/q:1]", [("f[p:b/r:2]", "pass")])
    assert found.differences == (Difference("p", "a", "b"), Difference("q", "1", ""), Difference("r", "", "2"))


def test_cases_that_differ_in_much_say_nothing(example, tmp_path):
    assert _nearest(example, tmp_path, _id("a", "b", "c", "d", "e"), [(_id("1", "2", "3", "4", "e"), "pass")]) == ()


def test_there_are_five_at_most(example, tmp_path):
    assert len(_nearest(example, tmp_path, _id("a", "0"), [(_id("a", str(number)), "pass") for number in range(1, 9)])) == 5


def test_a_journal_without_parameters_has_no_neighbours(example, tmp_path):
    assert _nearest(example, tmp_path, "f[a-x-1]", [("f[a-x-2]", "pass")]) == ()
    assert _nearest(example, tmp_path, "f[a-x-1]", [(_id("a", "x", "2"), "pass")]) == ()


def test_a_page_of_a_lost_device_names_its_parameters_and_the_nearest_case_that_passed(example, tmp_path):
    records = [
        example.record(f"tensor_clamp[which:beside_one/mode:{mode}/part:odd]", verdict)
        for mode, verdict in (("mirrored", "device_lost"), ("edge", "pass"))
    ]
    write(example.write_journal(tmp_path, records), tmp_path)
    (page,) = (path.read_text() for path in (tmp_path / "failures").iterdir())
    page = page.replace("<wbr>", "")
    assert re.search(r"<code>which</code></th><td><code>beside_one</code>", page)
    nearest = r"<code>mode</code></th><td><code>mirrored</code></td><td><code>edge</code></td>.*?tensor_clamp\[which:beside_one/mode:edge/"
    assert re.search(nearest, page, re.DOTALL)
