"""Finds what a described device lacks for a case, whether or not the needs of the case are pinned."""

from __future__ import annotations

from cts.devices.device import DeviceDescription
from cts.devices.requirements import missing
from cts.devices.spec import DeviceSpec
from cts.kinds import conversion, query
from cts.kinds.foretelling import Foreteller
from cts.kinds.kernel import make_kernels
from cts.kinds.pinned_needs import pinned_needs
from cts.verdict.codes import Reason
from generators.casebook import Case, CaseKind, build


class Support:
    """Tells what one device lacks for cases.

    Args:
        description: the description of the device.
    """

    def __init__(self, description: DeviceDescription) -> None:
        self._description = description
        self._foreteller = Foreteller(DeviceSpec("vulkan", ""), description, "spirv")

    def missing(self, case: Case) -> Reason | None:
        """Return the first thing that the device lacks for a case; None if it supports the case."""
        found, kind = self._foreteller.missing(case), case.definition.kind
        if found is not None or (kind is CaseKind.KERNEL and pinned_needs(case) is not None):
            return found
        if kind is CaseKind.QUERY:
            return query.missing(case, self._description)
        if kind is CaseKind.CONVERSION:
            return conversion.missing(case, self._description)
        return next(filter(None, (missing(one, self._description) for one in make_kernels(build(case), "spirv"))), None)
