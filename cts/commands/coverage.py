"""Lists the requirements that the families cover, those that cannot be tested and why, and those that are still open."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from cts.commands.context import casebook, print_json, root
from cts.commands.judged import Judge, Judged, judged
from cts.commands.options import add
from cts.diagnosis.proofs import read_proofs, unproved
from cts.engine.plan import one_of
from cts.journal.published import PublishedRun, published_runs
from generators.casebook import Casebook
from generators.coverage import Coverage, Status, coverage


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--specification", "only this specification, for example SPV_KHR_cooperative_matrix")
    parser.add_argument("--open", action="store_true", help="name every requirement that could be tested but is not")
    add(
        parser,
        "--check",
        "print only faults, unless other options ask for more; exit code 1, with a line for each fault on standard error: a "
        "requirement that is open in a finished specification, or cannot be tested and does not say why; a label that no product takes; "
        "a claim that no nightly case supports; a claim without proof: a case whose results change if the requirement is broken",
    )
    add(
        parser,
        "--json",
        "print every requirement with its families, their nightly cases, status and reason, and the devices that judged it, as JSON",
    )
    parser.add_argument("--markdown", action="store_true", help="a table of the requirements, with the devices that judged each")


def run(options: argparse.Namespace) -> int:
    """Print the coverage."""
    book = casebook(options)
    wanted = options.specification
    if wanted is not None:
        known = dict.fromkeys(requirement.specification for requirement in book.requirements.values())
        wanted = one_of("--specification", wanted, tuple(known))
    found = coverage(book, wanted)
    if not options.check or options.json or options.markdown or options.open:
        _show(options, book, found)
    if not options.check:
        return 0
    proofs = read_proofs(root(options))
    faults = [*found.faults, *unproved(book, proofs, {entry.requirement.id for entry in found.requirements})]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def _show(options: argparse.Namespace, book: Casebook, found: Coverage) -> None:
    """Print the coverage and the devices that judged it; this reads all published journals."""
    runs = published_runs(root(options))
    by = {entry.requirement.id: judged(entry, runs, book) for entry in found.requirements}
    if options.json:
        print_json(_document(found, runs, by))
    elif options.markdown:
        _print_markdown(found, runs, by)
    else:
        _print(found, runs, by, options.open)


def _print(found: Coverage, runs: Sequence[PublishedRun], by: Mapping[str, Judged], name_open: bool) -> None:
    for specification, counts in found.totals.items():
        parts = ", ".join(f"{count} {status}".replace("_", " ") for status, count in counts.items())
        why = f"; {found.unfinished[specification]}" if specification in found.unfinished else ""
        print(f"{specification}: {parts}, of {sum(counts.values())} requirements{why}")
        print(f"  judged by {_judges(found, by, specification)}")
    for run in runs:
        print(f"published run: {_described(run)}")
    covered = [entry for entry in found.requirements if entry.status is Status.COVERED]
    if covered:
        print("\ncovered, with the cases of the nightly tier:")
        for entry in covered:
            print(f"  {entry.requirement.id:16s} {', '.join(f'{family} {count}' for family, count in entry.cases.items())}")
            print(f"  {'':16s} judged by {by[entry.requirement.id]}")
    if name_open:
        print("\nopen:")
        for entry in found.open:
            print(f"  {entry.requirement.id:16s} {entry.requirement.text} ({entry.requirement.place})")
    if found.todo:
        print("\nto do:")
        for todo in found.todo:
            print(f"  {todo.family}: {todo.text}")
    if found.unused:
        print("\nlabels that no product takes:")
        for label in found.unused:
            print(f"  {label.family}: {label.parameter} {label.label}")


def _judges(found: Coverage, by: Mapping[str, Judged], specification: str) -> str:
    """Return how many requirements of a specification each kind of judge has."""
    names = {
        Judge.DEVICES: "drivers in published runs",
        Judge.EMBEDDED: "the embedded device alone",
        Judge.VALIDATORS: "validators alone",
        Judge.NOTHING: "nothing",
    }
    own = [by[entry.requirement.id].by for entry in found.requirements if entry.requirement.specification == specification]
    return ", ".join(f"{words}: {own.count(judge)}" for judge, words in names.items())


def _described(run: PublishedRun) -> str:
    unread = f"; {run.unread} lines of its journal cannot be read" if run.unread else ""
    return f"{run.name}, {run.device}, {run.driver}, requirements judged: {len(run.cases)}{unread}"


def _print_markdown(found: Coverage, runs: Sequence[PublishedRun], by: Mapping[str, Judged]) -> None:
    for specification in found.totals:
        print(f"## {specification}\n\nJudged by {_judges(found, by, specification)}.\n")
        print("| Requirement | What it says | Families, with the cases of the nightly tier | Judged by |\n|---|---|---|---|")
        for entry in found.requirements:
            if entry.requirement.specification == specification:
                families = ", ".join(f"`{family}` {count}" for family, count in entry.cases.items())
                says = _cell(f"{entry.requirement.text} ({entry.requirement.place})")
                found_in = families or str(entry.status).replace("_", " ")
                print(f"| {entry.requirement.id} | {says} | {found_in} | {_cell(str(by[entry.requirement.id]))} |")
        print()
    print("## Published runs\n")
    for run in runs:
        print(f"* {_described(run)}")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _document(found: Coverage, runs: Sequence[PublishedRun], by: Mapping[str, Judged]) -> dict[str, object]:
    return {
        "totals": found.totals,
        "runs": [
            {"name": run.name, "device": run.device, "driver": run.driver, "requirements": len(run.cases), "unread": run.unread}
            for run in runs
        ],
        "unfinished": {name: why for name, why in found.unfinished.items() if name in found.totals},
        "requirements": [
            {
                "id": entry.requirement.id,
                "specification": entry.requirement.specification,
                "text": entry.requirement.text,
                "place": entry.requirement.place,
                "status": entry.status,
                "families": entry.families,
                "cases": entry.cases,
                "reason": entry.reason,
                "judged": asdict(by[entry.requirement.id]),
            }
            for entry in found.requirements
        ],
        "todo": [{"family": todo.family, "text": todo.text} for todo in found.todo],
        "unused": [{"family": label.family, "parameter": label.parameter, "label": label.label} for label in found.unused],
    }
