"""The parameters of tensor_view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.families.nv_cooperative_matrix2.tensor_view.shapes import ClipKind, FormKind
from generators.layouts.placement import PointeeName
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OPERANDS, OneTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.types import ClampMode


def _permutation(text: str) -> tuple[int, ...]:
    """Return the dimensions that ``p201`` names, outermost first: 2, 0, 1.

    Raises:
        ValueError: they are not a permutation.
    """
    dimensions = tuple(int(digit) for digit in text[1:])
    if text[:1] != "p" or sorted(dimensions) != list(range(len(dimensions))) or not 1 <= len(dimensions) <= 5:
        raise ValueError("expected p and each dimension once, such as p201")
    return dimensions


@dataclass(frozen=True, kw_only=True)
class Parameters(OneTensor):
    """The parameters of a case."""

    access: Literal["load", "store"] = parameter("what is done through the view", default="load")
    rank: Rank = parameter("dimensions of the layout", default=2)
    permutation: tuple[int, ...] = parameter("dimensions of the view, outermost first", decode=_permutation)
    form: FormKind = parameter("dimensions and strides of the view", default="default")
    fit: Literal["matrix", "window"] = parameter(
        "whether the dimensions have as many elements as the matrix or as the clip window",
        default="matrix",
        applies=lambda parameters: parameters.clip != "none",
    )
    clip: ClipKind = parameter("the clip window", default="none")
    spans: Literal["even", "odd"] = parameter("whether spans of the slice are powers of two", default="even")
    edge: Literal["inside", "over", "past"] = parameter(
        "whether the slice is inside the tensor, over the first edge of the first dimension and the last edge "
        "of the last, or one element past the end of only the first dimension",
        default="inside",
    )
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES)
    place: Literal["value", "clip_first", "variable", "derived", "derived_dimension", "derived_stride", "instance"] = parameter(
        "how the access gets its view: straight from the instructions; with the clip window set first; from a "
        "variable; after another view was made from it by a window, dimensions or strides; or with a "
        "different window for each scope instance",
        default="value",
    )
    constants: Literal["literal", "specialization"] = parameter("the operands of the view's type", default="literal", then=OPERANDS)
    object: Literal["loaded", "null", "splat", "again", "carried"] = parameter(
        "the Object of the load, whose elements stay outside the clip window; it may be stored again after the load, or come from the "
        "iteration before",
        default="loaded",
        applies=lambda parameters: parameters.access == "load",
    )
    pointee: PointeeName = parameter("the type that the tensor's array is declared with", default="component")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")
