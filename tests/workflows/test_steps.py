"""The steps of ``.ci/run``."""

from __future__ import annotations

import re
import subprocess

from tests.suite import REPOSITORY, plain

RUN = REPOSITORY / ".ci" / "run"


def ci(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, check=False)


def test_the_list_has_every_step():
    listed = [line.split()[0] for line in ci("--list").stdout.splitlines()]
    assert listed == re.findall(r"^step_(\w+)\(\)", RUN.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_step_that_does_not_exist_is_refused_before_any_runs():
    done = ci("style", "stile")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no step 'stile'" in done.stderr


def test_all_steps_run_without_names():
    text = RUN.read_text(encoding="utf-8")
    run = {name for line in re.findall(r"^(?:lane \w+|steps) (\w[\w ]*)$", text, re.MULTILINE) for name in line.split()}
    assert run == set(re.findall(r"^step_(\w+)\(\)", text, re.MULTILINE))


def test_the_projects_workflow_runs_every_step_once_after_those_that_it_needs():
    job = plain(REPOSITORY / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]
    assert job["steps"][-2]["run"] == ".ci/run $STEPS"
    groups = [entry["steps"].split() for entry in job["strategy"]["matrix"]["include"]]
    run = [step for group in groups for step in group]
    assert sorted(run) == sorted(line.split()[0] for line in ci("--list").stdout.splitlines())
    in_a_root = ("root", "driver", "hostile", "reproductions", "validator", "lavapipe", "glslang")
    for first, *rest in (in_a_root, ("compilers_root", "compilers", "executed"), ("suite", "tests")):
        (group,) = [group for group in groups if first in group]
        assert all(first in group[: group.index(step)] for step in rest)
