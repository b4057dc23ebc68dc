"""The findings of a run of a module, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from cts.embedded.observations import Observation
from cts.run_module.comparing import Difference
from cts.run_module.freedom import Dependence
from cts.run_module.running import Examined, Left


def observation_lines(one: Observation) -> Iterator[str]:
    """Yield an observation in words."""
    yield f"{one.severity}: {one.text} [{one.rule}]"
    if one.source is not None:
        yield f"  at {one.source}" + (f": {one.source.text}" if one.source.text else "")
    yield f"  in {one.instruction}"
    if one.workgroup is not None:
        who = "" if one.invocation is None else f"invocation {one.invocation} of "
        times = "" if one.count == 1 else f"; {one.count} times in all"
        yield f"  first by {who}workgroup ({', '.join(map(str, one.workgroup))}){times}"


def examined_lines(examined: Examined) -> Iterator[str]:
    """Yield the findings of the embedded device."""
    if not examined.observations:
        yield "embedded device: no undefined behaviour and no broken rule" + (" up to where it stopped" if examined.left.stopped else "")
    for one in examined.observations:
        yield from observation_lines(one)
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
        yield f"{left.device}: ran; every checked element is correct"


def _difference(one: Difference, what: str) -> str:
    first = f"element {one.index} is {one.got}, not {one.expected}"
    return f"'{one.buffer}' differs from {what} in {one.count} of {one.of} elements; {first}"


def document(examined: Examined | None, left: Iterable[Left], dependences: Iterable[Dependence] = ()) -> dict[str, Any]:
    """Return all findings as one object."""
    observations = () if examined is None else examined.observations
    runs = ([] if examined is None else [examined.left, *examined.others]) + list(left)
    return {
        "observations": [
            {
                "severity": one.severity.name.lower(),
                "rule": one.rule,
                "text": one.text,
                "instruction": one.instruction,
                "index": one.index,
                "source": None if one.source is None else {"file": one.source.file, "line": one.source.line, "text": one.source.text},
                "workgroup": one.workgroup,
                "invocation": one.invocation,
                "count": one.count,
            }
            for one in observations
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
