"""The patterns of static rules for a validator's message."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from generators.message_pattern import NotAPattern, message_pattern

LETTERS = "abcXYZ 019.()|'/ßİ"
PIECE = st.text(LETTERS, min_size=1, max_size=6).filter(lambda piece: piece.strip() and "..." not in piece)
PIECES = st.lists(PIECE, min_size=1, max_size=4)
BETWEEN = st.lists(st.text(LETTERS, max_size=6), min_size=5, max_size=5)


@given(PIECES, BETWEEN)
def test_pieces_in_order_match_with_anything_between(pieces, between):
    message = "".join(chain(*zip(between, pieces, strict=False), between[-1:]))
    assert message_pattern("…".join(pieces)).matches(message)


@given(PIECES, st.data())
def test_a_message_without_one_of_the_pieces_does_not_match(pieces, data):
    missing = data.draw(st.sampled_from(pieces))
    message = " ".join(piece for piece in pieces if piece != missing)
    assume(missing.strip().casefold() not in message.casefold())
    assert not message_pattern("…".join(pieces)).matches(message)


@given(st.text("abXYß", min_size=1))
def test_upper_and_lower_case_are_the_same(text):
    assert message_pattern(text.upper()).matches(text.lower())


@pytest.mark.parametrize(
    ("says", "message", "found"),
    [
        ("Dim … is not a number", "error: TypeTensorViewNV Dim <id> '7[%dim]' is not a number.", True),
        ("Dim … is not a number", "Dim is not a number", True),
        ("Dim…is not a number", "Dim is not a number", True),
        ("is not a number … Dim", "Dim <id> '7[%dim]' is not a number", False),
        ("Dim … is not a number", "line 7: Dim\n  %it is not a number", False),
        ("one … one", "one", False),
        ("16.", "error: 160", False),
        ("Row|Column", "Row", False),
        (["Row", "Column"], "a column is missing", True),
        (["Row", "Column"], "a matrix is missing", False),
        ("a number", "", False),
    ],
)
def test_a_text_is_literal_and_within_one_line(says, message, found):
    assert message_pattern(says).matches(message) is found


@pytest.mark.parametrize("says", ["", " ", "…", "Dim …", "… is not", "Dim … … is not", [], ["Dim", ""]])
def test_a_text_without_words_is_refused(says):
    with pytest.raises(NotAPattern):
        message_pattern(says)


@pytest.mark.parametrize(
    "says", [r"5\.", "Dim .*constant", ".+", "(32-bit )?integer", "[Ss]tride", "^Dim", "Dim$", "Dim ... constant", "one line\nand another"]
)
def test_text_that_is_not_literal_or_has_several_lines_is_refused(says):
    with pytest.raises(NotAPattern):
        message_pattern(says)


def test_alternatives_are_distinguished():
    assert str(message_pattern(["Row", "Column … length"])) == "'Row' or 'Column … length'"
