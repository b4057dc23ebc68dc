"""Query cases: a device's property commands must keep a rule."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from cts.devices.device import DeviceDescription
from cts.devices.property_commands import COMMANDS, POISON, AnswersQueries, PropertyCommand, workgroup_invocations
from cts.front_ends import FrontEnd
from cts.journal.atomic import write_text
from cts.kinds.kind import Json, Stopwatch, not_supported
from cts.kinds.property_rules import RULES, Commanded, PropertyRule
from cts.kinds.required_support import REQUIRED_SUPPORT
from cts.verdict.codes import Code, Reason
from cts.verdict.effort import Effort
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import Case, build_query
from generators.digests import digest
from generators.errors import NotExpressible
from generators.property_query import MatrixInfo, PropertyQuery, Rule
from generators.types import Scope

_RULES: Mapping[Rule, PropertyRule] = MappingProxyType({**RULES, **REQUIRED_SUPPORT})

_WORKGROUP_SCOPE = "cooperativeMatrixWorkgroupScope"


def judge(
    case: Case,
    device: AnswersQueries,
    front_end: FrontEnd,  # noqa: ARG001 (there is no shader)
    watch: Stopwatch,
    effort: Effort,  # noqa: ARG001 (no search explains what fails)
) -> Judgement:
    """Judge whether the device keeps the rule."""
    query = build_query(case)
    description = device.description
    rule = _RULES[query.rule]
    if lacking := _lacking(description, COMMANDS[query.command], rule, query.info):
        return not_supported(lacking)
    with watch.step("device"):
        broken = _broken(query, rule, device)
    if not broken:
        return Judgement(Verdict.PASS, subcases=1)
    lines = [f"{query.command}: {rule.words}", *(f"  {line}" for line in broken), f"calls: {rule.calls}"]
    return Judgement(Verdict.FAIL, Code.FAIL_PROPERTY.of(query.rule), f"{broken[0]} ({rule.words})", "\n".join(lines), 1)


def missing(case: Case, description: DeviceDescription) -> Reason | None:
    """Return why the rule of a case does not apply to a device; None if it does."""
    query = build_query(case)
    return _lacking(description, COMMANDS[query.command], _RULES[query.rule], query.info)


def _broken(query: PropertyQuery, rule: PropertyRule, device: AnswersQueries) -> list[str]:
    """Return lines that say how a device breaks the rule; for matrices of a workgroup, for each number of invocations."""
    description, info = device.description, query.info
    if info is None or info.scope is not Scope.WORKGROUP:
        return list(rule.broken(Commanded(device, description, query.command, info)))
    return [
        f"{invocations} invocations: {line}"
        for invocations in workgroup_invocations(description)
        for line in rule.broken(Commanded(device, description, query.command, info, invocations))
    ]


def _lacking(description: DeviceDescription, command: PropertyCommand, rule: PropertyRule, info: MatrixInfo | None) -> Reason | None:
    """Return why the rule does not apply to the device; None if it does."""
    extensions = description.extra.get("extensions")
    if rule.needs == "nothing":
        return None
    if extensions is not None and command.extension not in extensions and not description.features.get(command.feature):
        return Reason(Code.MISSING_EXTENSION.of(command.extension), f"extension {command.extension}")
    of_workgroup = _WORKGROUP_SCOPE if info is not None and info.scope is Scope.WORKGROUP else ""
    for feature in filter(None, (command.asked_with if rule.needs == "command" else "", of_workgroup, rule.feature)):
        if not description.features.get(feature):
            return Reason(Code.MISSING_FEATURE.of(feature), f"feature {feature}")
    return None


def digests(case: Case) -> tuple[str, str, str]:
    """Digest the rule, which is the expected result; there is neither a module nor an input."""
    query = build_query(case)
    info = [] if query.info is None else [query.info.text.encode()]
    return "-", "-", digest([query.command.encode(), query.rule.encode(), *info])


def show(case: Case, wanted: Collection[str]) -> Json:
    """Return the command and its rule."""
    query = build_query(case)
    rule = _RULES[query.rule]
    shown: Json = {"command": query.command, "rule": rule.words, "calls": _calls(query)}
    return shown | {name: "// a query has no shader\n" for name in ("glsl", "spirv") if name in wanted}


def _calls(query: PropertyQuery) -> str:
    """Return how the command is called."""
    calls = _RULES[query.rule].calls
    return calls if query.info is None else f"{calls}; each with VK_SCOPE_{query.info.scope.name}_KHR, {query.info.text}"


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the result of ``show``, for people."""
    for name in ("command", "rule", "calls"):
        yield f"  {name}: {shown[name]}"
    for name in ("glsl", "spirv"):
        if name in shown:
            yield shown[name].rstrip()


def reproduce(case: Case, folder: Path, front_end: FrontEnd) -> None:  # noqa: ARG001 (there is no shader)
    """Write the call and its correct results.

    Raises:
        CtsError: the folder cannot be written.
    """
    from cts.repro.folder import README, heading, writing
    from cts.repro.program_files import PROGRAM
    from cts.repro.query_program import query_program

    query = build_query(case)
    rule, command = _RULES[query.rule], COMMANDS[query.command]
    text = _README.format(
        heading=heading(case.id),
        id=case.id,
        command=query.command,
        words=rule.words,
        calls=_calls(query),
        structure=command.structure,
        structure_type=command.structure_type,
        poison=POISON,
    )
    with writing(folder, case.id):
        try:
            about = wrap(f"Calls: {_calls(query)}.", _COMMENT_WIDTH)
            program = query_program(case.id, query, rule.words, rule.feature, rule.required, about)
            (folder / PROGRAM).write_text(program, encoding="utf-8")
            text += _PROGRAM
        except NotExpressible as why:
            text += _NO_PROGRAM.format(why=why)
        write_text(folder / README, text)


_README = """{heading}

The rule for `{command}`: {words}.

Calls: {calls}.

Each `{structure}` goes in with its `sType` ({structure_type}), a null `pNext`, and 0x{poison:02X} in every other byte, so the command's
writes are visible. Nothing else is created on the physical device.

With the suite, which shows the results:

    cts repro '{id}' DIR --device DEVICE
"""

_COMMENT_WIDTH = 130

_PROGRAM = """
Without the suite: `repro.c` needs a C compiler, Vulkan's headers and its loader. Its last line is the verdict. It ends with 0 if the rule
is kept, 1 if not, 2 if it cannot run, and 77 if the rule applies to no device.

    cc -o repro repro.c -lvulkan && ./repro
"""

_NO_PROGRAM = """
There is no `repro.c`: {why}.
"""
