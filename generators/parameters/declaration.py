"""Declaration of a family's parameters: a frozen dataclass whose fields state the type, the default, the condition for applying, and the
meaning.

A label stands for a value of the field's type. It is decoded once, when the family is loaded:

* by ``labels``, a mapping from label to value;
* by ``decode``, a function from label to value;
* by the type itself: ``bool``, ``int``, ``str``, ``Literal[...]``, and frozen dataclasses of these, which the YAML gives as mappings.

``labels`` and ``Literal[...]`` list all values. The YAML of a family lists them only if the family takes fewer, or in another order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from functools import cache, cached_property
from keyword import iskeyword
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from generators.errors import CtsError
from generators.parameters.mappings import convert

_KEY = "declaration"


class NotAValue(CtsError):
    """A label or a value that a parameter does not accept; the message says which values it accepts."""


@dataclass(frozen=True, eq=False)
class Declaration:
    """A declared parameter.

    Attributes:
        name: its name in ids and in YAML.
        attribute: name of the field: ``name``, followed by an underscore if it is a Python keyword.
        type: the type of its values.
        means: its meaning, in words.
        default: label of the value in cases that do not name the parameter; None if every case names it.
        applies: whether a case with these parameters has it at all; None if every case does. Other cases have the default.
        labels: label -> value, if they are declared.
        decode: label -> value, if a function decodes them.
        then: the inherited parameters that follow it in ids.
    """

    name: str
    attribute: str
    type: Any
    means: str
    default: str | None
    applies: Callable[[Any], bool] | None
    labels: Mapping[str, Any] | None
    decode: Callable[[str], Any] | None
    then: tuple[str, ...]

    @cached_property
    def values(self) -> Mapping[str, Any] | None:
        """The values that the type lists, by label: the default first, then the others in the order of the type. None if it lists none."""
        listed = self.labels
        if listed is None and self.decode is None:
            listed = {"false": False, "true": True} if self.type is bool else _literals(self.type)
        if listed is None or self.default is None:
            return listed
        return MappingProxyType({self.default: listed[self.default], **listed})

    @property
    def default_value(self) -> Any:
        """The value of the default, if there is one."""
        assert self.default is not None
        if self.labels is None and self.decode is None:
            return msgspec.convert(self.default, self.type, strict=False)
        return self.value(self.default, self.default)

    def value(self, data: Any, label: str) -> Any:
        """Return the value that a family's YAML gives.

        Args:
            data: the data in the YAML.
            label: its label.

        Raises:
            NotAValue: the parameter does not accept it.
        """
        if self.labels is not None:
            if label not in self.labels:
                raise NotAValue(f"'{self.name}' does not take '{label}'; it takes {', '.join(self.labels)}")
            return self.labels[label]
        if self.decode is not None:
            try:
                return self.decode(label)
            except (CtsError, ValueError, KeyError) as error:
                raise NotAValue(f"'{self.name}' does not take '{label}': {error}") from error
        try:
            return convert(data, self.type)
        except msgspec.ValidationError as error:
            taken = f"; it takes {', '.join(map(str, get_args(self.type)))}" if get_origin(self.type) is Literal else f": {error}"
            raise NotAValue(f"'{self.name}' does not take '{label}'{taken}") from error


def _literals(type_: Any) -> Mapping[str, Any] | None:
    return {str(value): value for value in get_args(type_)} if get_origin(type_) is Literal else None


def parameter(
    means: str,
    *,
    default: Any = MISSING,
    applies: Callable[[Any], bool] | None = None,
    labels: Mapping[str, Any] | None = None,
    decode: Callable[[str], Any] | None = None,
    then: tuple[str, ...] = (),
) -> Any:
    """Declare a parameter of a family: a field of the frozen dataclass ``Parameters`` of its builder.

    Args:
        means: its meaning, in words.
        default: a value, or its label if ``labels`` or ``decode`` makes the value. Ids leave out a parameter that has its default, so a
            default must never change.
        applies: tells from the other parameters whether a case has this one. A case without it has the default.
        labels: label -> value.
        decode: label -> value; raises CtsError, ValueError or KeyError for a label that it does not accept.
        then: the inherited parameters that follow this one in ids.
    """
    assert applies is None or default is not MISSING, "a parameter that does not apply to every case has a default"
    if default is MISSING:
        return dataclasses.field(metadata={_KEY: (means, None, applies, labels, decode, then)})
    value = labels[default] if labels is not None else decode(default) if decode is not None else default
    label = str(default).lower() if isinstance(default, bool) else str(default)
    return dataclasses.field(default=value, metadata={_KEY: (means, label, applies, labels, decode, then)})


@cache
def declarations(parameters: type) -> Mapping[str, Declaration]:
    """Return the declared parameters of a dataclass by name, in order; parameters of its base classes first.

    A field whose name is a Python keyword followed by an underscore, such as ``from_``, declares the parameter with the keyword's name.
    """
    types = get_type_hints(parameters)
    found = {}
    for field in dataclasses.fields(parameters):
        word = field.name.removesuffix("_")
        name = word if iskeyword(word) else field.name
        found[name] = Declaration(name, field.name, types[field.name], *field.metadata[_KEY])
    return found


def declarations_in_ids(parameters: type) -> Mapping[str, Declaration]:
    """Return the declared parameters of a dataclass by name, in the order of ids: inherited ones first, except those that another one's
    ``then`` moves."""
    declared = declarations(parameters)
    order = list(declared)
    for name, declaration in declared.items():
        order = [other for other in order if other not in declaration.then]
        place = order.index(name) + 1
        order[place:place] = declaration.then
    return {name: declared[name] for name in order}


def make_parameters(parameters: type, values: Mapping[str, Any]) -> Any:
    """Make an object of a dataclass from values by parameter name."""
    return parameters(**{one.attribute: values[name] for name, one in declarations(parameters).items()})
