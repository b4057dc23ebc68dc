"""The protocol of a validator, and the information needed to open one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from cts.devices.device import Judge


class ValidatorSpec(StrEnum):
    """The validators, by the kinds in their descriptions."""

    SPIRV_VAL = "spirv-val"

    @property
    def kind(self) -> str:
        """Return its kind."""
        return self.value

    @property
    def selector(self) -> str:
        """Return the value of ``--device`` for this validator."""
        return self.value


VALIDATORS = {spec.selector: spec for spec in ValidatorSpec}
"""The validators, by their value of ``--device``."""


@dataclass(frozen=True)
class Answer:
    """A validator's verdict on a module.

    Attributes:
        accepted: whether it accepts the module.
        message: its message if it does not.
        knows: whether it knows all that the module has: a rejection for a lack of knowledge says nothing about the module.
    """

    accepted: bool
    message: str = ""
    knows: bool = True


@runtime_checkable
class Validator(Judge, Protocol):
    """Judges modules, one at a time. Not thread-safe."""

    def validate(self, module: bytes) -> Answer:
        """Return the validator's answer for ``module``.

        Raises:
            DeviceFailure: the validator died, or did not finish.
        """
        ...
