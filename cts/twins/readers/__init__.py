"""Reads the drivers' own listings of compiled code, one module for each driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.twins.machine_code import Code, Line, summarised
from cts.twins.readers import anv, nvk, radv

READERS: Mapping[str, Callable[[str, int], Iterator[Line]]] = MappingProxyType(
    {"Assembly": radv.read, "NAK assembly": nvk.read, "GEN Assembly": anv.read}
)
"""The reader of each listing, by the driver's name for it in VK_KHR_pipeline_executable_properties."""


INTERMEDIATE = ("NIR Shader(s)", "NIR shader", "Final NIR")
"""The drivers' names for the intermediate code from which they make the machine code."""


@dataclass(frozen=True)
class Listing:
    """The listings of a kernel.

    Attributes:
        text: the machine code.
        code: what it says.
        intermediate: the intermediate code; empty if the driver does not list it.
    """

    text: str
    code: Code
    intermediate: str


def read(listings: Mapping[str, Mapping[str, str]], subgroup_size: int) -> Listing | None:
    """Return the listing of a compute pipeline; None if no reader knows it, or there are several executables.

    Args:
        listings: executable -> name of the text -> text.
        subgroup_size: the subgroup size with which the code runs.
    """
    if len(listings) != 1:
        return None
    (texts,) = listings.values()
    known = [name for name in READERS if name in texts]
    if len(known) != 1:
        return None
    text = texts[known[0]]
    intermediate = next((texts[name] for name in INTERMEDIATE if name in texts), "")
    return Listing(text, summarised(READERS[known[0]](text, subgroup_size)), intermediate)
