"""The context of a run: the device, the command, and the sentence that sums it up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from cts.journal.run_record import RunRecord
from cts.verdict.codes import Code, is_within
from cts.verdict.verdict import Verdict
from reports.facts import facts
from reports.formats import count
from reports.journals import Run
from reports.summary import Summary
from reports.verdicts import WORDING

HEADER = ("device", "driver", "suite_version", "tier", "front_end", "started", "command")
"""The facts at the top of every report."""

SHOWN_IDS = 20
"""How many cases a note names."""


@dataclass(frozen=True)
class Context:
    """What a reader must know of a run besides its results.

    Attributes:
        facts: the facts of HEADER, in the order of reports.facts.FACTS; unknown facts are empty.
        elapsed: wall time of the whole run in seconds; 0 if it is unknown, as for several journals or a resumed one.
        finished: false if a journal records the start of its run but not the end.
        fallback: why the embedded device replaces a Vulkan device; empty if it does not.
        modelled: which model ran what the driver compiled; empty if the device itself ran it. It is also the first of ``notes``.
        stopped: why the run ended early; empty if it did not.
        findings: errors outside any case, in words.
        dropped: number of journal lines without a result. ``faults`` names the first of them, and the faults of ``meta.json``.
        notes: facts that a reader must know before trusting the totals.
    """

    facts: Mapping[str, str]
    elapsed: float
    finished: bool
    fallback: str
    modelled: str
    stopped: str
    findings: tuple[str, ...]
    dropped: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def header(self) -> dict[str, str]:
        """Return the known facts in the order in which a report begins with them."""
        return {key: self.facts[key] for key in HEADER if self.facts[key]}


Level = Literal["bad", "unsure", "good"]


@dataclass(frozen=True)
class Headline:
    """``level`` is ``bad`` (the device failed), ``unsure`` (nothing was proven, or the suite failed) or ``good``. ``numbers`` are the
    numbers of the summary that are shown separately."""

    level: Level
    title: str
    detail: str
    numbers: Mapping[str, int]


def context(run: Run) -> Context:
    """Return the context of a run; the records of the cases take precedence over ``meta.json``."""
    modelled = "; ".join(_texts(run.metas, "modelled"))
    notes = [_sentence(modelled)] if modelled else []
    if len({result.device for result in run.results if result.device}) > 1 or len({one.driver for one in run.results if one.driver}) > 1:
        notes.append(
            "These results come from more than one device or driver. The totals mix them, and only the last result of each case is kept."
        )
    finished = all("finished" in meta for meta in run.metas if "started" in meta)
    if not finished:
        notes.append("The run had not finished when this report was written: selected cases may be missing.")
    if len(run.metas) < len(run.journals):
        notes.append("meta.json is missing or damaged: it is unknown whether the run finished, and selected cases may be missing.")
    stopped = "; ".join(_texts(run.metas, "stopped"))
    if stopped:
        notes.append(f"The run stopped early: {_sentence(stopped)}")
    if run.dropped:
        notes.append(
            f"{count(run.dropped, 'line')} of the journal cannot be read as {'a result' if run.dropped == 1 else 'results'}: "
            "such a case counts as not judged."
        )
    if left_out := ", ".join(_texts(run.metas, "left_out_by")):
        notes.append(f"Cases that {left_out} names were not judged.")
    found = [finding for meta in run.metas for finding in meta.get("findings", ())]
    findings = tuple(f"{finding['step']}: {finding['what']}" for finding in found if not finding.get("outside"))
    foreign = [finding["what"].partition("\n")[0] for finding in found if finding.get("outside")]
    notes += [f"Something outside of the driver interfered: {_sentence(what)}" for what in foreign]
    if findings:
        notes.append(f"{count(len(findings), 'thing')} went wrong outside of any case: see the findings of the run.")
    unlike = [result.id for result in run.results if result.verdict is Verdict.COMPILED and is_within(result.code, Code.COMPILED_OTHERWISE)]
    if unlike:
        # A case that compiled has no page of its own.
        more = f", and {len(unlike) - SHOWN_IDS:,} more in results.jsonl" if len(unlike) > SHOWN_IDS else ""
        notes.append(
            f"{count(len(unlike), 'case')} compiled to code that does something else than the code of a twin, which must give the same "
            f"values. This proves no mistake, and results.jsonl says what differs: {', '.join(unlike[:SHOWN_IDS])}{more}."
        )
    if any(result.attempt > 1 for result in run.results):
        notes.append("Cases were judged several times: each attempt counts as a case.")
    whole = finished and len(run.metas) == 1 and "resumed" not in run.metas[0]
    return Context(
        facts=facts(HEADER, run.results, run.metas),
        elapsed=float(run.metas[0].get("seconds") or 0) if whole else 0.0,
        finished=finished,
        fallback="; ".join(_texts(run.metas, "fallback")),
        modelled=modelled,
        stopped=stopped,
        findings=findings,
        dropped=run.dropped,
        faults=tuple(map(str, run.faults)),
        notes=tuple(notes),
    )


def headline(summary: Summary, context: Context) -> Headline:
    """Return the verdict on the run, which is never better than the results."""
    detail = ", ".join(filter(None, (_counted(verdict, summary) for verdict in summary.verdicts)))
    if summary.judged_elsewhere:
        detail += f", and {count(summary.judged_elsewhere, 'case')} for another kind of judge"
    if context.facts["tier"]:
        detail += f" · {context.facts['tier']} tier"
    level, title, detail = _headline(summary, context, detail)
    if context.fallback:
        # Results of the embedded device do not show that a driver is right.
        level, title = "unsure" if level == "good" else level, f"{title} (no Vulkan device was judged)"
    if context.modelled:
        title = f"{title} (on a model of the chip)"
    if Verdict.COMPILED in summary.verdicts:
        # A driver that compiles a case may still compile it wrongly.
        level, title = "unsure" if level == "good" else level, f"{title} (no shader ran)"
    return Headline(level, title, detail, summary.numbers)


def _counted(verdict: Verdict, summary: Summary) -> str:
    number = summary.verdicts[verdict] - (summary.judged_elsewhere if verdict is Verdict.NOT_SUPPORTED else 0)
    if not number:
        return ""
    text = f"{number:,} {WORDING[verdict].label.lower()}"
    return text + (
        f" ({summary.compile_timeouts:,} of them while compiling)" if verdict is Verdict.TIMEOUT and summary.compile_timeouts else ""
    )


def _headline(summary: Summary, context: Context, detail: str) -> tuple[Level, str, str]:
    errors, compiled = summary.verdicts.get(Verdict.ERROR, 0), summary.verdicts.get(Verdict.COMPILED, 0)
    passed = count(summary.verdicts.get(Verdict.PASS, 0), "case")
    well = f"{passed} passed" + (f", {count(compiled, 'case')} compiled" if compiled else "")
    undecided = summary.verdicts.get(Verdict.RESOURCE_ERROR, 0)
    unexpected, known = summary.verdicts.get(Verdict.UNEXPECTED_PASS, 0), summary.verdicts.get(Verdict.KNOWN_FAIL, 0)
    if summary.bad:
        beside = f", beside {count(known, 'known failure')}" if known else ""
        return "bad", f"{summary.bad:,} of {count(summary.ran, 'case')} that ran failed{beside}", detail
    if not summary.cases:
        return "unsure", "No case was judged", "The journal is empty: nothing is known about the device."
    if not summary.ran:
        return "unsure", f"Nothing ran: the device supports none of {count(summary.cases, 'case')}", detail
    if errors:
        return "unsure", f"The suite itself failed in {count(errors, 'case')}; none of the cases that finished failed", detail
    if unexpected:
        title = f"{count(unexpected, 'case')} passed although the driver's known failures say that they fail: their list is out of date"
        return "unsure", title, detail
    if not context.finished:
        return "unsure", f"{well} and none failed, but the run did not finish", detail
    if context.dropped:
        return (
            "unsure",
            f"{well} and none failed, but {count(context.dropped, 'line')} of the journal cannot be read",
            detail,
        )
    if undecided or summary.compile_timeouts:
        unsaid = [f"{count(undecided, 'case')} ran out of memory"] * bool(undecided)
        unsaid += [f"{count(summary.compile_timeouts, 'case')} took too long to compile"] * bool(summary.compile_timeouts)
        return "unsure", f"{well} and none failed, but {' and '.join(unsaid)}", detail
    if context.findings:
        return (
            "unsure",
            f"{well} and none failed, but {count(len(context.findings), 'thing')} went wrong outside of any case",
            detail,
        )
    if warned := summary.verdicts.get(Verdict.QUALITY_WARNING, 0):
        beside = f", and {count(known, 'case')} failed as known for this driver" if known else ""
        title = f"{well} and {count(warned, 'case')} gave values that are permitted but not expected{beside}"
        return "good", title, detail
    if known:
        return (
            "good",
            f"{well}, and nothing failed except {count(known, 'case')} known to fail on this driver",
            detail,
        )
    if compiled:
        return "good", f"{well} and nothing failed", detail
    return "good", f"All {passed} that the device supports passed", detail


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _texts(metas: Iterable[RunRecord], key: Literal["stopped", "left_out_by", "fallback", "modelled"]) -> list[str]:
    """Return the distinct texts under ``key``."""
    return list(dict.fromkeys(text for meta in metas if (text := meta.get(key))))
