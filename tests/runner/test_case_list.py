from __future__ import annotations

import pytest

from cts.engine.case_list import CaseListError, read_case_list


def test_ids_comments_and_further_lists(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "more.txt").write_text("b[2]\n")
    (tmp_path / "list.txt").write_text("# all\n\n  a[1]  # first\ncases/x/a.yaml::a[3]\ndeep/more.txt\na[1]\n")
    assert read_case_list(tmp_path / "list.txt") == {
        "a[1]": f"{tmp_path / 'list.txt'}:3",
        "a[3]": f"{tmp_path / 'list.txt'}:4",
        "b[2]": f"{tmp_path / 'deep' / 'more.txt'}:1",
    }


def test_a_list_as_windows_writes_it(tmp_path):
    (tmp_path / "list.txt").write_bytes(b"\xef\xbb\xbfa[1]\r\nb[2]\r\n")
    assert list(read_case_list(tmp_path / "list.txt")) == ["a[1]", "b[2]"]


def test_the_same_list_may_be_named_twice_but_not_by_itself(tmp_path):
    (tmp_path / "more.txt").write_text("a[1]\n")
    (tmp_path / "list.txt").write_text("more.txt\nmore.txt\n")
    assert list(read_case_list(tmp_path / "list.txt")) == ["a[1]"]
    (tmp_path / "more.txt").write_text("list.txt\n")
    with pytest.raises(CaseListError, match=r"names itself: list\.txt > more\.txt > list\.txt"):
        read_case_list(tmp_path / "list.txt")


def test_a_list_that_a_list_names_wrongly_is_reported_with_its_place(tmp_path):
    (tmp_path / "list.txt").write_text("gone.txt\n")
    with pytest.raises(CaseListError, match=r"gone.txt \(named by .*list.txt\): No such file"):
        read_case_list(tmp_path / "list.txt")


def test_a_list_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CaseListError, match="not UTF-8"):
        read_case_list(tmp_path / "list.txt")
