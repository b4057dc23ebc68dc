"""The description of the wrong elements."""

from __future__ import annotations

import numpy as np
import pytest

from cts.verdict.pattern import numbers, pattern


def wrong(*places: tuple[object, object, object]) -> np.ndarray:
    mask = np.zeros((3, 4, 6), bool)
    for place in places:
        mask[place] = True
    return mask


ALL = slice(None)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (wrong((ALL, ALL, ALL)), "every element of every instance"),
        (wrong((1, ALL, ALL)), "every element of instance 1"),
        (wrong(([0, 2], ALL, ALL)), "every element of instances 0, 2"),
        (wrong((0, 2, ALL)), "the whole of row 2 of instance 0"),
        (wrong((0, [0, 1, 2], ALL)), "the whole of rows 0 to 2 of instance 0"),
        (wrong((0, ALL, [1, 3, 5])), "the whole of columns 1, 3, 5 of instance 0"),
        (wrong((0, slice(2, 4), slice(3, 6))), "the lower right quadrant of instance 0"),
        (wrong((0, 3, 5)), "one element, (row 3, column 5) of instance 0"),
        (wrong((0, 3, [0, 4])), "row 3, columns 0, 4 of instance 0"),
        (wrong((0, 3, [0, 4]), (0, 1, [0, 4])), "all intersections of rows 1, 3 and columns 0, 4 of instance 0"),
        (wrong((0, 3, 5), (0, 1, 2)), "scattered over rows 1, 3 and columns 2, 5 of instance 0"),
        (wrong((0, 3, 5), (1, 1, 2)), "different elements in instances 0, 1; in instance 0 one element, (row 3, column 5)"),
    ],
)
def test_pattern(mask: np.ndarray, words: str) -> None:
    assert pattern(mask) == words


def test_a_transposition_leaves_the_diagonal() -> None:
    assert pattern(~np.eye(4, dtype=bool)[None]) == "every element off the diagonal"


def test_few_right_elements_are_counted() -> None:
    mask = np.ones((1, 8, 8), bool)
    mask[0, [1, 2], [3, 5]] = False
    assert pattern(mask) == "all but 2 elements"
    mask[0, 1, 3] = True
    assert pattern(mask) == "all but one element"


def test_many_numbers_are_shortened() -> None:
    assert numbers([0, 2, 4, 6, 8]) == "0, 2, … 8"
    assert numbers([0, 1, 3, 4, 6, 7, 9, 11, 14, 15]) == "0, 1, 3, 4, 6, 7, 9, 11 and 2 more"
