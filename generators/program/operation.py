"""The base classes of all operations of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeVar

Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class Part:
    """A part of an operation, such as a condition: a frozen dataclass. Values in the fields ``defines`` are results. Values in all other
    fields are operands, also inside tuples and other parts. A field with a tuple of operations is a region: code that runs inside it.
    ``generators.program.walking`` reads and changes all of these by the fields alone."""

    __slots__ = ("_hash", "_regions")
    defines: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        # A dataclass keeps a hash that its class defines. Operations are deep, and keys of many look-ups.
        cls.__hash__ = Part.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        known: int | None = getattr(self, "_hash", None)
        if known is None:
            known = hash((type(self), *vars(self).values()))
            object.__setattr__(self, "_hash", known)
        return known

    def __getstate__(self) -> dict[str, object]:
        # Hashes of strings differ between processes.
        return vars(self)


@dataclass(frozen=True)
class Operation(Part):
    """An operation. All invocations of a scope instance execute it together, with equal operands, unless its class has another base.

    ``rests_on`` names the requirements that a wrong result breaks, if the reference model names none in its expectation.
    """

    defines: ClassVar[tuple[str, ...]] = ("result",)
    rests_on: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class InvocationOperation(Operation):
    """An operation that each invocation may execute for itself."""


@dataclass(frozen=True)
class VectorOperation(Operation):
    """An operation on cooperative vectors, which single invocations execute in any control flow and with any operands (CV-CTRL-01)."""


@dataclass(frozen=True)
class Effect(Operation):
    """States the effect of code on whole arrays and matrices. The reference model performs it; no emitter knows it."""


class Computation(Protocol[Result_co]):
    """An operation with one result."""

    @property
    def result(self) -> Result_co:
        """The result."""


Hint = Literal["none", "for", "against"]
"""Hint to a compiler: none; to unroll a loop, flatten a selection or inline a function; or not to do so. It changes no result."""
