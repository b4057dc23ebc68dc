from __future__ import annotations

import gc

from cts.engine.memory import keep_memory


def test_the_search_for_garbage_becomes_rare():
    before = gc.get_threshold()
    try:
        keep_memory()
        assert gc.get_threshold()[0] > 10 * before[0]
        assert gc.get_threshold()[1:] == before[1:]
    finally:
        gc.set_threshold(*before)
