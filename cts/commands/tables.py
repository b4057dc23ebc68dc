"""The tables of ``docs/`` that are made from the casebook, and the pages that show them.

A page has a table between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; ``cts pages`` writes it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from cts.blame.evidence import Step
from cts.blame.rules import DOUBTS, RULES
from cts.commands import JOBS
from cts.commands.glsl_facts import current
from cts.conformance.refusal import Check
from cts.engine.options import OPTIONS
from cts.journal.json_schema import records, rows
from cts.verdict.codes import Code
from cts.verdict.known_failures import load_files
from generators.bug_classes import load_bug_classes
from generators.casebook import Casebook, CaseKind, find_case
from generators.casebook.parameters import Parameter
from generators.errors import CtsError
from generators.glsl_coverage import FamilyInGlsl, Refusal

_MOST_VALUES = 40
"""How many values that a YAML file lists a table shows: property rows and static rules are many."""

_TABLE = re.compile(r"(?P<begin><!-- table: (?P<name>[^>]*?) -->\n).*?(?P<end><!-- end of table -->)", re.DOTALL)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown; cells are one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _questions(casebook: Casebook) -> str:
    return _markdown(("id", "question", "position"), ((p.id, p.question, p.position) for p in casebook.positions.values()))


def _positions(casebook: Casebook) -> str:
    rows = ((p.id, p.position, p.because, ", ".join(casebook.resting_on(p.id)) or "(none yet)") for p in casebook.positions.values())
    return _markdown(("id", "position", "because", "families whose verdicts depend on it"), rows)


def _bugs(casebook: Casebook) -> str:
    rows = []
    for bug in load_bug_classes(casebook):
        shown = [f"`{family}`: {', '.join(parameters)}" for family, parameters in bug.families.items()]
        shown += [f"not yet here: {specification}" for specification in bug.specifications]
        shown += [f"[{Path(test).name}](../{test})" for test in bug.tests]
        rows.append((bug.name, str(bug.bugs), str(bug.drivers), bug.what, "; ".join(shown), bug.note))
    return _markdown(("class", "bugs", "of drivers", "what", "shown by", "note"), rows)


def _glsl(casebook: Casebook) -> str:
    found = current(casebook.root.parent, casebook)
    return f"{_glsl_families(found)}\n{_glsl_reasons(found)}"


def _glsl_families(found: Sequence[FamilyInGlsl]) -> str:
    rows = []
    for entry in found:
        why = "<br>".join(f"{refusal.cases}: {_reason(refusal.reason, refusal.types)}" for refusal in entry.refusals)
        said = str(entry.said) if entry.family.kind is CaseKind.KERNEL else "runs no shader"
        rows.append((f"`{entry.family.name}`", str(entry.cases), said, why))
    return _markdown(("family", "cases", "in GLSL", "not, and why"), rows)


def _glsl_reasons(found: Sequence[FamilyInGlsl]) -> str:
    reasons: dict[str, list[Refusal]] = {}
    for refusal in (refusal for entry in found for refusal in entry.refusals):
        reasons.setdefault(refusal.reason, []).append(refusal)
    rows = []
    for reason, refusals in sorted(reasons.items(), key=lambda item: (-sum(refusal.cases for refusal in item[1]), item[0])):
        types = tuple(dict.fromkeys(name for refusal in refusals for name in refusal.types))
        families = ", ".join(refusal.example.family for refusal in refusals)
        rows.append((_reason(reason, types), str(sum(refusal.cases for refusal in refusals)), families, f"`{refusals[0].example.id}`"))
    return _markdown(("reason", "cases", "families", "example"), rows)


def _reason(reason: str, types: Sequence[str]) -> str:
    return reason.replace("…", "/".join(types)) if types else reason


def _codes(casebook: Casebook) -> str:  # noqa: ARG001 (every table gets it)
    return _markdown(("code", "then", "meaning"), ((f"`{code}`", code.name_after, code.words) for code in Code))


def _known_failures(casebook: Casebook, name: str) -> str:
    """Return the table of a driver's known failures. For a validator, it names the requirement that each failure contradicts."""
    files = load_files(casebook.root.parent, casebook)
    if name not in files:
        raise CtsError(f"there are no known failures '{name}'; expected one of {', '.join(files)}")
    entries = files[name].entries
    smallest = {entry.id: [find_case(casebook, id_) for id_ in entry.smallest] for entry in entries}
    shown = {entry.id: ", ".join(f"`{id_}`" for id_ in entry.smallest) for entry in entries}
    if all(case.definition.kind is CaseKind.STATIC for cases in smallest.values() for case in cases):
        broken = {id_: dict.fromkeys(name for case in cases for name in case.requirements) for id_, cases in smallest.items()}
        rules = ((f"`{one.id}`", one.what, ", ".join(broken[one.id]), shown[one.id]) for one in entries)
        return _markdown(("known failure", "what it accepts although the specification forbids it", "requirement", "smallest case"), rules)
    rows = ((f"`{one.id}`", one.seen, one.what, shown[one.id], f"{one.evidence} {one.link}") for one in entries)
    return _markdown(("known failure", "driver", "what happens", "smallest case", "how we know"), rows)


def _parameters(casebook: Casebook) -> str:
    """Return a table for each family: its parameters, with their values in bold type where it is the default."""
    parts = []
    for family in casebook:
        rows = ((f"`{one.name}`", _values(one), one.declaration.means) for one in (*family.parameters, *family.subcase_parameters))
        parts.append(f"\n## {family.name}\n\n{_markdown(('parameter', 'values', 'meaning'), rows)}")
    return "".join(parts)


def _values(parameter: Parameter) -> str:
    if parameter.declaration.values is None and len(parameter.labels) > _MOST_VALUES:
        return f"{len(parameter.labels)}, in the YAML"
    return ", ".join(f"**{label}**" if label == parameter.default else label for label in parameter.labels)


def _commands(casebook: Casebook) -> str:  # noqa: ARG001 (every table gets it)
    rows = ((job, f"`cts {verb}`", about) for job, verbs in JOBS.items() for verb, about in verbs.items())
    return _markdown(("job", "command", "what it does"), rows)


def _options(casebook: Casebook) -> str:  # noqa: ARG001 (every table gets it)
    rows = ((f"`{f'--{option.name} {option.metavar}'.strip()}`", option.help) for option in OPTIONS)
    return _markdown(("option", "meaning"), rows)


def _blame(name: str) -> Callable[[Casebook], str]:
    """Return a table of ``cts blame``, which is the same for every casebook."""
    steps = ((f"`{step}`", step.words) for step in Step)
    rules = ((f"`{rule.id}`", rule.party.words, rule.confidence, rule.sentence) for rule in RULES)
    doubts = ((f"`{doubt.id}`", str(doubt.levels), doubt.sentence) for doubt in DOUBTS)
    made = {
        "steps": _markdown(("step", "what it tries"), steps),
        "rules": _markdown(("rule", "whose fault", "confidence", "conclusion"), rules),
        "doubts": _markdown(("doubt", "levels", "because"), doubts),
    }[name]
    return lambda _: made


def _refusals(casebook: Casebook) -> str:  # noqa: ARG001 (every table gets it)
    rows = ((f"`{check.value}`" + (f", `.`, {check.name_after}" if check.name_after else ""), check.words) for check in Check)
    return _markdown(("id", "what is wrong"), rows)


def _of_journal(name: str) -> Callable[[Casebook], str]:
    """Return the table of an object of the journal, which is the same for every casebook."""
    return lambda _: _markdown((f"{name}: field", "meaning"), ((names, _code(meaning)) for names, meaning in rows(records()[name])))


def _code(meaning: str) -> str:
    """Return a text of the sources as Markdown, whose code is between single backticks."""
    return meaning.replace("``", "`")


TABLES: Mapping[str, Callable[[Casebook], str]] = MappingProxyType(
    {
        "questions": _questions,
        "positions": _positions,
        "bugs": _bugs,
        "glsl": _glsl,
        "codes": _codes,
        "commands": _commands,
        "options": _options,
        "parameters": _parameters,
        "refusals": _refusals,
        **{f"blame {name}": _blame(name) for name in ("steps", "rules", "doubts")},
        **{f"journal, {name}": _of_journal(name) for name in records()},
    }
)
"""The tables by name."""

_OF_A_DRIVER = "known failures: "
"""Begins the name of the table of one file of known failures."""


class UnknownTable(CtsError):
    """A page names a table that does not exist."""


def remade(text: str, casebook: Casebook) -> str:
    """Return a page with its tables written again.

    Raises:
        UnknownTable: it names a table that does not exist.
    """

    def made(match: re.Match[str]) -> str:
        name = match["name"]
        if name.startswith(_OF_A_DRIVER):
            return f"{match['begin']}{_known_failures(casebook, name.removeprefix(_OF_A_DRIVER))}{match['end']}"
        if name not in TABLES:
            raise UnknownTable(f"there is no table '{name}'; expected one of {', '.join(TABLES)}, {_OF_A_DRIVER}DRIVER")
        return f"{match['begin']}{TABLES[name](casebook)}{match['end']}"

    return _TABLE.sub(made, text)
