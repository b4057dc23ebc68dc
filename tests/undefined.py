"""Expects that the embedded device stops at undefined behaviour."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cts.devices.device import UndefinedBehaviour


@contextmanager
def undefined(*rules: str) -> Iterator[None]:
    """Expect that the body breaks a rule with one of the given ids, as in ``UndefinedBehaviour.rule``."""
    with pytest.raises(UndefinedBehaviour) as raised:
        yield
    assert raised.value.rule in rules, str(raised.value)
