"""What must hold in every run of the sweep, whichever fault the driver has."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from cts.checkout import find_root
from cts.kinds.kernel import compile_module
from cts.verdict.verdict import Verdict
from generators.casebook import CaseKind, build, find_case, load_casebook
from generators.dispatch import kernel
from tests.hostile_driver.scenario import FOLDER
from tests.hostile_driver.sweep.plan import LATE, NOTHING, Fault
from tests.hostile_driver.sweep.running import Outcome

BLAME = frozenset(Verdict) - {Verdict.PASS, Verdict.NOT_SUPPORTED}
"""The verdicts that say that something is wrong with a case."""

_CLEAN_EXIT, _STOPPED, _NOTHING_TESTED = 0, 2, 5
_EXITS = (0, 1, 2, 5)
_OURS = re.compile(rb"Traceback \(most recent|INTERNALERROR|^E  ", re.MULTILINE)

UNOBSERVABLE = {
    r"vkDestroy\w+|vkFree\w+": "an object that is not destroyed is freed with its process",
    r"vk(Begin|End)CommandBuffer": "a driver may record and run commands whatever the state of the command buffer",
    r"vkResetDescriptorPool": "the pool has room for more sets",
    r"vkWaitForFences": "the work may have ended before the host reads; 'late writes' of vkQueueSubmit is work that has not",
    r"vk(Device|Queue)WaitIdle": "nothing runs any more: a fence has been waited for",
    r"vkGetFenceStatus": "VK_SUCCESS or VK_NOT_READY may be the fence's status",
    r"vkEnumeratePhysicalDevices": "the loader asks for the devices when the suite only asks for their number",
    r"vkCmdPipelineBarrier": "a driver that runs commands in order, and whose memory is coherent, needs no barrier",
}
"""Commands that may do nothing, or return a status, without any effect -> the reason."""

_STATUS = "VK_NOT_READY"


_LISTED = "the process that lists devices has answered; it holds all drivers, so its end says nothing about this one"


def unobservable(fault: Fault, outcome: Outcome) -> str:
    """Return why a fault may have no effect; empty if it must have one."""
    if fault.what == LATE:
        return "a driver may be slow"
    before_opening = itertools.takewhile(lambda call: call.request != "open", outcome.calls)
    if _struck(outcome) == ["close"] and any(call.struck for call in before_opening):
        return _LISTED
    if fault.what not in (NOTHING, _STATUS):
        return ""
    return next((why for pattern, why in UNOBSERVABLE.items() if re.fullmatch(pattern, fault.call)), "")


@dataclass(frozen=True)
class Clean:
    """What a run without faults does.

    Attributes:
        run: the run of all cases.
        control: a run of a shader without cooperative types alone. A fault that strikes its calls hits every shader.
        requests: request, as marks.py describes it -> the case that it serves.
    """

    run: Outcome
    control: Outcome
    requests: Mapping[str, str]

    @cached_property
    def verdicts(self) -> Mapping[str, str]:
        """Case -> its verdict."""
        return {line["id"]: line["verdict"] for line in self.run.seen.lines if line is not None}

    @cached_property
    def universal(self) -> frozenset[str]:
        """The commands that every shader needs."""
        return frozenset(call.name for call in self.control.calls)


def requests_of(ids: Iterable[str]) -> dict[str, str]:
    """Return request, as marks.py describes it -> the case that it serves. At most one of the cases may run no shader."""
    casebook = load_casebook(find_root(FOLDER))
    found = {}
    for id_ in ids:
        case = find_case(casebook, id_)
        if case.definition.kind is CaseKind.KERNEL:
            program = build(case).program
            found[f"run {zlib.crc32(kernel(program, compile_module(program, 'spirv')).spirv):08x}"] = id_
        else:
            found["ask"] = id_
    return found


@dataclass(frozen=True)
class Judgement:
    """What the invariants say about a run.

    Attributes:
        wrong: what does not hold.
        no_effect: why the fault had no effect; empty if it had one.
    """

    wrong: tuple[str, ...]
    no_effect: str = ""


def judge(fault: Fault, outcome: Outcome, clean: Clean) -> Judgement:
    """Return what the invariants say about a run with a fault."""
    reacted = _reacted(outcome, clean)
    wrong = [
        *_of_process(outcome),
        *_of_lines(outcome, clean),
        *_of_green(fault, outcome, clean),
        *_of_blame(fault, outcome, clean),
        *_of_effect(fault, outcome, clean, reacted),
    ]
    return Judgement(tuple(wrong), "" if reacted else unobservable(fault, outcome))


def _verdicts(outcome: Outcome) -> dict[str, str]:
    return {line["id"]: line["verdict"] for line in outcome.seen.lines if line is not None}


def _struck(outcome: Outcome) -> list[str]:
    """Return the requests during which the fault struck."""
    return [call.request for call in outcome.calls if call.struck]


def _reacted(outcome: Outcome, clean: Clean) -> bool:
    """Tell whether anything differs from a clean run: exit code, verdicts, tries, findings, or the calls that follow."""
    seen, usual = outcome.seen, clean.run.seen
    if seen.exit != usual.exit or _verdicts(outcome) != clean.verdicts or seen.meta.get("findings"):
        return True
    if any(line.get("tries") for line in seen.lines if line is not None):
        return True
    return [call.name for call in outcome.calls] != [call.name for call in clean.run.calls]


def _of_process(outcome: Outcome) -> Iterator[str]:
    """Demand that the run ends by itself, with an exit code that is documented and without a traceback, and leaves no process."""
    seen = outcome.seen
    if seen.exit is None:
        yield f"hang: the run had to be ended after {seen.seconds:.0f} s"
    elif seen.exit not in _EXITS:
        yield f"exit code: {seen.exit}"
    if found := _OURS.search(seen.output):
        yield f"traceback: {seen.output[found.start() : found.start() + 1500].decode(errors='replace')}"
    if seen.left:
        yield f"processes: outlived the run: {'; '.join(seen.left)}"


def _of_lines(outcome: Outcome, clean: Clean) -> Iterator[str]:
    """Demand that every case has one line, or that the run ended early and says so."""
    seen = outcome.seen
    ids = [line["id"] for line in seen.lines if line is not None]
    if None in seen.lines:
        yield "lost line: a line of the journal is broken"
    if len(set(ids)) < len(ids):
        yield "lost line: a case has several"
    missing = clean.verdicts.keys() - set(ids)
    if missing and seen.exit != _STOPPED:
        yield f"lost line: exit code {seen.exit}, but these have no verdict: {', '.join(sorted(missing))}"
    if missing and ids and not seen.meta.get("stopped"):
        yield "lost line: the record of the run does not say that it stopped"


def _of_green(fault: Fault, outcome: Outcome, clean: Clean) -> Iterator[str]:
    """Demand that the device is not excused from a case that it supports.

    A query that does nothing from its first call on says the same each time, so the suite must believe it. A run that ends early, because
    the device no longer says what it said, is not green.
    """
    believed = not fault.once and fault.nth == 1 and fault.what == NOTHING
    for id_, verdict in _verdicts(outcome).items():
        if verdict == Verdict.NOT_SUPPORTED != clean.verdicts.get(id_) and not believed and outcome.seen.exit != _STOPPED:
            yield f"excused: {id_} is not supported, with exit code {outcome.seen.exit}"
    if outcome.seen.exit == _NOTHING_TESTED and {*_verdicts(outcome).values()} != {Verdict.NOT_SUPPORTED}:
        yield "exit code: nothing was tested, but there are verdicts"
    if outcome.seen.exit == _CLEAN_EXIT and len(_verdicts(outcome)) < len(clean.verdicts):
        yield "green: fewer cases were judged"


def _of_blame(fault: Fault, outcome: Outcome, clean: Clean) -> Iterator[str]:
    """Demand that only a case that the fault strikes is blamed, and only if the fault persists.

    If the fault strikes every shader, the device is at fault, so at most one case is blamed.
    """
    verdicts = _verdicts(outcome)
    hit = {clean.requests.get(request) for request in _struck(outcome)}
    blamed = [id_ for id_, verdict in verdicts.items() if verdict in BLAME and verdict != clean.verdicts.get(id_)]
    for id_ in blamed:
        if id_ not in hit:
            yield f"innocent: {id_} is {verdicts[id_]}, though the fault did not strike it"
        elif fault.what == LATE:
            yield f"innocent: {id_} is {verdicts[id_]}, though a driver may be slow"
        elif fault.once and verdicts[id_] != Verdict.FLAKY:
            yield f"not tried again: {id_} is {verdicts[id_]}, though the fault struck only once"
    if len(blamed) > 1 and not fault.once and fault.call in clean.universal:
        yield f"many blamed: {len(blamed)} of {len(verdicts)}, though no shader runs any more; exit code {outcome.seen.exit}"


def _of_effect(fault: Fault, outcome: Outcome, clean: Clean, reacted: bool) -> Iterator[str]:
    """Demand that the fault strikes, and is seen unless it cannot be."""
    if not any(call.struck for call in outcome.calls):
        yield "not struck: the call was not made"
    elif not reacted and not unobservable(fault, outcome):
        yield "unseen: nothing differs from a run without the fault"
    if fault.what == LATE and reacted and _verdicts(outcome) != clean.verdicts:
        yield f"late: exit code {outcome.seen.exit}"
