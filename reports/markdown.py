"""A Markdown summary of one screen, for job summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cts.verdict.verdict import Verdict
from reports.causes import Cause
from reports.context import Context, Headline
from reports.facts import FACTS
from reports.formats import count, duration, percent, rate
from reports.summary import Summary
from reports.verdicts import EXPLAINED, NUMBERS, WORDING

LISTED_CAUSES = 20
LISTED_CASES = 5
LISTED_REASONS = 20

_ICON = {"bad": "❌", "unsure": "⚠️", "good": "✅"}


def markdown(summary: Summary, causes: Sequence[Cause], context: Context, headline: Headline) -> str:
    """Return the document."""
    parts = [f"> **{_text(context.fallback)}**"] if context.fallback else []
    parts += [f"## {_ICON[headline.level]} {_text(headline.title)}", headline.detail]
    parts.append(" · ".join(f"{NUMBERS[name]}: **{number:,}**" for name, number in headline.numbers.items()))
    parts += [f"> **Note:** {_text(note)}" for note in context.notes]
    if context.findings:
        parts += ["### Findings of the run", "\n".join(f"* {_text(finding)}" for finding in context.findings)]
    parts.append(
        "\n".join(f"* **{FACTS[key]}:** {_code(text) if key == 'command' else _text(text)}" for key, text in context.header.items())
    )
    if causes:
        parts.append("### What did not pass")
        parts += [_cause(cause) for cause in causes[:LISTED_CAUSES]]
        if len(causes) > LISTED_CAUSES:
            parts.append(f"… and {count(len(causes) - LISTED_CAUSES, 'more cause')} in `index.html`.")
    if summary.defects:
        counted = [(_code(id_), f"{cases:,}") for id_, cases in summary.defects.items()]
        parts.append(_folded("What explains failing cases", _table(("Defect", "Failing cases"), counted)))
    if summary.known:
        rows = [(_code(known.id), _text(known.reason), f"{known.cases:,}") for known in summary.known]
        parts.append(_folded("Known failures of the driver", _table(("Known failure", "What happens", "Cases"), rows)))
    if summary.families:
        parts += ["### Families", _families(summary.families)]
    if summary.not_supported:
        rows = [
            (_code(lack.code) if lack.code else "", _code(lack.reason), f"{lack.cases:,}")
            for lack in summary.not_supported[:LISTED_REASONS]
        ]
        rest = len(summary.not_supported) - len(rows)
        parts.append(
            _folded(
                "Not supported",
                _table(("Code", "Missing", "Cases"), rows) + (f"\n\n… and {count(rest, 'more reason')}." if rest > 0 else ""),
            )
        )
    if context.faults:
        parts.append(_folded("Parts of the journal that cannot be read", "\n".join(f"* {_text(fault)}" for fault in context.faults)))
    if summary.steps:
        steps = [(_code(step.step), duration(step.seconds), percent(step.share)) for step in summary.steps]
        pace = f"{duration(summary.seconds)} in all cases, {rate(summary.cases_per_second)} in one process."
        pace += f" The run took {duration(context.elapsed)}: {rate(summary.cases / context.elapsed)}." if context.elapsed else ""
        parts.append(_folded("Time", f"{pace}\n\n{_table(('Step', 'Time', 'Share'), steps)}"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _cause(cause: Cause) -> str:
    wording = WORDING[cause.verdict]
    codes = ", ".join(f"<code>{_text(code)}</code>" for code in cause.codes if code)
    families = ", ".join(
        f"<code>{_text(family)}</code>" + (f" ({cases:,})" if len(cause.families) > 1 else "") for family, cases in cause.families.items()
    )
    title = f"<b>{wording.label}</b>: {count(len(cause.results), 'case')} of {families} – {_text(cause.words)}" + f" ({codes})" * bool(
        codes
    )
    parts = ["\n".join(f"* {_text(sentence)}" for sentence in cause.decided)] if cause.decided else []
    if cause.requirements:
        parts.append(f"{'All exercise' if len(cause.results) > 1 else 'Exercises'} {', '.join(map(_code, cause.requirements))}.")
    cases = "\n".join(f"* {_code(result.id)}: {_text(result.reason)}" for result in cause.results[:LISTED_CASES])
    if len(cause.results) > LISTED_CASES:
        cases += f"\n* … and {len(cause.results) - LISTED_CASES:,} more"
    return _folded(title, "\n\n".join([*parts, cases]))


def _families(families: Mapping[str, Mapping[Verdict, int]]) -> str:
    shown = [verdict for verdict in WORDING if any(verdict in tally for tally in families.values())]
    rows = []
    for family, tally in families.items():
        mark = (
            WORDING[next((verdict for verdict in EXPLAINED if verdict in tally), Verdict.PASS)].mark
            if tally.keys() - {Verdict.NOT_SUPPORTED}
            else "–"
        )
        rows.append((f"{mark} {_code(family)}", *(f"{tally.get(verdict, 0):,}" for verdict in shown), f"{sum(tally.values()):,}"))
    return _table(("Family", *(WORDING[verdict].label for verdict in shown), "Cases"), rows)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(headings) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").replace("|", "\\|").split()) + "`"


def _text(text: str) -> str:
    """Return text on one line that Markdown and HTML show unchanged."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "\\`*_[]|~#" else character for character in text)
