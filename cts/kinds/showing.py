"""The output of ``cts show``. The module of a kind is loaded only for a case of that kind."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from cts.kinds.kind import Json
from generators.casebook import Case, CaseKind

_MODULES: Mapping[CaseKind, str] = MappingProxyType(
    {
        CaseKind.KERNEL: "cts.kinds.kernel_show",
        CaseKind.STATIC: "cts.kinds.static",
        CaseKind.QUERY: "cts.kinds.query",
        CaseKind.CONVERSION: "cts.kinds.conversion",
    }
)


def shown(case: Case, wanted: Collection[str]) -> Json:
    """Return the parts of ``cts show`` other than id, values and requirements.

    Args:
        case: the case.
        wanted: the requested parts of ``glsl``, ``spirv``, ``inputs`` and ``expected``.
    """
    return cast(Json, importlib.import_module(_MODULES[case.definition.kind]).show(case, wanted))


def lines(case: Case, details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of ``shown`` as lines of text."""
    return cast(Iterator[str], importlib.import_module(_MODULES[case.definition.kind]).lines(details))
