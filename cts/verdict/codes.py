"""The codes of results: why a case did not pass, for programs. docs/results.md shows this table to readers.

A code is words separated by dots. Its first words are one of Code; after some of these, a name follows. Sentences beside a code are for
people, and no program reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from cts.worded import Worded

_STEP = "the step of the device (`open`, `pipeline`, `dispatch`, `query`, `close`), where it is known"


class Code(Worded):
    """How codes begin, in the order of docs/results.md. The words tell what happened to the case."""

    MISSING_FEATURE = "missing.feature", "the device lacks a feature", "the first missing feature, by Vulkan's name"
    MISSING_EXTENSION = "missing.extension", "the device lacks an extension", "Vulkan's name of the extension"
    MISSING_SPIRV = "missing.spirv", "the device supports only older versions of SPIR-V", "the version that the module needs"
    MISSING_PROPERTY = "missing.property", "a property of the device does not allow a need of the case", "Vulkan's name of the property"
    MISSING_LIMIT = "missing.limit", "a limit of the device is too small", "Vulkan's name of the limit"
    MISSING_ROW = (
        "missing.row",
        "the device lists no property row for a type or a multiply",
        "`type`, `muladd`, `vector_type`, `vector_multiply` or `vector_matrix`",
    )
    MISSING_GLSL = "missing.glsl", "GLSL cannot express the case (with `--front-end glsl`)"
    MISSING_JUDGE = "missing.judge", "the device judges no cases of this kind", "the kind: `kernel`, `static`, `query` or `conversion`"
    QUALITY_WARNING = (
        "quality_warning",
        "an element has a value that the specification permits and this suite does not expect, or the device refuses a module that "
        "the specification may forbid",
        "the position that expects another value, or by which the module is valid",
    )
    FAIL_VALUE = "fail.value", "an element has a value that it may not have"
    FAIL_UNWRITTEN = "fail.unwritten", "an element was not written"
    FAIL_PADDING = "fail.padding", "bytes between elements were overwritten"
    FAIL_STRAY_WRITE = "fail.stray_write", "bytes outside of the arrays were overwritten"
    FAIL_MISSING_LOAD = "fail.missing_load", "the compiled code loads fewer bytes than its results are copied from"
    FAIL_CALL = "fail.call", "a call of the driver failed that must succeed", _STEP
    FAIL_PROPERTY = "fail.property", "an answer to a property query breaks a rule", "the rule"
    FAIL_CONVERSION = "fail.conversion", "a command that converts layouts breaks a rule", "`size` or `result`"
    FAIL_ACCEPTED = "fail.accepted", "the validator accepts a module that is not valid"
    FAIL_REJECTED = "fail.rejected", "the validator rejects a module that is valid"
    FAIL_MESSAGE = "fail.message", "the validator rejects a module, but not for the rule that the module breaks"
    COMPILED_OTHERWISE = (
        "compiled.otherwise",
        "the compiled code does less than the code of a twin, a case that must give the same values, or computes them otherwise",
        "the parameter in which the two differ, or `front_end`",
    )
    CRASH = "crash", "the process that held the device died", _STEP
    TIMEOUT = "timeout", "the device did not answer in time", _STEP
    DEVICE_LOST = "device_lost", "the device was lost", _STEP
    RESOURCE_ERROR = "resource_error", "the device ran out of memory", _STEP
    FLAKY = "flaky", "two runs alone disagree"
    UNEXPECTED_PASS = "unexpected_pass", "a case passed that a known failure of the driver says must fail"
    ERROR_UNDEFINED = "error.undefined_behaviour", "the embedded device stopped at undefined behaviour"
    ERROR_VALIDATION = "error.validation", "the validation layer objected"
    ERROR_SPIRV = "error.spirv", "the suite made a module that is not valid SPIR-V"
    ERROR_INTERPRETER = "error.interpreter", "the embedded device lacks an instruction that the module has"
    ERROR_REFERENCE = "error.reference", "the inputs or the expected results could not be computed"
    ERROR_GENERATOR = "error.generator", "the module could not be made"
    ERROR_COMPARISON = "error.comparison", "the outputs could not be compared or explained"
    ERROR_DEVICE = "error.device", "the suite's own part of the device failed"
    ERROR_SUITE = "error.suite", "something else in the suite failed"


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
    beginnings = (".".join(words[:end]) for end in range(len(words), 0, -1))
    return next((_KNOWN[text] for text in beginnings if text in _KNOWN), None)


def sentence(code: str) -> str:
    """Return the meaning of a code for a case; the code itself if this version does not have it."""
    begins = beginning(code)
    return code if begins is None else begins.words


def is_within(code: str, wider: str) -> bool:
    """Tell whether a code is ``wider`` or continues it: ``timeout.pipeline`` is within ``timeout``."""
    return code == wider or code.startswith(f"{wider}.")


_KNOWN = {code.value: code for code in Code}
