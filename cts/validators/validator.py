"""The protocol of a validator, and the information needed to open one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from cts.devices.device import Judge


@dataclass(frozen=True)
class ValidatorSpec:
    """How to open a validator, in this process or another one.

    Attributes:
        kind: which one.
    """

    kind: Literal["spirv-val"] = "spirv-val"

    @property
    def selector(self) -> str:
        """Return the value of ``--device`` for this validator."""
        return self.kind


VALIDATORS = {spec.selector: spec for spec in (ValidatorSpec(),)}
"""By what ``--device`` takes to mean them."""


@dataclass(frozen=True)
class Answer:
    """A validator's verdict on a module: whether it is valid, and the message if it is not."""

    accepted: bool
    message: str = ""


@runtime_checkable
class Validator(Judge, Protocol):
    """Judges modules. Not thread-safe; one module at a time."""

    def validate(self, module: bytes) -> Answer:
        """Return its answer for ``module``.

        Raises:
            DeviceFailure: it died, or did not end.
        """
        ...
