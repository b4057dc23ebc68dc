"""``bisect.sh`` tells git which commits of a driver have a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cts.kinds.kernel_reproduction import write_reproduction
from cts.repro.bisection import BISECTION, write_bisection
from cts.repro.program_files import PROGRAM
from generators.casebook import find_case
from tests.hostile_driver.building import LAYER
from tests.hostile_driver.building import obstacle as layer_obstacle
from tests.hostile_driver.scenario import FOLDER as HOSTILE
from tests.lavapipe import needs
from tests.reproductions.lavapipe import environment
from tests.suite import casebook

pytestmark = needs("" if shutil.which("git") else "no git")

COMMITS = 10
FIRST_BAD = 6
NO_BUILD = 4
"""A commit that does not build."""

CASE = "muladd[row:8x8x8.f16.f16.f32.f32/data:exact]"


def run(command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in (("NAME", "a"), ("EMAIL", "a@b"))}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **settings, **who, **(variables or {})}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def stand_in(tmp_path):
    """Return a function that makes a folder whose program is a script, and runs its ``bisect.sh``."""

    def made(script: str, *build: str, **variables: str) -> int:
        folder = tmp_path / "folder with blanks"
        folder.mkdir(exist_ok=True)
        (folder / PROGRAM).write_text("--loop")
        write_bisection(folder, "muladd[a:b]")
        program = folder / "repro"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        os.utime(folder / PROGRAM, (0, 0))
        return run([str(folder / BISECTION), *build], tmp_path, variables).returncode

    return made


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 1", 1), ("exit 77", 125), ("exit 2", 125), ("exit 127", 128), ("kill -SEGV $$", 1), ("kill -ABRT $$", 1)],
    ids=["right", "wrong", "not supported", "cannot run", "no libvulkan", "crash", "abort"],
)
def test_each_end_of_the_program_is_one_that_git_understands(stand_in, script, code):
    assert stand_in(script) == code


def test_a_run_that_hangs_is_bad(stand_in):
    assert stand_in("exec sleep 60", SECONDS_LIMIT="1") == 1


def test_a_limit_that_is_no_number_makes_no_commit_bad(stand_in):
    assert stand_in("exit 0", SECONDS_LIMIT="long") == 128


def test_a_commit_that_does_not_build_is_skipped(stand_in):
    assert stand_in("exit 0", "false") == 125
    assert stand_in("exit 1", "sh", "-c", "true") == 1


def test_the_number_of_rounds_and_the_device_reach_the_program(stand_in, tmp_path):
    said = tmp_path / "said"
    stand_in(f'echo "$@" >"{said}"', LOOP="20", DEVICE="1")
    assert said.read_text().split() == ["--loop", "20", "1"]


def test_a_program_that_does_not_compile_ends_the_bisection(tmp_path):
    (tmp_path / PROGRAM).write_text("not C")
    write_bisection(tmp_path, "muladd[a:b]")
    assert run([str(tmp_path / BISECTION)], tmp_path).returncode == 128


def history(folder: Path, files: Mapping[int, Mapping[str, str]]) -> list[str]:
    """Make a repository with COMMITS commits, and return their names. ``files``: what each commit writes, from number 1 on."""
    folder.mkdir()
    run(["git", "init", "-q"], folder)
    names = []
    for number in range(1, COMMITS + 1):
        (folder / "number").write_text(str(number))
        for name, text in files.get(number, {}).items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        run(["git", "add", "-A"], folder)
        run(["git", "commit", "-q", "-m", f"commit {number}"], folder)
        names.append(run(["git", "rev-parse", "HEAD"], folder).stdout.strip())
    return names


def first_bad(folder: Path, names: Sequence[str], script: Path, variables: Mapping[str, str]) -> str:
    """Return the output of a bisection between the first and the last commit."""
    run(["git", "bisect", "start", names[-1], names[0]], folder)
    return run(["git", "bisect", "run", str(script), "./build.sh"], folder, variables).stdout


def test_git_finds_the_first_bad_commit_by_itself(tmp_path):
    driver = tmp_path / "driver"
    files = {
        1: {"build.sh": f"#!/bin/sh\ncp state {tmp_path}/built", "state": "0"},
        FIRST_BAD: {"state": "1"},
    }
    names = history(driver, files)
    folder = tmp_path / "repro"
    folder.mkdir()
    (folder / PROGRAM).write_text("--loop")
    write_bisection(folder, "muladd[a:b]")
    (folder / "repro").write_text(f'#!/bin/sh\nexit "$(cat {tmp_path}/built)"\n')
    (folder / "repro").chmod(0o755)
    assert f"{names[FIRST_BAD - 1]} is the first bad commit" in first_bad(driver, names, folder / BISECTION, {})


LAYER_SOURCE = '#include "layer.c"\n'
LOSES_WORK = """
/* Every submission is lost. */
__attribute__((constructor(101))) static void lose_work(void) { setenv("HOSTILE", "call=vkQueueSubmit do=nothing", 1); }
"""

BUILD = """#!/bin/sh
set -e
cc -std=gnu11 -O1 -shared -fPIC -Wl,-z,nodelete -I{hostile} -o {built}/libdriver.so driver.c -lm -lpthread
cat >{built}/driver.json <<END
{{"file_format_version": "1.2.0", "layer": {{"name": "{layer}", "type": "GLOBAL", "library_path": "{built}/libdriver.so",
 "library_arch": "64", "api_version": "1.3.0", "implementation_version": "1", "description": "a driver in the making"}}}}
END
"""


@needs(layer_obstacle())
def test_git_finds_the_commit_that_broke_a_driver(tmp_path):
    built = tmp_path / "built"
    built.mkdir()
    files = {
        1: {"build.sh": BUILD.format(hostile=HOSTILE, built=built, layer=LAYER), "driver.c": LAYER_SOURCE},
        NO_BUILD: {"driver.c": f"{LAYER_SOURCE}this is not C\n"},
        NO_BUILD + 1: {"driver.c": LAYER_SOURCE},
        FIRST_BAD: {"driver.c": LAYER_SOURCE + LOSES_WORK},
    }
    names = history(tmp_path / "driver", files)
    folder = tmp_path / "repro"
    write_reproduction(find_case(casebook(), CASE), folder, "spirv")
    variables = {**environment(), "VK_ADD_LAYER_PATH": str(built), "VK_INSTANCE_LAYERS": LAYER, "HOSTILE_STATE": str(tmp_path)}
    told = first_bad(tmp_path / "driver", names, folder / BISECTION, variables)
    assert f"{names[FIRST_BAD - 1]} is the first bad commit" in told
    assert "not written" in told
    assert "pass:" in told
