"""What is known of a case before its device is asked: that the device does not support it."""

from __future__ import annotations

from cts.devices.device import DeviceDescription
from cts.devices.kernel_needs import KernelNeeds
from cts.devices.requirements import feature_key, missing_features_for, missing_for
from cts.front_ends import FrontEnd
from cts.judges import JudgeSpec
from cts.kinds.kernel import pinned_missing
from cts.kinds.kind import Judgement, not_supported
from cts.kinds.table import KINDS, unjudged_reason
from cts.validators.validator import Validator, ValidatorSpec
from cts.verdict.codes import Reason
from generators.casebook import Case, CaseKind


class Foreteller:
    """Says of cases what the device or validator of a run will say, without opening it.

    Args:
        spec, description: of the device or validator.
        front_end: which reading of a program it gets.
    """

    def __init__(self, spec: JudgeSpec, description: DeviceDescription, front_end: FrontEnd) -> None:
        self._validates = isinstance(spec, ValidatorSpec)
        self._description = description
        self._front_end = front_end
        # By identity: pinned needs are one object wherever they occur, which is kept here.
        self._asked: dict[int, tuple[KernelNeeds, Reason | None]] = {}
        self._features: dict[tuple[int, bool, bool], Reason | None] = {}

    def missing(self, case: Case) -> Reason | None:
        """Return why a case is not supported; None where that has to be asked."""
        kind = case.definition.kind
        if (KINDS[kind].judged_by is Validator) != self._validates:
            return unjudged_reason(kind, self._description)
        return pinned_missing(case, self._missing_for) if kind is CaseKind.KERNEL and self._front_end == "spirv" else None

    def judged(self, case: Case) -> Judgement:
        """Return the judgement of a case that is not supported.

        Raises:
            ValueError: nothing is known to be missing.
        """
        missing = self.missing(case)
        if missing is None:
            raise ValueError(f"{case.id}: only the device itself can tell whether it supports the case")
        return not_supported(missing)

    def _missing_for(self, needs: KernelNeeds) -> Reason | None:
        found = self._asked.get(id(needs))
        if found is None:
            found = self._asked[id(needs)] = needs, self._missing_features(needs) or missing_for(needs, self._description)
        return found[1]

    def _missing_features(self, needs: KernelNeeds) -> Reason | None:
        key = feature_key(needs)
        if key not in self._features:
            self._features[key] = missing_features_for(needs, self._description)
        return self._features[key]
