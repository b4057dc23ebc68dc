"""Maps the elements of a matrix to the elements of a tensor, for pictures and for the journal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

NOWHERE = -1


class PartsDiffer(ValueError):
    """The parts of a tensor's map contradict each other."""


@dataclass(frozen=True)
class TensorMap:
    """One tensor load or store of one scope instance. Tuples have an entry for each dimension of the layout, or for each element of the
    matrix, row by row. Numbers of elements count with the last dimension innermost.

    Attributes:
        access, matrix, array: ``load`` or ``store``, of which matrix, from or to which array.
        instance, shape: the scope instance, and its matrix's rows and columns.
        dimensions, offset, span, block_size, clamp: the tensor layout.
        in_slice: for each element, its number in the slice; NOWHERE, -1, if the view's clip window leaves the element out.
        in_tensor: for each element, the number of the tensor's element; NOWHERE, -1, if there is none, because a load takes the clamp value
            or a store discards the element.

    Raises:
        PartsDiffer: the tuples contradict each other.
    """

    access: Literal["load", "store"]
    matrix: str
    array: str
    instance: int
    shape: tuple[int, int]
    dimensions: tuple[int, ...]
    offset: tuple[int, ...]
    span: tuple[int, ...]
    block_size: tuple[int, ...]
    clamp: str
    in_slice: tuple[int, ...]
    in_tensor: tuple[int, ...]

    def __post_init__(self) -> None:
        ranks = {len(part) for part in (self.dimensions, self.offset, self.span, self.block_size)}
        if len(ranks) != 1 or any(len(part) != math.prod(self.shape) for part in (self.in_slice, self.in_tensor)):
            raise PartsDiffer("the parts of the tensor's map do not fit each other")
