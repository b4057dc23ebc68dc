"""The result of building a case that runs a shader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from generators.program.program import Program, Subcase


@dataclass(frozen=True)
class Built:
    """A case, built once: the parts that all of its dispatches share.

    Attributes:
        program: the shader's program. Its ``others`` are other pipelines of the same module.
        draw: makes a subcase. It gets the subcase's name, the parameters of case and subcase, the program or one of its others, and a
            random number generator that depends only on the names of case and subcase.
    """

    program: Program
    draw: Callable[[str, Any, Program, np.random.Generator], Subcase]
