"""The readings of a program, and the language's classes of operations."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation

Context = TypeVar("Context")
"""What the functions of a reading work on: a shader, or a state."""

SomeFunction = TypeVar("SomeFunction", bound=Callable[..., None])


class NoEntry(GeneratorError):
    """A reading has no function for the class of an operation.

    Attributes:
        operation: the name of the class.
        package: the package of the reading.
    """

    def __init__(self, kind: type[Operation], package: str) -> None:
        name, module = kind.__name__, module_name(kind)
        super().__init__(
            Rule.NO_ENTRY, f"{package} has no function for {name}: define it in {package}.{module} (CONTRIBUTING.md, 'A new instruction')"
        )
        self.operation = name
        self.package = package


class Reading(Generic[Context]):
    """One reading of programs: a function for each class of operation.

    A function says where it is defined for which classes it is: ``@emits(Reduce)``. It is in the module of the reading's package that has
    the same name as the module of the class, and the module is imported when the first operation needs it.
    """

    def __init__(self, package: str) -> None:
        """Begin the reading of ``package`` without functions."""
        self.package = package
        self._functions: dict[type[Operation], Callable[[Context, Any], None]] = {}

    def __call__(self, *kinds: type[Operation]) -> Callable[[SomeFunction], SomeFunction]:
        """Return a decorator that makes a function the one for each of ``kinds``.

        Raises:
            GeneratorError: a class has a function already.
        """

        def register(function: SomeFunction) -> SomeFunction:
            for kind in kinds:
                if kind in self._functions:
                    raise GeneratorError(Rule.TWO_ENTRIES, f"{self.package} has two functions for {kind.__name__}: keep one")
                self._functions[kind] = function
            return function

        return register

    def function(self, kind: type[Operation]) -> Callable[[Context, Any], None]:
        """Return the function for a class of operation.

        Raises:
            NoEntry: there is none.
        """
        found = self._functions.get(kind)
        if found is None:
            self._import(module_name(kind))
            found = self._functions.get(kind)
        if found is None:
            raise NoEntry(kind, self.package)
        return found

    def read(self, context: Context, operation: Operation) -> None:
        """Apply the function for the class of ``operation``. Raises NoEntry as ``function``."""
        kind = type(operation)
        function = self._functions.get(kind) or self.function(kind)
        function(context, operation)

    def _import(self, module: str) -> None:
        name = f"{self.package}.{module}"
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise


def module_name(kind: type[Operation]) -> str:
    """Return the name of the module of a class, without its package."""
    return kind.__module__.rpartition(".")[2]


def language() -> list[type[Operation]]:
    """Return all classes of operations that programs have, by module and name. This imports all modules of the language."""
    package = import_module("generators.program")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    found = [kind for kind in _subclasses(Operation) if kind.__module__.startswith(f"{package.__name__}.") and not _subclasses(kind)]
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def _subclasses(kind: type[Operation]) -> list[type[Operation]]:
    return [each for one in kind.__subclasses__() for each in (one, *_subclasses(one))]
