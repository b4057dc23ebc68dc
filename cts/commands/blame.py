"""Says whose fault a failure is: the driver's, its compiler's, this suite's, glslang's, or nobody's. Runs the same case in fresh processes,
with the validation layer, on the strict embedded device, on this machine's other Vulkan drivers, from the other front end, and after
spirv-opt, and has spirv-val judge the module. Prints what each step found, the conclusion, and how sure it is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cts.blame.evidence import Evidence
from cts.blame.gathering import Bench, investigate
from cts.blame.report import Blame, blame, document, lines, markdown
from cts.blame.report import add as add_record
from cts.commands.context import casebook, root
from cts.commands.options import add
from cts.engine.control import PLAIN
from cts.engine.plan import checked_settings
from cts.kinds.table import KINDS
from cts.repro.folder import README, add_blame, add_result
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, load_case
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.epilog = (
        "Exit code: 0 with a conclusion on standard output, 2 if the device does not support the case. Progress is on standard error. "
        "docs/blame.md lists the steps, the rules and the doubts."
    )
    add(parser, "case")
    add(parser, "--device", "the device on which it fails (see 'cts devices'; default: as in a run)")
    add(parser, "--front-end", "which module failed: spirv (assembled by the suite) or glsl (compiled by glslang) (default: spirv)")
    add(parser, "--step-timeout")
    add(parser, "--json")
    parser.add_argument(
        "--report-dir",
        type=Path,
        metavar="DIR",
        help="also keep the evidence for the page of the case that 'cts report' writes",
    )
    add(parser, "--out", "also write a folder that reproduces the case, as 'cts repro' does, with the evidence", metavar="DIR")


def run(options: argparse.Namespace) -> int:
    """Print the evidence and the conclusion."""
    case = load_case(root(options), options.case)
    settings = checked_settings({**vars(options), **dict.fromkeys(("tier", "embedded_mapping", "isolation", "validation"))})
    investigation = investigate(case, Bench(settings, casebook(options, {case.family, PLAIN}), show=_show))
    if investigation.result.verdict is Verdict.NOT_SUPPORTED:
        raise CtsError(f"{settings.description.name} does not support {case.id}: {investigation.result.reason}")
    record = blame(investigation.result, investigation.facts)
    if options.json:
        print(document(record))
    else:
        print(f"{case.id}\n  {settings.description.name}, driver {settings.description.driver}\n")
        print("\n".join(lines(record)), flush=True)
    # What took minutes to find is printed even if it cannot be written.
    if options.report_dir is not None:
        add_record(options.report_dir, record)
    if options.out is not None:
        _write(options.out, case, investigation.result, record)
    return 0


def _show(found: Evidence) -> None:
    print(f"{found.device or found.step}: {found.found.words}", file=sys.stderr, flush=True)


def _write(folder: Path, case: Case, result: CaseResult, record: Blame) -> None:
    """Write the folder of the reproduction, with the failure and the evidence."""
    KINDS[case.definition.kind].reproduce(case, folder, record.facts.front_end)
    add_result(folder, result)
    add_blame(folder, document(record), markdown(record))
    print(folder / README, file=sys.stderr)
