"""The YAML of a family, and the messages about mistakes in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import CaseKind, Family, load_family
from generators.casebook.builders import kind_of, load_builder
from generators.errors import CasebookError
from tests.casebook.conftest import Declare

Write = Callable[[str], Path]


def test_a_family_has_what_its_file_says(toy: Family) -> None:
    assert (toy.name, toy.specification) == ("toy", "SPV_KHR_cooperative_matrix")
    assert [cover.id for cover in toy.covers] == ["KHR-A-01"]
    assert toy.plan == "Rows of several lengths."
    assert toy.todo == ("rows of no length",)
    assert [parameter.name for parameter in toy.parameters] == ["bytes", "columns", "use", "stride"]
    assert [parameter.name for parameter in toy.subcase_parameters] == ["pattern", "seed"]


def test_values_keep_their_yaml_types_and_labels_their_text(toy: Family) -> None:
    assert dict(toy.parameters[1].values) == {"8": 8, "16": 16, "32": 32, "3": 3}
    assert dict(toy.parameters[3].values) == {"tight": 0, "padded": [16, 32]}


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "16:30", "2020-01-01x", "010"])
def test_plain_words_stay_text(write: Write, declare: Declare, text: str, word: str) -> None:
    declare({"word": str})
    family = load_family(write(text.replace("use: [a, b]", f"use: [a, b]\n  word: {{x: {word}}}")))
    assert family.parameters[-1].values["x"] == word


def test_a_parameter_that_a_product_does_not_mention_has_its_first_label(toy: Family) -> None:
    assert toy.products[0].choices == ((0, 1, 2), (0, 1, 2, 3), (0, 1), (0,))
    assert toy.products[1].choices == ((0, 1, 2), (0, 3), (0,), (0, 1))


def test_yaml_may_use_anchors(write: Write, declare: Declare, text: str) -> None:
    declare({"others": int})
    family = load_family(write(text.replace("bytes: [1, 2, 4]", "bytes: &sizes [1, 2, 4]\n  others: *sizes")))
    assert family.parameters[-1].labels == ("1", "2", "4")


def test_a_builder_of_another_specification_has_its_folder_before_its_name() -> None:
    named = load_builder("nv_cooperative_matrix2.reduce", "ext_cooperative_matrix_maintenance1")
    assert named is load_builder("reduce", "nv_cooperative_matrix2")


def test_specifications_share_a_builder_with_an_entry_for_each() -> None:
    one, other = (load_builder("static_rules", name) for name in ("nv_cooperative_vector", "nv_cooperative_matrix2"))
    assert {kind_of(one), kind_of(other)} == {CaseKind.STATIC}
    assert one.Parameters is not other.Parameters
    with pytest.raises(CasebookError, match="'static_rules' has no entry for vulkan; add one to BUILDERS of generators"):
        load_builder("static_rules", "vulkan")


ERRORS = [
    ("plan: |", "plan: [", 7, "malformed YAML: .* of line 5"),
    ("todo:", "to do:", 7, r"to do: unknown key; expected one of family, specification, .*todo"),
    ("covers: [KHR-A-01]\n", "", 1, r"key 'covers' is missing"),
    ("family: toy", "family: Toy", 1, r"family: 'Toy' must be the file's name without .yaml, 'toy'"),
    ("family: toy", "family:", 1, r"family: expected the family's name, found nothing"),
    (
        "SPV_KHR_cooperative_matrix",
        "SPV_KHR_matrix",
        2,
        r"specification: unknown specification 'SPV_KHR_matrix'; expected one of SPV",
    ),
    (
        "builder: toy",
        "builder: missing",
        3,
        r"builder: there is no builder 'missing'; expected a module generators.families.khr_cooperative_matrix.missing",
    ),
    (
        "builder: toy",
        "builder: nv_cooperative_matrix2.missing",
        3,
        r"there is no builder 'nv_cooperative_matrix2.missing'; expected a module generators.families.nv_cooperative_matrix2.missing",
    ),
    ("builder: toy", "builder: nv_cooperative_vector", 3, r"there is no builder 'nv_cooperative_vector'"),
    ("builder: toy", "builder: .toy", 3, r"'\.toy' cannot name a builder"),
    ("builder: toy", "builder: incomplete", 3, r"builder: the builder 'incomplete' lacks 'build'"),
    ("builder: toy", "builder: half", 3, r"'half' lacks 'Parameters'; .* must define PREDICATES, Parameters, build"),
    ("[KHR-A-01]", "[KHR-A-01, KHR-A-99]", 4, r"covers\[1\]: there is no requirement 'KHR-A-99'"),
    ("[KHR-A-01]", "[KHR-A-01, KHR-A-01]", 4, r"covers\[1\]: duplicate requirement"),
    ("[KHR-A-01]", "KHR-A-01", 4, r"covers: expected a list of requirement ids, or the parameter .*found 'KHR-A-01'"),
    ("[KHR-A-01]\n", "[]\n", None, None),
    ("bytes: [1, 2, 4]", "bytes: [1, 2, 2]", 10, r"parameters\.bytes\[2\]: duplicate label '2'"),
    ("bytes: [1, 2, 4]", "bytes: []", 10, r"parameters\.bytes: expected at least one value"),
    ("bytes: [1, 2, 4]", "bytes: 4", 10, r"parameters\.bytes: expected a list of values, a mapping label: value, or default, found '4'"),
    ("bytes: [1, 2, 4]", "bytes: [[1], 2]", 10, r"parameters\.bytes\[0\]: expected a scalar; values of other kinds need a mapping"),
    ("use: [a, b]", "use: [a-b, b]", None, None),
    ("use: [a, b]", "use: [a/b, b]", 12, r"parameters\.use\[0\]: the label 'a/b' is empty or has one of"),
    ("use: [a, b]", "use: ['a:b', b]", 12, r"the label 'a:b'"),
    ("use: [a, b]", "use: ['a b', b]", 12, r"the label 'a b'"),
    ("use: [a, b]", "use: ['a,b', b]", 12, r"the label 'a,b'"),
    ("use: [a, b]", "use: ['a[', b]", 12, r"the label 'a\['"),
    ("use: [a, b]", "use: ['a::b', b]", 12, r"the label 'a::b'"),
    ("use: [a, b]", "use: ['', b]", 12, r"the label '' is empty"),
    ("  use: [a, b]\n", "", 9, r"parameters: the type of the builder's parameter 'use' lists no values"),
    ("use: [a, b]", "use: default", 12, r"parameters\.use: the builder declares no default of 'use'; expected a list of values"),
    (
        "use: [a, b]",
        "Use: [a, b]",
        12,
        r"parameters\.Use: the builder declares no parameter 'Use' that belongs here; expected one of bytes, columns, use, stride",
    ),
    ("use: [a, b]", "bytes: [a, b]", 12, r"parameters\.bytes: duplicate key; it was already given on line 10"),
    ("tight: 0,", "tight: !!int x,", 13, r"parameters\.stride\.tight: expected plain data: 'x' is not a valid int"),
    ("tight: 0,", "tight: !!float x,", 13, r"parameters\.stride\.tight: expected plain data: 'x' is not a valid float"),
    ("tight: 0,", "tight: !!bool x,", 13, r"parameters\.stride\.tight: expected plain data: 'x' is not a valid bool"),
    ("tight: 0,", "tight: [0, !!timestamp x],", 13, r"parameters\.stride\.tight: expected plain data: 'x' is not a valid timestamp"),
    ("tight: 0,", f"tight: {'9' * 5000},", 13, r"parameters\.stride\.tight: expected plain data: '9+…' is not a valid int"),
    ("tight: 0,", "tight: 0, tight: 1,", 13, r"parameters\.stride\.tight: duplicate key"),
    ("use: [a, b]", "use: {property_rows: yes, values: [a]}", 12, r"parameters\.use\.property_rows: expected true or false, found 'yes'"),
    ("use: [a, b]", "use: {property_rows: true, values: [a, b]}", 12, r"parameters\.use\.values\[0\]: 'a' is not a property row"),
    (
        "predicate: short_row",
        "predicate: long_row",
        15,
        r"constraints\[0\]\.predicate: .*no predicate 'long_row'; it has short_row",
    ),
    ("    because: rows fit in 64 bytes\n", "", 15, r"constraints\[0\]: key 'because' is missing"),
    ("because: rows fit", "becuase: rows fit", 16, r"constraints\[0\]\.becuase: unknown key; expected one of predicate, because"),
    (
        "when: {use: [b]}",
        "when: {uses: [b]}",
        17,
        r"constraints\[1\]\.when\.uses: there is no parameter 'uses'; expected one of bytes, columns",
    ),
    (
        "when: {use: [b]}",
        "when: {use: [c]}",
        17,
        r"constraints\[1\]\.when\.use\[0\]: parameter 'use' has no label 'c'; expected one of a, b",
    ),
    ("when: {use: [b]}", "when: {}", 17, r"constraints\[1\]\.when: expected at least one parameter"),
    ("when: {use: [b]}", "whenever: {use: [b]}", 17, r"constraints\[1\]\.whenever: unknown key; expected one of when, require, because"),
    ("exclude: {bytes: [1]", "exclude: {bytes: []", 20, r"constraints\[2\]\.exclude\.bytes: expected at least one label"),
    ("columns: [8, 3]", "columns: [8, 4]", 32, r"products\[1\]\.parameters\.columns\[1\]: parameter 'columns' has no label '4'"),
    ("columns: [8, 3]", "columns: [8, 8]", 32, r"products\[1\]\.parameters\.columns\[1\]: duplicate label '8'"),
    (
        "columns: [8, 3]",
        "pattern: all",
        32,
        r"products\[1\]\.parameters\.pattern: cases have no parameter 'pattern'; products take every label of a subcase parameter",
    ),
    ("columns: [8, 3]", "rows: all", 32, r"products\[1\]\.parameters\.rows: cases have no parameter 'rows'; expected one of bytes"),
    ("smoke: 1", "smoke: 4", 28, r"products\[0\]\.smoke: expected an integer from 0 to 3, found '4'"),
    ("smoke: 1", "smoke: true", 28, r"products\[0\]\.smoke: expected an integer from 0 to 3, found 'true'"),
    ("nightly: 2", "nightly: 0", 29, r"products\[0\]\.nightly: expected at least the strength of smoke, 1, found 0"),
    ("name: strides", "name: lengths", 30, r"products\[1\]: duplicate product 'lengths'"),
    ("    why: every length\n", "", 25, r"products\[0\]: key 'why' is missing"),
    ("pattern: [index, halves]", "use: [index, halves]", 36, r"subcases\.use: .*'use' that belongs here; expected one of pattern, seed"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), ERRORS, ids=[str(number) for number in range(len(ERRORS))])
def test_an_error_names_file_line_key_and_what_was_expected(
    write: Write, text: str, old: str, new: str, line: int | None, message: str | None
) -> None:
    assert text.count(old) >= 1
    path = write(text.replace(old, new, 1))
    if message is None:
        load_family(path)
        return
    with pytest.raises(CasebookError) as caught:
        load_family(path)
    assert re.match(rf"{re.escape(str(path))}:{line}: .*{message}", str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parameter_is_named_in_lower_case(write: Write, declare: Declare, text: str) -> None:
    declare({"Word": str})
    path = write(text.replace("use: [a, b]", "use: [a, b]\n  Word: [x]"))
    with pytest.raises(CasebookError, match=r"toy\.yaml:13: parameters\.Word: 'Word' cannot name a parameter; expected lower-case letters"):
        load_family(path)


def test_a_family_covers_something_or_says_why_not(write: Write, text: str) -> None:
    path = write(text.replace("[KHR-A-01]", "[]").replace("todo:\n  - rows of no length\n", ""))
    with pytest.raises(CasebookError, match=r"covers: expected at least one requirement id"):
        load_family(path)


def test_a_family_is_in_its_specifications_folder(write: Write, text: str, root: Path) -> None:
    path = write(text)
    other = root / "cases" / "nv_cooperative_vector" / "toy.yaml"
    other.parent.mkdir()
    path.rename(other)
    with pytest.raises(CasebookError, match="belong in the folder khr_cooperative_matrix"):
        load_family(other)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "the document is empty"), (b"\xff\xfe\x00", "not UTF-8"), (b"a: 1\n---\nb: 2\n", "malformed YAML")]
)
def test_a_file_that_is_not_a_document_is_named(write: Write, content: bytes, message: str) -> None:
    path = write("")
    path.write_bytes(content)
    with pytest.raises(CasebookError, match=rf"{re.escape(str(path))}.*{message}"):
        load_family(path)


@pytest.mark.parametrize(("byte", "message"), [(b"\xff", "it is not UTF-8"), (b"\x01", "malformed YAML: unacceptable character")])
def test_a_byte_that_yaml_cannot_have_is_named_with_its_line(write: Write, text: str, byte: bytes, message: str) -> None:
    path = write(text)
    path.write_bytes(path.read_bytes().replace(b"Rows of", b"Rows" + byte + b"of"))
    with pytest.raises(CasebookError, match=rf"{re.escape(str(path))}:6: .*{message}"):
        load_family(path)


def test_nesting_of_more_than_100_levels_is_refused(write: Write, text: str) -> None:
    path = write(text.replace("tight: 0,", f"tight: {'[' * 101}{']' * 101},"))
    with pytest.raises(CasebookError, match=rf"{re.escape(str(path))}:13: malformed YAML: nested deeper than 100 levels"):
        load_family(path)


def test_nesting_that_would_exhaust_the_parser_is_refused(write: Write, text: str) -> None:
    # Since libyaml 0.2.6, the parser may refuse first, with a message of its own.
    path = write(text.replace("tight: 0,", f"tight: {'[' * 100_000},"))
    with pytest.raises(CasebookError, match=rf"{re.escape(str(path))}:13: malformed YAML: .*nest"):
        load_family(path)


def test_a_file_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(CasebookError, match=r"missing\.yaml: cannot be read: No such file"):
        load_family(root / "cases" / "khr_cooperative_matrix" / "missing.yaml")
