"""The one seam through which tests make an embedded device wrong, in a way that they choose.

A fault takes the function that performs something and returns the function that performs it instead, with the same parameters::

    def always_full(built_in):
        return lambda translation, which, type_: 32 if which == BuiltIn.SubgroupSize else built_in(translation, which, type_)

    EmbeddedDevice(profile, faults=Faults(operations={workgroup.built_in: always_full}))

Faults are applied when a pipeline is made, so a device without faults calls its own functions directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from generators.spirv.enumerants import Op

Function = TypeVar("Function", bound=Callable[..., Any])
Fault = Callable[[Callable[..., Any]], Callable[..., Any]]

_OPERATIONS: dict[Callable[..., Any], str] = {}


class NoSuchFault(ValueError):
    """A fault is of an operation or an instruction that the device does not have."""


def replaceable(function: Function) -> Function:
    """Declare an operation that faults may replace. The device never calls it by its name, but as ``faults.performing(function)``."""
    _OPERATIONS[function] = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    return function


def operations() -> tuple[str, ...]:
    """Return the names of all operations that faults may replace, in alphabetical order: ``module.function``."""
    return tuple(sorted(_OPERATIONS.values()))


@dataclass(frozen=True)
class Faults:
    """How a device is wrong.

    Attributes:
        instructions: by opcode the fault of its handler. A handler takes the translation and the operands of an instruction, and returns
            what executes it (see ``translation``).
        operations: by operation its fault. An operation is a function of this package that is marked ``replaceable``.

    Raises:
        NoSuchFault: a function is not such an operation.
    """

    instructions: Mapping[Op, Fault] = field(default_factory=dict)
    operations: Mapping[Callable[..., Any], Fault] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for function in self.operations:
            if function not in _OPERATIONS:
                raise NoSuchFault(f"{function} is not an operation that faults may replace; these are: {', '.join(operations())}")

    def performing(self, operation: Function) -> Function:
        """Return the function that performs an operation: ``operation`` itself, unless a fault replaces it."""
        fault = self.operations.get(operation)
        return operation if fault is None else fault(operation)  # type: ignore[return-value]


NO_FAULTS = Faults()
