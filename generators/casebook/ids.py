"""Ids of cases: ``family[name:label/name:label/…]``.

An id names the parameters in which a case differs from its family's defaults, in the order of the YAML. So a new parameter with a default
changes no id.
"""

from __future__ import annotations

from collections.abc import Sequence

from generators.casebook.parameters import Parameter
from generators.errors import CasebookError
from generators.property_rows import check_row


def family_of(id_: str) -> str:
    """Return the name of the family with which a case id, or the name of a block of cases, begins."""
    return id_.partition("[")[0].partition("{")[0]


def named_labels(parameters: Sequence[Parameter], labels: Sequence[str]) -> str:
    """Return ``name:label/name:label/…`` for the parameters whose label is not their default."""
    named = zip(parameters, labels, strict=True)
    # A list is faster than a generator, and a run writes every id several times.
    return "/".join([f"{parameter.name}:{label}" for parameter, label in named if label != parameter.default])


def stated_labels(text: str) -> list[tuple[str, str]]:
    """Return each name and label of ``name:label/name:label/…``, in order; the label of a part without a colon is empty."""
    parts = (part.partition(":") for part in text.split("/")) if text else ()
    return [(name, label) for name, _, label in parts]


def parse_labels(parameters: Sequence[Parameter], text: str) -> tuple[str, ...]:
    """Return a label for each parameter.

    Args:
        parameters: the parameters of the cases of a family.
        text: as ``named_labels`` writes it; the order is free, and defaults may be included.

    Raises:
        CasebookError: a name or a label is unknown, given twice, or missing.
    """
    given: dict[str, str] = {}
    for name, label in stated_labels(text):
        if not label:
            raise CasebookError(f"expected name:label, found '{name}'")
        if name in given:
            raise CasebookError(f"parameter '{name}' is given twice")
        given[name] = label
    names = [parameter.name for parameter in parameters]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise CasebookError(f"there is no parameter '{unknown[0]}'; expected one of {', '.join(names)}")
    labels = []
    for parameter in parameters:
        chosen = given.get(parameter.name, parameter.default)
        if chosen is None:
            raise CasebookError(f"parameter '{parameter.name}' is missing and has no default")
        # A run reads tens of thousands of ids, whose labels are nearly all listed.
        if chosen not in parameter.values:
            _check_label(parameter, chosen)
        labels.append(chosen)
    return tuple(labels)


def _check_label(parameter: Parameter, label: str) -> None:
    """Check a label that the casebook does not list."""
    if parameter.rows is None:
        raise CasebookError(f"parameter '{parameter.name}' has no label '{label}'; expected one of {', '.join(parameter.labels)}")
    check_row(label, parameter.rows)
