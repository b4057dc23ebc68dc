from __future__ import annotations

import gc

from cts.engine.memory import keep_memory


def test_the_search_for_garbage_becomes_rare():
    before, usual = gc.get_threshold(), (700, 10, 10)
    try:
        gc.set_threshold(*usual)
        keep_memory()
        assert gc.get_threshold()[0] > 10 * usual[0]
        assert gc.get_threshold()[1:] == usual[1:]
    finally:
        gc.set_threshold(*before)
