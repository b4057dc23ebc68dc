"""Which element of a matrix is which element of a tensor, as a picture needs it and the journal holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

NOWHERE = -1


@dataclass(frozen=True)
class TensorMap:
    """One tensor load or store of one scope instance. Tuples have an entry for each dimension of the layout, or for each element of the
    matrix row by row.

    Attributes:
        access: what it does. ``matrix``, ``array``: names.
        instance: the scope instance. ``shape``: rows and columns.
        dimensions, offset, span, block_size: of the layout. ``clamp``: its mode's name.
        in_slice: by element, its number in the slice; NOWHERE where the view's clip window leaves the element out.
        in_tensor: by element, the number of the tensor's element, both counted with the last dimension innermost; NOWHERE where there is
            none, as a load takes the clamp value or a store discards the element.
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

    def record(self) -> dict[str, Any]:
        """The JSON object for the journal."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What ``record`` made an object of."""
        numbers = {name: tuple(map(int, value)) for name, value in record.items() if isinstance(value, list)}
        return cls(**{**record, **numbers, "instance": int(record["instance"])})
