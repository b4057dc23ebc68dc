"""Images that a user's module reads and writes: their formats, their texels in a buffer, and their sampling."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from generators.types import COMPONENT_TYPES, ComponentType

Filter = Literal["nearest", "linear"]
AddressMode = Literal["repeat", "mirrored_repeat", "clamp_to_edge"]

_FORMAT = re.compile(r"(r|rg|rgba)(8|16|32|64)(f|ui|i|_snorm|)")
_KINDS = {"f": "f", "ui": "u", "i": "s", "_snorm": "s", "": "u"}


@dataclass(frozen=True)
class Format:
    """The format of a texel, by its name in GLSL: ``channels`` of ``component``; ``normalized`` integers represent numbers up to 1."""

    component: ComponentType
    channels: int
    normalized: bool

    @property
    def bytes(self) -> int:
        """Size of a texel in bytes."""
        return self.channels * self.component.bytes


def format_named(name: str) -> Format | None:
    """Return the format ``name``, for example ``rgba16f`` or ``r32ui``; None if there is none."""
    found = _FORMAT.fullmatch(name)
    if found is None:
        return None
    channels, bits, kind = found.groups()
    component = COMPONENT_TYPES.get(f"{_KINDS[kind]}{bits}")
    normalized = kind in ("", "_snorm")
    if component is None or (normalized and component.bits > 16):
        return None
    return Format(component, len(channels), normalized)


@dataclass(frozen=True)
class ImageSlot:
    """An image in a descriptor, with one level and one sample; the bytes of its slot are its texels, row by row.

    Attributes:
        format: the format of a texel.
        size: texels in x, y and z; layers of an array are the last size that is not 1.
        filter, address: how it is sampled, if the descriptor has a sampler.
    """

    format: Format
    size: tuple[int, int, int]
    filter: Filter = "nearest"
    address: AddressMode = "clamp_to_edge"

    @property
    def bytes(self) -> int:
        """Size of all texels in bytes."""
        x, y, z = self.size
        return x * y * z * self.format.bytes
