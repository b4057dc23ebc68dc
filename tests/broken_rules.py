"""Expects that a program or its data break a rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from generators.errors import GeneratorError


@contextmanager
def breaks(*rules: str) -> Iterator[pytest.ExceptionInfo[GeneratorError]]:
    """Expect that the body breaks a rule with one of the given ids, as in ``GeneratorError.rule``."""
    with pytest.raises(GeneratorError) as raised:
        yield raised
    assert raised.value.rule in rules, str(raised.value)
