"""Values that YAML gives as mappings: frozen dataclasses, decoded strictly."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec


def convert(data: Any, type_: Any) -> Any:
    """Return ``data`` as a value of ``type_``.

    Raises:
        msgspec.ValidationError: it is not such a value, or a mapping has a key without a field in the dataclass.
    """
    _refuse_unknown_keys(data, type_)
    return msgspec.convert(data, type_)


@cache
def _field_types(type_: Any) -> Mapping[str, Any]:
    """Return the type of each field of a dataclass. The result is cached: finding them costs more than decoding a value."""
    return MappingProxyType(get_type_hints(type_))


def _refuse_unknown_keys(data: Any, type_: Any) -> None:
    """Refuse keys without a field in the dataclass: msgspec ignores them, so a misspelt key would leave the default."""
    if not isinstance(data, (Mapping, list)):
        # Almost all values, and finding out the kind of a type takes longer than this.
        return
    arguments = get_args(type_)
    if dataclasses.is_dataclass(type_) and isinstance(data, Mapping):
        fields = _field_types(cast(Hashable, type_))
        for key, item in data.items():
            if key not in fields:
                raise msgspec.ValidationError(f"unknown key '{key}'; expected some of {', '.join(fields)}")
            _refuse_unknown_keys(item, fields[key])
    elif get_origin(type_) in (Union, UnionType):
        for option in arguments:
            _refuse_unknown_keys(data, option)
    elif isinstance(data, Mapping) and len(arguments) == 2:
        for item in data.values():
            _refuse_unknown_keys(item, arguments[1])
    elif isinstance(data, list) and arguments:
        for number, item in enumerate(data):
            _refuse_unknown_keys(item, arguments[0] if arguments[-1] is Ellipsis else arguments[number % len(arguments)])
