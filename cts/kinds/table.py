"""The kinds of cases: the suite's operations on each, and its judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cts.devices.device import Device, DeviceDescription, Judge
from cts.devices.layout_conversion import ConvertsLayouts
from cts.devices.property_commands import AnswersQueries
from cts.front_ends import FrontEnd
from cts.kinds import conversion, kernel, kernel_digests, query, static
from cts.kinds.kind import Kind
from cts.validators.validator import Validator
from cts.verdict.codes import Code, Reason
from generators.casebook import Case, CaseKind


def _reproduce_kernel(case: Case, folder: Path, front_end: FrontEnd) -> None:
    # A run reproduces nothing, and what makes the folders is a part of its start.
    from cts.kinds.kernel_reproduction import write_reproduction

    write_reproduction(case, folder, front_end)


def _reproduce_conversion(case: Case, folder: Path, front_end: FrontEnd) -> None:
    from cts.kinds.conversion_reproduction import write_conversion

    write_conversion(case, folder, front_end)


KINDS: Mapping[CaseKind, Kind] = MappingProxyType(
    {
        CaseKind.KERNEL: Kind(
            Device,
            "{name} runs no shaders",
            kernel.judge,
            kernel_digests.digests,
            _reproduce_kernel,
        ),
        CaseKind.STATIC: Kind(
            Validator,
            "static rules are judged by --device spirv-val",
            static.judge,
            static.digests,
            static.reproduce,
        ),
        CaseKind.QUERY: Kind(
            AnswersQueries,
            "{name} has no property commands",
            query.judge,
            query.digests,
            query.reproduce,
        ),
        CaseKind.CONVERSION: Kind(
            ConvertsLayouts,
            "{name} converts no matrices",
            conversion.judge,
            conversion.digests,
            _reproduce_conversion,
        ),
    }
)
"""The operations of the suite on the cases of each kind."""


def unjudged(kind: CaseKind, judge: Judge) -> Reason | None:
    """Return why a device or validator cannot judge cases of this kind; None if it can."""
    return None if isinstance(judge, KINDS[kind].judged_by) else unjudged_reason(kind, judge.description)


def unjudged_reason(kind: CaseKind, description: DeviceDescription) -> Reason:
    """Return why the described device or validator cannot judge cases of a kind."""
    return Reason(Code.MISSING_JUDGE.of(kind.name.lower()), KINDS[kind].unjudged.format(name=description.name))
