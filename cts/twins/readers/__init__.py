"""Reads the drivers' own listings of compiled code, one module for each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from cts.twins.machine_code import Code, Line, summarised
from cts.twins.readers import anv, nvk, radv

READERS: Mapping[str, Callable[[str, int], Iterator[Line]]] = MappingProxyType(
    {"Assembly": radv.read, "NAK assembly": nvk.read, "GEN Assembly": anv.read}
)
"""The reader of each listing, by the driver's name for it in VK_KHR_pipeline_executable_properties."""


def read(listings: Mapping[str, Mapping[str, str]], subgroup_size: int) -> Code | None:
    """Return what the listings of a compute pipeline say; None if no reader knows them, or there are several executables.

    Args:
        listings: executable -> name of the text -> text.
        subgroup_size: the subgroup size with which the code runs.
    """
    known = [(READERS[name], text) for texts in listings.values() for name, text in texts.items() if name in READERS]
    if len(known) != 1 or len(listings) != 1:
        return None
    reader, text = known[0]
    return summarised(reader(text, subgroup_size))
