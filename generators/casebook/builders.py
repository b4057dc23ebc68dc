"""The modules that turn a case's values into its program and the data of its subcases."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import numpy as np

from generators.errors import CasebookError
from generators.program.program import Program, Subcase

PACKAGE = "generators.families"


class Builder(Protocol):
    """What a module of ``generators.families`` offers. Values are those of the axes, by axis name.

    A builder may also have ``AXES``, a mapping from the name of each axis that it reads to the values that it takes: a collection, a
    compiled pattern, or None for any. The casebook checks the family's YAML against it.
    """

    @property
    def PREDICATES(self) -> Mapping[str, Callable[[Mapping[str, Any]], bool]]:  # noqa: N802 (a module's constant)
        """Named conditions for the family's constraints. Each must depend on the values that it reads and on nothing else."""
        ...

    def program(self, values: Mapping[str, Any]) -> Program:
        """The program of a case."""
        ...

    def subcase(self, name: str, values: Mapping[str, Any], program: Program, rng: np.random.Generator) -> Subcase:
        """One dispatch. ``values`` has the axes of the case and of the subcase; ``rng`` depends on the names of both alone."""
        ...


def load_builder(name: str) -> Builder:
    """The builder module of that name.

    Raises:
        CasebookError: there is none, or something is missing in it.
    """
    qualified = f"{PACKAGE}.{name}"
    if not name.isidentifier() or importlib.util.find_spec(qualified) is None:
        raise CasebookError(f"there is no builder '{name}'; expected a module {qualified}")
    module = importlib.import_module(qualified)
    for needed in ("PREDICATES", "program", "subcase"):
        if not hasattr(module, needed):
            raise CasebookError(f"the builder '{name}' lacks '{needed}'; {qualified} must define PREDICATES, program and subcase")
    return cast(Builder, module)
