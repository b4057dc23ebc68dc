"""Evidence: what each step of an investigation found. Rules use the ids and never the texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from cts.front_ends import FRONT_ENDS, FrontEnd
from cts.printable import printable_line
from cts.verdict.codes import Code, is_within
from cts.verdict.verdict import Verdict


class Worded(StrEnum):
    """An id for programs, with words for people.

    Attributes:
        words: what the id means. ``{front_end}`` is the front end of the failing module, ``{other}`` is the other one.
    """

    words: str

    def __new__(cls, id_: str, words: str) -> Self:
        """Make the member from its id and its meaning."""
        made = str.__new__(cls, id_)
        made._value_, made.words = id_, words
        return made


class Found(Worded):
    """What a step found.

    ``PASSES``: the case passes, or the module is valid. ``SAME``: the case fails as on the driver, with the same wrong bits. ``DIFFERS``:
    it fails in another way. ``UNDEFINED``: the module has undefined behaviour. ``REJECTED``: a validator or a compiler rejects it.
    ``BROKEN``: the suite itself failed. ``NOT_RUN``: the step cannot run here; its text says why.
    """

    PASSES = "passes", "passes"
    SAME = "same", "fails in the same way"
    DIFFERS = "differs", "fails in another way"
    UNDEFINED = "undefined", "undefined behaviour"
    REJECTED = "rejected", "rejected"
    BROKEN = "broken", "error of the suite"
    NOT_RUN = "not_run", "not run"


FAILS = frozenset({Found.SAME, Found.DIFFERS})
FINISHES = FAILS | {Found.PASSES}
"""A case ran to its end without undefined behaviour."""


class Step(Worded):
    """The steps of an investigation, in order."""

    COMPILE = "compile", "the front end {front_end} makes the module"
    FIRST = "driver.1", "the driver, in a fresh process"
    SECOND = "driver.2", "the driver again, in another fresh process"
    THIRD = "driver.3", "the driver a third time, because two runs disagree"
    CONTROL = "control", "a shader without cooperative types on the driver"
    VALIDATION = "validation", "the driver, with Vulkan's validation layer"
    EMBEDDED = "embedded", "the strict embedded device, with the driver's subgroup size"
    SPIRV_VAL = "spirv-val", "the module, judged by spirv-val"
    OTHER_FRONT_END = "front_end", "the module of the front end {other} on the driver"
    EMBEDDED_OTHER_FRONT_END = "front_end.embedded", "the module of the front end {other} on the strict embedded device"
    OPTIMISED = "optimised.O", "the module after 'spirv-opt -O' on the driver"
    SMALL = "optimised.Os", "the module after 'spirv-opt -Os' on the driver"
    LEGALISED = "optimised.legalised", "the module after 'spirv-opt --legalize-hlsl' on the driver"
    OTHER_DEVICES = "devices", "other Vulkan devices of this machine"
    EXPLANATION = "explanation", "known defects that explain the results"


RUNS = (Step.FIRST, Step.SECOND, Step.THIRD)
OPTIMISATIONS: Mapping[Step, str] = {Step.OPTIMISED: "-O", Step.SMALL: "-Os", Step.LEGALISED: "--legalize-hlsl"}
"""The steps that optimise the module, each with its option of spirv-opt."""

VALUES = (Code.FAIL_VALUE, Code.FAIL_UNWRITTEN, Code.FAIL_PADDING, Code.FAIL_STRAY_WRITE, Code.FAIL_PROPERTY, Code.FAIL_CONVERSION)
"""The codes of failures that rest on values that this suite expects."""


@dataclass(frozen=True)
class Evidence:
    """What one step found.

    Attributes:
        told: details for people, one line.
        code: the code of the result (cts.verdict.codes); empty if there is none.
        device: the name of another device; empty for the driver that is under investigation.
        origin: whose driver that is: devices with the same origin share code.
    """

    step: Step
    found: Found
    told: str = ""
    code: str = ""
    device: str = ""
    origin: str = ""

    def __post_init__(self) -> None:
        # Tools and drivers may say anything.
        object.__setattr__(self, "told", printable_line(self.told))


@dataclass(frozen=True)
class Facts:
    """All that the rules may use.

    Attributes:
        verdict, code: how the case failed; a pass if it never did.
        front_end: the front end of the module that failed.
        origin: whose driver failed; see Evidence.
        policy: whether the verdict depends on a policy of the suite.
        position: the id of the position that chooses the reading of the text by which the first wrong values are wrong; may be empty.
        relations: ids of the relations between the results and the expected values (``outcome.`` in the glossary).
        modelled: whether a model of a chip ran the compiled code.
        evidence: what each step found, in the order of the steps. Several entries may be of other devices.
    """

    verdict: Verdict
    code: str
    front_end: FrontEnd
    origin: str
    evidence: tuple[Evidence, ...]
    policy: bool = False
    position: str = ""
    relations: frozenset[str] = frozenset()
    modelled: bool = False

    def of(self, step: Step) -> Found:
        """Return what a step found; NOT_RUN if there was no such step."""
        return next((one.found for one in self.evidence if one.step is step), Found.NOT_RUN)

    def told(self, step: Step) -> str:
        """Return the details of a step; empty if there was no such step."""
        return next((one.told for one in self.evidence if one.step is step), "")

    def devices(self, *found: Found) -> Iterator[Evidence]:
        """Yield the evidence of other devices on which the case ended in one of these ways."""
        return (one for one in self.evidence if one.step is Step.OTHER_DEVICES and one.found in found)

    @property
    def runs(self) -> list[Found]:
        """Return how the driver's runs ended."""
        return [one.found for one in self.evidence if one.step in RUNS]

    @property
    def has_wrong_values(self) -> bool:
        """Whether the failure depends on values that this suite expects, unlike a crash."""
        return any(is_within(self.code, one) for one in VALUES)

    @property
    def in_pipeline(self) -> bool:
        """Whether the driver failed while it made the pipeline."""
        return self.code.endswith(".pipeline")

    @property
    def other(self) -> FrontEnd:
        """Return the other front end."""
        return next(one for one in FRONT_ENDS if one != self.front_end)
