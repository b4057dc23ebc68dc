"""The findings of a run of a module, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cts.embedded.observations import Observation, by_cause
from cts.run_module.comparing import Difference
from cts.run_module.freedom import Dependence
from cts.run_module.running import Examined, Left
from cts.run_module.validity import Invalid
from generators.casebook.requirements import load_requirements


def rule_statements(root: Path) -> dict[str, str]:
    """Return what each requirement of the suite in ``root`` says, by its id."""
    return {id_: one.text for id_, one in load_requirements(root).items()}


def invalid_lines(invalid: Invalid) -> Iterator[str]:
    """Yield why a module is invalid."""
    first, *rest = invalid.text.splitlines() or [""]
    yield f"invalid module: {first}" + (f" [{invalid.rule}]" if invalid.rule else "")
    yield from (f"  {line.strip()}" for line in rest if line.strip())
    where = f" for {invalid.target}" if invalid.target else ""
    yield f"  says {invalid.validator}{where}, so nothing was run; correct the module first"


_MOST_PLACES = 4
"""The most further places of one cause that are listed."""


def cause_lines(group: Sequence[Observation], statement: str = "") -> Iterator[str]:
    """Yield observations that have one cause: the first one in words, its rule, how often they happened, and where else."""
    one = group[0]
    yield f"{one.severity}: {one.text} [{one.rule}]"
    if statement:
        yield f"  rule: {statement}"
    if one.source is not None:
        yield f"  at {one.source}" + (f": {one.source.text}" if one.source.text else "")
    if one.instruction:
        yield f"  in {one.instruction}"
    told = []
    if one.workgroup is not None:
        who = "" if one.invocation is None else f"invocation {one.invocation} of "
        told.append(f"first by {who}workgroup ({', '.join(map(str, one.workgroup))})")
    count = sum(each.count for each in group)
    if count > 1:
        told.append(f"{count} times in all" + (f", in {len(group)} instructions" if len(group) > 1 else ""))
    if told:
        yield "  " + "; ".join(told)
    others = [place for place in dict.fromkeys(map(_place, group)) if place != _place(one)]
    if others:
        more = f" and {len(others) - _MOST_PLACES} more" if len(others) > _MOST_PLACES else ""
        yield f"  also {'in' if one.source is None else 'at'} {', '.join(others[:_MOST_PLACES])}{more}"


def _place(one: Observation) -> str:
    return one.instruction if one.source is None else str(one.source)


def examined_lines(examined: Examined, statements: Mapping[str, str]) -> Iterator[str]:
    """Yield the findings of the embedded device. ``statements``: id of a rule -> what it says, which is told once."""
    told: set[str] = set()
    if not examined.observations:
        yield "embedded device: no undefined behaviour and no broken rule" + (" up to where it stopped" if examined.left.stopped else "")
    for group in by_cause(examined.observations):
        rule = group[0].rule
        yield from cause_lines(group, "" if rule in told else statements.get(rule, ""))
        told.add(rule)
    yield from left_lines(examined.left)
    for other in examined.others:
        yield from left_lines(other)


def dependence_lines(one: Dependence) -> Iterator[str]:
    """Yield a dependence on a free choice in words."""
    yield f"depends on {one.way.freedom}, which a device chooses freely: with {one.way.text}"
    if one.stopped:
        yield f"  stopped: {one.stopped}"
    yield from (f"  {_difference(difference, 'the usual run')}" for difference in one.differences)
    yield from (f"  {observation.severity}: {observation.text} [{observation.rule}]" for observation in one.observations)
    parting = one.parting
    if parting is not None:
        who = "" if parting.invocation is None else f"invocation {parting.invocation} of "
        where = "" if parting.source is None else f" at {parting.source}"
        yield f"  the runs part{where} in {parting.instruction}"
        yield f"  for {who}workgroup ({', '.join(map(str, parting.workgroup))}): usually {parting.usual}, here {parting.other}"


def left_lines(left: Left) -> Iterator[str]:
    """Yield the results of a device."""
    if left.stopped:
        yield f"{left.device}: stopped: {left.stopped}"
        return
    for differences, what in ((left.differences, "what the job expects"), (left.against, "the embedded device")):
        yield from (f"{left.device}: {_difference(one, what)}" for one in differences)
    yield from (f"{left.device}: {one}" for one in left.stray)
    if not left.is_wrong:
        yield f"{left.device}: ran; " + _checked(left.checked)


def _checked(count: int) -> str:
    return f"all {count} checked elements are correct" if count else "nothing was checked: the job has no 'expected'"


def _difference(one: Difference, what: str) -> str:
    first = f"element {one.index} is {one.got}, not {one.expected}"
    return f"'{one.buffer}' differs from {what} in {one.count} of {one.of} elements; {first}"


def document(
    examined: Examined | None,
    left: Iterable[Left],
    statements: Mapping[str, str],
    invalid: Invalid | None = None,
    dependences: Iterable[Dependence] = (),
) -> dict[str, Any]:
    """Return all findings as one object; see ``examined_lines``."""
    groups = () if examined is None else by_cause(examined.observations)
    runs = ([] if examined is None else [examined.left, *examined.others]) + list(left)
    return {
        "invalid_module": None if invalid is None else asdict(invalid),
        "observations": [
            {
                "cause": cause,
                "severity": one.severity.name.lower(),
                "rule": one.rule,
                "statement": statements.get(one.rule),
                "text": one.text,
                "instruction": one.instruction,
                "index": one.index,
                "source": None if one.source is None else {"file": one.source.file, "line": one.source.line, "text": one.source.text},
                "workgroup": one.workgroup,
                "invocation": one.invocation,
                "count": one.count,
            }
            for cause, group in enumerate(groups)
            for one in group
        ],
        "dependences": [
            {
                "on": one.way.freedom,
                "with": one.way.text,
                "stopped": one.stopped or None,
                "differences": [_record(difference) for difference in one.differences],
                "rules": [observation.rule for observation in one.observations],
                "parting": None if one.parting is None else asdict(one.parting),
            }
            for one in dependences
        ],
        "runs": [
            {
                "device": one.device,
                "stopped": one.stopped or None,
                "checked": one.checked,
                "differences": [_record(difference) for difference in one.differences],
                "against_embedded": [_record(difference) for difference in one.against],
                "stray": list(one.stray),
            }
            for one in runs
        ],
    }


def _record(one: Difference) -> dict[str, Any]:
    return {
        "buffer": one.buffer,
        "count": one.count,
        "of": one.of,
        "index": one.index,
        "expected": one.expected,
        "got": one.got,
    }
