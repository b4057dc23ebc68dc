"""Faults: the only way to give an embedded device deliberate mistakes, or other free choices (``free_choices``).

A fault takes the function that performs an operation, and returns its replacement with the same parameters::

    def always_full(built_in):
        return lambda translation, which, type_: 32 if which == BuiltIn.SubgroupSize else built_in(translation, which, type_)

    EmbeddedDevice(profile, faults=Faults(operations={built_ins.built_in: always_full}))

Faults are applied when a pipeline is created, so a device without faults calls its own functions directly.
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
    """A fault is for an operation or an instruction that the device does not have."""


def replaceable(function: Function) -> Function:
    """Declare an operation that faults may replace. The device calls it only through ``faults.performing(function)``."""
    _OPERATIONS[function] = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    return function


def operations() -> tuple[str, ...]:
    """Return the names (``module.function``) of all operations that faults may replace, in alphabetical order."""
    return tuple(sorted(_OPERATIONS.values()))


@dataclass(frozen=True)
class Faults:
    """The deliberate mistakes of a device.

    Attributes:
        instructions: opcode -> the fault of its handler. A handler takes the translation and the operands of an instruction, and returns
            a function that executes it (see ``translation``).
        operations: operation -> its fault. An operation is a function of this package that is marked ``replaceable``.

    Raises:
        NoSuchFault: a function is not an operation.
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
        # A fault returns a function with the arguments of the one that it replaces.
        return operation if fault is None else fault(operation)  # type: ignore[return-value]


NO_FAULTS = Faults()
