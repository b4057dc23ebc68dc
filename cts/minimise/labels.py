"""Orders the labels of a parameter by simplicity, and replaces one label of a case."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from generators.casebook import Case, Parameter
from generators.casebook.cases import violated
from generators.parameters.declaration import make_parameters

_MATRIX = re.compile(r"\d+x\d")
_SIZES = re.compile(r"(\d+(?:x\d+)*)(.*)")


def simplest_first(parameter: Parameter, current: str) -> list[str]:
    """Return the labels of a parameter, and ``current``, in the order in which they are tried.

    Labels that differ only in the sizes of a matrix, for example rows of the same types, are ordered by the product of the sizes: a smaller
    matrix is simpler, even if the default is larger. Among other labels, the default comes first, then numbers in ascending order, then the
    rest in the order of the family's file.
    """
    labels = list(parameter.labels) if current in parameter.values else [*parameter.labels, current]
    rest = _parts(current)[1]
    is_size = _MATRIX.match(current) is not None

    def key(label: str) -> tuple[bool, bool, int, int]:
        size, other = _parts(label)
        return not is_size and label != parameter.default, other != rest, size, labels.index(label)

    return sorted(labels, key=key)


def _parts(label: str) -> tuple[int, str]:
    """Return the product of the sizes at the beginning of a label, 0 if it has none, and the rest of the label."""
    found = _SIZES.fullmatch(label)
    return (math.prod(map(int, found[1].split("x"))), found[2]) if found else (0, label)


def replaced(case: Case, number: int, label: str) -> Case | None:
    """Return the case with another label for one parameter, and defaults for parameters that then do not apply; None if the family forbids
    this case."""
    labels = list(case.labels)
    labels[number] = label
    parameters = case.definition.parameters
    for _ in parameters:
        values = {parameter.name: parameter.value(label) for parameter, label in zip(parameters, labels, strict=True)}
        made = make_parameters(case.definition.declared.case, values)
        before = list(labels)
        for place, parameter in enumerate(parameters):
            if parameter.default is not None and not parameter.applies(made):
                labels[place] = parameter.default
        if labels == before:
            break
    other = Case(case.definition, tuple(labels))
    return None if labels[number] != label or violated(other) else other


def applying(case: Case) -> Iterator[tuple[int, Parameter]]:
    """Yield the parameters that a case has and that have other labels, with their numbers."""
    made = case.parameters
    for number, parameter in enumerate(case.definition.parameters):
        if len(parameter.labels) > 1 and parameter.applies(made):
            yield number, parameter
