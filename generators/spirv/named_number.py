"""Numbers that have names, in classes like enumerations.

They are not ``enum.IntEnum`` because SPIR-V has two thousand of them, which take every process 30 ms to make; the classes here take 1 ms.
They hash like their numbers, so a number read from a module finds an entry that is stored under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self, TypeVar

_T = TypeVar("_T")


class UnknownNumber(ValueError):
    """An enumeration of the grammar has no member of this number."""


class NamedNumberType(type):
    """The class of a class of named numbers: ``Op.Load``, ``Op(61)``, ``61 in Op`` and ``for op in Op``."""

    __members__: Mapping[str, Any]
    _by_number: Mapping[int, Any]

    def __iter__(cls: type[_T]) -> Iterator[_T]:
        """Iterate over the members without their aliases."""
        return iter(cls._by_number.values())  # type: ignore[attr-defined]

    def __len__(cls) -> int:
        return len(cls._by_number)

    def __contains__(cls, number: object) -> bool:
        return number in cls._by_number

    def __call__(cls: type[_T], number: int) -> _T:
        """Return the member that has ``number``.

        Raises:
            UnknownNumber: no member has it.
        """
        try:
            return cls._by_number[number]  # type: ignore[attr-defined, no-any-return]
        except KeyError:
            raise UnknownNumber(f"{cls.__name__} has no number {number}") from None


class NamedNumber(int, metaclass=NamedNumberType):
    """A number that has a name. It has the operators of int, so combined flags are a plain int.

    Attributes:
        name: its name, or the first of its aliases.
    """

    name: str

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the member with this name or alias.

        Raises:
            KeyError: no member has it.
        """
        return cls.__members__[name]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {int(self)}>"

    def __str__(self) -> str:
        return int.__repr__(self)

    def __reduce__(self) -> tuple[Callable[[int], NamedNumber], tuple[int]]:
        return type(self), (int(self),)


def named_numbers(class_name: str, names: Mapping[str, int], module: str) -> type[NamedNumber]:
    """Return the class ``class_name`` of ``module`` with a member for each of ``names``; names of one number are aliases."""
    cls: Any = NamedNumberType(class_name, (NamedNumber,), {"__module__": module})
    members: dict[str, NamedNumber] = {}
    by_number: dict[int, NamedNumber] = {}
    for name, number in names.items():
        member = by_number.get(number)
        if member is None:
            member = by_number[number] = int.__new__(cls, number)
            member.name = name
        members[name] = member
        setattr(cls, name, member)
    cls.__members__, cls._by_number = MappingProxyType(members), by_number
    return cls  # type: ignore[no-any-return]
