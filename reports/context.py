"""What a run was: the device, the command, and the sentence that sums it up."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cts.verdict import Verdict
from reports.formats import count
from reports.journals import Run
from reports.summary import Summary
from reports.verdicts import WORDING


@dataclass(frozen=True)
class Context:
    """Several values of one thing (shards on several hosts) are joined by commas; what is not known is empty.

    Attributes:
        device, driver, front_end, tier, suite_version, started, command: in words.
        elapsed: wall time of the whole run in seconds; 0 where it is not known, as for several journals or a resumed one.
        finished: false if a journal says when its run began and not that it ended.
        notes: what a reader must know before trusting the totals.
    """

    device: str
    driver: str
    front_end: str
    tier: str
    suite_version: str
    started: str
    command: str
    elapsed: float
    finished: bool
    notes: tuple[str, ...]

    @property
    def facts(self) -> dict[str, str]:
        """Heading -> text, without the unknown."""
        facts = {
            "Device": self.device,
            "Driver": self.driver,
            "Suite version": self.suite_version,
            "Tier": self.tier,
            "Front end": self.front_end,
            "Started": self.started,
            "Command": self.command,
        }
        return {heading: text for heading, text in facts.items() if text}


@dataclass(frozen=True)
class Headline:
    """``level`` is ``bad`` (the device failed), ``unsure`` (nothing was proven, or the suite failed) or ``good``."""

    level: Literal["bad", "unsure", "good"]
    title: str
    detail: str


def context(run: Run) -> Context:
    """The context of a run; the records of the cases speak before ``meta.json``."""
    devices = _distinct(result.device for result in run.results)
    drivers = _distinct(result.driver for result in run.results)
    descriptions = [meta["device"] for meta in run.metas if isinstance(meta.get("device"), Mapping)]
    notes = []
    if len(devices) > 1 or len(drivers) > 1:
        notes.append(
            "These results come from more than one device or driver. The totals are a mixture, and only the last result of a case is kept."
        )
    finished = all("finished" in meta for meta in run.metas if "started" in meta)
    if not finished:
        notes.append("The run had not come to its end when this report was written: cases that were selected may be missing.")
    if len(run.metas) < len(run.journals):
        notes.append(
            "meta.json is missing or damaged: nobody knows whether the run came to its end, and cases that were selected may be missing."
        )
    whole = finished and len(run.metas) == 1 and "resumed" not in run.metas[0]
    return Context(
        device=", ".join(devices or _texts(descriptions, "name")),
        driver=", ".join(drivers or _texts(descriptions, "driver")),
        front_end=", ".join(_distinct(result.front_end for result in run.results) or _texts(run.metas, "front_end")),
        tier=", ".join(_distinct(result.tier for result in run.results) or _texts(run.metas, "tier")),
        suite_version=", ".join(_texts(run.metas, "suite_version")),
        started=", ".join(_texts(run.metas, "started")),
        command="; ".join(_texts(run.metas, "command")),
        elapsed=float(run.metas[0].get("seconds") or 0) if whole else 0.0,
        finished=finished,
        notes=tuple(notes),
    )


def headline(summary: Summary, context: Context) -> Headline:
    """The verdict on the run, never better than what was seen."""
    passed, errors = summary.verdicts.get(Verdict.PASS, 0), summary.verdicts.get(Verdict.ERROR, 0)
    detail = ", ".join(f"{number:,} {WORDING[verdict].label.lower()}" for verdict, number in summary.verdicts.items())
    if context.tier:
        detail += f" · {context.tier} tier"
    if summary.bad:
        return Headline("bad", f"{summary.bad:,} of {count(summary.ran, 'case')} that ran failed", detail)
    if not summary.cases:
        return Headline("unsure", "No case was judged", "The journal is empty: nothing is known of the device.")
    if not summary.ran:
        return Headline("unsure", f"Nothing ran: the device supports none of {count(summary.cases, 'case')}", detail)
    if errors:
        return Headline("unsure", f"The suite itself failed in {count(errors, 'case')}; no case that ran to its end failed", detail)
    if not context.finished:
        return Headline("unsure", f"{count(passed, 'case')} passed and none failed, but the run did not come to its end", detail)
    return Headline("good", f"All {count(passed, 'case')} that the device supports passed", detail)


def _distinct(texts: Iterable[str]) -> list[str]:
    return sorted({text for text in texts if text})


def _texts(objects: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """The distinct texts under ``key``; a list of strings there is a command line."""
    texts = (shlex.join(map(str, value)) if isinstance(value, list) else str(value) for item in objects if (value := item.get(key)))
    return list(dict.fromkeys(texts))
