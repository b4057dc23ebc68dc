"""Static cases: a validator accepts or rejects a module, and its message names the rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

from cts.front_ends import FrontEnd
from cts.journal.atomic import write_text
from cts.kinds.kind import Json, Stopwatch, one_line
from cts.validators.validator import Answer, Validator
from cts.verdict.codes import Code, Reason
from cts.verdict.effort import Effort
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import Case, Parameter, build_module
from generators.digests import digest
from generators.message_pattern import BETWEEN, MessagePattern
from generators.module_check import ModuleCheck

_CONTEXT = 2
"""How many equal instructions the difference of two modules shows around unequal ones."""


def judge(
    case: Case,
    validator: Validator,
    front_end: FrontEnd,  # noqa: ARG001 (the case has its own module)
    watch: Stopwatch,
    effort: Effort,  # noqa: ARG001 (no search explains what fails)
) -> Judgement:
    """Judge whether the validator gives the right answer for the module."""
    with watch.step("emit"):
        check = build_module(case)
    with watch.step("device"):
        answer = validator.validate(check.module)
    wrong = what_is_wrong(check, answer)
    return Judgement(Verdict.PASS, subcases=1) if wrong is None else _failed(check, answer, wrong)


def _failed(check: ModuleCheck, answer: Answer, wrong: Reason) -> Judgement:
    """Return a judgement whose message describes the module, the right answer, and the validator's answer."""
    must = "accept it" if check.says is None else f"reject it with a message that has {check.says}"
    lines = (wrong.text, f"rule: {check.rule}", f"a validator must {must}", f"the validator says: {answer.message or '(nothing)'}")
    return Judgement(Verdict.FAIL, wrong.code, one_line(wrong.text), "\n".join(lines), 1)


def what_is_wrong(check: ModuleCheck, answer: Answer) -> Reason | None:
    """Return how the answer differs from what it must be; None if it does not.

    Only the text of a message says which rule a module is rejected for, so this is the one place that reads it. A reworded message fails
    as FAIL_MESSAGE and not as a wrong answer. spirv-val has one exit code for all mistakes. Of 442 broken modules of the smoke tier that
    SPIRV-Tools 2026.4 rejects, 5 messages have a VUID, which identifies the rule. 438 name the instruction, but one instruction has several
    rules: an OpFAdd may have the wrong type of result or of operand.
    """
    if check.says is None:
        return None if answer.accepted else Reason(Code.FAIL_REJECTED.of(), f"a valid module is rejected: {one_line(answer.message)}")
    if answer.accepted:
        return Reason(Code.FAIL_ACCEPTED.of(), f"an invalid module is accepted: {check.rule}")
    if not check.says.matches(answer.message):
        text = f"rejected for a reason other than the rule (expected {check.says}): {one_line(answer.message)}"
        return Reason(Code.FAIL_MESSAGE.of(), text)
    return None


def digests(case: Case) -> tuple[str, str, str]:
    """Digest the module and the right answer of a validator; there are no inputs."""
    check = build_module(case)
    says = "" if check.says is None else "\n".join(check.says.texts)
    return digest([check.module]), "-", digest([str(check.accepted).encode(), says.encode()])


def show(case: Case, wanted: Collection[str]) -> Json:
    """Return the rule, the right answer, the texts (the message must have one of them), and the module's disassembly if requested."""
    check = build_module(case)
    shown: Json = {"rule": check.rule, "verdict": "accepted" if check.accepted else "rejected"}
    if check.says is not None:
        shown["says"] = list(check.says.texts)
    if "glsl" in wanted:
        shown["glsl"] = "// a static case has only a module\n"
    if "spirv" in wanted:
        shown["spirv"] = module_text(check.module)
    return shown


@dataclass(frozen=True)
class Line:
    """A line of the difference between two modules: ``mark`` is ``+`` in the broken module, ``-`` in the legal one, a space in both, and
    empty where equal lines are left out."""

    mark: str
    text: str


def difference(case: Case) -> tuple[Line, ...]:
    """Return how the broken module of a rule differs from the legal one, as instructions; empty if the case has no such pair, or if one of
    the modules cannot be disassembled."""
    if case.named.get("form") != "broken":
        return ()
    from generators.spirv.disassemble import instruction_lines
    from generators.spirv.reader import NotSpirv

    legal = replace(case, labels=tuple("legal" if one.name == "form" else label for one, label in _labelled(case)))
    try:
        one, other = (instruction_lines(build_module(form).module) for form in (legal, case))
    except NotSpirv:
        return ()
    # The first three lines are headings.
    found = list(unified_diff(one, other, n=_CONTEXT, lineterm=""))[3:]
    blank = min((len(line) - len(line[1:].lstrip()) for line in found if not line.startswith("@@")), default=1)
    return tuple(Line("", "") if line.startswith("@@") else Line(line[0], line[blank:]) for line in found)


def _labelled(case: Case) -> Iterator[tuple[Parameter, str]]:
    return zip(case.definition.parameters, case.labels, strict=True)


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of ``show``, for people."""
    for name in ("rule", "verdict"):
        yield f"  {name}: {shown[name]}"
    if "says" in shown:
        yield f"  says: {MessagePattern(tuple(shown['says']))}"
    for name in ("glsl", "spirv"):
        if name in shown:
            yield ""
            yield from shown[name].splitlines()


def reproduce(case: Case, folder: Path, front_end: FrontEnd) -> None:  # noqa: ARG001 (the case has its own module)
    """Write the module, its disassembly, and the right answer of a validator.

    Raises:
        CtsError: the folder cannot be written.
    """
    from cts.repro.folder import README, heading, writing

    check = build_module(case)
    message = f"a message that has {check.says} (`{BETWEEN}` is anything, and case is ignored)"
    answer = "accepts it" if check.says is None else f"rejects it with {message}"
    text = (
        f"{heading(case.id)}\n\n{check.rule}\n\n    spirv-val --target-env vulkan1.3 module.spv\n\nis right if it {answer}.\n"
        f"\nWith the suite:\n\n    cts repro '{case.id}' DIR --device spirv-val\n"
    )
    with writing(folder, case.id):
        (folder / "module.spv").write_bytes(check.module)
        (folder / "module.spvasm").write_text(module_text(check.module), encoding="utf-8")
        write_text(folder / README, text)


def module_text(module: bytes) -> str:
    """Return the disassembly of a module. If an instruction ends early, return a comment that says so."""
    from generators.spirv.disassemble import disassemble
    from generators.spirv.reader import NotSpirv

    try:
        return disassemble(module)
    except NotSpirv as why:
        return f"; this module cannot be disassembled, and a validator must reject it for that: {why}\n"
