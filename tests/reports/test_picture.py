"""The picture of a failing matrix."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cts.journal.record import failure_of
from reports.picture import TITLED_ELEMENTS, allowed, failing_array

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 40))


def painted(path: str, rows: int, columns: int) -> np.ndarray:
    """Count how often the path covers each element."""
    grid = np.zeros((rows, columns), int)
    for column, row, width, height, back in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z", path):
        assert width == back
        grid[int(row) : int(row) + int(height), int(column) : int(column) + int(width)] += 1
    return grid


@given(SHAPES, st.randoms(use_true_random=False))
def test_the_path_covers_the_wrong_elements_once_and_no_other(example, shape, random):
    rows, columns = shape
    wrong = {(random.randrange(rows), random.randrange(columns)) for _ in range(random.randrange(1, 30))}
    (picture,) = failing_array(failure_of(example.failure(rows, columns, lambda row, column: (row, column) in wrong))).pictures
    grid = painted(picture.path, rows, columns)
    assert grid.max() == 1
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(grid)), strict=True)) == wrong
    assert picture.wrong == len(wrong)
    assert {(row, column) for row, column, _, _ in picture.titles} == wrong


def test_titles_have_bits_and_values_of_both_sides(example):
    (picture,) = failing_array(failure_of(example.failure(2, 4, lambda row, column: (row, column) == (1, 2)))).pictures
    assert picture.titles == [(1, 2, "0x3c0e (1.013671875)", "0xbc0f (-1.0146484375)")]


def test_equal_rows_become_one_rectangle(example):
    (picture,) = failing_array(failure_of(example.failure(256, 256, lambda row, column: column >= 128))).pictures
    assert picture.path == "M128 0h128v256h-128z"
    assert len(picture.titles) == TITLED_ELEMENTS


def test_a_single_element_of_a_large_matrix_gets_an_outline(example):
    def sparse(rows, wrong):
        return failing_array(failure_of(example.failure(rows, rows, wrong))).pictures[0].sparse

    assert sparse(256, lambda row, column: row == column == 7)
    assert not sparse(256, lambda row, column: column < 128)
    assert not sparse(16, lambda row, column: row == column == 7)


@given(st.integers(1, 1024), st.integers(1, 1024))
def test_rulers_are_never_crowded(example, rows, columns):
    record = example.overwritten() | {"shape": [rows, columns], "component": "f16", "instances": {"0": ["1"] * rows}}
    (picture,) = failing_array(failure_of(record)).pictures
    for size, pixels, ticks in ((rows, picture.height, picture.row_ticks), (columns, picture.width, picture.column_ticks)):
        assert ticks[0] == 0
        assert len(ticks) <= 8 or pixels / size * (ticks[1] - ticks[0]) >= 29


def test_instances_beyond_the_drawn_are_counted(example):
    record = example.failure(2, 2, lambda row, column: True)
    record["instances"] = {str(instance): ["3", "3"] for instance in range(9)}
    array = failing_array(failure_of(record))
    assert [picture.instance for picture in array.pictures] == [0, 1, 2, 3]
    assert array.hidden == 5


def test_only_the_instance_whose_bits_are_recorded_has_titles(example):
    record = example.failure(2, 2, lambda row, column: True)
    record["instances"] = {"1": ["3", "3"], "2": ["3", "3"]}
    assert [len(picture.titles) for picture in failing_array(failure_of(record)).pictures] == [4, 0]


def test_bytes_have_no_picture(example):
    array = failing_array(failure_of(example.overwritten()))
    assert array.pictures == ()
    assert array.unit == "byte"


def test_elements_of_a_matrix_that_were_not_recorded_are_still_elements(example):
    whole = failure_of(example.failure(2, 2, lambda row, column: row == column))
    array = failing_array(whole.brief)
    assert (array.pictures, array.unit) == ((), "element")


def test_an_interval_names_its_ends_its_bound_and_the_sum_of_magnitudes(example):
    record = example.failure(2, 2, lambda row, column: True)
    record["elements"][0] |= {"low": 1.5, "high": 2.5, "center": 2.0, "bound": 0.5, "magnitude": 64.0}
    exact, interval = failing_array(failure_of(record)).elements[1], failing_array(failure_of(record)).elements[0]
    assert allowed(interval.bounds) == "allowed 1.5 to 2.5, true value 2, bound 0.5, S 64"
    assert exact.bounds is None


@given(SHAPES)
def test_a_picture_is_neither_high_nor_too_narrow_to_be_seen(example, shape):
    record = example.failure(*shape, lambda row, column: True)
    (picture,) = failing_array(failure_of(record)).pictures
    assert 24 <= picture.width <= 480
    assert 24 <= picture.height <= 480


def test_a_long_vector_is_as_high_as_a_matrix(example):
    (picture,) = failing_array(failure_of(example.failure(272, 1, lambda row, column: row % 3 == 0))).pictures
    assert (picture.width, picture.height) == (24, 480)
