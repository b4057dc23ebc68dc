"""The kinds of case: what the suite does with each, and which devices judge it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.devices.device import DeviceDescription
from cts.kinds import kernel, kernel_digests, kernel_show, query, static
from cts.kinds.kernel_reproduction import write_reproduction
from cts.kinds.kind import Kind
from cts.verdict.codes import Code, Reason
from generators.casebook import CaseKind

KINDS: Mapping[CaseKind, Kind] = MappingProxyType(
    {
        CaseKind.KERNEL: Kind(kernel.judge, kernel_digests.digests, kernel_show.show, kernel_show.lines, write_reproduction),
        CaseKind.STATIC: Kind(static.judge, static.digests, static.show, static.lines, static.reproduce),
        CaseKind.QUERY: Kind(query.judge, query.digests, query.show, query.lines, query.reproduce),
    }
)
"""What the suite does with the cases of each kind."""

_ELSEWHERE: Mapping[str, Mapping[CaseKind, str]] = MappingProxyType(
    {"spirv-val": {CaseKind.KERNEL: "spirv-val runs no shaders", CaseKind.QUERY: "spirv-val has no property commands"}}
)
_ON_KERNEL_DEVICES: Mapping[CaseKind, str] = MappingProxyType({CaseKind.STATIC: "static rules are judged by --device spirv-val"})


def unjudged(kind: CaseKind, description: DeviceDescription) -> Reason | None:
    """Return why the device judges no case of this kind; None if it does."""
    text = _ELSEWHERE.get(description.kind, _ON_KERNEL_DEVICES).get(kind)
    return None if text is None else Reason(Code.MISSING_JUDGE.of(kind.name.lower()), text)
