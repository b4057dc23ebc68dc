"""Parameters that families of loads from tensors of blocks share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.layouts.blocked_tensors import BlockSetting, Last, Place, ViewUse, parse_block
from generators.layouts.selecting_products import is_multiplied
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneTensor, Rank
from generators.parameters.vocabulary import BUFFERS, CLAMP_MODES
from generators.types import ClampMode, StorageClass

_SETTINGS: Mapping[str, BlockSetting] = MappingProxyType(
    {
        "before": BlockSetting("before"),
        "after": BlockSetting("after"),
        "before_strided": BlockSetting("before", strided=True),
        "after_strided": BlockSetting("after", strided=True),
        "again": BlockSetting("again"),
    }
)
_VIEWS: Mapping[str, ViewUse] = MappingProxyType(
    {
        "none": ViewUse(),
        "permuted": ViewUse(permuted=True),
        "clip": ViewUse(clipped=True),
        "permuted_clip": ViewUse(permuted=True, clipped=True),
        "rows": ViewUse(own="rows"),
        "columns": ViewUse(own="columns"),
        "again": ViewUse(own="again"),
        "rows_clip": ViewUse(clipped=True, own="rows"),
        "columns_clip": ViewUse(clipped=True, own="columns"),
    }
)


def _goes_out(parameters: BlockedTensorLoad) -> bool:
    return parameters.place in ("over", "periods")


ACCESS = ("last", "place", "mode", "setting", "view")
"""The parameters of ``BlockedTensorLoad`` that say how a slice is loaded."""


@dataclass(frozen=True, kw_only=True)
class BlockedTensorLoad(OneTensor):
    """The parameters of a case that loads a matrix from a tensor of blocks."""

    rank: Rank = parameter("dimensions of the tensor", default=2)
    block: tuple[int, ...] = parameter("sizes of a block in the last dimensions; 1 in the others", decode=parse_block)
    last: Last = parameter("the last block of each dimension: it has all elements, lacks one, or has one", default="whole")
    place: Place = parameter(
        "where the slice is: from the middle of a block, from the beginning of one, at the end of the tensor, "
        "after more blocks than 8 bits (far) or 16 bits (deep) can count, across the edges, across several "
        "periods of the tensor, or from the last element of a block",
        default="straddle",
    )
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES, applies=_goes_out)
    setting: BlockSetting = parameter("when the block size is set", default="before", labels=_SETTINGS)
    view: ViewUse = parameter(
        "the tensor view of the load; rows, columns, again: one with its own dimensions, which interleaves rows, interleaves columns, or "
        "repeats rows",
        default="none",
        labels=_VIEWS,
    )
    storage: StorageClass = parameter("where the tensor is", default="storage_buffer", labels=BUFFERS)
    then: Literal["store", "muladd"] = parameter("what is done with the matrix", default="store")

    @property
    def multiplies(self) -> bool:
        """Whether the matrix can be multiplied, if the case multiplies it."""
        return self.then == "store" or is_multiplied(self.matrix_type)
