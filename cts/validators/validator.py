"""The protocol of a validator, and the information needed to open one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from cts.devices.device import Judge


@dataclass(frozen=True)
class ValidatorSpec:
    """How to open a validator, in this process or another one.

    Attributes:
        kind: which validator.
    """

    kind: Literal["spirv-val"] = "spirv-val"

    @property
    def selector(self) -> str:
        """Return the value of ``--device`` for this validator."""
        return self.kind


VALIDATORS = {spec.selector: spec for spec in (ValidatorSpec(),)}
"""The validators, by their value of ``--device``."""


@dataclass(frozen=True)
class Answer:
    """A validator's verdict on a module: whether it is valid, and the message if it is not."""

    accepted: bool
    message: str = ""


@runtime_checkable
class Validator(Judge, Protocol):
    """Judges modules, one at a time. Not thread-safe."""

    def validate(self, module: bytes) -> Answer:
        """Return the validator's answer for ``module``.

        Raises:
            DeviceFailure: the validator died, or did not finish.
        """
        ...
