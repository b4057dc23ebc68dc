"""README.md, CONTRIBUTING.md and docs/: the things that they name exist, and their examples have the stated results."""

from __future__ import annotations

import argparse
import re
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from cts.commands import VERBS
from cts.commands.parsers import verb_parser
from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.diagnosis.diagnose import diagnose
from cts.kinds.authorities import binding
from cts.kinds.kernel import Arrangement, arrange
from cts.verdict.compare import compare, format_mismatch
from cts.verdict.elements import scatter
from generators.casebook import Casebook, build, find_case
from generators.errors import CtsError
from generators.kernel import Outcome
from generators.program.program import Program
from tests import suite

from .conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
EXAMPLE = "muladd[row:8x8x8.f16.f16.f16.f16/data:exact]"
FOLDERS = ("cases", "cts", "generators", "tests", "docs", "reports", "benchmarks", "golden", ".ci")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.fixture(scope="module")
def book() -> Casebook:
    return suite.casebook()


def code(text: str) -> list[str]:
    """Return everything between backticks, and the lines of code blocks."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest)] + [line for block in blocks for line in block.splitlines()]


def anchors(text: str) -> set[str]:
    """Return GitHub's anchors of the headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(text: str, page: Path) -> list[str]:
    """Return links of ``page`` to files and headings that do not exist."""
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8")))):
            dead.append(link)
    return dead


def options_of(verb: str) -> set[str]:
    """Return the options of a verb of ``cts``, and of its actions if it has any."""
    parsers = [verb_parser(verb)]
    parsers += [one for action in parsers[0]._actions if isinstance(action, argparse._SubParsersAction) for one in action.choices.values()]
    return {option for one in parsers for option in one._option_string_actions}


def unknown_commands(text: str, config: pytest.Config) -> list[str]:
    """Return commands with a verb or an option that does not exist."""
    unknown = []
    for span in code(text):
        command = re.sub(r"\[.*?\]", "", span.partition("#")[0])
        options = set(re.findall(r"(?<!\S)--[\w-]+", command))
        if re.search(r"\bpytest (--pyargs )?cts\b|\bcts run(?![\w-])", command):
            absent = object()
            if any(config.getoption(option, absent) is absent for option in options):
                unknown.append(span)
        elif match := re.match(r"(?:python -m )?cts ([a-z][a-z-]*)", command):
            unknown += [span] if match[1] not in VERBS or not options <= options_of(match[1]) else []
    return unknown


def missing_paths(text: str) -> list[str]:
    """Return paths in the checkout that do not exist, except those with NAME, which readers choose."""
    folders = "|".join(map(re.escape, FOLDERS))
    spans = (span for span in code(text) if re.fullmatch(rf"({folders})/[\w./-]*", span) and "NAME" not in span)
    return [span for span in spans if not (REPOSITORY / span).exists()]


def foreign_cases(text: str, book: Casebook) -> list[str]:
    """Return ids of cases that the suite does not have, except abbreviations with an ellipsis."""
    foreign = []
    for id_, family in re.findall(r"\b((\w+)\[\w[^\]\s…]*[-:][^\]\s…]*\])", " ".join(code(text))):
        try:
            find_case(book, id_)
        except CtsError:
            if family in book.families:
                foreign.append(id_)
    return foreign


def foreign_ids(text: str, book: Casebook) -> set[str]:
    """Return ids of requirements and positions that do not exist."""
    requirements, positions = (set(re.findall(pattern, text)) for pattern in (r"\bKHR-[A-Z]+-\d+\b", r"\bF-[A-Z0-9]+-\d+\b"))
    return (requirements - set(book.requirements)) | (positions - set(book.positions))


@pages
def test_names_in_a_page_exist(page, book, pytestconfig):
    text = page.read_text(encoding="utf-8")
    assert dead_links(text, page) == []
    assert unknown_commands(text, pytestconfig) == []
    assert missing_paths(text) == []
    assert foreign_cases(text, book) == []
    assert foreign_ids(text, book) == set()


def test_missing_things_are_found(book, pytestconfig):
    text = """
        [one](nonesuch.md), [two](facts.md#nonesuch), [three](facts.md#d-rules-for-valid-programs), `cts nonesuch`, `cts show CASE`,
        `cts show CASE --nonesuch`, `pytest cts --nonesuch`, `pytest cts -k x --tier smoke`, `cts/nonesuch.py`, `cts/cli.py`,
        `muladd[no-such-case]`, `muladd[scope:nonesuch]`, KHR-MAD-99, F-KHR-99, KHR-MAD-04
        """
    assert dead_links(text, DOCS / "page.md") == ["nonesuch.md", "facts.md#nonesuch"]
    assert unknown_commands(text, pytestconfig) == ["cts nonesuch", "cts show CASE --nonesuch", "pytest cts --nonesuch"]
    assert missing_paths(text) == ["cts/nonesuch.py"]
    assert foreign_cases(text, book) == ["muladd[no-such-case]", "muladd[scope:nonesuch]"]
    assert foreign_ids(text, book) == {"KHR-MAD-99", "F-KHR-99"}


def test_the_list_of_documents_has_every_document():
    linked = set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert linked == {path.name for path in DOCS.glob("*.md")} - {"README.md"}


def test_the_readme_is_short_and_links_the_list_of_documents():
    text = (REPOSITORY / "README.md").read_bytes()
    assert len(text) <= 9 * 1024
    assert b"](docs/README.md)" in text


def test_the_python_of_the_casebook_runs(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    (source,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "casebook.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(source, "casebook.md", "exec"), {})


@pytest.fixture(scope="module")
def example(book) -> tuple[Program, Arrangement, int]:
    """Return the case of docs/numerics.md, and the number of its subcase ``pattern:cancel``."""
    built = build(find_case(book, EXAMPLE))
    program = built.program
    plan = arrange(built)
    return program, plan, [subcase.name for subcase in plan.subcases].index("pattern:cancel")


def written(values: list[int]) -> str:
    return ", ".join(map(str, values))


def test_the_example_by_hand_is_the_data_of_its_case(book, example):
    _, plan, index = example
    text = (DOCS / "numerics.md").read_text(encoding="utf-8")
    subcase = build(find_case(book, EXAMPLE), is_placed=False).subcases()[index]
    a, b, c = (subcase.inputs[name].view(np.float16).astype(int).reshape(8, 8) for name in "abc")
    row, column, addend = a[6].tolist(), b[:, 1].tolist(), int(c[6, 1])
    products = [x * y for x, y in zip(row, column, strict=True)]
    for name, numbers in (("row 6 of A", row), ("column 1 of B", column), ("products", products), ("c", [addend])):
        (line,) = re.findall(rf"^{name} +(-?\d.*)$", text, re.MULTILINE)
        assert [int(number) for number in line.split()] == numbers
    magnitude = sum(map(abs, products)) + abs(addend)
    (proof,) = (placed.expected.proof for placed in plan.expected[index].placed)
    assert f"= {magnitude} < 2^{proof.precision}, log2(2^{proof.precision} / {magnitude}) = {proof.margin_bits[0, 6, 1]:.2f} bits" in text
    assert f"| adds to c, term by term | {written(list(accumulate([addend, *products])))} | -3 |" in text
    assert f"| adds c last | {written(list(accumulate([*products, addend])))} | -3 |" in text
    cut = [int(term / 2) * 2 for term in (*products, addend)]
    assert f"down to 2 | {written(cut)} | {sum(cut)} |" in text


def test_the_failure_that_the_document_shows_is_what_such_a_device_gives(book, example):
    program, plan, index = example
    subcase, expected, before = plan.subcases[index], plan.expected[index], plan.before[index]
    narrowed = (defect for defect in known_defects(program) if defect.id == "multiply_add.sum_narrowed")
    defect = next(defect for defect in narrowed if defect.parameters == {"type": "bf16", "rounding": "rounded"})
    contents = {name: bytes_.copy() for name, bytes_ in before.items()}
    for placed in evaluate_defect(program, subcase, defect.substitutes).placed:
        scatter(contents[placed.array], placed.offsets, placed.expected.bits)
    outcome = Outcome({"d": contents["d"]})
    (mismatch,) = compare(program, expected, before, outcome)
    matches = [match.text for match in diagnose(program, subcase, expected, before, outcome)]
    shown = format_mismatch(mismatch, matches, binding(mismatch, find_case(book, EXAMPLE)))
    assert f"```\n{shown}\n```" in (DOCS / "numerics.md").read_text(encoding="utf-8")
