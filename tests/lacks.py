"""Expects that GLSL or the program of a reproduction cannot express something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from generators.errors import Lack, NotExpressible


@contextmanager
def lacks(lack: Lack) -> Iterator[pytest.ExceptionInfo[NotExpressible]]:
    """Expect that the body raises ``NotExpressible`` with this lack."""
    with pytest.raises(NotExpressible) as raised:
        yield raised
    assert raised.value.lack == lack, str(raised.value)
