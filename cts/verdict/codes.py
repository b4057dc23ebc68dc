"""The codes of results: why a case did not pass, for programs. docs/results.md shows this table to readers.

A code is words separated by dots. Its first words are one of Code; after some of these, a name follows. Sentences beside a code are for
people, and no program reads them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


class Code(enum.StrEnum):
    """How codes begin."""

    MISSING_FEATURE = "missing.feature"
    MISSING_EXTENSION = "missing.extension"
    MISSING_SPIRV = "missing.spirv"
    MISSING_PROPERTY = "missing.property"
    MISSING_LIMIT = "missing.limit"
    MISSING_ROW = "missing.row"
    MISSING_GLSL = "missing.glsl"
    MISSING_JUDGE = "missing.judge"
    QUALITY_WARNING = "quality_warning"
    FAIL_VALUE = "fail.value"
    FAIL_UNWRITTEN = "fail.unwritten"
    FAIL_PADDING = "fail.padding"
    FAIL_STRAY_WRITE = "fail.stray_write"
    FAIL_CALL = "fail.call"
    FAIL_PROPERTY = "fail.property"
    FAIL_CONVERSION = "fail.conversion"
    FAIL_ACCEPTED = "fail.accepted"
    FAIL_REJECTED = "fail.rejected"
    FAIL_MESSAGE = "fail.message"
    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device_lost"
    RESOURCE_ERROR = "resource_error"
    FLAKY = "flaky"
    UNEXPECTED_PASS = "unexpected_pass"
    ERROR_UNDEFINED = "error.undefined_behaviour"
    ERROR_VALIDATION = "error.validation"
    ERROR_SPIRV = "error.spirv"
    ERROR_INTERPRETER = "error.interpreter"
    ERROR_REFERENCE = "error.reference"
    ERROR_GENERATOR = "error.generator"
    ERROR_COMPARISON = "error.comparison"
    ERROR_DEVICE = "error.device"
    ERROR_SUITE = "error.suite"

    def of(self, name: object | None = None) -> str:
        """Return the code as plain text, followed by the name, if there is one."""
        return f"{self.value}.{name}" if name else self.value


@dataclass(frozen=True)
class Meaning:
    """The meaning of a code.

    Attributes:
        sentence: what happened to the case, for people.
        name: what may follow the code; empty if nothing does.
    """

    sentence: str
    name: str = ""


_STEP = "the step of the device (`open`, `pipeline`, `dispatch`, `query`, `close`), where it is known"

MEANINGS: Mapping[Code, Meaning] = MappingProxyType(
    {
        Code.MISSING_FEATURE: Meaning("the device lacks a feature", "the first missing feature, by Vulkan's name"),
        Code.MISSING_EXTENSION: Meaning("the device lacks an extension", "Vulkan's name of the extension"),
        Code.MISSING_SPIRV: Meaning("the device supports only older versions of SPIR-V", "the version that the module needs"),
        Code.MISSING_PROPERTY: Meaning("a property of the device does not allow a need of the case", "Vulkan's name of the property"),
        Code.MISSING_LIMIT: Meaning("a limit of the device is too small", "Vulkan's name of the limit"),
        Code.MISSING_ROW: Meaning(
            "the device lists no property row for a type or a multiply",
            "`type`, `muladd`, `vector_type`, `vector_multiply` or `vector_matrix`",
        ),
        Code.MISSING_GLSL: Meaning("GLSL cannot express the case (with `--front-end glsl`)"),
        Code.MISSING_JUDGE: Meaning("the device judges no cases of this kind", "the kind: `kernel`, `static`, `query` or `conversion`"),
        Code.QUALITY_WARNING: Meaning(
            "an element has a value that the specification permits and this suite does not expect, or the device refuses a module that "
            "the specification may forbid",
            "the position that expects another value, or by which the module is valid",
        ),
        Code.FAIL_VALUE: Meaning("an element has a value that it may not have"),
        Code.FAIL_UNWRITTEN: Meaning("an element was not written"),
        Code.FAIL_PADDING: Meaning("bytes between elements were overwritten"),
        Code.FAIL_STRAY_WRITE: Meaning("bytes outside of the arrays were overwritten"),
        Code.FAIL_CALL: Meaning("a call of the driver failed that must succeed", _STEP),
        Code.FAIL_PROPERTY: Meaning("an answer to a property query breaks a rule", "the rule"),
        Code.FAIL_CONVERSION: Meaning("a command that converts layouts breaks a rule", "`size` or `result`"),
        Code.FAIL_ACCEPTED: Meaning("the validator accepts a module that is not valid"),
        Code.FAIL_REJECTED: Meaning("the validator rejects a module that is valid"),
        Code.FAIL_MESSAGE: Meaning("the validator rejects a module, but not for the rule that the module breaks"),
        Code.CRASH: Meaning("the process that held the device died", _STEP),
        Code.TIMEOUT: Meaning("the device did not answer in time", _STEP),
        Code.DEVICE_LOST: Meaning("the device was lost", _STEP),
        Code.RESOURCE_ERROR: Meaning("the device ran out of memory", _STEP),
        Code.FLAKY: Meaning("two runs alone disagree"),
        Code.UNEXPECTED_PASS: Meaning("a case passed that a known failure of the driver says must fail"),
        Code.ERROR_UNDEFINED: Meaning("the embedded device stopped at undefined behaviour"),
        Code.ERROR_VALIDATION: Meaning("the validation layer objected"),
        Code.ERROR_SPIRV: Meaning("the suite made a module that is not valid SPIR-V"),
        Code.ERROR_INTERPRETER: Meaning("the embedded device lacks an instruction that the module has"),
        Code.ERROR_REFERENCE: Meaning("the inputs or the expected results could not be computed"),
        Code.ERROR_GENERATOR: Meaning("the module could not be made"),
        Code.ERROR_COMPARISON: Meaning("the outputs could not be compared or explained"),
        Code.ERROR_DEVICE: Meaning("the suite's own part of the device failed"),
        Code.ERROR_SUITE: Meaning("something else in the suite failed"),
    }
)
"""The codes, in the order of docs/results.md."""


@dataclass(frozen=True)
class Reason:
    """Why a case ended as it did.

    Attributes:
        code: for programs.
        text: for people, one line.
    """

    code: str
    text: str


def beginning(code: str) -> Code | None:
    """Return the beginning of a code; None if this version does not have the code."""
    words = code.split(".")
    for end in range(len(words), 0, -1):
        known = ".".join(words[:end])
        if known in _KNOWN:
            return Code(known)
    return None


def sentence(code: str) -> str:
    """Return the meaning of a code for a case; the code itself if this version does not have it."""
    begins = beginning(code)
    return code if begins is None else MEANINGS[begins].sentence


def is_within(code: str, wider: str) -> bool:
    """Tell whether a code is ``wider`` or continues it: ``timeout.pipeline`` is within ``timeout``."""
    return code == wider or code.startswith(f"{wider}.")


_KNOWN = frozenset(code.value for code in Code)
