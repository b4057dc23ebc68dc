"""Running glslang: how it is found, its input, and its error messages. A script replaces it in tests of its failures."""

import os
import stat
from contextlib import suppress
from functools import cache

import pytest

from generators.casebook import CaseKind, build, expand
from generators.errors import NotExpressible, NotInstalled, Rule
from generators.glsl import compile as compiling
from generators.glsl.compile import UnknownExtension, compile_glsl, excerpt, find_glslang
from generators.glsl.emit import emit
from generators.glsl.library import find_library
from generators.spirv.disassemble import disassemble
from tests.broken_rules import breaks
from tests.suite import casebook

needs_both = pytest.mark.skipif(find_glslang() is None or find_library() is None, reason="glslang or libshaderc is not installed")
GOOD = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n"


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """Return a function that makes a script with the given lines of shell the only glslang on the path."""

    def pretend(script):
        path = tmp_path / "glslang"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + "/bin" + os.pathsep + "/usr/bin")
        monkeypatch.setattr(compiling, "find_library", lambda: None)
        return path

    return pretend


def test_without_glslang_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_glslang() is None
    with pytest.raises(NotInstalled) as caught:
        compile_glsl("void main() {}")
    assert caught.value.program == "glslang"
    assert "\n" not in str(caught.value)


def test_the_same_source_is_compiled_once(pretended, tmp_path):
    pretended(f"echo run >> {tmp_path}/runs\nprintf module > $4")
    assert compile_glsl("void main() { /* once */ }") == b"module"
    assert compile_glsl("void main() { /* once */ }") == b"module"
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_rejection_shows_the_message_and_the_lines_around_it(pretended):
    pretended("echo \"ERROR: /x/shader.comp:3: 'y' : undeclared identifier \"; exit 2")
    with breaks(Rule.GLSLANG_REJECTS) as caught:
        compile_glsl("one\ntwo\nthree\nfour\n")
    assert "'y' : undeclared identifier" in str(caught.value)
    assert ">    3 | three" in str(caught.value)


def test_a_glslang_that_is_too_old_is_named(pretended):
    path = pretended("echo \"ERROR: s.comp:2: '#extension' : x\"; echo \"ERROR: s.comp:2: 'GL_X' : extension not supported: GL_X\"; exit 2")
    with pytest.raises(UnknownExtension) as caught:
        compile_glsl("#version 460\n#extension GL_X : require\n")
    assert caught.value.extension == "GL_X"
    assert str(path) in str(caught.value)


def test_a_glslang_that_dies_without_a_word_is_an_error(pretended):
    pretended("exit 139")
    with breaks(Rule.GLSLANG_FAILED):
        compile_glsl("void main() { /* dies */ }")


def test_an_excerpt_stays_inside_the_source():
    assert excerpt("a\nb", 1) == ">    1 | a\n     2 | b"


@pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")
def test_glslang_itself_compiles_and_rejects():
    assert compile_glsl(GOOD)[:4] == b"\x03\x02\x23\x07"
    with breaks(Rule.GLSLANG_REJECTS) as caught:
        compile_glsl(GOOD.replace("{}", "{ y = 1; }"))
    assert ">    3 | void main() { y = 1; }" in str(caught.value)


@pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")
def test_glslang_names_an_extension_that_it_does_not_know():
    with pytest.raises(UnknownExtension) as caught:
        compile_glsl("#version 460\n#extension GL_EXT_of_tomorrow : require\nvoid main() {}\n")
    assert caught.value.extension == "GL_EXT_of_tomorrow"


class LibraryDouble:
    """Accepts sources that do not contain "error"."""

    def compile(self, source, version=(1, 6), stage="compute"):
        return None if "error" in source else b"from the library"


def test_a_shader_that_the_library_accepts_is_not_compiled_by_the_program(pretended, monkeypatch):
    pretended("exit 139")
    monkeypatch.setattr(compiling, "find_library", LibraryDouble)
    assert compile_glsl("void main() { /* held in the process */ }") == b"from the library"


def test_the_program_compiles_a_shader_that_the_library_rejects(pretended, monkeypatch):
    pretended("printf module > $4")
    monkeypatch.setattr(compiling, "find_library", LibraryDouble)
    assert compile_glsl("void main() { /* an error to the library alone */ }") == b"module"


def instructions(module):
    """Return the instructions, without the header, which names the generator, and without two extensions that only shaderc declares."""
    return [line for line in disassemble(module).splitlines() if not line.startswith(";") and "GL_GOOGLE_" not in line]


@cache
def shaders():
    """Return (family, stage) -> the first shader that GLSL can express."""
    found = {}
    for family in casebook():
        for case in expand(family, "smoke") if family.kind is CaseKind.KERNEL else ():
            key = family.name, case.named.get("stage", "compute")
            if key not in found:
                with suppress(NotExpressible):
                    found[key] = emit(build(case).program)
    return found


@needs_both
def test_the_library_says_what_the_program_says_of_each_family(monkeypatch):
    library = find_library()
    assert {("muladd", "compute"), ("vector_stages", "fragment"), ("vector_stages", "vertex")} <= shaders().keys()
    monkeypatch.setattr(compiling, "find_library", lambda: None)
    different, unknown = [], set()
    for (name, stage), source in shaders().items():
        held = library.compile(source, stage=stage)
        if held is None:
            unknown.add(name)
        elif instructions(held) != instructions(compile_glsl(source + "// by the program\n", stage=stage)):
            different.append((name, stage))
    assert different == []
    # A library may be older than GLSL_EXT_cooperative_matrix_maintenance1. The program compiles what the library does not know.
    assert unknown <= {family.name for family in casebook() if family.specification == "SPV_EXT_cooperative_matrix_maintenance1"}


@needs_both
def test_a_shader_that_is_wrong_is_none_of_the_library():
    assert find_library().compile(GOOD.replace("{}", "{ y = 1; }")) is None


@needs_both
def test_the_front_end_of_a_run_takes_the_library(monkeypatch):
    from cts.kinds.kernel import compile_module

    case = next(iter(expand(casebook().family("muladd"), "smoke")))
    program = build(case).program
    monkeypatch.setattr(compiling, "_compile_by_program", lambda glslang, source: pytest.fail("the program was run"))
    assert instructions(compile_module(program, "glsl")) == instructions(find_library().compile(emit(program)))
