from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.suite import REPOSITORY


@pytest.fixture(scope="module")
def case(one_family) -> str:
    """Return the case of the smoke tier with the longest id: few other ids have all of its words."""
    return max(one_family.cts("list").stdout.splitlines(), key=len)


def judged(installed, directory: str) -> dict[str, str]:
    lines = (installed.folder / directory / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record["verdict"] for record in map(json.loads, lines) if "id" in record}


def test_every_case_of_the_checkout_is_listed(installed):
    listed = installed.cts("list", "--tier", "nightly").stdout.splitlines()
    pinned = 0
    for path in (REPOSITORY / "golden" / "tiers").glob("*.tsv"):
        lines = path.read_text(encoding="utf-8").splitlines()
        pinned += 0 if path.name == "full.tsv" else sum(line.startswith(("smoke\t", "nightly\t")) for line in lines)
    assert len(listed) == pinned


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_case_is_judged_by_its_id_from_any_folder(one_family, case, processes):
    directory = f"by id {processes}"
    done = one_family.cts("run", case, "--device", "embedded", "-n", processes, "--report-dir", directory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert judged(one_family, directory) == {case: "pass"}


def test_pytest_judges_the_installed_package(one_family, case):
    done = one_family.python(
        "-m", "pytest", "-p", "cts.run.plugin", "--pyargs", "cts", "--device", "embedded", "--report-dir", "pyargs", "-n", "2",
        "-k", case.replace("[", " and ").removesuffix("]").replace("/", " and "),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert judged(one_family, "pyargs")[case] == "pass"


def test_the_output_of_pytest_names_the_case_as_in_a_checkout(one_family, case):
    done = one_family.cts("run", case, "--device", "embedded", "-v")
    assert f"\ncases/khr_cooperative_matrix/load_store.yaml::{case} PASS" in done.stdout
    again = one_family.cts("run", f"cases/khr_cooperative_matrix/load_store.yaml::{case}", "--device", "embedded")
    assert again.returncode == 0, again.stdout + again.stderr


def test_settings_of_another_project_are_not_those_of_the_run(one_family, case):
    settings = one_family.folder / "pytest.ini"
    settings.write_text("[pytest]\naddopts = --no-such-option\n", encoding="utf-8")
    try:
        done = one_family.cts("run", case, "--device", "embedded")
    finally:
        settings.unlink()
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tests_of_another_project_are_left_alone(one_family):
    (one_family.folder / "test_other.py").write_text("def test_other(): pass\n", encoding="utf-8")
    done = one_family.python("-m", "pytest", "-p", "cts.run.plugin", "-n", "1", "test_other.py")
    assert done.returncode == 0
    assert "conformance" not in done.stdout


@pytest.mark.parametrize("verb", ["bugs", "positions", "coverage"])
def test_documents_are_there(installed, verb):
    done = installed.cts(verb)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "verb",
    [
        ("golden", "--update", "--tiers"),
        ("pages",),
        ("new-family", "some", "--specification", "SPV_KHR_cooperative_matrix"),
        ("check-family", "muladd"),
    ],
)
def test_commands_that_need_the_sources_ask_for_a_checkout(one_family, verb):
    done = one_family.cts(*verb)
    assert done.returncode == 2
    assert "--root" in done.stderr


def test_a_checkout_with_code_of_its_own_is_not_judged_by_the_installed_code(one_family):
    folder = one_family.folder / "checkout"
    (folder / "cases").mkdir(parents=True)
    (folder / "cts").mkdir()
    (folder / "cts" / "checkout.py").write_text("", encoding="utf-8")
    inside = replace(one_family, folder=folder)
    for arguments in (["-m", "pytest", "-p", "cts.run.plugin", "cts"], ["-m", "cts", "list"]):
        done = inside.python(*arguments)
        assert done.returncode == 2
        assert "python -m" in done.stdout + done.stderr
