"""The handlers of instructions. A module of this package registers its handlers where they are defined."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TypeVar

from cts.embedded.faults import Faults, NoSuchFault
from cts.embedded.module.translation import Handler
from generators.errors import CtsError
from generators.spirv.enumerants import Op

SomeHandler = TypeVar("SomeHandler", bound=Handler)

_HANDLERS: dict[Op, Handler] = {}
_COMPUTING: set[Op] = set()


class TwoHandlers(CtsError):
    """Two handlers are registered for an instruction."""


def executes(*ops: Op) -> Callable[[SomeHandler], SomeHandler]:
    """Return a decorator that registers the handler of instructions.

    Raises:
        TwoHandlers: an instruction has a handler already.
    """

    def register(handler: SomeHandler) -> SomeHandler:
        for op in ops:
            if op in _HANDLERS:
                raise TwoHandlers(f"Op{op.name} has a handler in {_HANDLERS[op].__module__} and one in {handler.__module__}: keep one")
            _HANDLERS[op] = handler
        return handler

    return register


def computes(*ops: Op) -> Callable[[SomeHandler], SomeHandler]:
    """Like ``executes``, for instructions that only compute their result from their operands, each invocation for itself."""
    _COMPUTING.update(ops)
    return executes(*ops)


@cache
def handlers() -> Mapping[Op, Handler]:
    """Return the handlers of all instructions, by opcode. This imports all modules of the package."""
    package = import_module("cts.embedded.instructions")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return MappingProxyType(_HANDLERS)


def handlers_with(faults: Faults) -> Mapping[Op, Handler]:
    """Return the handlers of a device with ``faults``, by opcode.

    Raises:
        NoSuchFault: a fault is for an instruction that the interpreter lacks.
    """
    known = handlers()
    if not faults.instructions:
        return known
    for op in faults.instructions:
        if op not in known:
            raise NoSuchFault(f"no fault can be given to Op{op.name}, which the interpreter does not have")
    return MappingProxyType({**known, **{op: fault(known[op]) for op, fault in faults.instructions.items()}})


def only_computes(op: Op) -> bool:
    """Return whether an instruction does nothing but compute its result from its operands, each invocation for itself."""
    return op in _COMPUTING
