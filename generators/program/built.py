"""What a family's builder makes of a case that runs a shader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from generators.program.program import Program, Subcase


@dataclass(frozen=True)
class Built:
    """A case, built once: what all of its dispatches share.

    Attributes:
        program: what the shader does. Its ``others`` are other pipelines of the same module.
        draw: makes a subcase. Gets its name, the parameters of case and subcase, the program or one of its others, and a generator of
            random numbers that depends on the names of case and subcase alone.
    """

    program: Program
    draw: Callable[[str, Any, Program, np.random.Generator], Subcase]
