from __future__ import annotations

import gc

import pytest

from cts.engine.garbage import all_kept, end_without_search


@pytest.mark.parametrize("was_on", [True, False])
def test_the_search_is_off_within_the_block_and_as_before_after_it(was_on):
    (gc.enable if was_on else gc.disable)()
    try:
        with all_kept():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.unfreeze()


def test_the_end_of_python_searches_nothing_that_was_made_before():
    frozen = gc.get_freeze_count()
    made = [[] for _ in range(1000)]
    try:
        end_without_search()
        assert gc.get_freeze_count() >= frozen + len(made)
    finally:
        gc.unfreeze()
