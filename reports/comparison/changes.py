"""The change of each case from one run to another."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.journal.outline import Outline
from cts.verdict.codes import Code, is_within
from cts.verdict.verdict import ENDED_WELL, Verdict
from reports.verdicts import BAD

FAILING = frozenset({*BAD, Verdict.ERROR})
"""Verdicts of a case that failed without being a known failure."""

GOOD = ENDED_WELL | {Verdict.QUALITY_WARNING}

_MENDED = GOOD | {Verdict.UNEXPECTED_PASS}

_NOT_OF_THE_DEVICE = (Code.MISSING_GLSL, Code.MISSING_JUDGE)


class ChangeKind(enum.StrEnum):
    """The change of a case. The first kind is a regression; so is the second, if device and front end are the same."""

    NEW_FAILURE = "new_failure"
    LOST = "lost"
    MENDED = "mended"
    CHANGED_VERDICT = "changed_verdict"
    CHANGED_REASON = "changed_reason"
    OTHER_OUTPUTS = "other_outputs"
    ONLY_BEFORE = "only_before"
    ONLY_AFTER = "only_after"


TITLES: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.NEW_FAILURE: "New failures",
        ChangeKind.LOST: "No longer supported",
        ChangeKind.MENDED: "Mended",
        ChangeKind.CHANGED_VERDICT: "Changed verdicts",
        ChangeKind.CHANGED_REASON: "Changed reasons",
        ChangeKind.OTHER_OUTPUTS: "Changed outputs",
        ChangeKind.ONLY_BEFORE: "No longer judged",
        ChangeKind.ONLY_AFTER: "Judged for the first time",
    }
)
"""Titles for two runs of one device."""

TITLES_OF_DEVICES: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.NEW_FAILURE: "Fails only in the second run",
        ChangeKind.LOST: "Supported only in the first run",
        ChangeKind.MENDED: "Fails only in the first run",
        ChangeKind.CHANGED_VERDICT: "Other verdicts",
        ChangeKind.CHANGED_REASON: "Other reasons",
        ChangeKind.OTHER_OUTPUTS: "Other outputs",
        ChangeKind.ONLY_BEFORE: "Judged only in the first run",
        ChangeKind.ONLY_AFTER: "Judged only in the second run",
    }
)
"""Titles for runs of two devices, drivers or front ends, neither of which is older."""

MEANINGS: Mapping[ChangeKind, str] = MappingProxyType(
    {
        ChangeKind.NEW_FAILURE: (
            "They fail in the second run. In the first they passed, failed as known, were not supported, or were not judged."
        ),
        ChangeKind.LOST: "They passed in the first run. In the second the device lacks what they need.",
        ChangeKind.MENDED: "They failed in the first run, some as a known failure, and pass in the second.",
        ChangeKind.CHANGED_VERDICT: "Their verdicts differ in another way.",
        ChangeKind.CHANGED_REASON: "Their verdict is the same, but the code, the defects or the known failure differs.",
        ChangeKind.OTHER_OUTPUTS: "The specification permits the outputs of both runs, but their bits differ.",
        ChangeKind.ONLY_BEFORE: "The second run did not judge them.",
        ChangeKind.ONLY_AFTER: "The first run did not judge them. In the second they do not fail.",
    }
)


@dataclass(frozen=True, order=True)
class State:
    """The outcome of cases, without text: the common outcome of a group.

    Attributes:
        verdict: empty if cases of the group ended in several ways, or were not judged.
        code, known: as in CaseResult. ``defects``: sorted.
    """

    verdict: str = ""
    code: str = ""
    defects: tuple[str, ...] = ()
    known: str = ""


@dataclass(frozen=True)
class Change:
    """One case: its outline in both runs, None in a run that did not judge it."""

    kind: ChangeKind
    before: Outline | None
    after: Outline | None

    @property
    def id(self) -> str:
        """Return the case's id."""
        return self._either.id

    @property
    def family(self) -> str:
        """Return the case's family."""
        return self._either.family

    @property
    def _either(self) -> Outline:
        either = self.after or self.before
        assert either is not None
        return either


def state(outline: Outline | None) -> State:
    """Return how a case ended."""
    if outline is None:
        return State()
    return State(str(outline.verdict), outline.code, tuple(sorted(outline.defects)), outline.known)


def kind_of(before: Outline | None, after: Outline | None, same_inputs: bool = False) -> ChangeKind | None:
    """Return the change of a case; None if it did not change. ``same_inputs``: see changes."""
    fails = after is not None and after.verdict in FAILING
    if fails and (before is None or before.verdict not in FAILING):
        return ChangeKind.NEW_FAILURE
    if before is None:
        return ChangeKind.ONLY_AFTER
    if after is None:
        return ChangeKind.ONLY_BEFORE
    if after.verdict in _MENDED and (before.verdict in FAILING or before.verdict is Verdict.KNOWN_FAIL):
        return ChangeKind.MENDED
    if (
        before.verdict in GOOD
        and after.verdict is Verdict.NOT_SUPPORTED
        and not any(is_within(after.code, one) for one in _NOT_OF_THE_DEVICE)
    ):
        return ChangeKind.LOST
    if before.verdict is not after.verdict:
        return ChangeKind.CHANGED_VERDICT
    # Journals of schema 1 have no codes, so their reasons cannot be compared.
    if before.code and after.code and state(before) != state(after):
        return ChangeKind.CHANGED_REASON
    if same_inputs and before.verdict in GOOD and before.module == after.module and before.outputs and after.outputs:
        return None if before.outputs == after.outputs else ChangeKind.OTHER_OUTPUTS
    return None


def changes(before: Mapping[str, Outline], after: Mapping[str, Outline], same_inputs: bool = False) -> list[Change]:
    """Return the changes of the cases of two runs, given by id.

    ``same_inputs``: both runs are of one version of the suite, so equal modules had equal inputs, and their outputs can be compared.
    """
    found = []
    for id_ in sorted(before.keys() | after.keys()):
        was, is_ = before.get(id_), after.get(id_)
        kind = kind_of(was, is_, same_inputs)
        if kind is not None:
            found.append(Change(kind, was, is_))
    return found
