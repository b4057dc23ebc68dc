"""The modules that build a shader, a query or a conversion from a case's values, and the kinds of case that they build."""

from __future__ import annotations

import enum
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, cast

from generators.errors import CasebookError
from generators.layout_conversion import LayoutConversion
from generators.module_check import ModuleCheck
from generators.program.program import Built
from generators.property_query import PropertyQuery

PACKAGE = "generators.families"


class CaseKind(enum.StrEnum):
    """What a case asks a device to do. The functions of a family's builder decide the kind of its cases."""

    KERNEL = "kernel"
    """The device runs a shader."""
    STATIC = "static"
    """A validator accepts or rejects a module."""
    QUERY = "query"
    """The device answers a property query."""
    CONVERSION = "conversion"
    """The device converts matrices between layouts and component types."""


FUNCTIONS: Mapping[CaseKind, tuple[str, ...]] = MappingProxyType(
    {
        CaseKind.KERNEL: ("build",),
        CaseKind.STATIC: ("module",),
        CaseKind.QUERY: ("query",),
        CaseKind.CONVERSION: ("conversion",),
    }
)
"""Names that a builder of each kind defines besides PREDICATES and Parameters. The first name is unique to its kind and identifies it."""


class Builder(Protocol):
    """The interface of every builder in ``generators.families``: a module, or an object of a table BUILDERS.

    It may also have ``SubcaseParameters``, a class derived from ``Parameters``, if its cases have several subcases.
    """

    @property
    def Parameters(self) -> type:  # noqa: N802 (a class)
        """The frozen dataclass that declares the parameters of cases (generators.parameters.declaration)."""
        ...

    @property
    def PREDICATES(self) -> Mapping[str, Callable[[Any], bool]]:  # noqa: N802 (a module's constant)
        """Named conditions for the family's constraints: functions of the parameters of a subcase, or of a case if subcases have no
        parameters. Each must depend on the parameters that it reads and on nothing else."""
        ...


class KernelBuilder(Builder, Protocol):
    """Makes cases that run a shader."""

    def build(self, parameters: Any) -> Built:
        """Build a case. ``parameters`` is an object of the builder's class ``Parameters``."""
        ...


class StaticBuilder(Builder, Protocol):
    """Makes cases that a validator judges."""

    def module(self, parameters: Any) -> ModuleCheck:
        """Build the module of a case, and say whether a validator must accept it."""
        ...


class QueryBuilder(Builder, Protocol):
    """Makes cases that query a device's supported properties."""

    def query(self, parameters: Any) -> PropertyQuery:
        """Return the query of a case, and the rule that the answer must keep."""
        ...


class ConversionBuilder(Builder, Protocol):
    """Makes cases that have a device convert matrices."""

    def conversion(self, parameters: Any) -> LayoutConversion:
        """Return the conversions of a case."""
        ...


def load_builder(name: str, specification: str) -> Builder:
    """Return the builder of that name: a module, or the entry for the specification in the table BUILDERS of a module that several
    specifications share.

    Args:
        name: the module's name; if the module is in another specification's package, the name begins with that package and a dot, as in
            ``nv_cooperative_matrix2.reduce``.
        specification: the name of the package with the families of its specification, such as ``khr_cooperative_matrix``.

    Raises:
        CasebookError: no module has this name, or it lacks a required name.
    """
    qualified = f"{PACKAGE}.{name}" if "." in name else f"{PACKAGE}.{specification}.{name}"
    if not all(part.isidentifier() for part in name.split(".")):
        raise CasebookError(f"'{name}' cannot name a builder; expected the name of a module in {PACKAGE}.{specification}")
    shared = _entries(f"{PACKAGE}.{name}")
    if _is_there(qualified):
        builder = cast(Builder, importlib.import_module(qualified))
    elif specification in shared:
        builder = shared[specification]
    elif shared:
        raise CasebookError(f"the builder '{name}' has no entry for {specification}; add one to BUILDERS of {PACKAGE}.{name}")
    else:
        raise CasebookError(f"there is no builder '{name}'; expected a module {qualified}")
    needed = ("PREDICATES", "Parameters", *FUNCTIONS[kind_of(builder)])
    for function in needed:
        if not hasattr(builder, function):
            raise CasebookError(f"the builder '{name}' lacks '{function}'; {qualified} must define {', '.join(needed)}")
    return builder


def _entries(module: str) -> Mapping[str, Builder]:
    """Return the builders of a module that several specifications share, by specification; none if it is no such module."""
    return getattr(importlib.import_module(module), "BUILDERS", {}) if _is_there(module) else {}


def _is_there(qualified: str) -> bool:
    try:
        return importlib.util.find_spec(qualified) is not None
    except ModuleNotFoundError:
        # The specification has no package.
        return False


@dataclass(frozen=True)
class DeclaredTypes:
    """The dataclasses that declare a builder's parameters.

    Attributes:
        case: the parameters of a case.
        subcase: the parameters of a case and of a subcase; the same class if subcases have none.
    """

    case: type
    subcase: type


def declared_types(builder: Builder) -> DeclaredTypes:
    """Return the dataclasses in which the builder declares its parameters."""
    return DeclaredTypes(builder.Parameters, getattr(builder, "SubcaseParameters", builder.Parameters))


def kind_of(builder: Builder) -> CaseKind:
    """Return the kind of the cases that ``builder`` makes; by default, kernel."""
    return next((kind for kind, functions in FUNCTIONS.items() if hasattr(builder, functions[0])), CaseKind.KERNEL)
