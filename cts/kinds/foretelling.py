"""Predicts the result of a case before the device is used: that the device does not support it."""

from __future__ import annotations

from collections.abc import Hashable

from cts.devices.device import DeviceDescription
from cts.devices.kernel_needs import KernelNeeds
from cts.devices.requirements import (
    feature_key,
    limit_key,
    missing_features_for,
    missing_limits_for,
    missing_rows_for,
    row_key,
)
from cts.front_ends import FrontEnd
from cts.judges import JudgeSpec
from cts.kinds.kernel import pinned_missing
from cts.kinds.table import KINDS, unjudged_reason
from cts.validators.validator import Validator, ValidatorSpec
from cts.verdict.codes import Reason
from generators.casebook import Case, CaseKind
from generators.casebook.cases import Identified


class Foreteller:
    """Predicts, without opening a run's device or validator, whether it supports a case.

    Args:
        spec, description: the specification and description of the device or validator.
        front_end: the front end, which decides the reading of a program that it gets.
    """

    def __init__(self, spec: JudgeSpec, description: DeviceDescription, front_end: FrontEnd) -> None:
        self._validates = isinstance(spec, ValidatorSpec)
        self._description = description
        self._front_end = front_end
        # Keys are identities: equal pinned needs, and equal parts of them, are one object. Keeping the objects here keeps the identities.
        self._asked: dict[int, tuple[KernelNeeds, Reason | None]] = {}
        self._features: dict[Hashable, Reason | None] = {}
        self._limits: dict[Hashable, Reason | None] = {}
        self._rows: dict[Hashable, Reason | None] = {}

    def missing(self, case: Case | Identified) -> Reason | None:
        """Return why a case is not supported; None if the device must be asked."""
        kind = case.definition.kind
        if (KINDS[kind].judged_by is Validator) != self._validates:
            return unjudged_reason(kind, self._description)
        return pinned_missing(case, self._missing_for) if kind is CaseKind.KERNEL and self._front_end == "spirv" else None

    def _missing_for(self, needs: KernelNeeds) -> Reason | None:
        found = self._asked.get(id(needs))
        if found is None:
            found = self._asked[id(needs)] = needs, self._missing_part(needs)
        return found[1]

    def _missing_part(self, needs: KernelNeeds) -> Reason | None:
        """Ask once for all needs that share a part."""
        for key, ask, known in (
            (feature_key(needs), missing_features_for, self._features),
            (limit_key(needs), missing_limits_for, self._limits),
            (row_key(needs), missing_rows_for, self._rows),
        ):
            if key not in known:
                known[key] = ask(needs, self._description)
            if (missing := known[key]) is not None:
                return missing
        return None
