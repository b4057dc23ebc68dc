"""Compile GLSL to SPIR-V with glslang, if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from generators.errors import CtsError, GeneratorError, NotInstalled, Rule
from generators.glsl.library import find_library
from generators.program.shape import LATEST, Version
from generators.stages import Stage

TIMEOUT_SECONDS = 60
"""Time limit in seconds. A compilation takes about 0.05 s, so one that takes longer than the limit hangs."""

_TESTED = "16.6"
"""The version that the suite is tested with. Older versions lack some of the extensions that shaders use."""

FILE_ENDINGS: Mapping[Stage, str] = MappingProxyType({"compute": "comp", "fragment": "frag", "vertex": "vert", "raygen": "rgen"})
"""By stage, the suffix that glslang expects in file names."""

_ERROR = re.compile(r"^ERROR: \S*?:(\d+): (.*)$", re.MULTILINE)
_EXTENSION = re.compile(r"#extension (\w+) : require$")
_CONTEXT = 3


def find_glslang() -> str | None:
    """Return the path of glslang, by either of its names, or None."""
    return shutil.which("glslang") or shutil.which("glslangValidator")


class UnknownExtension(CtsError):
    """glslang does not know an extension: it is too old.

    Attributes:
        extension: its name.
    """

    def __init__(self, extension: str, message: str) -> None:
        super().__init__(message)
        self.extension = extension


def compile_glsl(source: str, version: Version = LATEST, stage: Stage = "compute") -> bytes:
    """Return the SPIR-V module of a shader of a stage, for Vulkan 1.3, in a version of SPIR-V. Modules are cached by source. If libshaderc
    is also installed, it compiles the shaders that it accepts, and the program glslang compiles the rest.

    Raises:
        NotInstalled: glslang is not installed.
        UnknownExtension: the installed glslang is too old.
        GeneratorError: glslang rejects the source; the message has its complaint and the lines around it.
    """
    glslang = find_glslang()
    if glslang is None:
        raise NotInstalled(
            "glslang", f"the GLSL front end needs glslang: install glslang {_TESTED} or newer (glslang-tools), or use --front-end spirv"
        )
    return _compile(glslang, source, version, stage)


@lru_cache(maxsize=256)
def _compile(glslang: str, source: str, version: Version, stage: Stage) -> bytes:
    library = find_library()
    return (library.compile(source, version, stage) if library else None) or _compile_by_program(glslang, source, version, stage)


def _compile_by_program(glslang: str, source: str, version: Version, stage: Stage) -> bytes:
    with tempfile.TemporaryDirectory(prefix="glslang-") as folder:
        text, module = Path(folder, f"shader.{FILE_ENDINGS[stage]}"), Path(folder, "shader.spv")
        text.write_text(source, encoding="utf-8")
        environment = ["--target-env", "vulkan1.3"]
        if version != LATEST:
            environment += ["--target-env", f"spirv{version[0]}.{version[1]}"]
        command = [glslang, *environment, "-o", str(module), str(text)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise GeneratorError(
                Rule.GLSLANG_TIMEOUT, f"glslang did not end within {TIMEOUT_SECONDS} s; stop it and use --front-end spirv"
            ) from None
        except OSError as error:
            raise CtsError(f"{glslang} cannot be run ({error.strerror}): install glslang {_TESTED} or newer") from None
        if done.returncode == 0 and module.exists():
            return module.read_bytes()
        raise _rejection(glslang, source, done.stdout + done.stderr, done.returncode)


def _rejection(glslang: str, source: str, output: str, status: int) -> CtsError:
    found = _ERROR.search(output)
    if found is None:
        return GeneratorError(Rule.GLSLANG_FAILED, f"glslang failed with status {status}: {output.strip() or 'no message'}")
    line = int(found[1])
    unknown = _EXTENSION.match("".join(source.splitlines()[line - 1 : line]))
    if unknown:
        return UnknownExtension(unknown[1], f"{glslang} does not know {unknown[1]}: install glslang {_TESTED} or newer")
    return GeneratorError(Rule.GLSLANG_REJECTS, f"glslang rejects line {line} of the shader: {found[2].strip()}\n{excerpt(source, line)}")


def excerpt(source: str, line: int) -> str:
    """Return the lines around ``line`` (from 1), numbered, with a mark at it."""
    lines = source.splitlines()
    first, last = max(1, line - _CONTEXT), min(len(lines), line + _CONTEXT)
    return "\n".join(f"{'>' if n == line else ' '} {n:4d} | {lines[n - 1]}" for n in range(first, last + 1))
