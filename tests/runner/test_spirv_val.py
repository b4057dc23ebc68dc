"""``cts spirv-val``: its choice of modules, its calls, and the names of rejected modules. A script replaces spirv-val."""

import stat

import pytest

from cts.cli import main
from generators.errors import GeneratorError, Rule
from generators.glsl import compile as compiling

from .conftest import REPOSITORY

FAMILY = ("--family", "elements", "--tier", "smoke")


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return a function that puts on PATH a spirv-val that runs the given lines of shell; $3 is the path, or $4 with --target-env own. The
    function returns another one that returns the names of the judged modules, in order."""

    def pretend(script):
        path = tmp_path / "bin" / "spirv-val"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\necho $(basename -- $3) >> {tmp_path}/asked\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
        return lambda: (tmp_path / "asked").read_text().split()

    return pretend


def run(*arguments):
    return main(["--root", str(REPOSITORY), "spirv-val", *arguments])


def test_modules_that_are_accepted_are_judged_by_the_folder(asked, capsys):
    paths = asked("exit 0")
    assert run(*FAMILY) == 0
    captured = capsys.readouterr()
    assert ", 0 rejected;" in captured.out
    assert captured.err.startswith("elements: ")
    assert not any(path.endswith(".spv") for path in paths())


def test_a_rejected_module_is_named_with_its_case_and_the_complaint(asked, capsys):
    asked('case $3 in --version) exit 0;; */0.spv) echo "error: 7: no such type in $3"; exit 1;; *.spv) exit 0;; esac; exit 1')
    assert run(*FAMILY, "-k", "f16") == 1
    out = capsys.readouterr().out
    assert out.startswith("elements[")
    assert " (spirv)\n    error: 7: no such type in module\n" in out
    assert ", 1 rejected;" in out


def test_an_environment_that_spirv_val_does_not_know_rejects_no_module(asked, capsys):
    paths = asked('echo "error: Unrecognized target env: $2"; exit 1')
    assert run(*FAMILY, "--target-env", "vulkan9.9") == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("cts: --target-env vulkan9.9: ")
    assert "Unrecognized target env: vulkan9.9" in captured.err
    assert captured.out == ""
    assert paths() == ["--version"]


def test_each_module_can_be_judged_where_its_version_is_the_newest(asked, capsys, tmp_path):
    asked(f'echo "$2 $3 $4" >> {tmp_path}/environments')
    assert run("--family", "module_versions", "--tier", "smoke", "--target-env", "own") == 0
    told = (tmp_path / "environments").read_text().splitlines()
    assert {line.split()[0] for line in told} == {"vulkan1.1", "vulkan1.1spv1.4", "vulkan1.2", "vulkan1.3"}
    assert all(line.split()[1] == "--allow-localsizeid" for line in told)
    assert ", 0 rejected" in capsys.readouterr().out


def test_a_shader_that_glslang_rejects_is_a_rejected_module(asked, capsys, monkeypatch):
    asked("exit 0")

    def rejects(source, version, stage):
        raise GeneratorError(Rule.GLSLANG_REJECTS, "glslang rejects line 3 of the shader")

    monkeypatch.setattr(compiling, "compile_glsl", rejects)
    assert run(*FAMILY, "--front-end", "both", "-k", "f16") == 1
    assert " (glsl)\n    glslang rejects line 3 of the shader\n" in capsys.readouterr().out


def test_only_what_is_chosen_is_judged(asked, capsys):
    asked("exit 0")
    assert run("--tier", "smoke", "-k", "elements[ and f16") == 0
    chosen = capsys.readouterr().err
    assert [line.partition(":")[0] for line in chosen.splitlines()] == ["elements"]


@pytest.mark.parametrize(("choice", "code"), [(("--family", "nonesuch"), 2), (("-k", "nonesuch"), 5), (("--family", "static_types"), 5)])
def test_a_choice_of_nothing_is_one_line(asked, choice, code, capsys):
    asked("exit 0")
    assert run(*choice, "--tier", "smoke") == code
    captured = capsys.readouterr()
    assert captured.err.startswith("cts: ")
    assert captured.out == ""
