"""Parameters of vector_variables: the variables and the operations on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS, INVOCATIONS, LENGTH, Vectors
from generators.parameters.vocabulary import SOURCE_NAMES
from generators.types import ComponentType

_Storage = Literal["function", "private"]
Index = Literal["constant", "operand", "invocation", "loop"]
_At = Literal["constant", "operand", "invocation"]

BY_PARTS = ("construct", "parts", "insert")
"""Copies that name one or all elements by a constant index."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Vectors):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=COMPONENTS)
    holder: Literal["vector", "array", "array_of_array", "struct", "array_of_struct", "struct_of_array", "nested"] = parameter(
        "the type of the variables", default="array", then=LENGTH
    )
    length: int = parameter("components of a vector", default=5)
    count: int = parameter("length of the array", default=3, applies=lambda parameters: parameters.holder not in ("vector", "struct"))
    count_from: Literal["literal", "specialization"] = parameter(
        "where the length of the array comes from",
        default="literal",
        applies=lambda parameters: parameters.holder not in ("vector", "struct"),
    )
    storage: _Storage = parameter("storage class of the variable", default="function")
    other_storage: _Storage = parameter(
        "storage class of the variable that is a copy", default="function", applies=lambda parameters: parameters.copy != "none"
    )
    start: Literal["none", "null", "constant"] = parameter("what the variable begins with", default="none")
    write: Index = parameter("the indices used to write parts", default="constant")
    read: Index = parameter("the indices used to read parts", default="constant")
    source: SOURCE_NAMES = parameter("where indices that are operands come from", default="push_constant")
    copy: Literal["none", "load_store", "copy_memory", "copy_object", "construct", "insert", "parts"] = parameter(
        "how the whole is copied", default="none"
    )
    change: Literal["none", "exchange", "rotate", "components", "replace"] = parameter(
        "what is changed afterwards: two vectors change places, all of an array do, two components do, or a vector is replaced",
        default="none",
    )
    at: _At = parameter("the indices of components", default="constant", applies=lambda parameters: parameters.change == "components")
    passing: Literal["inline", "value", "pointer"] = parameter(
        "who changes it: the code itself, or a function that takes and returns the whole, or has a pointer to the variable",
        default="inline",
        applies=lambda parameters: parameters.change != "none",
    )
    control: Literal["straight", "half", "branches", "loop"] = parameter(
        "the control flow around the change",
        default="straight",
        applies=lambda parameters: parameters.change != "none",
        then=INVOCATIONS,
    )


def _loops_fit(parameters: Parameters) -> bool:
    """Return whether one loop can fill, read or rotate the variable."""
    loops = "loop" in (parameters.write, parameters.read) or parameters.change == "rotate"
    return not loops or parameters.holder == "array"


def _indices_fit(parameters: Parameters) -> bool:
    """Return whether there are arrays to index."""
    has_array = parameters.holder not in ("vector", "struct")
    return has_array or (parameters.write == "constant" and parameters.read == "constant")


def _starts_fit(parameters: Parameters) -> bool:
    """Return whether a constant can initialize the variable, and the results show that initial value."""
    known = parameters.count_from == "literal" or parameters.start != "constant"
    return parameters.start == "none" or (known and parameters.write in ("constant", "operand"))


def _sizes_fit(parameters: Parameters) -> bool:
    """Return whether copies and functions have values whose length is known."""
    return parameters.count_from == "literal" or parameters.copy not in BY_PARTS


def _vectors_fit(parameters: Parameters) -> bool:
    """Return whether a single vector can be changed and copied in this way."""
    alone = parameters.holder == "vector"
    return not alone or (parameters.change not in ("exchange", "rotate") and parameters.copy not in BY_PARTS)


def _exchanges_fit(parameters: Parameters) -> bool:
    """Return whether the type has two vectors of one type, with distinguishable components."""
    if parameters.change == "components" and parameters.length == 1 and parameters.holder == "vector":
        return False
    return parameters.change != "exchange" or parameters.holder != "vector"


def _source_used(parameters: Parameters) -> bool:
    """Return whether indices are operands, if they come from somewhere else than by default."""
    operands = "operand" in (parameters.write, parameters.read) or (parameters.change == "components" and parameters.at == "operand")
    return parameters.source == "push_constant" or operands


def _count_shows(parameters: Parameters) -> bool:
    """Return whether another length of the array, such as the default of a specialization constant, changes a result."""
    turns = "invocation" in (parameters.write, parameters.read)
    return parameters.count_from == "literal" or turns or parameters.read == "loop" or parameters.change == "rotate"


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "loops_fit": _loops_fit,
    "indices_fit": _indices_fit,
    "starts_fit": _starts_fit,
    "sizes_fit": _sizes_fit,
    "vectors_fit": _vectors_fit,
    "exchanges_fit": _exchanges_fit,
    "source_used": _source_used,
    "count_shows": _count_shows,
    "diverges": lambda parameters: parameters.control != "straight" or parameters.is_partial,
}
