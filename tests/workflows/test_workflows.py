"""The workflow files work: the tests run their commands as a CI system would, with fewer cases."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.suite import REPOSITORY, plain

GITHUB = ".github/workflows/conformance.yml"
GITLAB = "docs/ci/gitlab-ci.yml"
FEWER = "--tier smoke -n 1 -k tensor_block"
"""A project's value of CTS_OPTIONS, for judging one family."""

HANGS = 600.0

pytestmark = pytest.mark.skipif(
    "CTS_WORKFLOWS" not in os.environ,
    reason="installs and judges as a CI system does, which takes minutes: run .ci/workflows, or set CTS_WORKFLOWS=1",
)


def content(name: str) -> dict[Any, Any]:
    return plain(REPOSITORY / name)


def github() -> tuple[list[str], dict[str, str]]:
    workflow = content(GITHUB)
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step], workflow["env"]


def gitlab() -> tuple[list[str], dict[str, str]]:
    (job,) = content(GITLAB).values()
    return job["script"], job["variables"]


WORKFLOWS = {GITHUB: github, GITLAB: gitlab}


@pytest.fixture(params=WORKFLOWS)
def workflow(request) -> tuple[list[str], dict[str, str]]:
    return WORKFLOWS[request.param]()


def test_the_suite_is_installed_first_from_the_checkout(workflow):
    assert shlex.split(workflow[0][0]) == ["python", "-m", "pip", "install", "-q", "."]


def test_the_commands_judge_the_embedded_device_and_leave_the_reports(workflow, tmp_path: Path):
    commands, variables = workflow
    assert variables["CTS_DEVICE"] == "embedded"
    # 'cts' of this checkout, under the name that the installation gives it.
    command = tmp_path / "bin" / "cts"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(REPOSITORY))} exec {shlex.quote(sys.executable)} -m cts "$@"\n')
    command.chmod(0o755)
    summary = tmp_path / "summary"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    more = {"PATH": f"{command.parent}:{os.environ['PATH']}", "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    for line in commands[1:]:
        done = subprocess.run(
            ["bash", "-e", "-c", line],
            cwd=tmp_path,
            env=kept | variables | {"CTS_OPTIONS": FEWER} | more,
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (suite,) = ET.parse(tmp_path / "out" / "junit.xml").getroot()
    assert [case.get("name") for case in suite.iter("testcase")] == ["pass"]
    assert summary.read_text(encoding="utf-8") == (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")


def test_the_workflows_keep_the_files_that_the_commands_write():
    (job,) = content(GITHUB)["jobs"].values()
    (upload,) = (step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    assert (upload["with"]["path"], upload["if"]) == ("out", "always()")
    (job,) = content(GITLAB).values()
    assert job["artifacts"] == {"when": "always", "expire_in": "4 weeks", "paths": ["out"], "reports": {"junit": "out/junit.xml"}}
    for commands, _ in (github(), gitlab()):
        assert "--report-dir out" in commands[-1]
