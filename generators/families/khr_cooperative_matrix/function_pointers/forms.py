"""The class of the forms of function_pointers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.chains.pointers import PointerWriter


@dataclass(frozen=True)
class Form:
    """A form of functions and variables.

    Attributes:
        write: writes the chain.
        decides: whether n decides something.
        any_storage: whether the variables can be of any storage class; if not, the form says what they are.
    """

    write: Callable[[PointerWriter], None]
    decides: bool = False
    any_storage: bool = True
