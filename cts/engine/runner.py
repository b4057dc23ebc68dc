"""Judges one case."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from textwrap import indent
from types import MappingProxyType

from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, DeviceUnavailable, DriverRefused, Judge
from cts.devices.holder import DeviceHolder
from cts.devices.isolation import IsolatedDevice
from cts.front_ends import FrontEnd
from cts.kinds.authorities import quoted
from cts.kinds.kind import Stopwatch, not_supported, one_line
from cts.kinds.table import KINDS, unjudged
from cts.verdict.codes import Code
from cts.verdict.effort import Effort
from cts.verdict.verdict import CaseResult, Judgement, Verdict
from generators.casebook import Case

OURS = "error of the suite, not of the device: "

_ERRORS: Mapping[str, Code] = MappingProxyType(
    {
        "emit": Code.ERROR_GENERATOR,
        "missing": Code.ERROR_GENERATOR,
        "expect": Code.ERROR_REFERENCE,
        "device": Code.ERROR_DEVICE,
        "compare": Code.ERROR_COMPARISON,
        "diagnose": Code.ERROR_COMPARISON,
    }
)
"""The code of an exception of the suite, by the step of the Stopwatch in which it was raised."""


def judge(case: Case, holder: DeviceHolder, front_end: FrontEnd, tier: str, attempt: int = 1, effort: Effort | None = None) -> CaseResult:
    """Run ``case`` and judge the results: any failure of the suite gives the verdict ``error``.

    A case of a kind that the device does not judge is not supported; otherwise the functions of its kind judge it. A device that no longer
    works is closed, and the next case opens a fresh one.

    Args:
        case: a case of the casebook.
        holder: the holder of the device to judge.
        front_end: which reading of the program the device gets.
        tier: the tier of the run that selected the case, for the record.
        attempt: which judgement of the case this is, for the record.
        effort: how much effort to spend on explaining a failure; None for no limit.

    Raises:
        DeviceUnavailable: the device cannot be opened, or cannot be opened again; the case has no verdict.
    """
    # Opening the device is not part of the first case: it affects neither its time nor its verdict.
    description = holder.device.description
    watch = Stopwatch()
    step = ""
    driver_messages: tuple[str, ...] = ()
    try:
        judgement = _judge(case, holder, front_end, watch, effort or Effort())
    except DeviceFailure as failure:
        verdict = Verdict(failure.verdict)
        prefix = OURS if verdict is Verdict.ERROR else ""
        text = f"{prefix}{failure}" if str(failure) else f"{prefix}{type(failure).__name__}"
        driver_messages = failure.driver_messages
        judgement = Judgement(verdict, failure.code, one_line(text), _told(text, driver_messages))
        if case.disputed and isinstance(failure, DriverRefused) and failure.of_module:
            judgement = _doubted(judgement, case)
        step = failure.step.value if failure.step else ""
        if failure.spent:
            holder.discard()
    except DeviceUnavailable:
        raise
    except Exception as error:
        code = _ERRORS.get(watch.unfinished, Code.ERROR_SUITE).of()
        text = one_line(f"{OURS}{type(error).__name__}: {error}")
        judgement = Judgement(Verdict.ERROR, code, text, f"{OURS.rstrip()}\n{traceback.format_exc()}")
    result = result_of(case, judgement, description, front_end, tier, attempt)
    return replace(
        result,
        seconds=watch.seconds,
        steps=watch.steps,
        step=step,
        driver_messages=driver_messages,
        statistics=watch.statistics,
    )


def result_of(
    case: Case, judgement: Judgement, description: DeviceDescription, front_end: FrontEnd, tier: str, attempt: int = 1
) -> CaseResult:
    """Return the result of a judgement that took no time.

    Args:
        case, judgement: the case and its judgement.
        description: the description of the device that judged the case, or that does not support it.
        front_end, tier, attempt: see ``judge``.
    """
    return CaseResult(
        id=case.id,
        family=case.family,
        parameters=case.named,
        device=description.name,
        driver=description.driver,
        front_end=front_end,
        tier=tier,
        requirements=case.requirements,
        positions=tuple(case.definition.positions),
        attempt=attempt,
        **vars(judgement),
    )


def _told(failure: str, driver_messages: Sequence[str]) -> str:
    """Return the text of a failure, with what the driver said after its first line: a stack may follow, and only its beginning be shown."""
    if not driver_messages:
        return failure
    first, *rest = failure.splitlines()
    return "\n".join((first, "the driver said:", *(indent(message, "    ") for message in driver_messages), *rest))


def _limited(device: Judge, seconds: float | None) -> AbstractContextManager[None]:
    """Return a context that limits the steps of a device to ``seconds``; the steps of a device in this process have no limit."""
    return device.limited(seconds) if isinstance(device, IsolatedDevice) else nullcontext()


def _doubted(judgement: Judgement, case: Case) -> Judgement:
    """Return the judgement of a refusal of a module that the text may forbid: a warning that quotes the position that allows the module.

    A device that accepts such a module must give the right values.
    """
    lines = [
        judgement.message,
        "This refusal is not a failure: the text may forbid the module, and only a position of this suite allows it.",
    ]
    lines += quoted("", case.disputed, case)
    code = Code.QUALITY_WARNING.of(case.disputed[0])
    return replace(judgement, verdict=Verdict.QUALITY_WARNING, code=code, message="\n".join(lines))


def _judge(case: Case, holder: DeviceHolder, front_end: FrontEnd, watch: Stopwatch, effort: Effort) -> Judgement:
    kind = case.definition.kind
    if kind not in holder.judges:
        if why := unjudged(kind, holder.device):
            return not_supported(why)
        holder.judges.add(kind)
    try:
        with _limited(holder.device, effort.limit):
            return KINDS[kind].judge(case, holder.device, front_end, watch, effort)
    except DeviceUnavailable:
        raise
    except DeviceError:
        # The device went away before it received the case, and did not open again at once.
        holder.discard()
    try:
        with _limited(holder.device, effort.limit):
            return KINDS[kind].judge(case, holder.device, front_end, watch, effort)
    except DeviceError as error:
        raise DeviceUnavailable(str(error)) from error
