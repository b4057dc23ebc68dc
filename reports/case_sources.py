"""The casebook's information about a case that a journal names: the meanings of its parameters, and its shader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cts.kinds import showing, static
from cts.verdict.verdict import CaseResult
from generators.casebook import Case, Casebook, CaseKind, find_case
from generators.errors import CtsError
from generators.property_rows import PropertyRow

_HAVE_NO_SHADER = (CaseKind.QUERY, CaseKind.CONVERSION)


@dataclass(frozen=True)
class CaseSource:
    """A case as the installed suite builds it.

    Attributes:
        meanings: name of a parameter -> its meaning.
        labels: name of a parameter -> its label in words, if the label abbreviates several things.
        shaders: language -> the shader; empty if the case has none.
        difference: how the module of a static rule differs from the most similar legal one.
    """

    meanings: Mapping[str, str]
    labels: Mapping[str, str]
    shaders: Mapping[str, str]
    difference: tuple[static.Line, ...] = ()


UNKNOWN = CaseSource({}, {}, {})


def case_source(result: CaseResult, book: Casebook | None) -> CaseSource:
    """Return the casebook's information about a judged case; it is empty if there is no casebook, or if its case has other parameters."""
    if book is None:
        return UNKNOWN
    try:
        case = find_case(book, result.id)
        if result.parameters and dict(result.parameters) != case.named:
            return UNKNOWN
        difference = static.difference(case) if case.definition.kind is CaseKind.STATIC else ()
        return CaseSource(_meanings(case), _labels(case), _shaders(case), difference)
    except CtsError:
        return UNKNOWN


def _meanings(case: Case) -> dict[str, str]:
    return {parameter.name: parameter.declaration.means for parameter in case.definition.parameters}


def _labels(case: Case) -> dict[str, str]:
    return {name: _of_row(value) for name, value in case.values.items() if isinstance(value, PropertyRow)}


def _of_row(row: PropertyRow) -> str:
    types = f"A {row.a.name}, B {row.b.name}, C {row.c.name}, Result {row.result.name}"
    return f"M {row.m}, N {row.n}, K {row.k}; {types}{', saturating' if row.saturating else ''}"


def _shaders(case: Case) -> dict[str, str]:
    if case.definition.kind in _HAVE_NO_SHADER:
        return {}
    wanted = ("spirv",) if case.definition.kind is CaseKind.STATIC else ("glsl", "spirv")
    shown = showing.shown(case, wanted)
    return {language: shown[name].rstrip() for name, language in (("glsl", "GLSL"), ("spirv", "SPIR-V")) if name in shown}
