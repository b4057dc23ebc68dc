"""Results of models, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cts.fingerprint.model import UnitModel, predict
from cts.fingerprint.probes import Vectors
from generators.numerics.formats import encode, values
from generators.property_rows import parse_row

ROW = parse_row("4x4x4.f16.f16.f32.f32")
CUT = UnitModel(4, alignment=24, partial_rounding="toward_zero", final_rounding="toward_zero")


def _result(model: UnitModel, products: Sequence[tuple[float, float]], c: float = 0.0) -> float:
    factors = np.array([*products, *[(0.0, 0.0)] * (4 - len(products))])
    given = Vectors((), encode(ROW.a, factors[None, :, 0]), encode(ROW.b, factors[None, :, 1]), encode(ROW.c, np.array([c])))
    return float(values(predict(model, ROW, given), ROW.result)[0])


@pytest.mark.parametrize(("exponent", "survives"), [(24, True), (25, False)])
def test_an_alignment_cuts_what_is_below_its_last_bit(exponent: int, survives: bool) -> None:
    small = 2.0 ** -(exponent - 12), 2.0**-12
    assert _result(CUT, [small, (1, 1), (-1, 1)]) == (2.0**-exponent if survives else 0)


def test_the_exponent_of_a_product_is_the_sum_of_its_factors() -> None:
    # 1.5 * 1.5 = 2.25 has exponent 1, its factors have 0 + 0.
    small = 2.0**-12, 2.0**-12
    products = [small, (1.5, 1.5), (-1.5, 1.5)]
    assert _result(CUT, products) == 2.0**-24
    assert _result(UnitModel(4, alignment=24, product_exponent="value", final_rounding="toward_zero"), products) == 0


def test_a_zero_product_can_hide_small_ones() -> None:
    products = [(2.0**-12, 2.0**-12), (2.0**15, 0)]
    assert _result(CUT, products) == 2.0**-24
    assert _result(UnitModel(4, alignment=24, zeros=True), products) == 0


def test_sums_of_two_products_lose_what_one_sum_keeps() -> None:
    big = 2.0**14, 2.0**15
    products = [big, (1, 1), (-big[0], big[1]), (1, 1)]
    assert [_result(UnitModel(block), products) for block in (4, 2, 1)] == [2, 1, 1]


def test_an_exact_sum_is_rounded_once() -> None:
    # 1 + 2^-24 is a tie; the last product is far below and decides.
    products = [(1, 1), (2.0**-12, 2.0**-12), (2.0**-24, 2.0**-24)]
    assert _result(UnitModel(4), products) == 1 + 2.0**-23
    assert _result(UnitModel(4, alignment=30), products) == 1


def test_a_tree_adds_neighbours() -> None:
    big = 2.0**14, 2.0**15
    products = [big, (1, 1), (-big[0], big[1]), (1, 1)]
    assert _result(UnitModel(1, order="pairwise", c="last"), products, 1) == 1


def test_c_last_is_not_swamped() -> None:
    big = 2.0**14, 2.0**15
    products = [big, (-big[0], big[1])]
    assert [_result(UnitModel(1, c=place), products, 1) for place in ("first", "last")] == [0, 1]
