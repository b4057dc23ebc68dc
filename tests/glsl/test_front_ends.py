"""glslang's modules have the same outputs as the suite's own, for extensions without an available driver."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from generators.casebook import Case, expand
from generators.errors import NotExpressible
from generators.glsl.compile import find_glslang
from generators.kernel import Outcome
from tests.glsl.front_ends import differing, families, unequal
from tests.suite import casebook

needs_glslang = pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")


def _some(family: str) -> list[Case]:
    return list(islice(expand(casebook().family(family), "smoke"), 2))


@needs_glslang
@pytest.mark.parametrize("case", [case for name in families() for case in _some(name)], ids=lambda case: case.id)
def test_both_modules_leave_the_same_bytes(case: Case) -> None:
    try:
        assert differing(case) == []
    except NotExpressible as why:
        pytest.skip(f"GLSL cannot express it: {why}")


def test_another_byte_is_told() -> None:
    one, other = (Outcome({"same": np.zeros(4, np.uint8), "d": np.array([1, byte], np.uint8)}) for byte in (2, 3))
    assert unequal(one, one) == []
    assert unequal(one, other) == ["d"]
