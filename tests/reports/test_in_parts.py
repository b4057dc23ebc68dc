"""Parts of the work in processes of their own."""

from __future__ import annotations

import os
from multiprocessing.process import BaseProcess
from unittest.mock import Mock

from reports.in_parts import beside


def test_a_part_without_a_process_is_done_by_this_one(monkeypatch):
    monkeypatch.setattr(BaseProcess, "start", Mock(side_effect=BlockingIOError))
    done = []
    with beside([lambda: done.append(os.getpid())]):
        pass
    assert done == [os.getpid()]
