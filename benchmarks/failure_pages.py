"""Measures the cost of a report of many failures: seconds of processor time, and the largest record.

    python -m benchmarks.failure_pages [--failures N] [--causes N]

Takes cases of the smoke tier, and makes results as of a device with N causes of wrong values (40), each in one family, which N cases (500)
show. Writes them to a temporary folder as a run does, and makes the report.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cts.checkout import find_root
from cts.journal.record import encode
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.elements import scatter
from cts.verdict.failure import Failure, Match
from cts.verdict.poison import initial_contents
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, Casebook, CaseKind, build, expand, load_casebook
from generators.kernel import Outcome
from reports import write

SUBCASES = 3
"""How many subcases of a case fail."""


def failed(case: Case, cause: int) -> CaseResult:
    """Return the result of a case whose stores go wrong in one of three elements; ``cause`` says in which."""
    built = build(case)
    program = built.program.all[0]
    failures = []
    for subcase in itertools.islice(built.subcases(program), SUBCASES):
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        outputs = {name: data.copy() for name, data in before.items()}
        for placed in expected.placed:
            bits = placed.expected.bits.copy()
            where = np.arange(bits.size).reshape(bits.shape) % 3 == cause % 3
            bits[where] ^= bits.dtype.type(1 << (8 * bits.dtype.itemsize - 2))
            scatter(outputs[placed.array], placed.offsets, bits)
        match = Match(f"invented.cause_{cause}", f"an invented mistake, number {cause}")
        failures += [Failure(subcase.name, one, (match,)) for one in compare(program, expected, before, Outcome(outputs))]
    reason = failures[0].mismatch.summary if failures else "nothing is wrong"
    return CaseResult(
        Verdict.FAIL,
        "fail.value",
        reason,
        reason,
        len(failures),
        failures=tuple(failures),
        id=case.id,
        family=case.family,
        parameters=case.named,
        requirements=tuple(case.requirements),
        device="invented",
        driver="invented 1",
        front_end="spirv",
        tier="smoke",
    )


def chosen(casebook: Casebook, failures: int, causes: int) -> Iterator[tuple[Case, int]]:
    """Yield cases with the number of their cause: those of a cause are in one family."""
    share = -(-failures // causes)
    families = {name: expand(one, "smoke") for name, one in casebook.families.items() if one.kind is CaseKind.KERNEL}
    batches = (cases[start : start + share] for cases in families.values() for start in range(0, len(cases) - share + 1, share))
    for cause, batch in enumerate(itertools.islice(batches, causes)):
        yield from ((case, cause) for case in batch)


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--failures", type=int, default=500)
    parser.add_argument("--causes", type=int, default=40)
    options = parser.parse_args()
    casebook = load_casebook(find_root(Path.cwd()))
    with tempfile.TemporaryDirectory() as folder:
        lines = [encode(failed(*one)) for one in chosen(casebook, options.failures, options.causes)]
        journal = Path(folder) / "results.jsonl"
        journal.write_bytes(b"".join(lines))
        begin = time.process_time()
        write(journal, Path(folder))
        seconds = time.process_time() - begin
        pages = sum(1 for _ in (Path(folder) / "failures").iterdir())
    print(f"{pages} pages in {seconds:.1f} s of processor time; the largest record has {max(map(len, lines)):,} bytes")


if __name__ == "__main__":
    main()
