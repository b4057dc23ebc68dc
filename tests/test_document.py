"""YAML that is larger, deeper or stranger than any document of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from generators.document import read_document
from generators.errors import CasebookError

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "family.yaml"
    path.write_text(text)
    with pytest.raises(CasebookError) as caught:
        read_document(path).data()
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    assert len(message) < 3000
    return message.removeprefix(f"{path}:")


def test_nested_aliases_are_counted_before_anything_is_made_of_them(tmp_path):
    assert "with its aliases, this expands to more than 200,000 values" in refused(tmp_path, LAUGHS)


def test_a_value_that_contains_itself_is_refused(tmp_path):
    assert refused(tmp_path, "a: &a [1, *a]\n") == "1: a value contains itself through an alias"


def test_a_file_of_many_megabytes_is_not_read(tmp_path):
    assert refused(tmp_path, "a: " + "x" * (5 << 20)) == " cannot be read: it is longer than 4,194,304 bytes"


def test_a_long_key_is_not_repeated_in_the_message(tmp_path):
    path = tmp_path / "family.yaml"
    path.write_text(f"{'k' * 900}: 1\n")
    with pytest.raises(CasebookError, match="longer than 200 characters") as caught:
        read_document(path).entries()
    assert len(str(caught.value)) < len(str(path)) + 120


def test_a_long_value_is_cut_in_the_message(tmp_path):
    path = tmp_path / "family.yaml"
    path.write_text(f"a: {'v' * 10_000}\n")
    with pytest.raises(CasebookError) as caught:
        read_document(path).entries()["a"].entries()
    assert str(caught.value).endswith(f"expected a mapping, found '{'v' * 40}…'")


@pytest.mark.parametrize(
    "value", ["!!set [a]", "!!binary é", "!!omap [1]", "!!pairs x", "!!python/object:os.system x", "!!timestamp 2020-99-99", "{[a]: b}"]
)
def test_a_tag_that_its_value_does_not_fit_is_refused_in_one_line(tmp_path, value):
    assert "\n" not in refused(tmp_path, f"a: {value}\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: [1, 0, -1, 1.5], b: {c: word}}", {"a": [1, 0, -1, 1.5], "b": {"c": "word"}}),
        ("[~, null, true, 'true', '1', 010, 0x10, 12345678901]", [None, None, True, "true", "1", "010", 16, 12345678901]),
        ("{1: one, on: off}", {1: "one", "on": "off"}),
        ('[!!int "0b11", !!str 7, !!float 2]', [3, "7", 2.0]),
        ("{a: &x [1], b: *x}", {"a": [1], "b": [1]}),
        ("''", ""),
    ],
)
def test_values_are_those_of_the_core_schema(tmp_path, text, value):
    (tmp_path / "values.yaml").write_text(text, encoding="utf-8")
    found = read_document(tmp_path / "values.yaml").data()
    assert found == value
    assert repr(found) == repr(value)
